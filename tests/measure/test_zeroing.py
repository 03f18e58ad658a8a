# SPDX-License-Identifier: GPL-2.0-only
"""Huge pages zeroed natively: what zero_bench prints, what it comes to, and what may not pass."""

from collections.abc import Sequence

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.measure import tools, zeroing
from padlab.measure.tools import Measured, Timing, times_of
from padlab.measure.verdict import Limit, Verdict

NATIVE = """\
zero_bench: work: 1 rounds, 3000000 bytes
zero_bench: memory: 0 MiB of 1024
zero_bench: store clzero: not on this CPU
zero_bench: round 1 reference 700000 ns
zero_bench: round 1 kib 2048 threads 1 stock 200000 ns cpu 200000 ns
zero_bench: round 1 kib 2048 threads 1 ours 180000 ns cpu 180000 ns
zero_bench: round 1 kib 2048 threads 2 ours 175000 ns cpu 175000 ns
zero_bench: round 1 kib 1048576 threads 1 stock 120000000 ns cpu 120000000 ns
zero_bench: round 1 kib 1048576 threads 1 ours 100000000 ns cpu 100000000 ns
zero_bench: round 1 kib 1048576 threads 2 ours 55000000 ns cpu 55000000 ns
zero_bench: round 1 kib 1048576 threads 2 split 50000000 ns cpu 50000000 ns
something else
zero_bench: ok
"""


GIB = str(zeroing.GIB)


def parsed(text: str) -> Measured:
    return zeroing.parse(tools.said(text.splitlines(), "zero_bench: "))


def test_rounds_and_rows() -> None:
    measured = parsed(NATIVE)
    assert measured.notes == ("store clzero: not on this CPU",)
    assert measured.reference == (700000,)
    assert measured.timings[0] == Timing("2048", 1, "stock", 200000, 200000)
    stock, bare, single, double = (row for row in zeroing.rows(measured.timings) if row.kib == zeroing.GIB)
    assert stock.of_stock is None and stock.us.median == 120_000
    assert single.of_stock.value == pytest.approx(100 / 120)
    assert single.of_one is single.of_bare is bare.of_bare is None
    assert double.of_bare.value == pytest.approx(1.1)
    assert double.of_one.value == pytest.approx(0.55)
    assert double.cpu_us.median == 55_000


def one_round(**ns: int) -> list[Timing]:
    """``ours2`` and ``split`` have two threads."""
    ns = {"stock": 100, "mainline": 90, "whole": 80, "ours": 80, "ours2": 44, "split": 44, **ns}
    two = {"ours2": "ours", "split": "split"}
    return [Timing(GIB, 2 if way in two else 1, two.get(way, way), took) for way, took in ns.items() if took]


def too_slow(limits: Sequence[Limit]) -> list[str]:
    """Name, figure and bound of what does not pass."""
    return [
        f"{limit.name}: {limit.ratio.value:.3f}, at most {round(limit.most, 3)}"
        for limit in limits
        if limit.verdict is not Verdict.PASSED
    ]


def limits(timings: Sequence[Timing], several: bool = True, extents: bool = False) -> list[Limit]:
    return zeroing.limits(times_of([Measured(tuple(timings))]), several, extents)


@pytest.fixture(autouse=True)
def not_intel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zeroing.host, "is_rapids", lambda: False)


