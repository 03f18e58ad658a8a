# SPDX-License-Identifier: GPL-2.0-only
"""``./lab predict``: deferred init on machines with more CPUs than the host, by a model.

The simulation (simulate.py) is fitted to the published thread sweeps
(calibrate.py).  It shows how well it fits, then predicts stock's time and ours
on those machines and on larger ones.  What it takes for given about the two
kernels is in data/engines.toml.  Nothing here is measured, and all that is
printed or drawn says so.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json as jsons
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from padlab import calibrate, engines, machine, plot, progress, published, record, table
from padlab.calibrate import Calibration, Fit
from padlab.engines import Engines
from padlab.errors import LabError
from padlab.machine import Machine, Node
from padlab.simulate import Engine, Hardware, Shape

COMMAND = "./lab predict"
WORST_SHOWN = 4
_MIB_PER_TIB = 1024 * 1024

# Machines larger than those published: TiB, nodes.  Nodes of 32 cores with two
# threads each: 128 to 512 CPUs.
_LARGE = ((1, 2), (2, 4), (4, 4), (8, 8), (12, 8), (24, 8))
_LARGE_CORES = 32
_LARGE_THREADS = (1, 2, 4, 8, 16, 32, 64)
# The largest and latest of the published ones stands for them, and all those whose
# cost is that of their CPU give the range.
LARGE_AS = "xeon-8167m"
_LARGE_RANGE = ("xeon-8167m", "xeon-2699c-kvm", "xeon-2699", "epyc-7551-kvm")

LIMITS = (
    "clocks: a CPU runs faster with few cores at work, which the fit blames on memory",
    "NUMA: memory interleaved over nodes or remote, and nodes that hold one another up",
    "memory: published sweeps cannot tell waiting for memory from waiting for zone->lock",
    "memory of today: bandwidth and time per page are those of CPUs of 2014 to 2018",
    "guests: a host that has not backed their memory yet costs ours as much as stock",
    "scheduling: helpers that share a CPU, interrupts, and runs that differ (published spread up to 26 %)",
    "boot: what comes before and after deferred init, lower zones and first sections included",
)


@dataclass(frozen=True)
class Band:
    """A predicted time, and the range it has with other assumptions."""

    ms: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """A machine with so many threads per node."""

    threads: int
    stock: Band
    ours: Band
    ours_stock_stores_ms: float  # our threads, chunks and locking with stock's stores
    published_ms: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours.ms / self.stock.ms

    @property
    def ratio_stock_stores(self) -> float:
        return self.ours_stock_stores_ms / self.stock.ms


@dataclass(frozen=True)
class Prediction:
    """What the model says of a machine."""

    name: str
    title: str
    rows: tuple[Row, ...]


def large_machines() -> dict[str, Machine]:
    """By name: 1tib to 24tib.  They are for the model only: QEMU cannot boot them."""
    return {
        f"{tib}tib": Machine(
            f"{tib}tib",
            f"{tib} TiB",
            "odd",
            (Node(tib * _MIB_PER_TIB // nodes, 2 * _LARGE_CORES),) * nodes,
            threads_per_core=2,
        )
        for tib, nodes in _LARGE
    }


def check_machine(name: str) -> None:
    """Refuse a machine that is neither published nor one of the large ones."""
    names = [*calibrate.MACHINES, *large_machines()]
    if name not in names:
        raise LabError(
            f"machine '{name}'",
            "the model is calibrated for the published machines and a few large ones only",
            f"choose one of {', '.join(names)}",
        )


def main(only: str | None = None, json: bool = False) -> int:
    """Calibrate, predict, print; record all of it under results/ unless one machine was asked for."""
    if only:
        check_machine(only)
    start = time.monotonic()
    kernels = engines.load()
    with progress.step("calibrating the model on the published sweeps") as step:
        calibration = calibrate.calibrate(calibrate.published_points(), kernels.stock, step.update)
    small = [predict_published(name, calibration.fit, kernels) for name in calibrate.MACHINES]
    large = [predict_large(each, calibration.fit, kernels) for each in large_machines().values()]
    shown = [p for p in [*small, *large] if only in (None, p.name)]

    recorded = [] if only else _record(calibration, small, large)
    took = time.monotonic() - start
    out = table.console()
    if json:
        text = jsons.dumps(to_json(calibration, shown, kernels) | {"seconds": round(took, 1)}, indent=2)
        print(text)
        return 0
    lines = [*format_fit(calibration, kernels), *(line for p in shown for line in format_prediction(p))]
    lines += ["", *explain(kernels)]
    lines += ["", "predicted, not measured; the model cannot show:", *(f"  {limit}" for limit in LIMITS), ""]
    if recorded:
        lines.append(f"recorded in {', '.join(str(path) for path in recorded)}")
    lines.append(f"took {progress.seconds(took)}")
    out.print("\n".join(lines), markup=False, soft_wrap=True)
    return 0


def predict_published(name: str, fit: Fit, kernels: Engines) -> Prediction:
    """A published machine, with its own calibration; ours has the range of its time per page."""
    made = machine.load(name)
    known = {row.threads: row.deferred_ms for row in published.rows(name) if row.threads}
    nodes = calibrate.shapes(made)
    hardware = fit.hardware(name)
    rows = tuple(
        Row(
            threads,
            _band(nodes, threads, hardware, kernels.stock, [hardware], [kernels.stock]),
            _band(nodes, threads, hardware, kernels.ours, [hardware], _span(kernels)),
            calibrate.slowest_ms(nodes, threads, hardware, kernels.ours_stock_stores),
            ms,
        )
        for threads, ms in known.items()
    )
    return Prediction(name, f"{name}: {made.summary()}", rows)


def predict_large(made: Machine, fit: Fit, kernels: Engines) -> Prediction:
    """A large machine as if of LARGE_AS's nodes; the range is over other CPUs and ours' time per page."""
    nodes = calibrate.shapes(made)
    hardware = fit.hardware(LARGE_AS)
    others = [fit.hardware(name) for name in _LARGE_RANGE]
    rows = tuple(
        Row(
            threads,
            _band(nodes, threads, hardware, kernels.stock, others, [kernels.stock]),
            _band(nodes, threads, hardware, kernels.ours, others, _span(kernels)),
            calibrate.slowest_ms(nodes, threads, hardware, kernels.ours_stock_stores),
        )
        for threads in _LARGE_THREADS
    )
    title = f"{made.mib // _MIB_PER_TIB} TiB: {len(made.nodes)} nodes, {made.cpus} CPUs (2 threads a core)"
    return Prediction(made.name, title, rows)


def _span(kernels: Engines) -> list[Engine]:
    return [kernels.ours_low, kernels.ours, kernels.ours_high]


def _band(
    nodes: tuple[Shape, ...],
    threads: int,
    hardware: Hardware,
    engine: Engine,
    all_hardware: Iterable[Hardware],
    all_engines: Sequence[Engine],
) -> Band:
    every = [
        calibrate.slowest_ms(nodes, threads, one, other) for one in all_hardware for other in all_engines
    ]
    return Band(calibrate.slowest_ms(nodes, threads, hardware, engine), min(every), max(every))


def format_fit(calibration: Calibration, kernels: Engines) -> list[str]:
    """The parameters, and how well they do."""
    values = calibration.fit.values
    bandwidths = {name.split(" ", 1)[1]: ms for name, ms in values.items() if name.startswith("bandwidth")}
    lines = [
        f"predictions of a model of deferred init, {len(values)} parameters fitted to "
        f"{len(calibration.checked)} published points of stock's (2020)",
        "",
        f"{'fitted':>20}  {'ns per page':>11}  {'node GB/s':>9}",
    ]
    for name, value in values.items():
        if name.startswith("page_ns"):
            cpu = name.split(" ", 1)[1]
            gbs = f"{bandwidths[cpu]:>9.1f}" if cpu in bandwidths else f"{'Haswell':>9}"
            lines.append(f"{cpu:>20}  {value:>11.1f}  {gbs}")
    lines += [
        f"  two threads of a core do {values['smt_gain']:.2f} times the work of one; "
        f"serial time {values['serial_ms']:.1f} ms a node; knee {values['knee']:.2f}",
        f"  taken for given: a helper every {kernels.stock.each_us:g} us, "
        f"zone->lock held {kernels.stock.locked_ns * 1024:g} ns per 4 MiB (data/engines.toml)",
        "",
        f"{'error, %':>20}  {'points':>6}  {'of fit':>6}  {'left out':>8}    medians, without sign",
    ]
    for name in calibrate.MACHINES:
        lines.append(_error_line(name, calibration, name))
    lines += [_error_line("all", calibration, None), "", "worst when left out:"]
    for check in calibration.worst(WORST_SHOWN):
        point = check.point
        lines.append(
            f"  {point.machine}, {point.threads} threads: published {point.ms:.1f} ms, "
            f"predicted {check.left_out_ms:.1f} ms ({check.left_out_error:+.0f} %)"
        )
    lines += [
        "",
        f"in no sweep, and not fitted (CPU not named, taken for that of {calibrate.OUTSIDE_AS}):",
        *(_outside_line(run, calibration.fit, kernels) for run in calibrate.OUTSIDE),
        "",
        "published times are means of three whole numbers of ms (jiffies at 1000 a second): 1 ms is 2 to",
        "5 % of the small guests' times.  Left out: the rows of v5.7, a kernel without padata",
    ]
    return lines


def explain(kernels: Engines) -> list[str]:
    """What the columns are, and what decides them."""
    ours, stock = kernels.ours, kernels.stock
    low, high = kernels.ours_low.page_ratio, kernels.ours_high.page_ratio
    return [
        f"ours takes {ours.page_ratio:g} of stock's time per page ({low:g} to {high:g}: "
        f"the range) and {ours.bytes_per_page:g}",
        f"bytes instead of {stock.bytes_per_page:g}, both taken for given (data/engines.toml).  Nearly all "
        "of ours/stock follows from",
        'these two.  "but stores" is ours/stock if ours stored as stock does, and only threads, chunks',
        "and locking differed",
    ]


def _error_line(label: str, calibration: Calibration, name: str | None) -> str:
    points = len(calibration.of(name) if name else calibration.checked)
    fit, left_out = calibration.median_error(name, left_out=False), calibration.median_error(name)
    return f"{label:>20}  {points:>6}  {fit:>6.1f}  {left_out:>8.1f}"


def _outside_line(run: calibrate.Outside, fit: Fit, kernels: Engines) -> str:
    told = " and ".join(f"{ms:g}" for ms in run.ms)
    said = " and ".join(f"{ms:.0f}" for ms in calibrate.predict_outside(run, fit, kernels.stock))
    return f"  {run.description}: published {told} ms, predicted {said} ms"


def format_prediction(prediction: Prediction) -> list[str]:
    """A machine's table; ranges are in brackets."""
    beside = any(row.published_ms is not None for row in prediction.rows)
    ranged = any(row.stock.low != row.stock.high for row in prediction.rows)
    head = f"{'threads':>9}" + (f"  {'published':>9}" if beside else "")
    head += f"  {'stock':>8}" + (f" {'(range)':>15}" if ranged else "")
    lines = [
        "",
        f"{prediction.title}, deferred init in ms, predicted:",
        f"{head}  {'ours':>8} {'(range)':>15}  ours/stock  but stores",
    ]
    for row in prediction.rows:
        line = f"{row.threads:>9}"
        if beside:
            line += f"  {row.published_ms:>9.1f}" if row.published_ms is not None else " " * 11
        line += f"  {row.stock.ms:>8.1f}" + (f" {_range(row.stock):>15}" if ranged else "")
        line += f"  {row.ours.ms:>8.1f} {_range(row.ours):>15}"
        lines.append(f"{line}  {row.ratio:>10.2f}  {row.ratio_stock_stores:>10.2f}")
    return lines


