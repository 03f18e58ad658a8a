# SPDX-License-Identifier: GPL-2.0-only
"""The README's chart: drawn from the records of the machine with the most CPUs."""

import json
import shutil
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.docs import chart, records
from padlab.measure import provenance


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the records of CPUs."""
    shutil.copytree(paths.RECORDED / provenance.CPUS, tmp_path / provenance.CPUS)
    monkeypatch.setattr(paths, "RECORDED", tmp_path)
    return tmp_path


def test_is_up_to_date() -> None:
    assert (paths.RECORDED / chart.NAME).read_text() == chart.draw(), "draw it again with: ./lab docs"


def test_shows_what_is_recorded() -> None:
    record = records.of_cpu("6.12", chart.chosen(), "bench.json")
    row = records.find(record["benches"][0]["rows"], threads=records.cpus(record), way="movnti")
    assert row is not None
    stock, ours = chart.struct_pages(record)[f"{records.cpus(record)} threads"]
    assert (ours.value, ours.low, ours.high) == tuple(row["ns"][key] for key in ("median", "low", "high"))
    zeroed = records.of_cpu("6.12", chart.chosen(), "hugepages.json")
    groups = chart.gib_pages(zeroed)
    assert [bar.name for bar in groups["1 thread"]] == ["stock", "patched"]
    row = records.find(zeroed["native"], kib=1 << 20, threads=1, way="stock")
    assert row is not None and groups["1 thread"][0].value == row["us"]["median"] / 1000
    text = "".join(xml.fromstring(chart.draw()).itertext())
    assert f"stock {stock.value:.3g}" in text and f"patched {ours.value:.3g}" in text


def test_without_both_records_there_is_no_chart(results: Path) -> None:
    for path in results.rglob("hugepages.json"):
        path.unlink()
    with pytest.raises(LabError, match="no CPU has both records; record them with: ./lab bench"):
        chart.draw()


def test_a_record_of_another_cpu_is_not_shown(results: Path) -> None:
    chosen = chart.chosen()
    path = results / provenance.CPUS / chosen / "bench.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "host": "AMD EPYC (family 25, model 1), 1 CPUs"}))
    assert chart.chosen() != chosen
