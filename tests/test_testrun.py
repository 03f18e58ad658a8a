# SPDX-License-Identifier: GPL-2.0-only
"""The runner of ./lab test: sums, exit status, and failures that do not stop it."""

from __future__ import annotations

from pathlib import Path

import pytest

from padlab import checks, testrun
from padlab.errors import LabError
from padlab.outcome import Outcome, judge
from padlab.testrun import Check

JUNIT = """<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="tests.test_a" name="test_good"/>
<testcase classname="tests.test_a" name="test_bad"><failure message="assert 1 == 2">E</failure></testcase>
<testcase classname="tests.test_b" name="test_broken"><error message="no fixture">E</error></testcase>
<testcase classname="tests.test_b" name="test_later"><skipped message="only on Fridays"/></testcase>
</testsuite></testsuites>"""


def refuse() -> Outcome:
    raise LabError("booting x", "it hung", "see below", log=Path("/x/console.log"), detail=["last line"])


def crash() -> Outcome:
    raise ZeroDivisionError("oops")


def run(capsys: pytest.CaptureFixture[str], *checks: Check) -> tuple[int, list[str]]:
    status = testrun.run_all(checks)
    return status, capsys.readouterr().out.splitlines()


def test_all_pass(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, Check("a", lambda: Outcome(2)), Check("b", lambda: Outcome(1)))
    assert status == 0
    assert out[-1] == "3 passed, 0 failed"
    assert out[0].startswith("[1/2] a: ok, 2 passed, 0 failed, ")


def test_failures_are_told_and_the_rest_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testrun, "LOGS", tmp_path)
    checks = [
        Check("refuses", refuse),
        Check("crashes", crash),
        Check("some", lambda: Outcome(4, ("case: reason\nmore",), ("other: no SMT",), Path("/x/y.log"))),
        Check("empty", lambda: Outcome()),
        Check("good", lambda: Outcome(1)),
    ]
    status, out = run(capsys, *checks)
    assert status == 1
    assert out[-1] == "5 passed, 4 failed, 1 skipped"
    text = "\n".join(out)
    assert "failed: booting x: it hung; see below\n      last line\n    log: /x/console.log" in text
    assert f"failed: the check broke: ZeroDivisionError('oops')\n    log: {tmp_path}" in text
    assert "failed: case: reason\n      more\n    log: /x/y.log" in text
    assert "skipped: other: no SMT" in text
    assert "empty: FAILED" in text
    assert "good: ok" in text
    end = text[text.index("\ntook ") :]
    assert "failed in refuses: booting x: it hung; see below\n      last line\n    log: /x/console.log" in end
    assert "failed in some: case: reason\n      more\n" in end
    assert "failed in empty: " in end
    assert "good" not in end


def test_nothing_run_is_not_success(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys)
    assert (status, out[-1]) == (1, "0 passed, 0 failed")


def test_long_failures_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"line {n}" for n in range(100)]
    _, out = run(capsys, Check("long", lambda: judge(lines)))
    assert len(out) < 40
    assert any("lines more" in line for line in out)


def test_judge() -> None:
    assert judge([]) == Outcome(1)
    assert judge(["a", "b"], Path("/log")) == Outcome(0, ("a\nb",), (), Path("/log"))


def test_outcomes_add_up() -> None:
    total = Outcome(1, ("a",), log=Path("/a")) + Outcome(2, (), ("b",))
    assert total == Outcome(3, ("a",), ("b",), Path("/a"))


def test_junit_report() -> None:
    outcome = checks.junit(JUNIT, Path("/log"))
    assert outcome == Outcome(
        1,
        ("tests.test_a.test_bad: assert 1 == 2", "tests.test_b.test_broken: no fixture"),
        ("tests.test_b.test_later: only on Fridays",),
        Path("/log"),
    )


def test_a_failed_build_fails_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def broken(kernel: str, config: str) -> None:
        tried.append((kernel, config))
        raise LabError("building", "it does not compile", "fix it")

    checks._build.cache_clear()
    monkeypatch.setattr(checks.builds, "ensure_build", broken)
    try:
        with pytest.raises(LabError, match="building: it does not compile"):
            checks.build_check("patched", "perf")
        for action in (checks.kunit, checks.selftests):
            with pytest.raises(LabError, match="its build failed: it does not compile"):
                action("perf")
        assert tried == [("patched", "perf")]
    finally:
        checks._build.cache_clear()
