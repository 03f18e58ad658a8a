# SPDX-License-Identifier: GPL-2.0-only
"""What the fitted simulation says of the published machines, and of larger ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from padlab.measure import published
from padlab.predict import calibrate
from padlab.predict.assumptions import Engines
from padlab.predict.calibrate import Fit
from padlab.predict.simulate import Engine, Hardware, Shape
from padlab.vm import machine
from padlab.vm.machine import Machine, Node

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


@dataclass(frozen=True)
class Prediction:
    name: str
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


def predict_published(name: str, fit: Fit, kernels: Engines) -> Prediction:
    """A published machine, with its own calibration; ours has the range of its time per page."""
    published_ms = {row.threads: row.deferred_ms for row in published.rows(name) if row.threads}
    nodes = calibrate.shapes(machine.load(name))
    hardware = fit.hardware(name)
    rows = tuple(
        Row(
            threads,
            _band(nodes, threads, hardware, kernels.stock, [hardware], [kernels.stock]),
            _band(nodes, threads, hardware, kernels.ours, [hardware], _span(kernels)),
            calibrate.slowest_ms(nodes, threads, hardware, kernels.ours_stock_stores),
            ms,
        )
        for threads, ms in published_ms.items()
    )
    return Prediction(name, rows)


def predict_large(large: Machine, fit: Fit, kernels: Engines) -> Prediction:
    """A large machine as if of LARGE_AS's nodes; the range is over other CPUs and ours' time per page."""
    nodes = calibrate.shapes(large)
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
    return Prediction(large.name, rows)


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
        calibrate.slowest_ms(nodes, threads, kind, model) for kind in all_hardware for model in all_engines
    ]
    return Band(calibrate.slowest_ms(nodes, threads, hardware, engine), min(every), max(every))
