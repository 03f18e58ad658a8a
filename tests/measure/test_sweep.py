# SPDX-License-Identifier: GPL-2.0-only
"""Comparing and sweeping: what is run, and how results are printed and recorded."""

import csv
import io
from pathlib import Path

import pytest

from padlab.core import stats
from padlab.core.errors import LabError
from padlab.kernel.build import Build
from padlab.kernel.kconfig import PERF
from padlab.measure import compare, provenance, published, sweep
from padlab.measure.compare import Run
from padlab.vm import machine, summary
from padlab.vm.accel import Accel

BUILD = Build("patched", PERF, Path("/t"), Path("/o"), Path("/o/bzImage"), "6.12.1-1", "6.12.1")
EPYC = machine.load("epyc-7551-kvm")

EMULATED = Accel("tcg", "TCG, emulated (a test)", "10.0.2", "multi")
EXACT = Accel("tcg", "TCG, exact (a test)", "10.0.2", "single", exact=True)

pytestmark = pytest.mark.usefixtures("no_qemu")


@pytest.mark.parametrize("name", [name for name in machine.names() if published.rows(name)])
def test_percentages_are_rounded_as_published(name: str) -> None:
    cpus = machine.load(name).nodes[0].cpus
    for row in published.rows(name):
        if row.percent:
            assert summary.threads_of_percent(row.percent, cpus) == row.threads


def test_rounding_is_to_nearest_and_one_at_least() -> None:
    cases = {(2, 52): 1, (12, 52): 6, (25, 52): 13, (37, 52): 19, (1, 4): 1, (100, 1): 1, (38, 4): 2}
    for (percent, cpus), threads in cases.items():
        assert summary.threads_of_percent(percent, cpus) == threads


def test_published_rows_are_swept() -> None:
    points = sweep.points(EPYC)
    assert points[0] == sweep.Point(None, 16)
    assert [(p.percent, p.threads) for p in points[1:]] == [
        (6, 1),
        (12, 2),
        (25, 4),
        (38, 6),
        (50, 8),
        (75, 12),
        (100, 16),
    ]
    assert [p.kernel for p in points[:2]] == ["stock", "patched"]


@pytest.mark.parametrize("name", machine.names())
def test_any_machine_can_be_swept_from_one_thread_to_all(name: str) -> None:
    made = machine.load(name)
    threads = [p.threads for p in sweep.points(made)[1:]]
    assert threads[0] == 1 and threads[-1] == max(node.cpus for node in made.nodes)
    assert threads == sorted(set(threads))


def made_sweep(name: str = "epyc-7551-kvm") -> sweep.Sweep:
    made = machine.load(name)
    rows = []
    for point in sweep.points(made):
        base = 1000 if point.percent is None else 1200 / point.threads
        runs = [Run(point.kernel, base + d, 2 * base + d, 5) for d in (-1.0, 0.0, 1.0)]
        rows.append(sweep._row(made, point, runs))
    return sweep.Sweep(made, tuple(rows), EMULATED)


def test_the_published_form() -> None:
    text = sweep.format_table(made_sweep(), "6.12.1-1")
    lines = text.splitlines()
    assert "node% (thr)    speedup  time_ms (stdev)    speedup  time_ms (stdev)" in text
    stock = next(line for line in lines if "stock ( 16)" in line)
    one = next(line for line in lines if "6% (  1)" in line)
    two = next(line for line in lines if "12% (  2)" in line)
    # ours: boot, deferred; published: boot, deferred
    assert one.count("--") == 4
    assert two.count("50.0%") == 2 and "1200.0 (  1.0)" in two and " 600.0 (  1.0)" in two
    assert "133.0 (  1.0)" in two and "45.9%" in two
    assert "1029.3 ( 25.1)" in stock and "16.7%" in stock
    assert "emulated: shape of the table only" in text
    assert "speedup: time saved against 1 thread per node" in text
    rows = [line for line in lines if line.count("(") == 5]
    assert len({len(line) for line in rows}) == 1


def test_unpublished_machines_have_no_published_columns() -> None:
    text = sweep.format_table(made_sweep("three-nodes"), "6.12.1-1")
    assert "published" not in text


