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


CUT = "\n".join(KSELFTEST.strip().splitlines()[:4])
SUITE = "KTAP version 1\n1..1\n    KTAP version 1\n    1..1\n    ok 1 case\nnot ok 1 suite\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (KSELFTEST, Outcome(2, (), ("with a quota: no cpu controller",))),
        ("TAP version 13\n1..0 # SKIP module is missing\n", Outcome(skips=("module is missing",))),
        (
            KSELFTEST.replace("1..3\n", ""),
            Outcome(
                2, ("no plan in the output, so tests may be missing",), ("with a quota: no cpu controller",)
            ),
        ),
        # A suite may fail though its cases do not.
        (SUITE, Outcome(1, ("suite: failed as a whole",))),
    ],
    ids=["whole", "skipped", "no plan", "suite"],
)
def test_outcomes(text: str, expected: Outcome, kernel: Path) -> None:
    assert parse(text, kernel) == expected


@pytest.mark.parametrize(
    ("text", "passed", "says"),
    [
        (CUT, 1, ""),  # after a crash
        ("TAP version 13\n1..1\nBail out! cannot mount\n", 0, "bailed out: cannot mount"),
        ("", 0, ""),
        ("sh: ./test.sh: not found\n", 0, ""),
        ("TAP version 13\n", 0, ""),
        (KSELFTEST.replace("ok 3 after", "ok 7 after"), 2, ""),
    ],
    ids=["cut", "bail out", "nothing", "no test", "no results", "misnumbered"],
)
def test_what_is_damaged_fails(text: str, passed: int, says: str, kernel: Path) -> None:
    outcome = parse(text, kernel)
    assert outcome.passed == passed and says in "\n".join(outcome.failures) and outcome.failures
