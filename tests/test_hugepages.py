# SPDX-License-Identifier: GPL-2.0-only
"""./lab bench hugepages: what its programs print, and what it comes to."""

from __future__ import annotations

import pytest

from padlab import firstuse, gate, hugepages, locks
from padlab.errors import LabError
from padlab.hugepages import GIB, Cost, Timing
from padlab.outcome import Outcome

NATIVE = """\
zero_bench: memory: 1024 MiB
zero_bench: round 1 kib 2048 threads 1 stock 200000 ns
zero_bench: round 1 kib 2048 threads 1 ours 180000 ns
zero_bench: round 1 kib 2048 threads 2 ours 175000 ns
zero_bench: round 1 kib 8192 threads 1 ours 800000 ns
zero_bench: round 1 kib 8192 threads 2 ours 500000 ns
zero_bench: round 1 kib 1048576 threads 1 stock 120000000 ns
zero_bench: round 1 kib 1048576 threads 1 ours 100000000 ns
zero_bench: round 1 kib 1048576 threads 2 ours 55000000 ns
something else
zero_bench: ok
"""

TRACE = """\
PADLAB: trace        hugepages-64      [000] d....    733756014: page_fault_user: address=0x7fc3c0003008 ip=0x401af8 error_code=0x6
PADLAB: trace        hugepages-64      [000] .....    733760039: padata_mt_job_start: job=4 start=0 size=262144 align=128 min_chunk=128 threads=5
PADLAB: trace        hugepages-64      [000] .....    733761005: padata_mt_helper: job=4 cpu=1
PADLAB: trace        hugepages-64      [000] .....    733762469: padata_mt_helper: job=4 cpu=2
PADLAB: trace      kworker/1:0-24      [001] d..1.    733764000: padata_mt_chunk: job=4 start=0 end=1024
PADLAB: trace        hugepages-64      [000] .....    733765510: padata_mt_chunk: job=4 start=1024 end=2048
"""


class TestNative:
    def test_rounds(self) -> None:
        measured = hugepages.parse(NATIVE.splitlines())
        assert measured.ended and not measured.failure
        assert measured.notes == ("memory: 1024 MiB",)
        assert measured.timings[0] == Timing(2048, 1, "stock", 200000)
        assert hugepages.problems(measured, 0) == []

    def test_failures(self) -> None:
        failed = hugepages.parse(["zero_bench: FAILED: memory is not zero"])
        assert hugepages.problems(failed, 1) == ["memory is not zero"]
        assert "no result" in hugepages.problems(hugepages.parse([]), -9)[0]
        assert hugepages.problems(hugepages.parse(NATIVE.splitlines()), 3) == ["it ended with status 3"]

    def test_rows(self) -> None:
        rows = hugepages.rows(hugepages.parse(NATIVE.splitlines()).timings)
        stock, one, two = (row for row in rows if row.kib == GIB)
        assert stock.of_stock is None and stock.gib_s == pytest.approx(1 / 0.12)
        assert one.of_stock is not None and one.of_stock.value == pytest.approx(100 / 120)
        assert one.of_one is None
        assert two.of_one is not None and two.of_one.value == pytest.approx(0.55)

    def test_break_even_is_where_all_larger_ones_gain(self) -> None:
        rows = hugepages.rows(hugepages.parse(NATIVE.splitlines()).timings)
        assert hugepages.break_even(rows) == 8192
        never = hugepages.rows([Timing(GIB, 1, "ours", 100), Timing(GIB, 2, "ours", 99)])
        assert hugepages.break_even(never) is None

    def test_goals(self) -> None:
        fine = hugepages.rows(hugepages.parse(NATIVE.splitlines()).timings)
        assert hugepages.too_slow(fine) == []
        slow = [Timing(GIB, 1, "stock", 100), Timing(GIB, 1, "ours", 110), Timing(GIB, 2, "ours", 70)]
        assert len(hugepages.too_slow(hugepages.rows(slow))) == 2


USE = """\
round 1 kib 2048 page 0 stock zero 230000 ns use 26000 ns
round 1 kib 2048 page 0 ours zero 200000 ns use 24000 ns
round 2 kib 2048 page 0 stock zero 220000 ns use 36000 ns
round 2 kib 2048 page 0 ours zero 290000 ns use 24000 ns
memory: 512 MiB
"""


