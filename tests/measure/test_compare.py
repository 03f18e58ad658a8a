# SPDX-License-Identifier: GPL-2.0-only
"""Comparing and sweeping: what runs come to, and what is shown and recorded of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from padlab.core import table
from padlab.kernel.build import Build
from padlab.kernel.kconfig import PERF
from padlab.measure import compare, provenance
from padlab.measure.compare import Run
from padlab.vm import boot, machine, summary
from tests.conftest import EMULATED, EXACT, set_base
from tests.vm.test_machine import published_rows

BUILD = Build("patched", PERF, Path("/t"), Path("/o"), Path("/o/bzImage"), "6.12.1-1", "6.12.1")
EPYC = machine.load("epyc-7551-kvm")


def test_percentages_are_rounded_as_published() -> None:
    rows = [row for row in published_rows() if row["threads"] != "0"]
    cases = {(row["node_pct"], machine.load(row["machine"]).nodes[0].cpus): row["threads"] for row in rows}
    assert len(rows) > 20
    # To the nearest, and one at least.
    for (percent, cpus), threads in {**cases, (1, 4): 1, (50, 3): 2, (38, 4): 2}.items():
        assert summary.threads_of_percent(int(percent), cpus) == int(threads)


# By kernel and threads, ms of deferred init: one boot after the other has the next.
Boots = dict[tuple[str, str | None], list[float]]


@pytest.fixture
def boots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Boots:
    given: Boots = {}

    def run_of(
        _machine: object, ready: boot.Ready, _label: str, exact: bool, threads: str | None
    ) -> tuple[Run, object]:
        kernel = ready.build.kernel
        ms = given[kernel, threads].pop(0)
        return Run(ms, 10 * ms, None if kernel == "stock" else 1000), EXACT if exact else EMULATED

    set_base(monkeypatch, results=tmp_path)
    monkeypatch.setattr(
        boot, "prepare", lambda kernel: boot.Ready(replace(BUILD, kernel=kernel), Path("initrd"))
    )
    monkeypatch.setattr(compare, "run_of", run_of)
    return given


@pytest.mark.parametrize(("name", "threads"), [("epyc-7551-kvm", ["1", "2", "4", "16"]), ("one-cpu", ["1"])])
def test_a_row_for_each_number_of_threads(
    name: str, threads: list[str], boots: Boots, capsys: pytest.CaptureFixture[str]
) -> None:
    boots |= {("stock", None): [2000.0] * 3, **{("patched", nr): [1000.0 / int(nr)] * 3 for nr in threads}}
    assert compare.main([machine.load(name)], threads=threads) == 0
    _title, accel, _units, _names, stock, *ours, pages = capsys.readouterr().out.splitlines()
    assert accel.endswith("emulated times are no proof of speed: --exact counts instructions; medians of 3")
    published = {
        row["threads"]: row["deferred_init_ms"] for row in published_rows() if row["machine"] == name
    }
    of_2020 = [f"{float(published[number]):,.0f}" for number in ("0", "1") if published]
    of_stock = "2,000.0 (2,000.0 to 2,000.0) 20,000.0 (20,000.0 to 20,000.0)"
    assert stock.split() == ["stock", "all", *of_stock.split(), *of_2020[:1]]
    assert [line.split()[1] for line in ours] == threads
    own = "1,000.0 (1,000.0 to 1,000.0) 0.50 10,000.0 (10,000.0 to 10,000.0) 0.50"
    assert ours[0].split() == ["patched", "1", *own.split(), *of_2020[1:]]
    assert pages.startswith("1,000 deferred pages")


def test_ranges_that_overlap_leave_it_open(
    boots: Boots, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first of each is to warm up; nothing is recorded of times."""
    boots |= {("stock", None): [99, 10, 11, 12, 11, 11], ("patched", None): [99, 9, 10, 11, 10, 10]}
    assert compare.main([EPYC]) == 0
    said = capsys.readouterr().out
    assert "11.0 (10.0 to 12.0)" in said and f" 0.91{table.OPEN} " in said
    assert f"\n{table.OPEN} such a ratio means nothing: the ranges overlap\n" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("default_base")
@pytest.mark.parametrize(
    ("last", "status", "says"),
    [(0.0151, 0, "patched: equal to the digit"), (0.0152, 1, "patched: the runs differ")],
)
def test_exact_runs_are_recorded_and_fail_if_they_differ(
    last: float,
    status: int,
    says: str,
    boots: Boots,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_base(monkeypatch, results=tmp_path)
    boots |= {("stock", None): [0.0302, 0.0302], ("patched", None): [0.0151, last]}
    assert compare.main([EPYC], exact=True) == status
    said = capsys.readouterr().out
    assert "stock: equal to the digit" in said and says in said
    record = provenance.load(tmp_path / "compare-epyc-7551-kvm-exact.json", "", "")
    per_page = record["figures"][0]
    assert (per_page["name"], per_page["unit"]) == ("per deferred page", "instructions")
    assert per_page["stock"]["median"] == pytest.approx(30.2)
    assert record["differing"] == ["patched"] * status
    assert record["command"] == "./lab compare --machine epyc-7551-kvm --exact"
    assert record["source"] == "linux-source-6.12 6.12.1-1"
    assert record["accelerator"] == "tcg, icount" and record["qemu"] == "10.0.2"
    assert len(record["date"]) == len("2026-01-01")


def test_exact_without_deferred_pages() -> None:
    comparison = compare.compare(EPYC, *([Run(0.0, 0.0, 0)] * 2 for _ in compare.KERNELS), EXACT)
    assert [figure.name for figure in comparison.figures] == ["deferred init", "boot to init"]
    assert comparison.figures[0].ratio.value is None
