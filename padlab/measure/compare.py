# SPDX-License-Identifier: GPL-2.0-only
"""``./lab compare``: stock and patched side by side, in one run.

Timed mode boots the two in turn, after a pair that is thrown away, and prints
each figure's median and spread with the ratio of the medians last.

Exact mode counts instructions, which must come out equal to the digit over two
boots of each; a kernel for which they do not is a failure of the comparison.
Stock does not print how many pages it initialised.  Its count is taken from
ours: the machine is the same and both defer by the same rule.
"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
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
DEFAULT_RUNS = 5
EXACT_RUNS = 2


@dataclass(frozen=True)
class Mode:
    """How to measure, and how often each kernel."""

    exact: bool
    runs: int


@dataclass(frozen=True)
class Run:
    """The figures of one boot."""

    kernel: str
    deferred_ms: float
    boot_ms: float
    pages: int | None


@dataclass(frozen=True)
class Figure:
    """One figure of both kernels."""

    name: str
    unit: str
    stock: stats.Summary
    patched: stats.Summary
    ratio: stats.Ratio


@dataclass(frozen=True)
class Comparison:
    """All runs on one machine and what they come to."""

    machine: Machine
    accel: Accel
    runs: tuple[Run, ...]
    figures: tuple[Figure, ...]
    pages: int | None
    differing: tuple[str, ...]  # exact mode: kernels whose runs were not equal

    @property
    def exact(self) -> bool:
        return self.accel.exact

    @property
    def ok(self) -> bool:
        return not self.differing


def main(
    machines: Sequence[Machine],
    exact: bool = False,
    runs: int | None = None,
    json: bool = False,
) -> int:
    """Compare on each machine, timed and exactly, or only ``exact``.

    ``runs`` is the number of timed runs, or of exact ones if only these are
    wanted.  The exit status is 1 if exact runs differ.
    """
    if exact:
        wanted = [Mode(True, _enough(runs, EXACT_RUNS, least=2))]
    else:
        wanted = [Mode(False, _enough(runs, DEFAULT_RUNS, least=1)), Mode(True, EXACT_RUNS)]
    with boot.quiet_stdout():
        ready = {kernel: boot.prepare(kernel) for kernel in KERNELS}
    build = ready["patched"][0]
    comparisons = []
    for target in machines:
        for mode in wanted:
            with boot.quiet_stdout():
                done = measure(target, ready, mode)
            comparisons.append(done)
            path = _write(done, as_dict(done, build))
            if not json:
                show(done, build)
                table.console().print(f"written to {path}\n", markup=False)
    if json:
        print(jsonlib.dumps([as_dict(done, build) for done in comparisons], indent=2))
    return 0 if all(done.ok for done in comparisons) else 1


def _write(done: Comparison, data: dict[str, Any]) -> Path:
    """Exact counts are results; times of emulated guests are kept, and of no use to others."""
    if not done.exact:
        return provenance.keep(f"compare-{done.machine.name}.json", data)
    path = provenance.path_of(f"compare-{done.machine.name}-exact.json")
    provenance.write_json(path, data)
    return path


def _enough(runs: int | None, default: int, least: int) -> int:
    if runs is None:
        return default
    if runs < least:
        raise LabError(f"--runs {runs}", "too few runs", f"give {least} or more")
    return runs


def measure(machine: Machine, ready: dict[str, boot.Ready], mode: Mode) -> Comparison:
    """Boot both kernels in turn, so that drift of the host meets both."""
    results: list[Run] = []
    # Exact counts do not depend on how warm the host is.
    first = 0 if mode.exact else -1
    for number in range(first, mode.runs):
        for kernel in KERNELS:
            label = "warm-up" if number < 0 else f"run {number + 1} of {mode.runs}"
            label = f"exact, {label}" if mode.exact else label
            build, initrd = ready[kernel]
            spec = boot.BootSpec(machine, kernel, build.config, exact=mode.exact, sync=True, initrd=initrd)
            run, accel = run_of(f"comparing on {machine.name}", spec, build, label)
            if number >= 0:
                results.append(run)
    return compare(machine, results, accel)


def run_of(what: str, spec: boot.BootSpec, build: Build, label: str) -> tuple[Run, Accel]:
    """Boot; the boot's figures, and what ran it.  One without figures, or with wrong ones, is an error."""
    result = boot.boot(spec, build, label)
    told = summary.describe(result)
    if not told.ok:
        threads = f" --threads {spec.threads}" if spec.threads else ""
        raise LabError(
            what,
            f"{spec.kernel} did not account for all threads and pages",
            f"look closer: ./lab boot --machine {spec.machine.name} --kernel {spec.kernel}{threads}",
            log=result.log,
        )
    if told.deferred_ms is None or told.boot_ms is None:
        why = f"{spec.kernel}'s console lacks the lines that are timed"
        raise LabError(what, why, "see the console", log=result.log)
    pages = told.pages.deferred if told.pages else None
    return Run(spec.kernel, told.deferred_ms, told.boot_ms, pages), result.accel


