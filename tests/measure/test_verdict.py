# SPDX-License-Identifier: GPL-2.0-only
"""What is judged from figures, how often it is measured, and what a busy host does to a verdict."""

from pathlib import Path

import pytest

from padlab.core import host, stats
from padlab.measure import bench, verdict
from padlab.measure.tools import Measured, Times, Timing
from padlab.measure.verdict import Gate, Limit, Verdict

PASSED, FAILED, OPEN = Verdict.PASSED, Verdict.FAILED, Verdict.OPEN
FAST, SLOW, CLOSE = (1.00, 1.05), (1.12, 1.20), (1.05, 1.15)  # of a bound of 1.1


def gate(*intervals: tuple[float, float]) -> Gate:
    """With so many runs at most; all of them together have the next interval."""

    def limits(times: Times) -> list[Limit]:
        low, high = intervals[len(times["it", 1, "ours"]) - 1]
        return [Limit("ours, of stock", stats.Paired((low + high) / 2, low, high), 1.1)]

    measured = Measured((Timing("it", 1, "ours", 5),))
    return Gate("struct pages", lambda: measured, Path("log"), len(intervals), (), limits)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "why_busy", lambda *args: [])


@pytest.mark.parametrize(
    ("intervals", "verdict", "runs"),
    [
        ([FAST, CLOSE], PASSED, 1),
        ([(1.0, 1.1), CLOSE], PASSED, 1),
        ([SLOW, CLOSE], FAILED, 1),
        ([(1.1, 1.2)], OPEN, 1),
        ([CLOSE, FAST, CLOSE], PASSED, 2),
        ([CLOSE] * 4, OPEN, 4),
    ],
)
def test_it_goes_on_until_it_is_decided(
    intervals: list[tuple[float, float]], verdict: Verdict, runs: int
) -> None:
    judged = gate(*intervals).judge()
    assert (judged.verdict, judged.runs) == (verdict, runs)
    assert gate(*intervals).judge(quick=True).runs == 1


@pytest.mark.parametrize(("interval", "verdict"), [(FAST, PASSED), (SLOW, OPEN), (CLOSE, OPEN)])
def test_a_busy_host_fails_nothing_and_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, interval: tuple[float, float], verdict: Verdict
) -> None:
    monkeypatch.setattr(host, "why_busy", lambda *args: ["5% of its CPU time stolen"])
    judged = gate(interval, FAST).judge()
    assert (judged.verdict, judged.runs) == (verdict, 1)
    assert judged.busy == ("5% of its CPU time stolen",)


class TestCommand:
    @staticmethod
    def run(monkeypatch: pytest.MonkeyPatch, *intervals: tuple[float, float]) -> int:
        monkeypatch.setattr(bench, "gates", lambda _what: [gate(interval) for interval in intervals])
        return bench.check()

    def test_the_status(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.run(monkeypatch, FAST) == 0
        assert self.run(monkeypatch, FAST, SLOW, CLOSE) == 1
        assert self.run(monkeypatch, FAST, CLOSE) == 3

    def test_what_is_printed(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(host, "why_busy", lambda *args: ["other programs used 50% of a CPU"])
        self.run(monkeypatch, SLOW)
        said = " ".join(capsys.readouterr().out.split())
        assert said.startswith(host.cpu())
        assert "ours, of stock 1.160 (1.120 to 1.200) 1.10 FAILED" in said
        assert "not decided, the host is too busy: other programs used 50% of a CPU" in said


def test_all_gates_or_those_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [of.name for of in bench.gates("memmap")] == ["struct pages"]
    assert len(bench.gates(None)) == 1 + len(bench.gates("hugepages")) == 6


@pytest.mark.parametrize(
    ("ours", "shown"),
    [([104.0, 103.0, 102.0], ""), ([90.0] * 3, ""), ([120.0, 121.0, 119.0], "movnti 1.200")],
)
def test_a_better_way_is_shown(ours: list[float], shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    times = {"stock": [300.0, 310.0, 290.0], "movnti": [100.0, 101.0, 99.0], "ours": ours}
    judged = verdict.Judged("pages", (), 1, (), (verdict.best("2048 KiB", times, "ours"),))
    bench.show_judged([judged], PASSED)
    said = " ".join(capsys.readouterr().out.split())
    assert f"{0 if shown else 1} of 1" in said
    assert f"2048 KiB {shown}" in said if shown else "2048" not in said
