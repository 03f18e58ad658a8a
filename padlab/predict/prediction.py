# SPDX-License-Identifier: GPL-2.0-only
"""What the fitted simulation says of the published machines, and of larger ones."""

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import partial

from padlab.core import paths, progress
from padlab.measure import provenance, sweep
from padlab.predict import calibrate
from padlab.predict.simulate import SECTION, Engine, Engines, Hardware, Range, Shape, load_engines, simulate
from padlab.vm import machine

_MIB_PER_TIB = 1024 * 1024

# Machines larger than those published: TiB, nodes.  Nodes of 32 cores with two threads each: 128 to 512 CPUs.
_LARGE = ((1, 2), (2, 4), (4, 4), (8, 8), (12, 8), (24, 8))
_LARGE_CORES = 32
_LARGE_THREADS = (1, 2, 4, 8, 16, 32, 64)
# The largest and latest of the published ones stands for them, the first here, and all those
# whose cost is that of their CPU give the range.
_LARGE_RANGE = ("xeon-8167m", "xeon-2699c-kvm", "xeon-2699", "epyc-7551-kvm")


@dataclass(frozen=True)
class Band:
    ms: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    threads: int
    stock: Band
    ours: Band
    published_ms: float | None = None


def large_machines() -> dict[str, machine.Machine]:
    """By name: 1tib to 24tib.  They are for the model only: QEMU cannot boot them."""
    machines = {}
    for tib, nodes in _LARGE:
        name, node = f"{tib}tib", machine.Node(tib * _MIB_PER_TIB // nodes, 2 * _LARGE_CORES)
        machines[name] = machine.Machine(
            name=name, description=name, kind="odd", threads_per_core=2, nodes=(node,) * nodes
        )
    return machines


def predict_published(name: str, fit: calibrate.Fit, kernels: Engines) -> list[Row]:
    """A published machine, with its own calibration; ours has the range of its time per page."""
    nodes, cpus = calibrate.shapes(machine.load(name)), [(calibrate.hardware(fit, name), kernels.on(name))]
    return [_row(nodes, row.threads, cpus, row.deferred_ms) for row in sweep.published(name)]


def predict_large(large: machine.Machine, fit: calibrate.Fit, kernels: Engines) -> list[Row]:
    """A large machine; the range is over other CPUs and ours' time per page."""
    nodes = calibrate.shapes(large)
    cpus = [(calibrate.hardware(fit, name), kernels.on(name)) for name in _LARGE_RANGE]
    return [_row(nodes, threads, cpus) for threads in _LARGE_THREADS]


def _row(
    nodes: tuple[Shape, ...],
    threads: int,
    cpus: Sequence[tuple[Hardware, Engines]],
    published_ms: float | None = None,
) -> Row:
    """On the first of ``cpus``; all of them give the range."""

    ms = partial(calibrate.slowest_ms, nodes, threads)

    def band(of: Callable[[Engines], list[Engine]]) -> Band:
        every = [ms(kind, engine) for kind, kernels in cpus for engine in of(kernels)]
        return Band(every[0], min(every), max(every))

    stock, ours = band(lambda on: [on.stock]), band(lambda on: [on.ours, *on.ours_span])
    return Row(threads, stock, ours, published_ms)


LIMITS = (
    "clocks: a CPU runs faster with few cores at work, which the fit attributes to memory",
    "NUMA: memory interleaved over nodes or remote, and nodes that slow one another down",
    "memory: published sweeps cannot tell waiting for memory from waiting for zone->lock",
    "memory of today: bandwidth and time per page are those of CPUs of 2014 to 2018",
    "guests: a host that has not backed their memory yet costs ours as much as stock",
    "scheduling: helpers that share a CPU, interrupts, and runs that vary (published spread up to 26 %)",
    "boot: what comes before and after deferred init, lower zones and first sections included",
)


def main() -> int:
    kernels = load_engines()
    with progress.step("calibrating the model on the published sweeps") as step:
        calibration = calibrate.calibrate(calibrate.published_points(), kernels.stock, step.update)
    fit = calibration.fit
    published = {name: predict_published(name, fit, kernels) for name in calibrate.MACHINES}
    large = {name: predict_large(machine, fit, kernels) for name, machine in large_machines().items()}
    tables = {
        "predict-published.csv": to_csv(calibration, published),
        "predict-large.csv": to_csv(calibration, large),
        "predict-cores.csv": cores_csv(core_rows(kernels)),
    }
    progress.result("\n".join(f"{key}: {text}" for key, text in notes(calibration).items()))
    for name, text in tables.items():
        provenance.write(provenance.path_of(name), text)
        progress.result(f"recorded in {provenance.path_of(name)}")
    return 0


def notes(calibration: calibrate.Calibration) -> dict[str, str]:
    left_out, fitted = calibration.median_error(), calibration.median_error(left_out=False)
    return {
        "command": "./lab predict",
        "predicted": "by a model, not measured; all times in ms",
        "calibrated": f"on {len(calibration.checked)} published points ({sweep.TABLE.name})",
        "error": f"median {fitted:.1f} % of the fit, {left_out:.1f} % of points left out",
        **{f"fitted {name}": f"{value:.3f}" for name, value in calibration.fit.items()},
        "cannot show": "; ".join(LIMITS),
    }


def to_csv(calibration: calibrate.Calibration, predictions: Mapping[str, Sequence[Row]]) -> str:
    out = io.StringIO()
    for key, text in notes(calibration).items():
        out.write(f"# {key}: {text}\n")
    checks = {(check.point.machine, check.point.threads): check for check in calibration.checked}
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["machine", "threads", "published_ms", "predicted_left_out_ms"]
        + [f"predicted_{kernel}_{what}" for kernel in ("stock", "ours") for what in ("ms", "low", "high")]
    )
    for name, rows in predictions.items():
        for row in rows:
            check = checks.get((name, row.threads))
            expected = [f"{row.published_ms:.1f}", f"{check.left_out_ms:.1f}"] if check else ["", ""]
            figures = [v for band in (row.stock, row.ours) for v in (band.ms, band.low, band.high)]
            writer.writerow([name, row.threads, *expected, *(f"{value:.1f}" for value in figures)])
    return out.getvalue()


