# SPDX-License-Identifier: GPL-2.0-only
"""What is reported of checks: as they end, at the end, and as JSON."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from padlab.check.base import report
from padlab.check.base.report import Report
from padlab.core.outcome import Outcome, judge

GOOD = Report("good", Outcome(3), elapsed=2.5, limit_s=100)
BAD = Report(
    "bad",
    Outcome(4, ("case: reason\nmore",), ("other: no SMT",), Path("/x/y.log")),
    elapsed=66,
    limit_s=300,
    detail=["last line"],
)
SKIPPED = Report("large", Outcome(skips=("needs 9 GiB",)), elapsed=0.1, limit_s=10)


def conclude(capsys: pytest.CaptureFixture[str], *reports: Report) -> tuple[int, list[str]]:
    return report.conclude(reports, 61), capsys.readouterr().out.splitlines()


def test_all_that_failed_is_told_again_just_before_the_sums(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = conclude(capsys, GOOD, BAD, SKIPPED)
    assert status == 1
    assert out[0] == "took 1 min 01 s"
    assert out[-5:] == [
        "    failed in bad: case: reason",
        "      more",
        "      last line",
        "    log: /x/y.log",
        "7 passed, 1 failed, 2 skipped",
    ]


@pytest.mark.parametrize(
    ("reports", "status"), [((GOOD, SKIPPED), 0), ((GOOD, BAD), 1), ((SKIPPED,), 1), ((), 1)]
)
def test_the_status(capsys: pytest.CaptureFixture[str], reports: tuple[Report, ...], status: int) -> None:
    assert conclude(capsys, *reports)[0] == status


def test_a_check_as_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    report.tell(BAD, "[2/3]")
    assert capsys.readouterr().out.splitlines() == [
        "[2/3] bad: FAILED, 4 passed, 1 failed, 1 skipped, 1 min 06 s",
        "    skipped: other: no SMT",
        "    failed: case: reason",
        "      more",
        "      last line",
        "    log: /x/y.log",
    ]


def test_long_failures_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"line {n}" for n in range(100)]
    report.tell(replace(GOOD, outcome=judge(lines)), "[1/1]")
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 3 + report.SHOWN_LINES
    assert out[-1] == "      ... and 79 lines more"


def test_outcomes_add_up() -> None:
    total = Outcome(1, ("a",), log=Path("/a")) + Outcome(2, (), ("b",))
    assert total == Outcome(3, ("a",), ("b",), Path("/a"))


def test_json_has_a_check_a_line() -> None:
    text = report.to_json([GOOD, BAD])
    assert [row["name"] for row in json.loads(text)] == [GOOD.name, BAD.name]
    assert len(text.splitlines()) == 4 and json.loads(text)[1]["failed"]


def test_the_slowest(capsys: pytest.CaptureFixture[str]) -> None:
    report.conclude((GOOD, BAD, SKIPPED), 61, durations=2)
    assert capsys.readouterr().out.splitlines()[:2] == ["  1 min 06 s  bad", "       2.5 s  good"]


def test_junit() -> None:
    suite = ElementTree.fromstring(report.to_junit((GOOD, BAD, SKIPPED)))
    assert suite.attrib == {"name": "padlab", "tests": "3", "failures": "1"}
    good, bad, skipped = suite
    assert good.attrib == {"name": "good", "time": "2.5"} and not list(good)
    (failure,) = bad
    assert (failure.tag, failure.get("message"), failure.text) == ("failure", "case: reason", "more")
    assert [(child.tag, child.get("message")) for child in skipped] == [("skipped", "needs 9 GiB")]
