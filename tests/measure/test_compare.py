# SPDX-License-Identifier: GPL-2.0-only
"""Comparing and sweeping: what runs come to, and what is shown and recorded of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from padlab.core import stats, table
from padlab.core.errors import LabError
from padlab.kernel.build import Build
from padlab.kernel.kconfig import PERF
from padlab.measure import compare, provenance
from padlab.measure.compare import Run
from padlab.vm import boot, machine, summary
from tests.conftest import EMULATED, EXACT, set_base
from tests.vm.test_machine import published_rows

BUILD = Build("patched", PERF, Path("/t"), Path("/o"), Path("/o/bzImage"), "6.12.1-1", "6.12.1")
EPYC = machine.load("epyc-7551-kvm")


def runs(stock: list[float], patched: list[float], pages: int = 1000) -> tuple[list[Run], list[Run]]:
    return [Run("stock", ms, 10 * ms, None) for ms in stock], [
        Run("patched", ms, 10 * ms, pages) for ms in patched
    ]


def test_percentages_are_rounded_as_published() -> None:
    rows = [row for row in published_rows() if row["threads"] != "0"]
    assert len(rows) > 20
    for row in rows:
        cpus = machine.load(row["machine"]).nodes[0].cpus
        assert summary.threads_of_percent(int(row["node_pct"]), cpus) == int(row["threads"])


def test_rounding_is_to_nearest_and_one_at_least() -> None:
    cases = {(2, 52): 1, (12, 52): 6, (25, 52): 13, (37, 52): 19, (1, 4): 1, (100, 1): 1, (38, 4): 2}
    for (percent, cpus), threads in cases.items():
        assert summary.threads_of_percent(percent, cpus) == threads


@pytest.mark.parametrize(
    ("name", "threads"),
    [("epyc-7551-kvm", [1, 2, 4, 6, 8, 12, 16]), ("one-cpu", [1]), ("three-nodes", [1, 2])],
)
def test_a_row_for_each_number_of_threads(
    name: str, threads: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_of(
        _machine: object, ready: boot.Ready, _label: str, exact: bool, threads: str | None
    ) -> tuple[Run, object]:
        ms = 1000.0 / int(threads) if threads else 2000.0
        return Run(ready.build.kernel, ms, 2 * ms, 5), EMULATED

    monkeypatch.setattr(
        boot, "prepare", lambda kernel: boot.Ready(replace(BUILD, kernel=kernel), Path("initrd"))
    )
    monkeypatch.setattr(compare, "run_of", run_of)
    assert compare.main([machine.load(name)], threads=[str(number) for number in threads]) == 0
    _title, accel, _units, _names, stock, *ours, pages = capsys.readouterr().out.splitlines()
    assert accel.endswith("emulated times are no proof of speed: --exact counts instructions; medians of 3")
    published = {
        row["threads"]: row["deferred_init_ms"] for row in published_rows() if row["machine"] == name
    }
    of_2020 = [f"{float(published[number]):,.0f}" for number in ("0", "1") if published]
    of_stock = "2,000.0 (2,000.0 to 2,000.0) 4,000.0 (4,000.0 to 4,000.0)"
    assert stock.split() == ["stock", "all", *of_stock.split(), *of_2020[:1]]
    assert [int(line.split()[1]) for line in ours] == threads
    own = "1,000.0 (1,000.0 to 1,000.0) 0.50 2,000.0 (2,000.0 to 2,000.0) 0.50"
    assert ours[0].split() == ["patched", "1", *own.split(), *of_2020[1:]]
    assert pages.startswith("5 deferred pages")


def test_timed_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    comparison = compare.compare(EPYC, *runs([10, 11, 12], [5, 6, 7]), EMULATED)
    assert [figure.name for figure in comparison.figures] == ["deferred init", "boot to init"]
    assert comparison.figures[0].ratio == stats.Ratio(6 / 11, None)
    compare.show([compare.compare(EPYC, *runs([10, 11, 12], [9, 10, 11]), EMULATED)], BUILD)
    said = capsys.readouterr().out
    assert f" 0.91{table.OPEN} " in said
    assert f"\n{table.OPEN} such a ratio means nothing: the ranges overlap\n" in said


def test_exact_comparisons(capsys: pytest.CaptureFixture[str]) -> None:
    comparison = compare.compare(EPYC, *runs([0.0302, 0.0302], [0.0151, 0.0151]), EXACT)
    per_page = comparison.figures[0]
    assert per_page.unit == "instructions"
    assert (per_page.stock.median, per_page.patched.median) == pytest.approx((30.2, 15.1))
    assert per_page.ratio.value == pytest.approx(0.5)
    compare.show([comparison], BUILD)
    assert "stock: equal to the digit" in capsys.readouterr().out
    comparison = compare.compare(EPYC, *runs([0.0302, 0.0302], [0.0151, 0.0152]), EXACT)
    assert comparison.differing == ("patched",)
    compare.show([comparison], BUILD)
    assert "patched: the runs differ" in capsys.readouterr().out


def test_exact_without_deferred_pages() -> None:
    comparison = compare.compare(machine.load("tiny"), *runs([0.0, 0.0], [0.0, 0.0], pages=0), EXACT)
    assert [figure.name for figure in comparison.figures] == ["deferred init", "boot to init"]
    assert comparison.figures[0].ratio.value is None


@pytest.mark.usefixtures("default_base")
@pytest.mark.parametrize(("last", "status"), [(0.0151, 0), (0.0152, 1)])
def test_only_exact_runs_are_recorded_and_fail_if_they_differ(
    last: float,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_base(monkeypatch, results=tmp_path)
    monkeypatch.setattr(
        boot, "prepare", lambda kernel: boot.Ready(replace(BUILD, kernel=kernel), Path("initrd"))
    )
    booted = dict(zip(compare.KERNELS, runs([0.0302, 0.0302], [0.0151, last]), strict=True))

    def run_of(
        _machine: object, ready: boot.Ready, _label: str, exact: bool, **_how: object
    ) -> tuple[Run, object]:
        of_kernel = booted[ready.build.kernel]
        return (of_kernel.pop(), EXACT) if exact else (of_kernel[0], EMULATED)

    monkeypatch.setattr(compare, "run_of", run_of)
    assert compare.main([EPYC]) == 0 and "deferred init" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    assert compare.main([EPYC], exact=True) == status
    record = provenance.load(tmp_path / "compare-epyc-7551-kvm-exact.json", "", "")
    assert record["command"] == "./lab compare --machine epyc-7551-kvm --exact"
    assert record["source"] == "linux-source-6.12 6.12.1-1"
    assert record["accelerator"] == "tcg, icount" and record["qemu"] == "10.0.2"
    assert len(record["date"]) == len("2026-01-01")


def test_records_are_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.json"
    provenance.write(target, "one")
    assert target.read_text() == "one"
    assert [path.name for path in target.parent.iterdir()] == ["a.json"]
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="recording b.json"):
        provenance.write(tmp_path / "file" / "b.json", "")
