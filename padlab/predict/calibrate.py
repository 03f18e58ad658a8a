# SPDX-License-Identifier: GPL-2.0-only
"""Fitting the simulation to the published thread sweeps, and how well that does.

The published times are those of stock's engine in 2020, so that is what is simulated here.  The row of 0
threads is left out: it is another kernel, v5.7 without padata, within 4 % of the row of one thread.  With
both in, leaving out one of them would test nothing: the other has nearly the same time.

There are twelve parameters for 36 points.  A parameter of a CPU is shared by the machines with that CPU, a
parameter of the kernel by all machines:

- time per page: one for each CPU, and one more for the small Haswell guest,
  whose pages cost 2.7 times those of the same CPU on bare metal (perhaps its host
  had not backed its memory yet);
- memory bandwidth of a node: one for each CPU, at most what its memory channels
  can do;
- SMT gain, serial time of a node, knee: one of each.

The objective is the relative error, with less weight on what is far off (soft L1 at 10 %): some rows are
averages over runs that took 70 or 130 ms.

The sweeps do not tell helpers' start or the lock from the rest, so these are not fitted, see
data/assumptions.toml: whatever they are, the median leave-one-out error is 5 to 8 %.
"""

import functools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from padlab.measure import sweep
from padlab.predict.simulate import Engine, Hardware, Shape, deferred_range, simulate
from padlab.vm import machine as machines

# Whose time per page and whose memory: machines of the same name share the parameter.
_PAGE_OF = {
    "xeon-8167m": "Skylake",
    "xeon-2699c-kvm": "Broadwell",
    "xeon-2699": "Haswell",
    "epyc-7551-kvm": "Zen",
    "epyc-7551-kvm-small": "Zen",
    "xeon-2699-kvm-small": "Haswell, small guest",
}
_MEMORY_OF = _PAGE_OF | {"xeon-2699-kvm-small": "Haswell"}
MACHINES = tuple(_PAGE_OF)

# From, least, most.
_Span = tuple[float, float, float]
# Initialising a struct page takes at least its stores (4 to 6 ns on CPUs of today).
_PAGE_NS: _Span = (18.0, 4.0, 80.0)
# At most what the channels can do: six of DDR4-2666, four of DDR4-2400, four of DDR4-2133, and for Zen, whose
# guest may have memory of all four dies, eight of DDR4-2666.
_BANDWIDTH: dict[str, _Span] = {
    "Skylake": (80.0, 15.0, 128.0),
    "Broadwell": (50.0, 15.0, 76.8),
    "Haswell": (50.0, 15.0, 68.3),
    "Zen": (50.0, 15.0, 170.6),
}
_SHARED: dict[str, _Span] = {
    "smt_gain": (1.3, 1.0, 2.0),
    "serial_ms": (1.0, 0.0, 5.0),
    "knee": (3.0, 1.0, 12.0),
}

_SOFT_ERROR = 0.1  # beyond this relative error, a point counts for less
_STEP = 1e-3  # relative, of a derivative: the simulated time has small jumps
_ENOUGH = 1e-4  # relative: no use to go on for less
_MAX_TRIES = 60


@dataclass(frozen=True)
class Point:
    machine: str
    threads: int
    ms: float


# Fitted parameters by name: ``page_ns Skylake``, ``bandwidth Zen``, ``knee``.
Fit = dict[str, float]


@dataclass(frozen=True)
class Checked:
    """A point, what the fit to all points makes of it, and what a fit without it predicts."""

    point: Point
    fitted_ms: float
    left_out_ms: float


@dataclass(frozen=True)
class Calibration:
    fit: Fit
    checked: tuple[Checked, ...]

    def median_error(self, left_out: bool = True) -> float:
        times = ((c.left_out_ms if left_out else c.fitted_ms, c.point.ms) for c in self.checked)
        return statistics.median(100 * abs(ms / published_ms - 1) for ms, published_ms in times)


def hardware(fit: Fit, machine: str) -> Hardware:
    page_ns, bandwidth = fit[f"page_ns {_PAGE_OF[machine]}"], fit[f"bandwidth {_MEMORY_OF[machine]}"]
    return Hardware(page_ns, bandwidth, fit["smt_gain"], fit["serial_ms"], fit["knee"])


def shapes(machine: machines.Machine) -> tuple[Shape, ...]:
    """The kinds of node of a machine: all nodes run at once, and the slowest counts."""
    per_core = machine.threads_per_core
    kinds = [
        Shape(deferred_range(node.mib / 1024, i == 0), node.cpus // per_core, per_core)
        for i, node in enumerate(machine.nodes)
    ]
    return tuple(kinds[:2])


@functools.cache
def _published_shapes(machine: str) -> tuple[Shape, ...]:
    return shapes(machines.load(machine))


# A fit changes one parameter at a time, which most points do not depend on.
@functools.lru_cache(maxsize=1 << 16)
def slowest_ms(nodes: tuple[Shape, ...], threads: int, kind: Hardware, engine: Engine) -> float:
    return max(simulate(node, threads, kind, engine) for node in nodes)


def predict(point: Point, fit: Fit, engine: Engine) -> float:
    return slowest_ms(_published_shapes(point.machine), point.threads, hardware(fit, point.machine), engine)


def published_points() -> list[Point]:
    return [Point(name, row.threads, row.deferred_ms) for name in MACHINES for row in sweep.published(name)]


def fit(points: Sequence[Point], engine: Engine) -> Fit:
    """The parameters that give the points' times best.  Always from the same start."""
    # Slow to import, and not wanted by any other command.
    import numpy
    from scipy import optimize

    spans = parameters(points)
    start, low, high = (numpy.array(column) for column in zip(*spans.values(), strict=True))

    def errors(values: Sequence[float]) -> list[float]:
        tried = dict(zip(spans, values, strict=True))
        return [math.log(predict(point, tried, engine) / point.ms) for point in points]

    solution = optimize.least_squares(
        errors,
        start,
        bounds=(low, high),
        loss="soft_l1",
        f_scale=_SOFT_ERROR,
        x_scale=start,
        diff_step=_STEP,
        ftol=_ENOUGH,
        xtol=_ENOUGH,
        max_nfev=_MAX_TRIES,
    )
    return dict(zip(spans, map(float, solution.x), strict=True))


def parameters(points: Sequence[Point]) -> dict[str, _Span]:
    names = dict.fromkeys(point.machine for point in points)
    page = {f"page_ns {_PAGE_OF[name]}": _PAGE_NS for name in names}
    memory = {f"bandwidth {_MEMORY_OF[name]}": _BANDWIDTH[_MEMORY_OF[name]] for name in names}
    return page | memory | _SHARED


def calibrate(
    points: Sequence[Point], engine: Engine, report: Callable[[str], None] = lambda text: None
) -> Calibration:
    report("all points")
    whole = fit(points, engine)
    checked = []
    for i, point in enumerate(points):
        report(f"without point {i + 1} of {len(points)}")
        without = fit([*points[:i], *points[i + 1 :]], engine)
        checked.append(Checked(point, predict(point, whole, engine), predict(point, without, engine)))
    return Calibration(whole, tuple(checked))