RECORD = paths.RECORDED / "cpus/intel-family-6-model-207-16cpus/bench.json"
_NS, _BANDWIDTH, _KNEE = (12.0, 4.0, 80.0), (100.0, 15.0, 300.0), (3.0, 1.0, 12.0)


@dataclass(frozen=True)
class CoreRow:
    threads: int
    stock: float
    stock_fitted: float
    ours: float
    ours_by_amd: float
    ours_by_intel: float


def core_rows(kernels: Engines) -> list[CoreRow]:
    bench = json.loads(RECORD.read_text())["benches"][0]
    measured = {
        way: {row["threads"]: row["ns"]["median"] for row in bench["rows"] if row["way"] == way}
        for way in ("stock", "movnti")
    }
    pages, cores = bench["pages"], max(measured["stock"])
    shape = Shape(Range(0, pages // SECTION * SECTION), cores, 1)

    def ns(threads: int, kind: Hardware, engine: Engine) -> float:
        return simulate(shape, threads, kind, engine) * 1e6 / shape.range.pages

    def hardware(values: Sequence[float]) -> Hardware:
        return Hardware(values[0], values[1], 1.0, 0.0, values[2])

    def errors(values: Sequence[float]) -> list[float]:
        return [math.log(ns(n, hardware(values), kernels.stock) / t) for n, t in measured["stock"].items()]

    from scipy import optimize  # slow to import

    start, low, high = zip(_NS, _BANDWIDTH, _KNEE, strict=True)
    found = optimize.least_squares(errors, start, bounds=(low, high), x_scale=start, diff_step=1e-3)
    kind = hardware(found.x)
    engines = (kernels.ours, kernels.on("xeon").ours)
    return [
        CoreRow(n, t, ns(n, kind, kernels.stock), measured["movnti"][n], *(ns(n, kind, on) for on in engines))
        for n, t in measured["stock"].items()
    ]


def cores_csv(found: Sequence[CoreRow]) -> str:
    lines = ["# command: ./lab predict", "# predicted: by a model, not measured, but for stock and ours"]
    lines.append(f"# measured: {RECORD.relative_to(paths.ROOT)}, ns per page")
    lines.append(",".join(field.name for field in fields(CoreRow)))
    lines += [",".join(f"{value:.4g}" for value in astuple(row)) for row in found]
    return "\n".join(lines) + "\n"
