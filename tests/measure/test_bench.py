# SPDX-License-Identifier: GPL-2.0-only
"""./lab bench: what its two programs print, and what it comes to."""

import pytest

from padlab.core.errors import LabError
from padlab.measure import bench, structpages, tools
from padlab.measure.tools import Measured, Timing, times_of
from padlab.measure.verdict import Limit, Verdict

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


def parse_userspace(text: str) -> Measured:
    return structpages.parse(tools.said(text.splitlines(), "memmap_bench: "))


def test_uml() -> None:
    measured = bench.parse_uml(UML)
    assert measured.pages == 1000
    assert [(timing.way, timing.ns) for timing in measured.timings[:3]] == [
        ("stock", 4000), ("movnti", 2000), ("limit", 1900),
    ]  # fmt: skip
    with pytest.raises(LabError, match="it came to no result"):
        bench.parse_uml(UML.partition("    ok")[0])
    for failure in ("not ok 1 bulk_bench", "# bulk_bench: ASSERTION FAILED at x.c:3", "Kernel panic - no"):
        with pytest.raises(LabError, match=failure):
            bench.parse_uml(UML.replace("ok 1 bulk_bench", failure))


def test_userspace() -> None:
    measured = parse_userspace(USERSPACE)
    assert measured.pages == 1000 and measured.reference == (700000,)
    assert len(measured.timings) == 8
    assert measured.timings[5] == Timing("deferred", 2, "movnti", 2700, 1)
    assert measured.notes == ("1,000 pages, 4096 MiB of struct pages, 4096 MiB huge, cache 32768 KiB",)
    (timing,) = parse_userspace("memmap_bench: round 1 threads 1 ran 1 hotplug ours 3900 ns\n").timings
    assert timing == Timing("hotplug", 1, "ours", 3900, 1)


def test_rows_of_uml() -> None:
    stock, ours, limit = structpages.rows(bench.parse_uml(UML))
    assert (stock.way, stock.ratio, ours.ns.median, ours.ratio.noise) == ("stock", None, 2.0, None)
    assert ours.ratio.value == pytest.approx(2.0 / 4.5)
    assert ours.of_limit.value == pytest.approx(2.0 / 1.9)
    assert limit.of_limit is None


def test_each_number_of_threads_has_its_own_stock() -> None:
    rows = {(row.threads, row.way): row for row in structpages.rows(parse_userspace(USERSPACE))}
    assert len(rows) == 8
    assert (rows[1, "movnti"].ratio.value, rows[2, "movnti"].ratio.value) == (0.5, 0.9)
    assert rows[2, "movnti"].alone == 1 and rows[2, "plain"].alone == 0
    with pytest.raises(LabError, match="stock was not timed"):
        structpages.rows(parse_userspace(USERSPACE.replace(" stock ", " plain ")))


def test_rows_of_uses_are_apart() -> None:
    measured = Measured(tuple(timed("hotplug", stock=[1000] * 4, ours=[900] * 4)), pages=1000)
    assert structpages.rows(measured) == []
    stock, ours = structpages.use_rows(measured)
    assert stock.ratio is None and ours.ratio.value == pytest.approx(0.9)


def timed(what: str = structpages.DEFERRED, **ways: list[int]) -> list[Timing]:
    return [Timing(what, 1, way, ns, 1) for way, times in ways.items() for ns in times]


def limits(monkeypatch: pytest.MonkeyPatch, *runs: list[Timing], cpus: int = 1) -> dict[str, Limit]:
    """With all other uses as fast as can be."""
    monkeypatch.setattr(structpages.native, "cpus", lambda: cpus)
    others = structpages.USES.keys() - {timing.what for run in runs for timing in run}
    uses = [timing for use in others for timing in timed(use, stock=[2], ours=[1], plain=[1], movnti=[1])]
    found = structpages.time_gate().limits_of(times_of(Measured(tuple(run)) for run in (*runs, uses)))
    return {limit.name: limit for limit in found}


class TestLimits:
    def test_the_limit_and_stock_are_what_it_compares_with(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = limits(monkeypatch, list(parse_userspace(USERSPACE).timings), cpus=2)
        assert list(map(str, found.values()))[2:4] == [
            "2 threads, of the machine's limit: 1.174 (1.174 to 1.174), at most 1.1",
            "2 threads, of stock: 0.900 (0.900 to 0.900), at most 1.0",
        ]

    @pytest.mark.parametrize(
        ("limit", "ours", "verdict"),
        [
            ([100] * 8, [105] * 8, Verdict.PASSED),
            ([100] * 8, [115] * 8, Verdict.FAILED),
            ([100] * 8, [105] * 4 + [115] * 4, Verdict.OPEN),
            # What was slow for both is no reason, and what was slow for ours alone is one.
            ([100, 200] * 4, [105, 210] * 4, Verdict.PASSED),
            ([200, 100] * 4, [105, 120] * 4, Verdict.OPEN),
        ],
    )
    def test_round_by_round_of_all_runs(
        self, limit: list[int], ours: list[int], verdict: Verdict, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        halves = ((limit[:4], ours[:4]), (limit[4:], ours[4:]))
        runs = [timed(stock=one, limit=one, movnti=other) for one, other in halves]
        assert limits(monkeypatch, *runs)["1 thread, of the machine's limit"].verdict is verdict

    @pytest.mark.parametrize(
        ("ns", "verdict"), [(100, Verdict.PASSED), (103, Verdict.FAILED), (102, Verdict.PASSED)]
    )
    def test_a_use_may_take_as_long_as_in_stock(
        self, ns: int, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow = timed("hotplug", stock=[100], ours=[ns], plain=[99], movnti=[99])
        found = limits(monkeypatch, list(parse_userspace(USERSPACE).timings), slow)
        assert found["hotplug, 128 MiB at a time, of stock"].verdict is verdict
        # Nor does a use count for pages that are freed together.
        assert found["1 thread, of the machine's limit"].verdict is Verdict.PASSED

    def test_what_was_not_timed_does_not_pass(self, monkeypatch: pytest.MonkeyPatch) -> None:
        timings = list(parse_userspace(USERSPACE).timings)
        with pytest.raises(LabError, match="not time deferred: limit, threads 4; .* movnti, threads 4"):
            limits(monkeypatch, timings, cpus=4)
        with pytest.raises(LabError, match="not time hotplug: ours, threads 1"):
            limits(monkeypatch, timings, timed("hotplug", stock=[1], plain=[1], movnti=[1]))