def compare(machine: Machine, runs: Iterable[Run], accel: Accel) -> Comparison:
    """What the runs come to.  Pure."""
    runs, exact = tuple(runs), accel.exact
    by_kernel = {kernel: [run for run in runs if run.kernel == kernel] for kernel in KERNELS}
    pages = by_kernel["patched"][0].pages
    differing = tuple(k for k, same in by_kernel.items() if exact and len(set(same)) > 1)
    rows = _exact_rows(by_kernel, pages) if exact else _timed_rows(by_kernel)
    figures = []
    for name, unit, values in rows:
        stock, patched = (stats.summarize(values[kernel]) for kernel in KERNELS)
        figures.append(Figure(name, unit, stock, patched, stats.ratio(stock, patched, exact=exact)))
    return Comparison(machine, accel, runs, tuple(figures), pages, differing)


_Rows = list[tuple[str, str, dict[str, list[float]]]]


def _timed_rows(by_kernel: dict[str, list[Run]]) -> _Rows:
    return [
        ("deferred init", "ms", {k: [run.deferred_ms for run in v] for k, v in by_kernel.items()}),
        ("boot to init", "ms", {k: [run.boot_ms for run in v] for k, v in by_kernel.items()}),
    ]


def _exact_rows(by_kernel: dict[str, list[Run]], pages: int | None) -> _Rows:
    """Stamps count microseconds of virtual time: thousands of instructions."""
    million = summary.INSTRUCTIONS_PER_MS / 1e6
    rows: _Rows = [
        (name, "M instructions", {k: [v * million for v in values] for k, values in cells.items()})
        for name, _, cells in _timed_rows(by_kernel)
    ]
    if pages:
        per_page = {
            kernel: [run.deferred_ms * summary.INSTRUCTIONS_PER_MS / pages for run in of_kernel]
            for kernel, of_kernel in by_kernel.items()
        }
        rows.insert(0, ("per deferred page", "instructions", per_page))
    return rows


def show(done: Comparison, build: Build) -> None:
    console = table.console()
    console.print(
        f"[bold]{done.machine.name}[/]: {done.machine.summary()}; {source.described(build.source_version)}"
    )
    console.print(_mode(done), markup=False)
    grid = table.grid(("", "kernel", "n", "median", "min", "max", "stdev", ""), left={"", "kernel"})
    digits = 3 if done.exact else 1
    for figure in done.figures:
        for kernel, figures in (("stock", figure.stock), ("patched", figure.patched)):
            spread = (figures.median, figures.low, figures.high, figures.stdev)
            cells = [f"{value:,.{digits}f}" for value in spread]
            first = figure.name if kernel == "stock" else ""
            grid.add_row(first, kernel, str(figures.n), *cells, figure.unit)
        grid.add_row("", "[bold]patched/stock[/]", "", f"[bold]{_ratio(figure.ratio)}[/]")
    console.print(grid)
    for figure in done.figures:
        if figure.ratio.noise:
            console.print(f"[yellow]warning:[/] {figure.name}: the ratio means nothing: {figure.ratio.noise}")
    if done.pages is not None:
        console.print(
            f"{done.pages:,} deferred pages, as ours counts them; stock's are the same (same memory and rule)"
        )
    if done.exact:
        for kernel in KERNELS:
            if kernel in done.differing:
                console.print(f"[red]{kernel}: the runs differ[/]: {_instructions(done, kernel)}")
            else:
                console.print(f"{kernel}: equal to the digit over {done.figures[0].stock.n} runs")


def _mode(done: Comparison) -> str:
    if done.exact:
        return "exact: one emulated CPU, instructions counted"
    return f"{done.accel.why}; {summary.EMULATED}" if done.accel.emulated else done.accel.why


def _instructions(done: Comparison, kernel: str) -> str:
    return "; ".join(
        f"deferred {run.deferred_ms:.3f} M, boot {run.boot_ms:.3f} M"
        for run in done.runs
        if run.kernel == kernel
    )


def _ratio(ratio: stats.Ratio) -> str:
    return "none" if ratio.value is None else f"{ratio.value:.3f}"


def as_dict(done: Comparison, build: Build) -> dict[str, Any]:
    """For --json and for results/."""
    command = f"./lab compare --machine {done.machine.name}" + " --exact" * done.exact
    runs = len(done.runs) // len(KERNELS)
    if runs != (EXACT_RUNS if done.exact else DEFAULT_RUNS):
        command += f" --runs {runs}"
    return {
        **provenance.provenance(command, build, done.accel),
        "machine": done.machine.name,
        "exact": done.exact,
        "equal_over_runs": done.ok if done.exact else None,
        "deferred_pages": done.pages,
        "figures": [asdict(figure) for figure in done.figures],
        "runs": [asdict(run) for run in done.runs],
    }
