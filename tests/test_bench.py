# SPDX-License-Identifier: GPL-2.0-only
"""./lab bench: what its two programs print, and what it comes to."""

from __future__ import annotations

import csv
import io

import pytest

from padlab import bench, gate
from padlab.errors import LabError

UML = """\
Kernel command line: mem=32G memmap_bulk_kunit.rounds=3 root=98:0
KTAP version 1
1..1
    # bulk_bench: bench: 1000 pages in 248 runs, 496 MiB of struct pages
    # bulk_bench: bench: round 0 stock 4000 ns
    # bulk_bench: bench: round 0 bulk 2000 ns
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
memmap_bench: memory: 1000 pages, 4096 MiB of struct pages, 4096 MiB huge, cache 32768 KiB
memmap_bench: kernel's choice: movnti
memmap_bench: round 1 threads 1 ran 1 stock 5000 ns
memmap_bench: round 1 threads 1 ran 1 movnti 2500 ns
memmap_bench: round 1 threads 1 ran 1 plain 3500 ns
memmap_bench: round 1 threads 2 ran 2 stock 3000 ns
memmap_bench: round 1 threads 2 ran 1 movnti 2700 ns
memmap_bench: round 1 threads 2 ran 2 plain 1800 ns
memmap_bench: ok
"""

CHECK = """\
memmap_bench: stores: movnti: 2000 runs, 0 instructions emulated, seed 0x1
memmap_bench: stores: emulated movdir64b: 400 runs, 99 instructions emulated, seed 0x1
memmap_bench: ok
"""


def parse_uml(text: str) -> bench.Measured:
    return bench.parse_uml(text.splitlines())


def parse_userspace(text: str) -> bench.Measured:
    return bench.parse_userspace(text.splitlines())


class TestUml:
    def test_rounds(self) -> None:
        measured = parse_uml(UML)
        assert measured.pages == 1000
        assert measured.ended and not bench.problems(measured)
        assert [(t.way, t.ns) for t in measured.timings[:2]] == [("stock", 4000), ("movnti", 2000)]

    def test_what_the_kernel_chose(self) -> None:
        measured = bench.parse_uml(UML.splitlines(), "movdir64b")
        assert {timing.way for timing in measured.timings} == {"stock", "movdir64b"}

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("    not ok 1 bulk_bench", "not ok 1 bulk_bench"),
            ("    # bulk_bench: ASSERTION FAILED at mm/memmap_bulk_kunit.c:3", "ASSERTION FAILED"),
            ("Kernel panic - not syncing: no", "Kernel panic"),
        ],
    )
    def test_failures(self, line: str, said: str) -> None:
        measured = parse_uml(UML.replace("    ok 1 bulk_bench", line))
        assert said in bench.problems(measured)[0]

    def test_cut_short(self) -> None:
        assert "no result" in bench.problems(parse_uml(UML.partition("    ok")[0]))[0]


class TestUserspace:
    def test_rounds(self) -> None:
        measured = parse_userspace(USERSPACE)
        assert measured.pages == 1000 and measured.ended
        assert len(measured.timings) == 6
        assert measured.timings[4] == bench.Timing(2, "movnti", 2700, 1)

    def test_checks(self) -> None:
        measured = parse_userspace(CHECK)
        assert measured.ended and len(measured.notes) == 2
        assert all(bench._STORES.match(note) for note in measured.notes)

    def test_failure(self) -> None:
        measured = parse_userspace("noise\nmemmap_bench: FAILED: movnti: run of 3 from 1\n")
        assert bench.problems(measured, 1) == ["movnti: run of 3 from 1"]

    def test_status(self) -> None:
        assert bench.problems(parse_userspace(CHECK), 3) == ["it says ok and ended with status 3"]
        assert "status -6" in bench.problems(parse_userspace("noise\n"), -6)[0]


class TestRows:
    def test_ratio_of_medians(self) -> None:
        stock, ours = bench.rows(parse_uml(UML))
        assert (stock.way, stock.ratio, stock.bytes) == ("stock", None, 128)
        assert (ours.ns.median, ours.bytes) == (2.0, 64)
        assert ours.ratio is not None and ours.ratio.noise is None
        assert ours.ratio.value == pytest.approx(2.0 / 4.5)

    def test_each_number_of_threads_has_its_own_stock(self) -> None:
        found = {(row.threads, row.way): row for row in bench.rows(parse_userspace(USERSPACE))}
        assert len(found) == 6
        one, two = found[1, "movnti"].ratio, found[2, "movnti"].ratio
        assert one is not None and one.value == 0.5
        assert two is not None and two.value == 0.9
        assert found[2, "movnti"].alone == 1 and found[2, "plain"].alone == 0

    def test_few_rounds_are_told(self) -> None:
        ratio = bench.rows(parse_userspace(USERSPACE))[1].ratio
        assert ratio is not None and ratio.noise and "no spread" in ratio.noise

    def test_without_stock(self) -> None:
        with pytest.raises(LabError, match="stock was not timed"):
            bench.rows(parse_userspace(USERSPACE.replace(" stock ", " plain ")))

    def test_gate(self) -> None:
        found = bench.too_slow(bench.rows(parse_userspace(USERSPACE)), "movnti")
        assert found == ["userspace, 2 threads: 0.90 of stock's time per page, not 0.8 (2.70 ns)"]
        assert not bench.too_slow(bench.rows(parse_uml(UML)), "movnti")


def test_goals_are_tried_again_until_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate.time, "sleep", lambda seconds: None)
    left = [["slow"], ["slow"], [], ["never asked"]]
    assert gate.until_met(lambda: left.pop(0)) == []
    assert left == [["never asked"]]
    assert gate.until_met(lambda: ["slow"]) == ["slow"]


def test_csv_has_every_round() -> None:
    text = bench.to_csv_rows([parse_uml(UML), parse_userspace(USERSPACE)])
    table = list(csv.DictReader(io.StringIO(text)))
    assert len(table) == 12
    assert table[0]["ns_per_page"] == "4.000"
    assert table[-1] == {
        "bench": "userspace",
        "pages": "1000",
        "threads": "2",
        "took_part": "2",
        "way": "plain",
        "ns": "1800",
        "ns_per_page": "1.800",
    }