@pytest.mark.parametrize(("base", "extents"), [("6.12", False), ("7.3", True)])
def test_what_stock_does(base: str, extents: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    table = paths.BASES / base / "checks" / zeroing.FILE
    monkeypatch.setattr(paths, "over", lambda _name: table if table.exists() else None)
    assert zeroing.stock_zeroes_extents() == extents


SAME = {"stock": 80, "mainline": 80}  # Then there is nothing to gain but by threads and CLZERO.
HALF, LOOP = "2 threads, of two with half of it each", "1 thread, of stock's loop"


class TestGib:
    @pytest.mark.parametrize(
        ("ns", "extents", "slow"),
        [
            ({}, False, []),
            ({"ours": 85, "ours2": 40}, False, ["1 thread, of whole: 1.062, at most 1.05"]),
            ({"clzero": 40, "ours": 41, "ours2": 24, "split": 24}, False, []),
            ({"clzero": 50, "ours": 50, "ours2": 30, "split": 30}, False, [f"{LOOP}: 0.500, at most 0.45"]),
            (SAME, True, []),
            (SAME | {"clzero": 80}, True, []),
            (SAME | {"clzero": 80}, False, [f"{LOOP}: 1.000, at most 0.45"]),
            (
                SAME | {"stock": 70},
                True,
                [f"1 thread, of {name}: 1.143, at most 1.05" for name in ("stock", "stock's loop")],
            ),
            ({"ours2": 48, "split": 40}, False, []),
            ({"ours2": 56, "split": 40}, False, [f"{HALF}: 1.400, at most 1.05"]),
            # Where the memory holds two threads back.
            ({"ours2": 70, "split": 68}, False, []),
            ({"ours2": 75, "split": 68}, False, [f"{HALF}: 1.103, at most 1.05"]),
            ({"ours2": 79, "split": 120}, False, []),
            ({"ours2": 81, "split": 80}, False, []),
            ({"ours2": 82, "split": 120}, False, ["2 threads, of one: 1.025, at most 1.02"]),
            ({"ours2": 82, "split": 80}, False, ["2 threads, of one: 1.025, at most 1.02"]),
        ],
    )
    def test_one_round(self, ns: dict[str, int], extents: bool, slow: list[str]) -> None:
        assert too_slow(limits(one_round(**ns), extents=extents)) == slow

    def test_intel_has_a_limit_of_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        timings = one_round(mainline=90, whole=90, ours=60, movnti=50)
        assert too_slow(limits(timings, several=False)) == []
        monkeypatch.setattr(zeroing.host, "is_rapids", lambda: True)
        slow = ["1 thread, of movnti: 1.200, at most 1.05", "1 thread, of stock's loop: 0.600, at most 0.55"]
        assert too_slow(limits(timings, several=False)) == slow

    BOTH = (52, 53, 98, 99, 97, 52, 99)

    @pytest.mark.parametrize(
        ("two", "split", "verdicts"),
        [
            pytest.param((83, 85) * 5, [80] * 10, [Verdict.PASSED, Verdict.OPEN], id="open"),
            pytest.param([90] * 10, [80] * 10, [Verdict.PASSED, Verdict.FAILED], id="slow"),
            pytest.param([55] * 10, [50] * 10, [Verdict.PASSED], id="fast"),
            pytest.param(
                (55, 52, 90, 92, 95, 94, 91, 100, 94), [55] * 9, [Verdict.OPEN, Verdict.OPEN], id="by-chance"
            ),
            # Two CPUs have the memory of one in some rounds: no two quartiles are of the same ones.
            pytest.param(BOTH, BOTH, [Verdict.PASSED] * 2, id="a-machine-that-changes-its-speed"),
        ],
    )
    def test_two_threads_by_the_interval(
        self, two: Sequence[int], split: Sequence[int], verdicts: list[Verdict]
    ) -> None:
        timings = [Timing(GIB, 1, way, 100) for way in ("stock", "mainline", "whole", "ours")] * len(two)
        timings += [Timing(GIB, 2, "ours", ns) for ns in two] + [Timing(GIB, 2, "split", ns) for ns in split]
        assert [limit.verdict for limit in limits(timings) if limit.name.startswith("2")] == verdicts

    def test_more_threads_than_two(self) -> None:
        timings = one_round() + [Timing(GIB, 8, way, ns) for way, ns in (("ours", 24), ("split", 20))]
        assert too_slow(limits(timings)) == ["8 threads, of as many bare ones: 1.200, at most 1.15"]

    def test_what_was_not_timed_does_not_pass(self, monkeypatch: pytest.MonkeyPatch) -> None:
        times = times_of([Measured(tuple(one_round(whole=0, ours2=0)))])
        for cpus, missing in ((1, f"{GIB}: whole, threads 1"), (2, f"{GIB}: ours, threads 2")):
            monkeypatch.setattr(zeroing.native, "cpus", lambda cpus=cpus: cpus)
            with pytest.raises(LabError, match=f"did not time .*{missing}"):
                zeroing.time_gate().limits_of(times)


USE = """\
zero_bench: round 1 kib 2048 page 0 forward stock zero 230000 ns use 26000 ns
zero_bench: round 1 kib 2048 page 0 forward ours zero 200000 ns use 24000 ns
zero_bench: round 2 kib 2048 page 0 forward stock zero 220000 ns use 36000 ns
zero_bench: round 2 kib 2048 page 0 forward ours zero 290000 ns use 24000 ns
zero_bench: ok
"""
NAME = "2048 KiB touched at page 0, used forward"
USES = parsed(USE).timings


def used(stock: int, ours: int) -> tuple[Timing, ...]:
    return Timing(NAME, 1, "stock", stock), Timing(NAME, 1, "ours", ours)


class TestFirstUse:
    @pytest.mark.parametrize(
        ("uses", "extents", "slow"),
        [
            # Both parts count, round by round: of 224 and 314 us, the mean of 256.
            (USES, False, [f"{NAME}: 1.051, at most 1.02"]),
            (USES[:2], False, []),
            # With extents, both do the same.
            (used(99, 99), True, []),
            (used(99, 105), True, [f"{NAME}: 1.061, at most 1.05"]),
            # All runs count: 0.875 and 1.227 are on both sides of 1.02.
            (USES + USES[:2] * 40, False, []),
        ],
    )
    def test_limits(self, uses: Sequence[Timing], extents: bool, slow: list[str]) -> None:
        gate = zeroing.first_use_gate(extents, copies=True)
        fast = [Timing(name, 1, way, 1) for name, _, way in gate.wanted if name != NAME]
        runs = [Measured(tuple(some)) for some in (uses[:2], uses[2:], fast)]
        assert too_slow(gate.limits_of(times_of(runs))) == slow

    @pytest.mark.parametrize(("copies", "kib"), [(False, 1024), (True, 2048)])
    def test_what_was_not_timed_does_not_pass(self, copies: bool, kib: int) -> None:
        missing = f"did not time {kib} KiB touched at page 0, used backward: ours"
        with pytest.raises(LabError, match=missing):
            zeroing.first_use_gate(copies=copies).limits_of(times_of([Measured(USES)]))