class TestFirstUse:
    def test_both_count(self) -> None:
        stock, ours = firstuse.rows(firstuse.parse(USE.splitlines()))
        assert (stock.way, stock.both.median, stock.of_stock) == ("stock", 256, None)
        assert (ours.zero.low, ours.use.low, ours.both.low) == (200, 24, 224)
        assert ours.of_stock is not None and ours.of_stock.value == pytest.approx(269 / 256)

    def test_goal(self) -> None:
        uses = firstuse.parse(USE.splitlines())
        assert firstuse.too_slow(firstuse.rows(uses)) == [
            "2048 KiB touched at page 0: 1.05 of stock's time, at most 1.02"
        ]
        assert firstuse.too_slow(firstuse.rows(firstuse.least(uses))) == []

    def test_use_has_a_goal_of_its_own(self) -> None:
        cold = USE.replace("use 24000", "use 40000")
        assert firstuse.too_slow(firstuse.rows(firstuse.least(firstuse.parse(cold.splitlines())))) == [
            "2048 KiB touched at page 0: 1.54 of stock's time to use it, at most 1.3"
        ]


class TestGates:
    """What is not timed, and what is fast by chance, must not pass."""

    ONE = (Timing(GIB, 1, "stock", 120), Timing(GIB, 1, "ours", 100))

    def gate(self, monkeypatch: pytest.MonkeyPatch, *timings: Timing, notes: tuple[str, ...] = ()) -> Outcome:
        monkeypatch.setattr(gate.time, "sleep", lambda seconds: None)
        monkeypatch.setattr(hugepages.os, "cpu_count", lambda: 2)
        found = hugepages.Measured(timings, notes, ended=True)
        monkeypatch.setattr(hugepages, "run_native", lambda *args: found)
        return hugepages.first_use_gate() if notes else hugepages.time_gate()

    def test_fast(self, monkeypatch: pytest.MonkeyPatch) -> None:
        two = [Timing(GIB, 2, "ours", ns) for ns in (55, 52, 90, 95, 58, 99, 97, 100, 95)]
        assert self.gate(monkeypatch, *self.ONE, *two) == Outcome(1)

    def test_fast_by_chance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        two = [Timing(GIB, 2, "ours", ns) for ns in (55, 52, 90, 95, 98, 99, 97, 100, 95)]
        assert "0.90 of one's time" in self.gate(monkeypatch, *self.ONE, *two).failures[0]

    def test_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(LabError, match="did not time"):
            self.gate(monkeypatch)
        with pytest.raises(LabError, match="did not time .*2, 'ours'"):
            self.gate(monkeypatch, *self.ONE)
        with pytest.raises(LabError, match="did not time"):
            self.gate(monkeypatch, notes=tuple(USE.splitlines()))


class TestGuest:
    def test_times(self) -> None:
        values = [("huge", "kib 2048 threads 4 ns 123"), ("huge", "nothing"), ("cpu", "0")]
        assert hugepages.parse_guest(values, "patched") == [Timing(2048, 4, "ours", 123)]
        assert hugepages.parse_guest(values, "stock")[0].way == "stock"

    def test_cost_is_up_to_the_callers_chunk(self) -> None:
        assert hugepages.parse_cost(TRACE.splitlines()) == Cost(9496, 5471, 2)

    def test_no_job_no_cost(self) -> None:
        assert hugepages.parse_cost(TRACE.splitlines()[:1]) is None


class TestPageTableLocks:
    def test_waits_by_name(self) -> None:
        values = [("contended", "12 ptlock_ptr(ptdesc) 00000000c5e93755"), ("contended", "3 ptlock_ptr(ptdesc) 1f")]
        assert locks.waits([*values, ("contended-all", "99"), ("contended", "")]) == {"ptlock_ptr(ptdesc)": 15}

    def test_judged(self) -> None:
        assert locks.split_problems({"a": 3}, {"b": 100}) == []
        assert "proves nothing" in locks.split_problems({}, {"b": 2})[0]
        assert "20 times" in locks.split_problems({"a": 20}, {"b": 100})[0]
