# SPDX-License-Identifier: GPL-2.0-only
"""The model behind ./lab predict: what it simulates, how it is fitted, how well it does."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import re
from pathlib import Path

import pytest

from padlab import calibrate, engines, machine, predict, record
from padlab.calibrate import Calibration, Fit, Point
from padlab.errors import LabError
from padlab.simulate import (
    PAGES_PER_GIB,
    SECTION,
    Engine,
    Hardware,
    Range,
    Shape,
    chunks,
    deferred_range,
    our_chunk_end,
    simulate,
    slowdown,
    stock_chunk_end,
)

KERNELS = engines.load()
BOTH = [KERNELS.stock, KERNELS.ours]

# A node of 64 GiB on 8 cores, whose threads never meet a limit.
FREE = Hardware(page_ns=10, bandwidth=math.inf, smt_gain=1.3, serial_ms=0, knee=2)
NODE = Shape(deferred_range(64, first_node=False), cores=8)


def plain(engine: Engine) -> Engine:
    """Without what a kernel spends beside its pages."""
    return dataclasses.replace(engine, lock_ns=0, insert_ns=0, claim_ns=0, first_us=0, each_us=0)


PLAIN = [plain(engine) for engine in BOTH]


class TestClaims:
    @pytest.mark.parametrize("rule", [stock_chunk_end, our_chunk_end])
    @pytest.mark.parametrize("threads", [1, 2, 3, 7, 16, 64])
    @pytest.mark.parametrize("pages", [1, SECTION - 1, SECTION, SECTION + 1, 1000 * SECTION + 99])
    def test_every_page_is_handed_out_once_and_on_sections(self, rule, threads: int, pages: int) -> None:
        whole = Range(33 * SECTION, 33 * SECTION + pages)
        made = chunks(rule, whole, threads)
        assert made[0][0] == whole.start and made[-1][1] == whole.end
        assert all(a[1] == b[0] for a, b in zip(made, made[1:], strict=False))
        assert all(end % SECTION == 0 for _, end in made[:-1])
        assert all(end - start >= SECTION for start, end in made[:-1])

    def test_stock_ends_chunks_on_multiples_of_their_size(self) -> None:
        # 100 sections for 4 threads: 100 / 16, rounded up to 7, from section 33.
        made = chunks(stock_chunk_end, Range(33 * SECTION, 133 * SECTION), 4)
        ends = [end // SECTION for _, end in made]
        assert ends == [35, *range(42, 133, 7), 133]

    def test_stock_on_one_thread_is_one_chunk(self) -> None:
        assert len(chunks(stock_chunk_end, NODE.range, 1)) == 1

    def test_ours_takes_half_an_equal_share_of_what_is_left(self) -> None:
        # 160 sections for 4 threads: an eighth of what is left, rounded up to a section.
        made = chunks(our_chunk_end, Range(0, 160 * SECTION), 4)
        sizes = [(end - start) / SECTION for start, end in made]
        assert sizes[:4] == [20, 18, 16, 14]
        assert sizes == sorted(sizes, reverse=True) and sizes[-1] == 1

    def test_ours_leaves_no_crumb(self) -> None:
        # As padata_mt_chunk_end(): what would be less than min_chunk goes with the last.
        made = chunks(our_chunk_end, Range(0, 2 * SECTION + 5), 2)
        assert made == ((0, SECTION), (SECTION, 2 * SECTION + 5))

    def test_ours_follows_the_kernel_step_by_step(self) -> None:
        """padata_mt_chunk_end(), transcribed: same names, same order."""

        def kernel(run_end: int, pos: int, threads: int) -> int:
            shares = 2 * threads if threads > 1 else 1
            left = run_end - pos
            size = max(left // shares, SECTION)
            if size >= left:
                return run_end
            past = (pos + size) % SECTION
            gap = SECTION - past if past else 0
            if gap >= left - size:
                return run_end
            size += gap
            return run_end if left - size < SECTION else pos + size

        for end in (1, SECTION, 5 * SECTION + 1, 77 * SECTION - 1, 3000 * SECTION):
            for pos in range(0, end, max(1, end // 97)):
                for threads in (1, 2, 5, 52):
                    assert our_chunk_end(0, end, pos, threads) == kernel(end, pos, threads)


class TestPages:
    # What kernels booted on these machines print, within 0.3 %: firmware and kernel
    # image take a little more.
    @pytest.mark.parametrize(
        ("gib", "first", "pages"),
        [(16, True, 3302906), (384, True, 98235537), (384, False, 99020352)],
    )
    def test_are_those_of_a_real_boot(self, gib: int, first: bool, pages: int) -> None:
        assert deferred_range(gib, first).pages == pytest.approx(pages, rel=0.003)

    def test_a_small_node_has_none(self) -> None:
        assert deferred_range(2, first_node=True).pages == 0
        empty = Shape(deferred_range(2, first_node=True), 2)
        assert simulate(empty, 2, FREE, KERNELS.stock).ran == 0


class TestSimulation:
    @pytest.mark.parametrize("engine", BOTH, ids=lambda e: e.name)
    @pytest.mark.parametrize("threads", [1, 2, 5, 8, 9, 16])
    def test_does_every_page_once(self, engine: Engine, threads: int) -> None:
        run = simulate(NODE, threads, dataclasses.replace(FREE, bandwidth=20), engine)
        assert sum(end - start for start, end in run.chunks) == NODE.range.pages
        assert run.ran == threads

    @pytest.mark.parametrize("engine", PLAIN, ids=lambda e: e.name)
    def test_one_thread_is_serial(self, engine: Engine) -> None:
        serial_ns = NODE.range.pages * FREE.page_ns * engine.page_ratio
        assert simulate(NODE, 1, FREE, engine).ms == pytest.approx(serial_ns / 1e6)

    @pytest.mark.parametrize("engine", PLAIN, ids=lambda e: e.name)
    def test_more_threads_are_never_much_slower_without_a_limit(self, engine: Engine) -> None:
        times = [simulate(NODE, threads, FREE, engine).ms for threads in range(1, NODE.cpus + 1)]
        # One that ends a core's time alone may leave a tail of one chunk of stock's.
        assert all(b <= a * 1.1 for a, b in zip(times, times[1:], strict=False))
        assert times[7] < times[0] / 7 and times[15] < times[7]

    @pytest.mark.parametrize("engine", PLAIN, ids=lambda e: e.name)
    def test_never_quicker_than_its_cores(self, engine: Engine) -> None:
        alone = simulate(NODE, 1, FREE, engine).ms
        for threads in range(1, NODE.cpus + 1):
            cores = min(threads, 8) + (FREE.smt_gain - 1) * max(0, threads - 8)
            assert simulate(NODE, threads, FREE, engine).ms >= alone / cores * 0.999999

    @pytest.mark.parametrize("knee", [1.5, 4, math.inf])
    @pytest.mark.parametrize("engine", PLAIN, ids=lambda e: e.name)
    def test_saturates_at_the_bandwidth(self, engine: Engine, knee: float) -> None:
        hardware = dataclasses.replace(FREE, bandwidth=10, knee=knee)
        least_ms = NODE.range.pages * engine.bytes_per_page / hardware.bandwidth / 1e6
        done = simulate(NODE, 16, hardware, engine).ms
        assert least_ms * 0.999999 <= done <= least_ms * 1.25
        if math.isinf(knee):
            assert done == pytest.approx(least_ms, rel=0.02)

    def test_saturates_at_the_lock(self) -> None:
        engine = dataclasses.replace(plain(KERNELS.stock), lock_ns=10240)
        least_ms = NODE.range.pages * 10 / 1e6
        assert simulate(NODE, 16, FREE, engine).ms == pytest.approx(least_ms, rel=0.05)

    def test_siblings_share_a_core(self) -> None:
        one_core = Shape(Range(0, 4000 * SECTION), cores=1)
        alone = simulate(one_core, 1, FREE, PLAIN[1]).ms
        assert alone / simulate(one_core, 2, FREE, PLAIN[1]).ms == pytest.approx(FREE.smt_gain, rel=0.01)

    def test_helpers_that_come_late_do_less_and_then_nothing(self) -> None:
        def run(each_us: float):
            return simulate(NODE, 8, FREE, dataclasses.replace(PLAIN[1], first_us=each_us, each_us=each_us))

        assert run(0).ms < run(1000).ms < run(10**6).ms
        assert run(10**6).ran == 1
        assert run(10**6).ms == pytest.approx(simulate(NODE, 1, FREE, PLAIN[1]).ms)

    def test_no_more_threads_than_sections(self) -> None:
        assert simulate(Shape(Range(0, 3 * SECTION), 8), 16, FREE, KERNELS.ours).ran == 3

    def test_more_threads_than_cpus_are_refused(self) -> None:
        with pytest.raises(ValueError, match="17 threads on 8 cores"):
            simulate(NODE, 17, FREE, KERNELS.ours)

    def test_a_soft_knee_is_never_quicker_than_a_hard_one(self) -> None:
        for weight in (0.1, 1, 3, 10, 40):
            hard = slowdown(weight, dataclasses.replace(FREE, bandwidth=40, knee=math.inf), KERNELS.stock)
            soft = slowdown(weight, dataclasses.replace(FREE, bandwidth=40, knee=2), KERNELS.stock)
            assert 1 <= hard <= soft <= 1.5 * hard

    def test_serial_time_is_added(self) -> None:
        with_serial = dataclasses.replace(FREE, serial_ms=7)
        more = simulate(NODE, 4, with_serial, KERNELS.stock).ms - simulate(NODE, 4, FREE, KERNELS.stock).ms
        assert more == pytest.approx(7)


TRUE = Fit(
    {
        "page_ns Skylake": 14.0,
        "page_ns Zen": 21.0,
        "bandwidth Skylake": 70.0,
        "bandwidth Zen": 33.0,
        "smt_gain": 1.4,
        "serial_ms": 2.0,
        "knee": 2.5,
    }
)


def synthetic() -> list[Point]:
    """Points as the model itself makes them with TRUE."""
    asked = [p for p in calibrate.published_points() if p.machine in ("xeon-8167m", "epyc-7551-kvm")]
    return [dataclasses.replace(p, ms=calibrate.predict(p, TRUE, KERNELS.stock)) for p in asked]


class TestFit:
    def test_recovers_what_made_the_points(self) -> None:
        found = calibrate.fit(synthetic(), KERNELS.stock)
        assert set(found.values) == set(TRUE.values)
        for name, value in TRUE.values.items():
            # What is most of the time, closely; the shape of the knee and 2 ms less so.
            rel = 0.03 if name.startswith(("page_ns", "bandwidth", "smt")) else 0.25
            assert found.values[name] == pytest.approx(value, rel=rel), name

    def test_finds_a_point_left_out(self) -> None:
        points = synthetic()
        found = calibrate.fit(points[:3] + points[4:], KERNELS.stock)
        assert calibrate.predict(points[3], found, KERNELS.stock) == pytest.approx(points[3].ms, rel=0.03)


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return calibrate.calibrate(calibrate.published_points(), KERNELS.stock)


class TestCalibration:
    def test_every_point_with_a_thread_is_used(self, calibration: Calibration) -> None:
        assert len(calibration.checked) == 36
        assert all(check.point.threads >= 1 for check in calibration.checked)
        assert len(calibration.fit.values) == 12

    def test_median_error_of_points_left_out(self, calibration: Calibration) -> None:
        assert calibration.median_error() <= 15
        assert calibration.median_error(left_out=False) <= calibration.median_error()

    def test_parameters_are_within_what_hardware_can_do(self, calibration: Calibration) -> None:
        spans = calibrate.parameters(calibrate.published_points())
        for name, value in calibration.fit.values.items():
            assert spans[name][1] <= value <= spans[name][2], name
        # Neither is at a bound for want of better.
        for name in ("smt_gain", "knee", *(n for n in spans if n.startswith(("page_ns", "bandwidth")))):
            assert spans[name][1] * 1.01 < calibration.fit.values[name] < spans[name][2] * 0.99, name

    def test_a_run_that_was_never_fitted(self, calibration: Calibration) -> None:
        one, every = (calibrate.predict_outside(o, calibration.fit, KERNELS.stock) for o in calibrate.OUTSIDE)
        # All CPUs: memory decides.  One thread: a CPU that is not the one assumed.
        assert every == pytest.approx(calibrate.OUTSIDE[1].ms, rel=0.2)
        assert one == pytest.approx(calibrate.OUTSIDE[0].ms, rel=0.5)


class TestPredictions:
    def test_published_machines_have_their_rows(self, calibration: Calibration) -> None:
        made = predict.predict_published("xeon-8167m", calibration.fit, KERNELS)
        assert [row.threads for row in made.rows] == [1, 6, 13, 19, 26, 39, 52]
        for row in made.rows:
            assert row.stock.low == row.stock.ms == row.stock.high
            assert row.ours.low <= row.ours.ms <= row.ours.high
        # On one thread, engines differ by nothing but their stores.
        assert made.rows[0].ratio_stock_stores == pytest.approx(1, rel=0.01)

    def test_large_machines(self, calibration: Calibration) -> None:
        large = predict.large_machines()
        assert [m.mib >> 20 for m in large.values()] == [1, 2, 4, 8, 12, 24]
        assert max(m.cpus for m in large.values()) == 512
        times = [predict.predict_large(m, calibration.fit, KERNELS).rows[-1].stock.ms for m in large.values()]
        assert times == sorted(times)

    def test_csv_says_that_it_is_predicted_and_by_what(self, calibration: Calibration) -> None:
        made = predict.predict_published("epyc-7551-kvm-small", calibration.fit, KERNELS)
        text = predict.to_csv(calibration, [made])
        assert text.startswith("# command: ./lab predict\n# predicted: by a model, not measured")
        rows = list(csv.DictReader(io.StringIO("".join(l for l in text.splitlines(True) if l[0] != "#"))))
        assert [row["threads"] for row in rows] == ["1", "2", "3", "4"]
        assert rows[0]["published_ms"] == "51.7" and float(rows[0]["predicted_ours_ms"]) > 0

    def test_tables_are_labelled(self, calibration: Calibration) -> None:
        made = predict.predict_large(predict.large_machines()["24tib"], calibration.fit, KERNELS)
        assert "predicted" in predict.format_prediction(made)[1]
        assert "predict" in predict.format_fit(calibration, KERNELS)[0]


class TestCommand:
    @pytest.fixture
    def quick(self, monkeypatch: pytest.MonkeyPatch, calibration: Calibration, tmp_path: Path) -> Path:
        monkeypatch.setattr(calibrate, "calibrate", lambda *_: calibration)
        monkeypatch.setattr(record, "path_of", lambda name: tmp_path / name)
        return tmp_path

    def test_records_tables_and_plots(self, quick: Path, capsys: pytest.CaptureFixture) -> None:
        assert predict.main() == 0
        assert {path.name for path in quick.iterdir()} == {
            f"predict-{what}.{kind}" for what in ("published", "large") for kind in ("csv", "png")
        }
        assert (quick / "predict-large.png").read_bytes().startswith(b"\x89PNG")
        out = capsys.readouterr().out
        assert "predicted, not measured; the model cannot show:" in out and "took " in out

    def test_one_machine_as_json(self, quick: Path, capsys: pytest.CaptureFixture) -> None:
        assert predict.main(only="12tib", json=True) == 0
        data = json.loads(capsys.readouterr().out)
        assert data["predicted"] is True and data["cannot_show"]
        assert data["median_error_percent"]["left_out"] <= 15
        assert [p["name"] for p in data["predictions"]] == ["12tib"]
        assert not list(quick.iterdir())

    def test_unknown_machine(self) -> None:
        with pytest.raises(LabError, match="choose one of xeon-8167m, .*24tib"):
            predict.main(only="holes")


class TestEngines:
    # Whatever the figures are: they change when somebody measures.
    @pytest.mark.parametrize(
        ("key", "line", "why"),
        [
            ("page_ratio", "page_ration = 1", "page_ratio, page_ration"),
            ("page_ratio", "page_ratio = 0", "page_ratio is 0"),
            ("page_ratio", "page_ratio = true", "page_ratio is True"),
            ("chunks", 'chunks = "free"', "chunks is 'free'"),
            ("page_ratio_range", "page_ratio_range = [1]", "page_ratio_range is [1]"),
            ("page_ratio_range", "page_ratio_range = [1, 2", "cannot be read"),
            ("first_us", "first_us = -1", "first_us is -1"),
        ],
    )
    def test_faults_are_named(self, tmp_path: Path, key: str, line: str, why: str) -> None:
        bad = tmp_path / "engines.toml"
        text, count = re.subn(rf"^{key} = .*$", line, engines.TABLE.read_text(), flags=re.MULTILINE)
        assert count == 2
        bad.write_text(text)
        with pytest.raises(LabError) as error:
            engines.load(bad)
        assert why in str(error.value)

    def test_published_machines_are_all_calibrated(self) -> None:
        known = {name for name in machine.names() if machine.load(name).kind == "published"}
        assert known == set(calibrate.MACHINES)
        assert PAGES_PER_GIB * 4096 == 1 << 30
