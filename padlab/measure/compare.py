# SPDX-License-Identifier: GPL-2.0-only
"""``./lab compare``: stock and patched side by side, in one run.

Both are booted in turn, and each figure's median and spread are printed, with the ratio of the medians last.
Times need several boots of each, and a pair that is thrown away.

In exact mode, instructions are counted, which must be equal to the digit over two boots of each; a kernel for
which they are not is a failure of the comparison.  Stock does not print how many pages it initialised.  Its
count is taken from ours: the machine is the same and both defer by the same rule.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from padlab.core import stats, table
from padlab.core.errors import LabError
from padlab.kernel import source
from padlab.kernel.build import Build
from padlab.measure import provenance
from padlab.vm import boot, summary
from padlab.vm.accel import Accel
from padlab.vm.machine import Machine

KERNELS = ("stock", "patched")
RUNS = 5
EXACT_RUNS = 2


@dataclass(frozen=True)
class Run:
    kernel: str
    deferred_ms: float
    boot_ms: float
    pages: int | None


@dataclass(frozen=True)
class Figure:
    name: str
    unit: str
    stock: stats.Summary
    patched: stats.Summary
    ratio: stats.Ratio


@dataclass(frozen=True)
class Comparison:
    machine: Machine
    accel: Accel
    figures: tuple[Figure, ...]
    pages: int | None
    differing: tuple[str, ...]  # exact mode: kernels whose runs were not equal


def main(machines: Sequence[Machine], exact: bool = False, as_json: bool = False) -> int:
    """Compare on each machine.  Exact counts are recorded; the exit status is 1 if runs differ there."""
    ready = {kernel: boot.prepare(kernel) for kernel in KERNELS}
    build = ready["patched"][0]
    comparisons = [measure(machine, ready, exact) for machine in machines]
    records = [as_dict(comparison, build) for comparison in comparisons]
    for comparison, record in zip(comparisons, records, strict=True):
        if exact:
            provenance.record(f"compare-{comparison.machine.name}-exact.json", record)
        if not as_json:
            show(comparison, build)
    if as_json:
        print(json.dumps(records, indent=2))
    return int(any(comparison.differing for comparison in comparisons))


def measure(machine: Machine, ready: dict[str, boot.Ready], exact: bool) -> Comparison:
    """Boot both kernels in turn, so that drift of the host meets both."""
    runs: list[Run] = []
    # Exact counts do not depend on how warm the host is.
    first, last = (1, EXACT_RUNS) if exact else (0, RUNS)
    for number in range(first, last + 1):
        for kernel in KERNELS:
            label = f"run {number} of {last}" if number else "warm-up"
            run, accel = run_of("comparing", machine, ready[kernel], label, exact=exact)
            if number:
                runs.append(run)
    return compare(machine, runs, accel)


def run_of(what: str, machine: Machine, ready: boot.Ready, label: str, **how: Any) -> tuple[Run, Accel]:
    """Boot; the boot's figures, and what ran it.  One without figures, or with wrong ones, is an error."""
    result = boot.boot_ready(machine, ready, label, **how)
    told, spec, what = summary.describe(result), result.spec, f"{what} on {machine.name}"
    if not told.ok:
        threads = f" --threads {spec.threads}" if spec.threads else ""
        todo = f"look closer: ./lab boot --machine {machine.name} --kernel {spec.kernel}{threads}"
        raise LabError(what, f"{spec.kernel} did not account for all threads and pages", todo, log=result.log)
    if told.deferred_ms is None or told.boot_ms is None:
        why = f"{spec.kernel}'s console lacks the lines that are timed"
        raise LabError(what, why, "see the console", log=result.log)
    pages = told.pages.deferred if told.pages else None
    return Run(spec.kernel, told.deferred_ms, told.boot_ms, pages), result.accel


def compare(machine: Machine, runs: Iterable[Run], accel: Accel) -> Comparison:
    by_kernel = stats.group(runs, lambda run: run.kernel)
    pages = by_kernel["patched"][0].pages
    differing = tuple(k for k in KERNELS if accel.exact and len(set(by_kernel[k])) > 1)
    figures = []
    for name, unit, value in _values(accel.exact, pages):
        stock, patched = (stats.summarize([value(run) for run in by_kernel[k]]) for k in KERNELS)
        figures.append(Figure(name, unit, stock, patched, stats.ratio(stock, patched, exact=accel.exact)))
    return Comparison(machine, accel, tuple(figures), pages, differing)


def _values(exact: bool, pages: int | None) -> list[tuple[str, str, Callable[[Run], float]]]:
    """Figures by name, with their units.  Stamps count microseconds, or thousands of instructions."""
    million = summary.INSTRUCTIONS_PER_MS / 1e6
    scale, unit = (million, "M instructions") if exact else (1.0, "ms")
    values: list[tuple[str, str, Callable[[Run], float]]] = [
        ("deferred init", unit, lambda run: run.deferred_ms * scale),
        ("boot to init", unit, lambda run: run.boot_ms * scale),
    ]
    if exact and pages:
        name = "per deferred page"
        values.insert(0, (name, "instructions", lambda run: run.deferred_ms * million * 1e6 / pages))
    return values


def show(comparison: Comparison, build: Build) -> None:
    console, machine, exact = table.console(), comparison.machine, comparison.accel.exact
    console.print(f"[bold]{machine.name}[/]: {machine.summary()}; {source.name_of(build.source_version)}")
    console.print(comparison.accel.described, markup=False)
    grid = table.grid(("", "kernel", "n", "median", "min", "max", ""), left={"", "kernel"})
    for figure in comparison.figures:
        for kernel, figures in (("stock", figure.stock), ("patched", figure.patched)):
            spread = (figures.median, figures.low, figures.high)
            cells = [f"{value:,.{3 if exact else 1}f}" for value in spread]
            grid.add_row(figure.name, kernel, str(figures.n), *cells, figure.unit)
        value = figure.ratio.value
        grid.add_row("", "[bold]ratio[/]", "", "none" if value is None else f"[bold]{value:.3f}[/]")
    console.print(grid)
    for figure in comparison.figures:
        if figure.ratio.noise:
            console.print(f"[yellow]warning:[/] {figure.name}: the ratio means nothing: {figure.ratio.noise}")
    if comparison.pages is not None:
        console.print(f"{comparison.pages:,} deferred pages, as ours counts them; stock's are the same")
    for kernel in KERNELS if exact else ():
        equal = kernel not in comparison.differing
        console.print(f"{kernel}: {'equal to the digit' if equal else '[red]the runs differ[/]'}")


def as_dict(comparison: Comparison, build: Build) -> dict[str, Any]:
    name, accel = comparison.machine.name, comparison.accel
    command = f"./lab compare --machine {name}" + " --exact" * accel.exact
    return {
        **provenance.provenance(command, build, accel),
        "machine": name,
        "deferred_pages": comparison.pages,
        "differing": list(comparison.differing),
        "figures": [asdict(figure) for figure in comparison.figures],
    }
