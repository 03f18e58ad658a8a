# SPDX-License-Identifier: GPL-2.0-only
"""What the fitted simulation says of the published machines, and of larger ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from padlab.measure import published
from padlab.predict import calibrate
from padlab.predict.assumptions import Engines
from padlab.predict.simulate import Engine, Hardware, Shape
from padlab.vm import machine

_MIB_PER_TIB = 1024 * 1024

# Machines larger than those published: TiB, nodes.  Nodes of 32 cores with two
# threads each: 128 to 512 CPUs.
_LARGE = ((1, 2), (2, 4), (4, 4), (8, 8), (12, 8), (24, 8))
_LARGE_CORES = 32
_LARGE_THREADS = (1, 2, 4, 8, 16, 32, 64)
# The largest and latest of the published ones stands for them, the first here, and all those
# whose cost is that of their CPU give the range.
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


def large_machines() -> dict[str, machine.Machine]:
    """By name: 1tib to 24tib.  They are for the model only: QEMU cannot boot them."""
    machines = {}
    for tib, nodes in _LARGE:
        name, node = f"{tib}tib", machine.Node(tib * _MIB_PER_TIB // nodes, 2 * _LARGE_CORES)
        machines[name] = machine.Machine(name, name, "odd", (node,) * nodes, threads_per_core=2)
    return machines


def predict_published(name: str, fit: calibrate.Fit, kernels: Engines) -> Prediction:
    """A published machine, with its own calibration; ours has the range of its time per page."""
    nodes, cpus = calibrate.shapes(machine.load(name)), [(calibrate.hardware(fit, name), kernels.on(name))]
    rows = (_row(nodes, row.threads, cpus, row.deferred_ms) for row in published.rows(name))
    return Prediction(name, tuple(rows))


def predict_large(large: machine.Machine, fit: calibrate.Fit, kernels: Engines) -> Prediction:
    """A large machine; the range is over other CPUs and ours' time per page."""
    nodes = calibrate.shapes(large)
    cpus = [(calibrate.hardware(fit, name), kernels.on(name)) for name in _LARGE_RANGE]
    rows = (_row(nodes, threads, cpus) for threads in _LARGE_THREADS)
    return Prediction(large.name, tuple(rows))


def _row(
    nodes: tuple[Shape, ...],
    threads: int,
    cpus: Sequence[tuple[Hardware, Engines]],
    published_ms: float | None = None,
) -> Row:
    """On the first of ``cpus``; all of them give the range."""

    def ms(engine: Engine, kind: Hardware) -> float:
        return calibrate.slowest_ms(nodes, threads, kind, engine)

    def band(of: Callable[[Engines], list[Engine]]) -> Band:
        every = [ms(engine, kind) for kind, kernels in cpus for engine in of(kernels)]
        return Band(every[0], min(every), max(every))

    kind, kernels = cpus[0]
    stock, ours = band(lambda on: [on.stock]), band(lambda on: [on.ours, *on.ours_span])
    return Row(threads, stock, ours, ms(kernels.ours_stock_stores, kind), published_ms)
