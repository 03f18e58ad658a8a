# SPDX-License-Identifier: GPL-2.0-only
"""The model behind ./lab predict: what it simulates, how it is fitted, how well it does."""

import csv
import dataclasses
from pathlib import Path

import pytest

from padlab.measure import provenance
from padlab.predict import calibrate, prediction, simulate
from padlab.predict.calibrate import Calibration, Fit, Point
from padlab.vm import machine

KERNELS = simulate.load_engines()

TRUE: Fit = {
    "page_ns Skylake": 14.0,
    "page_ns Zen": 21.0,
    "bandwidth Skylake": 70.0,
    "bandwidth Zen": 33.0,
    "smt_gain": 1.4,
    "serial_ms": 2.0,
    "knee": 2.5,
}


def synthetic() -> list[Point]:
    """Points as the model itself makes them with TRUE."""
    asked = [p for p in calibrate.published_points() if p.machine in ("xeon-8167m", "epyc-7551-kvm")]
    return [dataclasses.replace(p, ms=calibrate.predict(p, TRUE, KERNELS.stock)) for p in asked]


class TestFit:
    def test_recovers_what_made_the_points(self) -> None:
        found = calibrate.fit(synthetic(), KERNELS.stock)
        assert set(found) == set(TRUE)
        for name, value in TRUE.items():
            # What is most of the time, closely; the shape of the knee and 2 ms less so.
            rel = 0.03 if name.startswith(("page_ns", "bandwidth", "smt")) else 0.25
            assert found[name] == pytest.approx(value, rel=rel), name


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return calibrate.calibrate(calibrate.published_points(), KERNELS.stock)


class TestCalibration:
    def test_every_point_with_a_thread_is_used(self, calibration: Calibration) -> None:
        assert len(calibration.checked) == 36
        assert all(check.point.threads >= 1 for check in calibration.checked)
        assert len(calibration.fit) == 12

    def test_median_error_of_points_left_out(self, calibration: Calibration) -> None:
        assert calibration.median_error() <= 15
        assert calibration.median_error(left_out=False) <= calibration.median_error()

    def test_parameters_are_within_what_hardware_can_do(self, calibration: Calibration) -> None:
        spans = calibrate.parameters(calibrate.published_points())
        for name, value in calibration.fit.items():
            assert spans[name][1] <= value <= spans[name][2], name
        # Neither is at a bound for want of better.
        for name in ("smt_gain", "knee", *(n for n in spans if n.startswith(("page_ns", "bandwidth")))):
            assert spans[name][1] * 1.01 < calibration.fit[name] < spans[name][2] * 0.99, name

    def test_published_machines_are_all_calibrated(self) -> None:
        known = {name for name in machine.names() if machine.load(name).kind == "published"}
        assert known == set(calibrate.MACHINES)


class TestPredictions:
    def test_published_machines_have_their_rows(self, calibration: Calibration) -> None:
        made = prediction.predict_published("xeon-8167m", calibration.fit, KERNELS)
        assert [row.threads for row in made] == [1, 6, 13, 19, 26, 39, 52]
        for row in made:
            assert row.stock.low == row.stock.ms == row.stock.high
            assert row.ours.low <= row.ours.ms <= row.ours.high

    def test_large_machines(self, calibration: Calibration) -> None:
        large = prediction.large_machines()
        assert [m.mib >> 20 for m in large.values()] == [1, 2, 4, 8, 12, 24]
        assert max(m.cpus for m in large.values()) == 512
        # Ours is that of the CPU's vendor, AMD's where the range is worst.
        last = prediction.predict_large(large["1tib"], calibration.fit, KERNELS)[0]
        assert last.ours.ms < last.stock.ms / 3 and last.ours.high > last.stock.ms / 2
        times = [prediction.predict_large(m, calibration.fit, KERNELS)[-1].stock.ms for m in large.values()]
        assert times == sorted(times)


class TestCommand:
    @pytest.fixture
    def quick(self, monkeypatch: pytest.MonkeyPatch, calibration: Calibration, tmp_path: Path) -> Path:
        monkeypatch.setattr(calibrate, "calibrate", lambda *_: calibration)
        monkeypatch.setattr(provenance, "path_of", lambda name: tmp_path / name)
        return tmp_path

    def test_records_tables_that_say_that_they_are_predicted(
        self, quick: Path, capsys: pytest.CaptureFixture
    ) -> None:
        assert prediction.main() == 0
        out = capsys.readouterr().out
        assert "predicted: by a model, not measured" in out and "cannot show: clocks" in out
        texts = [(quick / f"predict-{what}.csv").read_text() for what in ("published", "large")]
        for text in texts:
            assert text.startswith("# command: ./lab predict\n# predicted: by a model, not measured")
        lines = (line for line in texts[0].splitlines(True) if line[0] != "#")
        rows = [row for row in csv.DictReader(lines) if row["machine"] == "epyc-7551-kvm-small"]
        assert [row["threads"] for row in rows] == ["1", "2", "3", "4"]
        assert rows[0]["published_ms"] == "51.7" and float(rows[0]["predicted_ours_ms"]) > 0


def test_cores_that_were_timed() -> None:
    found = prediction.core_rows(KERNELS)
    assert [row.threads for row in found] == [1, 2, 4, 8, 16]
    for row in found:
        assert row.stock_fitted == pytest.approx(row.stock, rel=0.1)
        assert row.ours_by_intel == pytest.approx(row.ours, rel=0.15)
        assert row.ours_by_amd > 1.5 * row.ours
