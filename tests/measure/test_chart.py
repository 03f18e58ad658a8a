# SPDX-License-Identifier: GPL-2.0-only
"""The README's chart is drawn from recorded results, and says so when they are missing or old."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from padlab.core import paths, plot
from padlab.core.errors import LabError
from padlab.measure import chart, growth, provenance
from padlab.vm.accel import Accel


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the recorded results that the chart is drawn from."""
    for base in paths.bases():
        files = [paths.results_of(base) / "growth.json", *provenance.of_cpus("bench.json", base).values()]
        for path in files:
            place = tmp_path / path.relative_to(paths.RECORDED)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
    monkeypatch.setattr(paths, "RECORDED", tmp_path)
    return tmp_path


@pytest.fixture
def panels(monkeypatch: pytest.MonkeyPatch) -> list[plot.Bars]:
    """What is handed to the plot, which is not drawn."""
    seen: list[plot.Bars] = []

    def take(drawn: list[plot.Bars], *_rest: object) -> bytes:
        seen.extend(drawn)
        return b"a picture"

    monkeypatch.setattr(plot, "figure", take)
    return seen


def bench_of(results: Path, base: str = "") -> Path:
    """One that is recorded."""
    return next((results / base / provenance.CPUS).glob("*/bench.json"))


def replace(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_draws_a_picture_and_names_its_sources(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert chart.main() == 0
    said = capsys.readouterr().out
    assert (results / "chart.png").read_bytes().startswith(b"\x89PNG")
    files = [
        results / "growth.json",
        results / "7.3/growth.json",
        bench_of(results),
        bench_of(results, "7.3"),
    ]
    assert all(str(path) in said for path in files)


def test_equal_results_give_an_equal_picture(results: Path) -> None:
    chart.main()
    first = (results / "chart.png").read_bytes()
    chart.main()
    assert (results / "chart.png").read_bytes() == first


def test_shows_what_is_recorded(results: Path, panels: list[plot.Bars]) -> None:
    goals = [
        {"name": "a deferred page", "stock": 30.0, "patched": 15.0},
        {"name": "a page of the lower zones", "stock": 40.0, "patched": 10.0},
    ]
    replace(results / "7.3/growth.json", goals=goals)
    chart.main()
    counted, timed = panels
    groups = list(counted.groups.values())
    assert [[bar.value for bar in bars] for bars in groups[2:]] == [[30.0, 15.0], [40.0, 10.0]]
    assert counted.groups["deferred page,\nLinux 7.3"][1].text == "patched 15.00 (0.50 of stock)"
    assert next(iter(counted.groups)) == "deferred page,\nLinux 6.12"
    assert all(bar.low and bar.low <= bar.value for bars in timed.groups.values() for bar in bars)


def test_every_cpu_has_its_bars(results: Path, panels: list[plot.Bars]) -> None:
    had = len(list(results.glob("cpus/*/bench.json")))
    for slug, host in {
        "intel-family-6-model-106": "Intel(R) Xeon(R) Processor @ 2.90GHz (family 6, model 106), 2 CPUs",
        "intel-family-6-model-207": "Intel(R) Xeon(R) CPU (family 6, model 207), 2 CPUs",
    }.items():
        copy = results / "cpus" / slug / "bench.json"
        copy.parent.mkdir()
        shutil.copy(bench_of(results), copy)
        replace(copy, host=host)
    chart.main()
    names = list(panels[1].groups)
    of_default = [name for name in names if "Linux 6.12" in name]
    assert len(of_default) == 2 * (had + 2)
    assert "userspace, 2 threads,\nLinux 6.12, Intel Xeon,\nfamily 6, model 106" in of_default
    assert "User-mode Linux, 1 thread,\nLinux 6.12, AMD EPYC,\nfamily 25, model 17" in of_default


def test_its_goals_are_those_of_growth() -> None:
    costs = growth.Costs({phase.name: 1.0 for phase in growth.PHASES}, 1.0, 1)
    measured = growth.Growth(
        {kernel: dict.fromkeys(growth.SIZES_GIB, costs) for kernel in growth.KERNELS},
        {kernel: dict.fromkeys(growth.LOW_GIB, costs) for kernel in growth.KERNELS},
        Accel("tcg", "TCG, exact", "10.0.2", "single", exact=True),
        {kernel: dict.fromkeys(growth.CRITICAL_GIB, 1.0) for kernel in growth.KERNELS},
    )
    assert set(chart.GOALS) <= {goal.name for goal in growth.goals(measured)}


class TestBadInput:
    @pytest.mark.parametrize("base", ["", "7.3"])
    @pytest.mark.parametrize("name", ["growth.json", "bench.json"])
    def test_missing(self, results: Path, name: str, base: str) -> None:
        for path in [*(results / base).glob(name), *(results / base / "cpus").glob(f"*/{name}")]:
            path.unlink()
        with pytest.raises(LabError, match=f"{base}.*/{name}") as error:
            chart.main()
        assert f"./lab {Path(name).stem}" in error.value.todo
        assert ("--base 7.3" in error.value.todo) == (base == "7.3")
        assert not (results / "chart.png").exists()

    def test_not_json(self, results: Path) -> None:
        bench_of(results).write_text("{")
        with pytest.raises(LabError, match=r"bench\.json is not JSON"):
            chart.main()

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("growth.json", {"goals": []}),
            ("growth.json", {"goals": {"a deferred page": 1}}),
            ("growth.json", {"goals": None}),
            ("bench.json", {"benches": []}),
            ("bench.json", {"benches": [{"rows": [1]}]}),
            ("bench.json", {"host": "AMD EPYC, 2 CPUs"}),
            ("7.3/growth.json", {"goals": []}),
        ],
    )
    def test_of_another_form(self, results: Path, name: str, values: dict[str, object]) -> None:
        replace(bench_of(results) if name == "bench.json" else results / name, **values)
        with pytest.raises(LabError, match="has another form") as error:
            chart.main()
        assert name in error.value.why and "record it again" in error.value.todo
