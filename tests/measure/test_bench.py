# SPDX-License-Identifier: GPL-2.0-only
"""./lab bench: what its two programs print, and what it comes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from padlab.core.errors import LabError
from padlab.kernel import native
from padlab.measure import bench, structpages, tools, uml
from padlab.measure.structpages import Measured, Timing

UML = """\
Kernel command line: mem=32G memmap_bulk_kunit.rounds=3 root=98:0
KTAP version 1
1..1
    # bulk_bench: bench: 1000 pages in 248 runs, 496 MiB of struct pages
    # bulk_bench: bench: round 0 stock 4000 ns
    # bulk_bench: bench: round 0 bulk 2000 ns
    # bulk_bench: bench: round 0 limit 1900 ns
    # bulk_bench: bench: round 1 stock 5000 ns
    # bulk_bench: bench: round 1 bulk 2100 ns
    # bulk_bench: bench: round 2 stock 4500 ns
    # bulk_bench: bench: round 2 bulk 1900 ns
    # bulk_bench.speed: slow
    ok 1 bulk_bench
ok 1 memmap_bulk
reboot: System halted
"""

USERSPACE = """\
memmap_bench: work: 1 rounds, 4000000 bytes
memmap_bench: memory: 0 MiB of 4096
memmap_bench: memory: 1000 pages, 4096 MiB of struct pages, 4096 MiB huge, cache 32768 KiB
memmap_bench: warming up: stock, threads 1
memmap_bench: round 1 reference 700000 ns
memmap_bench: round 1 threads 1 ran 1 stock 5000 ns
memmap_bench: round 1 threads 1 ran 1 movnti 2500 ns
memmap_bench: round 1 threads 1 ran 1 plain 3500 ns
memmap_bench: round 1 threads 1 ran 1 limit 2400 ns
memmap_bench: round 1 threads 2 ran 2 stock 3000 ns
memmap_bench: round 1 threads 2 ran 1 movnti 2700 ns
memmap_bench: round 1 threads 2 ran 2 plain 1800 ns
memmap_bench: round 1 threads 2 ran 2 limit 2300 ns
memmap_bench: ok
"""

CHECK = """\
memmap_bench: run 500 of 2000
memmap_bench: stores: movnti: 2000 runs, seed 0x1
memmap_bench: states: 2000 runs, struct pages of 64 bytes, seed 0x1
memmap_bench: outcome: 98304 pages for 8 uses are the same by all ways
memmap_bench: ok
"""


def parse_uml(text: str) -> Measured:
    return uml.parse(text.splitlines())


def parse_userspace(text: str) -> Measured:
    return structpages.parse(tools.said(text.splitlines(), "memmap_bench: "))


class TestUml:
    def test_rounds(self) -> None:
        measured = parse_uml(UML)
        assert measured.pages == 1000
        assert measured.ended and not measured.failure
        assert [(t.round, t.way, t.ns) for t in measured.timings[:3]] == [
            (0, "stock", 4000),
            (0, "movnti", 2000),
            (0, "limit", 1900),
        ]

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("    not ok 1 bulk_bench", "not ok 1 bulk_bench"),
            ("    # bulk_bench: ASSERTION FAILED at mm/memmap_bulk_kunit.c:3", "ASSERTION FAILED"),
            ("Kernel panic - not syncing: no", "Kernel panic"),
        ],
    )
    def test_failures(self, line: str, said: str) -> None:
        assert said in parse_uml(UML.replace("    ok 1 bulk_bench", line)).failure

    def test_cut_short(self) -> None:
        assert not parse_uml(UML.partition("    ok")[0]).ended


class TestUserspace:
    def test_rounds(self) -> None:
        measured = parse_userspace(USERSPACE)
        assert measured.pages == 1000 and measured.reference == (700000,)
        assert len(measured.timings) == 8
        assert measured.timings[5] == Timing(1, 2, "movnti", 2700, 1)
        assert measured.notes == ("1,000 pages, 4096 MiB of struct pages, 4096 MiB huge, cache 32768 KiB",)

    def test_checks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        measured = parse_userspace(CHECK)
        assert len(measured.notes) == 3
        said = tools.said(CHECK.splitlines(), "memmap_bench: ")
        monkeypatch.setattr(native, "make", lambda tool, program: Path(program))
        monkeypatch.setattr(tools, "run", lambda *args, **options: said)
        assert not structpages.check_stores().failures
        lacks = tools.said([line for line in CHECK.splitlines() if "stores" not in line], "memmap_bench: ")
        monkeypatch.setattr(tools, "run", lambda *args, **options: lacks)
        (found,) = structpages.check_stores().failures
        assert "memmap_bench-56 did not check the stores" in found


class TestRows:
    def test_ratio_of_medians(self) -> None:
        stock, ours, limit = bench.rows(parse_uml(UML))
        assert (stock.way, stock.ratio, stock.bytes) == ("stock", None, 128)
        assert (ours.ns.median, ours.bytes) == (2.0, 64)
        assert ours.ratio is not None and ours.ratio.noise is None
        assert ours.ratio.value == pytest.approx(2.0 / 4.5)
        assert ours.of_limit is not None and ours.of_limit.value == pytest.approx(2.0 / 1.9)
        assert limit.of_limit is None

    def test_each_number_of_threads_has_its_own_stock(self) -> None:
        found = {(row.threads, row.way): row for row in bench.rows(parse_userspace(USERSPACE))}
        assert len(found) == 8
        one, two = found[1, "movnti"].ratio, found[2, "movnti"].ratio
        assert one is not None and one.value == 0.5
        assert two is not None and two.value == 0.9
        assert found[2, "movnti"].alone == 1 and found[2, "plain"].alone == 0

    def test_few_rounds_are_noted(self) -> None:
        ratio = bench.rows(parse_userspace(USERSPACE))[1].ratio
        assert ratio is not None and ratio.noise and "no spread" in ratio.noise

    def test_without_stock(self) -> None:
        with pytest.raises(LabError, match="stock was not timed"):
            bench.rows(parse_userspace(USERSPACE.replace(" stock ", " plain ")))


class TestGate:
    def test_the_limit_and_stock_are_what_it_compares_with(self) -> None:
        timings = parse_userspace(USERSPACE).timings
        assert structpages.too_slow(timings, {1}) == []
        assert structpages.too_slow(timings, {2}) == [
            "2 threads: 1.174 of the machine's limit, at most 1.1",
        ]
        slow = parse_userspace(USERSPACE.replace("movnti 2700", "movnti 3300")).timings
        assert "1.100 of stock, at most 1" in structpages.too_slow(slow, {2})[1]

    @staticmethod
    def timed(threads: int, limit: list[int], ours: list[int]) -> list[Timing]:
        ways = {"stock": [3 * ns for ns in limit], "limit": limit, "movnti": ours}
        return [
            Timing(nr, threads, way, ns, 1) for way, all_ns in ways.items() for nr, ns in enumerate(all_ns)
        ]

    def test_round_by_round(self) -> None:
        for threads in (1, 2):
            mostly_slow, mostly_fast = [105, 200, 200], [105, 105, 200]
            assert structpages.too_slow(self.timed(threads, [100] * 3, mostly_slow), {threads}) != []
            assert structpages.too_slow(self.timed(threads, [100] * 3, mostly_fast), {threads}) == []
        # What was slow for both is no reason.
        assert structpages.too_slow(self.timed(2, [100, 200, 210], [105, 210, 220]), {2}) == []
        assert structpages.too_slow(self.timed(2, [200, 100, 100], [105, 120, 120]), {2}) != []

    def test_more_rounds_while_a_ratio_may_be_on_either_side(self) -> None:
        near = [105] * 5 + [115] * 5
        assert structpages.undecided(self.timed(2, [100] * 10, near), {2})
        assert not structpages.undecided(self.timed(2, [100] * 10, [105] * 10), {2})
        assert not structpages.undecided(self.timed(2, [100] * 10, [115] * 10), {2})

    def test_what_was_not_timed_does_not_pass(self) -> None:
        with pytest.raises(LabError, match="did not time limit, 4 threads, movnti, 4 threads"):
            structpages.too_slow(parse_userspace(USERSPACE).timings, {4})


class TestUses:
    """Ours and stock in pairs, one a round."""

    def timed(self, ratios: list[float], use: str = "hotplug") -> list[Timing]:
        ways = {"stock": [1000] * len(ratios), "ours": [int(1000 * ratio) for ratio in ratios]}
        return [Timing(nr, 1, way, ns[nr], 1, use) for way, ns in ways.items() for nr in range(len(ratios))]

    def all_uses(self, hotplug: list[float]) -> list[Timing]:
        others = [one for use in structpages.USES if use != "hotplug" for one in self.timed([0.9] * 4, use)]
        return others + self.timed(hotplug)

    def test_a_line_of_it(self) -> None:
        line = "memmap_bench: round 1 threads 1 ran 1 hotplug ours 3900 ns\n"
        (timing,) = parse_userspace(line).timings
        assert timing == Timing(1, 1, "ours", 3900, 1, "hotplug")

    def test_all_rounds_but_one_decide(self) -> None:
        assert structpages.slower(self.all_uses([0.99, 1.02, 1.04, 1.04])) == []
        (found,) = structpages.slower(self.all_uses([0.99, 1.03, 1.03, 1.04]))
        assert found == "hotplug, 128 MiB at a time: 1.030 of stock, at most 1.02"

    def test_a_use_that_was_not_timed(self) -> None:
        with pytest.raises(LabError, match="did not time early"):
            structpages.slower([one for one in self.all_uses([1.0] * 4) if one.use != "early"])

    def test_rows_of_uses_are_apart(self) -> None:
        measured = Measured("userspace", 1000, tuple(self.timed([0.9] * 4)))
        assert bench.rows(measured) == []
        stock, ours = bench.use_rows(measured)
        assert stock.ratio is None
        assert ours.ratio is not None and ours.ratio.value == pytest.approx(0.9)

    def test_the_gate_is_for_pages_that_are_freed_together(self) -> None:
        timings = [*parse_userspace(USERSPACE).timings, *self.timed([9.0])]
        assert structpages.too_slow(timings, {1}) == []
