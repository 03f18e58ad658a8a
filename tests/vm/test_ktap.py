# SPDX-License-Identifier: GPL-2.0-only
"""KTAP of KUnit and of kselftests, whole and damaged, as outcomes."""

from pathlib import Path

import pytest

from padlab.core.outcome import Outcome
from padlab.kernel import tree
from padlab.vm import ktap

KUNIT = """
KTAP version 1
1..2
    KTAP version 1
    # Subtest: first
    # module: padata_mt_kunit
    1..3
    ok 1 plain
    # bad: EXPECTATION FAILED at kernel/x.c:10
    Expected a == b, but
    not ok 2 bad
    ok 3 later # SKIP only one CPU
not ok 1 first
    KTAP version 1
    # Subtest: second
    1..1
        KTAP version 1
        # Subtest: table
        ok 1 row one
        ok 2 row two
    # table: pass:2 fail:0 skip:0 total:2
    ok 1 table
ok 2 second
"""

KSELFTEST = """
TAP version 13
1..3
# doing something
ok 1 jobs run
ok 2 with a quota # SKIP no cpu controller
ok 3 after a reboot
# Totals: pass:2 fail:0 xfail:0 xpass:0 skip:1 error:0
"""


@pytest.fixture(scope="session")
def kernel() -> Path:
    return tree.ensure_tree("stock")


def parse(text: str, kernel: Path) -> Outcome:
    return ktap.parse(text.strip().splitlines(), kernel)


def test_kunit_cases_are_counted_at_the_leaves(kernel: Path) -> None:
    outcome = parse(KUNIT, kernel)
    assert outcome.passed == 3
    assert outcome.skips == ("first.later: only one CPU",)
    (failure,) = outcome.failures
    assert failure.startswith("first.bad: failure: bad: EXPECTATION FAILED at kernel/x.c:10")


def test_kselftest(kernel: Path) -> None:
    outcome = parse(KSELFTEST, kernel)
    assert outcome == Outcome(2, (), ("with a quota: no cpu controller",))


def test_whole_test_skipped(kernel: Path) -> None:
    outcome = parse("TAP version 13\n1..0 # SKIP module is missing\n", kernel)
    assert outcome == Outcome(skips=("module is missing",))


def test_cases_missing_after_a_crash(kernel: Path) -> None:
    outcome = parse("\n".join(KSELFTEST.strip().splitlines()[:4]), kernel)
    assert outcome.passed == 1
    assert len(outcome.failures) >= 1


def test_missing_plan(kernel: Path) -> None:
    outcome = parse(KSELFTEST.replace("1..3\n", ""), kernel)
    assert outcome.failures == ("no plan in the output, so tests may be missing",)


def test_bail_out(kernel: Path) -> None:
    outcome = parse("TAP version 13\n1..1\nBail out! cannot mount\n", kernel)
    assert "bailed out: cannot mount" in outcome.failures


@pytest.mark.parametrize("text", ["", "sh: ./test.sh: not found\n", "TAP version 13\n"])
def test_no_results_is_a_failure(text: str, kernel: Path) -> None:
    outcome = parse(text, kernel)
    assert outcome.passed == 0
    assert outcome.failures


def test_a_suite_may_fail_though_its_cases_do_not(kernel: Path) -> None:
    text = "KTAP version 1\n1..1\n    KTAP version 1\n    1..1\n    ok 1 case\nnot ok 1 suite\n"
    assert parse(text, kernel) == Outcome(1, ("suite: failed as a whole",))


def test_misnumbered_results_are_a_failure(kernel: Path) -> None:
    outcome = parse(KSELFTEST.replace("ok 3 after", "ok 7 after"), kernel)
    assert outcome.failures
