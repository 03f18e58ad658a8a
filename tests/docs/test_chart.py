# SPDX-License-Identifier: GPL-2.0-only
"""The README's chart: drawn from the records of the machine with the most CPUs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from padlab.core import paths, plot
from padlab.core.errors import LabError
from padlab.docs import chart, records
from padlab.measure import provenance


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the records of CPUs."""
    shutil.copytree(paths.RECORDED / provenance.CPUS, tmp_path / provenance.CPUS)
    monkeypatch.setattr(paths, "RECORDED", tmp_path)
    return tmp_path


def test_draws_a_picture_that_repeats(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert chart.main() == 0
    first = (results / "chart.png").read_bytes()
    assert first.startswith(b"\x89PNG")
    assert f"drawn from cpus/{chart.chosen()}" in capsys.readouterr().out
    chart.main()
    assert (results / "chart.png").read_bytes() == first


def test_shows_what_is_recorded(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[plot.Bars] = []
    monkeypatch.setattr(plot, "figure", lambda panels, *_rest: seen.extend(panels) or b"a picture")
    chart.main()
    record = records.of_cpu("6.12", chart.chosen(), "bench.json")
    row = records.find(record["benches"][0]["rows"], threads=records.cpus(record), way="movnti")
    assert row is not None
    bar = seen[0].groups[f"{records.cpus(record)} threads"][1]
    assert (bar.value, bar.low, bar.high) == tuple(row["ns"][key] for key in ("median", "low", "high"))
    assert list(seen[1].groups)[:2] == ["stock, 1 thread", "patched, 1 thread"]


def test_without_both_records_there_is_no_chart(results: Path) -> None:
    for path in results.rglob("hugepages.json"):
        path.unlink()
    with pytest.raises(LabError, match="no CPU has both records; record them with: ./lab bench"):
        chart.main()


def test_a_record_of_another_cpu_is_not_shown(results: Path) -> None:
    chosen = chart.chosen()
    path = results / provenance.CPUS / chosen / "bench.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "host": "AMD EPYC (family 25, model 1), 1 CPUs"}))
    assert chart.chosen() != chosen