def _range(band: Band) -> str:
    return f"({band.low:.0f} to {band.high:.0f})"


def _record(calibration: Calibration, small: list[Prediction], large: list[Prediction]) -> list[Any]:
    """CSV and PNG of the published machines, and of the large ones."""
    made = []
    for name, predictions, title in (
        ("published", small, "Predicted, not measured: model fitted to the published sweeps of 2020"),
        ("large", large, f"Predicted, not measured: nodes of 64 CPUs as if of {LARGE_AS}'s kind"),
    ):
        paths = [record.path_of(f"predict-{name}.{kind}") for kind in ("csv", "png")]
        record.write(paths[0], to_csv(calibration, predictions))
        record.write(paths[1], plot.predicted(predictions, f"{title}\n{COMMAND}"))
        made += paths
    return made


def to_csv(calibration: Calibration, predictions: Sequence[Prediction]) -> str:
    """The rows as data, below comment lines that say what made them."""
    out = io.StringIO()
    left_out, fitted = calibration.median_error(), calibration.median_error(left_out=False)
    notes = {
        "command": COMMAND,
        "predicted": "by a model, not measured; all times in ms",
        "calibrated": f"on {len(calibration.checked)} published points (padlab/data/{published.TABLE.name})",
        "error": f"median {fitted:.1f} % of the fit, {left_out:.1f} % of points left out",
    }
    notes |= {f"fitted {name}": f"{value:.3f}" for name, value in calibration.fit.values.items()}
    notes |= {"cannot show": "; ".join(LIMITS)}
    for key, value in notes.items():
        out.write(f"# {key}: {value}\n")
    checks = {(check.point.machine, check.point.threads): check for check in calibration.checked}
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["machine", "threads", "published_ms", "predicted_left_out_ms"]
        + [f"predicted_{kernel}_{what}" for kernel in ("stock", "ours") for what in ("ms", "low", "high")]
        + ["predicted_ours_stock_stores_ms"]
    )
    for prediction in predictions:
        for row in prediction.rows:
            check = checks.get((prediction.name, row.threads))
            told = [f"{row.published_ms:.1f}", f"{check.left_out_ms:.1f}"] if check else ["", ""]
            figures = [v for band in (row.stock, row.ours) for v in (band.ms, band.low, band.high)]
            figures.append(row.ours_stock_stores_ms)
            writer.writerow([prediction.name, row.threads, *told, *(f"{value:.1f}" for value in figures)])
    return out.getvalue()


def to_json(calibration: Calibration, shown: Sequence[Prediction], kernels: Engines) -> dict[str, Any]:
    """All of it, for programs."""

    def engine(kernel: Engine) -> dict[str, Any]:
        data = dataclasses.asdict(kernel)
        return data | {"chunk_end": kernel.chunk_end.__name__}

    return {
        "command": COMMAND,
        "predicted": True,
        "cannot_show": list(LIMITS),
        "parameters": calibration.fit.values,
        "engines": {kernel.name: engine(kernel) for kernel in (kernels.stock, kernels.ours)},
        "median_error_percent": {
            "fit": calibration.median_error(left_out=False),
            "left_out": calibration.median_error(),
        },
        "points": [
            dataclasses.asdict(check.point)
            | {"fitted_ms": check.fitted_ms, "left_out_ms": check.left_out_ms}
            | {"fit_error_percent": check.fit_error, "left_out_error_percent": check.left_out_error}
            for check in calibration.checked
        ],
        "in_no_sweep": [
            dataclasses.asdict(run)
            | {"predicted_ms": calibrate.predict_outside(run, calibration.fit, kernels.stock)}
            for run in calibrate.OUTSIDE
        ],
        "predictions": [dataclasses.asdict(prediction) for prediction in shown],
    }