def test_csv() -> None:
    text = sweep.to_csv(made_sweep(), {"command": "./lab sweep --machine epyc-7551-kvm"})
    assert text.startswith("# command: ./lab sweep --machine epyc-7551-kvm\n")
    rows = list(csv.DictReader(io.StringIO("".join(li for li in text.splitlines(True) if li[0] != "#"))))
    assert len(rows) == 8
    assert rows[0]["kernel"] == "stock" and rows[0]["node_pct"] == ""
    assert rows[2]["threads"] == "2" and rows[2]["deferred_init_ms"] == "600.000"


def runs(stock: list[float], patched: list[float], pages: int = 1000) -> list[Run]:
    return [
        *(Run("stock", ms, 10 * ms, None) for ms in stock),
        *(Run("patched", ms, 10 * ms, pages) for ms in patched),
    ]


def test_timed_comparison() -> None:
    done = compare.compare(EPYC, runs([10, 11, 12], [5, 6, 7]), EMULATED)
    assert [f.name for f in done.figures] == ["deferred init", "boot to init"]
    assert done.figures[0].ratio == stats.Ratio(6 / 11, None)
    assert done.ok


def test_noise_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    done = compare.compare(EPYC, runs([10, 11, 12], [9, 10, 11]), EMULATED)
    compare.show(done, BUILD)
    out = capsys.readouterr().out
    assert "warning: deferred init: the ratio means nothing: the ranges overlap" in out
    assert out.index("stock") < out.index("patched/stock")


def test_exact_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    done = compare.compare(EPYC, runs([0.0302, 0.0302], [0.0151, 0.0151]), EXACT)
    per_page = done.figures[0]
    assert per_page.unit == "instructions"
    assert (per_page.stock.median, per_page.patched.median) == pytest.approx((30.2, 15.1))
    assert per_page.ratio.value == pytest.approx(0.5)
    assert done.ok
    compare.show(done, BUILD)
    out = capsys.readouterr().out
    assert "stock: equal to the digit over 2 runs" in out and "30.200" in out
    assert "stock's are the same" in out


def test_exact_runs_that_differ_fail(capsys: pytest.CaptureFixture[str]) -> None:
    done = compare.compare(EPYC, runs([0.0302, 0.0302], [0.0151, 0.0152]), EXACT)
    assert done.differing == ("patched",) and not done.ok
    compare.show(done, BUILD)
    assert "patched: the runs differ" in capsys.readouterr().out


def test_exact_without_deferred_pages() -> None:
    done = compare.compare(machine.load("tiny"), runs([0.0, 0.0], [0.0, 0.0], pages=0), EXACT)
    assert [f.name for f in done.figures] == ["deferred init", "boot to init"]
    assert done.figures[0].ratio.value is None


@pytest.mark.parametrize(("exact", "few"), [(False, 0), (True, 1), (False, -3)])
def test_too_few_runs(exact: bool, few: int) -> None:
    with pytest.raises(LabError, match="--runs"):
        compare.main([machine.load("tiny")], exact=exact, runs=few)


def test_sweep_needs_a_run() -> None:
    with pytest.raises(LabError, match="--runs 0"):
        sweep.main(machine.load("tiny"), runs=0)


def test_records_are_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.json"
    provenance.write_json(target, {"a": 1})
    assert target.read_text() == '{\n "a": 1\n}\n'
    assert [path.name for path in target.parent.iterdir()] == ["a.json"]
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="recording b.json"):
        provenance.write_json(tmp_path / "file" / "b.json", {})


@pytest.mark.usefixtures("default_base")
def test_a_record_says_what_made_it() -> None:
    data = compare.as_dict(compare.compare(EPYC, runs([1, 2, 3], [1, 2, 3]), EMULATED), BUILD)
    assert data["command"] == "./lab compare --machine epyc-7551-kvm --runs 3"
    assert data["source"] == "linux-source-6.12 6.12.1-1"
    assert data["accelerator"] == "tcg, a thread for each CPU" and data["qemu"] == "10.0.2"
    assert "host" in data
    exact = compare.as_dict(compare.compare(EPYC, runs([1, 1], [1, 1]), EXACT), BUILD)
    assert exact["command"] == "./lab compare --machine epyc-7551-kvm --exact"
    assert exact["equal_over_runs"] is True and exact["accelerator"] == "tcg, icount"
