# SPDX-License-Identifier: GPL-2.0-only
"""What is judged from figures, how often it is measured, and what a busy host does to a verdict."""

from dataclasses import dataclass

import pytest

from padlab.core import host, stats
from padlab.measure import bench, verdict
from padlab.measure.verdict import Gate, Limit, Verdict

PASSED, FAILED, OPEN = Verdict.PASSED, Verdict.FAILED, Verdict.OPEN
FAST, SLOW, CLOSE = (1.00, 1.05), (1.12, 1.20), (1.05, 1.15)  # of a bound of 1.1


def limit(low: float, high: float, most: float = 1.1) -> Limit:
    return Limit("ours, of stock", stats.Paired((low + high) / 2, low, high), most)


@dataclass(frozen=True)
class Run:
    low: float
    high: float
    reference: tuple[int, ...] = (100, 100)


def gate(*intervals: tuple[float, float]) -> tuple[Gate[Run], list[tuple[float, float]]]:
    """Each run has the next interval; and what is not measured of them."""
    left = list(intervals)
    last = lambda runs: [limit(runs[-1].low, runs[-1].high)]  # noqa: E731
    return Gate("struct pages", lambda: Run(*left.pop(0)), last, len(intervals)), left


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "why_busy", lambda *args: [])


class TestLimit:
    @pytest.mark.parametrize(
        ("interval", "verdict"),
        [(FAST, PASSED), ((1.0, 1.1), PASSED), (CLOSE, OPEN), ((1.1, 1.2), OPEN), (SLOW, FAILED)],
    )
    def test_a_bound_inside_the_interval_decides_nothing(
        self, interval: tuple[float, float], verdict: Verdict
    ) -> None:
        assert limit(*interval).verdict is verdict

    def test_a_median_just_above_the_bound(self) -> None:
        """As on a two-core Intel Xeon, where such figures used to be measured again without end."""
        near = [1.101, 1.104, 1.093, 1.108, 1.097, 1.112, 1.102, 1.105, 1.099, 1.103]
        assert Limit("1 thread", stats.paired([1.0] * 10, near), 1.1).verdict is OPEN
        above = [ratio + 0.01 for ratio in near]
        assert Limit("1 thread", stats.paired([1.0] * 10, above), 1.1).verdict is FAILED


class TestRuns:
    @pytest.mark.parametrize(
        ("intervals", "verdict", "runs"),
        [
            ([FAST, CLOSE], PASSED, 1),
            ([SLOW, CLOSE], FAILED, 1),
            ([CLOSE, FAST, CLOSE], PASSED, 2),
            ([CLOSE] * 4, OPEN, 4),
        ],
    )
    def test_it_goes_on_until_it_is_decided(
        self, intervals: list[tuple[float, float]], verdict: Verdict, runs: int
    ) -> None:
        judge, left = gate(*intervals)
        judged = judge.judge()
        assert (judged.verdict, judged.runs, len(intervals) - len(left)) == (verdict, runs, runs)
        assert gate(*intervals)[0].judge(quick=True).runs == 1

    def test_all_runs_count(self) -> None:
        """The limits are of all that was measured."""
        seen: list[int] = []
        counts: Gate[Run] = Gate(
            "all", lambda: Run(*CLOSE), lambda runs: seen.append(len(runs)) or [limit(*CLOSE)], 3
        )
        counts.judge()
        assert seen == [1, 2, 3]

    @pytest.mark.parametrize(("interval", "verdict"), [(FAST, PASSED), (SLOW, OPEN), (CLOSE, OPEN)])
    def test_a_busy_host_fails_nothing_and_is_not_waited_for(
        self, monkeypatch: pytest.MonkeyPatch, interval: tuple[float, float], verdict: Verdict
    ) -> None:
        monkeypatch.setattr(host, "why_busy", lambda *args: ["5% of its CPU time stolen"])
        judge, left = gate(interval, FAST)
        judged = judge.judge()
        assert judged.verdict is verdict
        assert left == [FAST]  # it is not measured again, either
        assert judged.busy == ("5% of its CPU time stolen",)


class TestCommand:
    @staticmethod
    def run(monkeypatch: pytest.MonkeyPatch, *intervals: tuple[float, float]) -> int:
        monkeypatch.setattr(bench, "gates", lambda _what: [gate(interval)[0] for interval in intervals])
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
        assert "ours, of stock 1.160 1.120 1.200 1.10 FAILED" in said
        assert "not decided, the host is too busy: other programs used 50% of a CPU" in said


def test_all_gates_or_those_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [of.name for of in bench.gates("memmap")] == ["struct pages"]
    assert len(bench.gates(None)) == 1 + len(bench.gates("hugepages")) == 6


def test_the_best_way_is_named() -> None:
    times = {"stock": [300.0, 310.0, 290.0], "movnti": [100.0, 101.0, 99.0]}
    as_good = verdict.best("2048 KiB", {**times, "ours": [104.0, 103.0, 102.0]}, "ours")
    assert as_good.is_ours
    worse = verdict.best("2048 KiB", {**times, "ours": [120.0, 121.0, 119.0]}, "ours")
    assert not worse.is_ours and worse.way == "movnti" and worse.ratio.value == pytest.approx(1.2, rel=0.01)
    assert verdict.best("2048 KiB", {**times, "ours": [90.0, 91.0, 92.0]}, "ours").way == "ours"


def test_what_is_best_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ways = {"movnti": [100.0] * 3, "ours": [120.0] * 3}
    bench.show_bests([verdict.best("2048 KiB", ways, "ours"), verdict.best("4096 KiB", ways, "movnti")])
    shown = capsys.readouterr().out
    assert "1 of 2" in shown and "2048 KiB" in shown and "movnti" in shown and "4096" not in shown
