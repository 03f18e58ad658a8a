# SPDX-License-Identifier: GPL-2.0-only
"""``./lab compare``: stock and patched side by side, in one run.

Times need several boots of each, and a pair that is thrown away; counts must be equal over two.  Stock does
not print how many pages it initialised: its count is taken from ours, as both defer by the same rule.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import msgspec

from padlab.core import stats, table
from padlab.core.errors import LabError
from padlab.kernel import source
from padlab.kernel.build import Build
from padlab.measure import provenance, rows
from padlab.vm import boot, summary
from padlab.vm.accel import Accel
from padlab.vm.machine import Machine
from padlab.vm.spec import How

KERNELS = ("stock", "patched")
RUNS = 5
SWEEP_RUNS = 3
EXACT_RUNS = 2
PUBLISHED = Path(__file__).parent / "data" / "published-deferred-init.csv"


@dataclass(frozen=True)
class Run:
    deferred_ms: float
    boot_ms: float
    pages: int | None

    def figures(self, exact: bool, pages: int | None) -> dict[tuple[str, str], float]:
        """By name and unit.  Stamps count microseconds, or thousands of instructions."""
        times = {"deferred init": self.deferred_ms, "boot to init": self.boot_ms}
        if not exact:
            return {(name, "ms"): ms for name, ms in times.items()}
        counts = {name: ms * summary.INSTRUCTIONS_PER_MS for name, ms in times.items()}
        per_page = {("per deferred page", "instructions"): counts["deferred init"] / pages} if pages else {}
        return per_page | {(name, "M instructions"): count / 1e6 for name, count in counts.items()}


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
    threads: str | None  # of ours
    accel: Accel
    figures: tuple[Figure, ...]
    pages: int | None
    differing: tuple[str, ...]  # exact mode: kernels whose runs were not equal

    def record(self, build: Build) -> dict[str, Any]:
        command = f"./lab compare --machine {self.machine.name}" + " --exact" * self.accel.exact
        command += f" --threads {self.threads}" if self.threads else ""
        return {
            **provenance.provenance(command, build, self.accel),
            "machine": self.machine.name,
            "deferred_pages": self.pages,
            "differing": self.differing,
            "figures": self.figures,
        }


def main(
    machines: Sequence[Machine], exact: bool = False, as_json: bool = False, threads: Sequence[str] = ()
) -> int:
    """Compare on each machine.  Exact counts are recorded; the exit status is 1 if runs differ there."""
    ready = {kernel: boot.prepare(kernel) for kernel in KERNELS}
    build = ready["patched"].build
    comparisons = [measure(machine, ready, exact, threads) for machine in machines]
    records = [each.record(build) for of_machine in comparisons for each in of_machine]
    for record in records if exact else ():
        provenance.record(f"compare-{record['machine']}-exact.json", record)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(records)).decode())
    else:
        for of_machine in comparisons:
            show(of_machine, build)
    return int(any(record["differing"] for record in records))


def measure(
    machine: Machine, ready: dict[str, boot.Ready], exact: bool, threads: Sequence[str] = ()
) -> list[Comparison]:
    """Boot all in turn, so that drift of the host meets all of them; ours once for each of ``threads``."""
    turns = [("stock", None), *(("patched", count) for count in threads or (None,))]
    taken: dict[tuple[str, str | None], list[Run]] = {turn: [] for turn in turns}
    # Exact counts do not depend on how warm the host is.
    last = EXACT_RUNS if exact else SWEEP_RUNS if threads else RUNS
    for number in range(1 if exact or threads else 0, last + 1):
        for kernel, count in turns:
            label = f"{count} threads, " * bool(count) + (f"run {number} of {last}" if number else "warm-up")
            run, accel = run_of(machine, ready[kernel], label, exact=exact, threads=count)
            if number:
                taken[kernel, count].append(run)
    return [compare(machine, taken[turns[0]], taken[turn], accel, turn[1]) for turn in turns[1:]]


def run_of(machine: Machine, ready: boot.Ready, label: str, **how: Unpack[How]) -> tuple[Run, Accel]:
    """Boot; the boot's figures, and what ran it.  One without figures, or with wrong ones, is an error."""
    result = boot.boot(machine, ready, label, **how)
    told, spec, what = summary.describe(result), result.spec, f"comparing on {machine.name}"
    if not told.ok:
        threads = f" --threads {spec.threads}" if spec.threads else ""
        todo = f"look closer: ./lab boot --machine {machine.name} --kernel {spec.kernel}{threads}"
        raise LabError(what, f"{spec.kernel} did not account for all threads and pages", todo, log=result.log)
    if told.deferred_ms is None or told.boot_ms is None:
        why = f"{spec.kernel}'s console lacks the lines that are timed"
        raise LabError(what, why, "see the console", log=result.log)
    pages = told.pages.deferred if told.pages else None
    return Run(told.deferred_ms, told.boot_ms, pages), result.accel


def compare(
    machine: Machine, stock: Sequence[Run], patched: Sequence[Run], accel: Accel, threads: str | None = None
) -> Comparison:
    exact, pages = accel.exact, patched[0].pages
    of_stock, ours = ([run.figures(exact, pages) for run in runs] for runs in (stock, patched))
    figures = []
    for name, unit in ours[0]:
        both = [stats.summarize([run[name, unit] for run in runs]) for runs in (of_stock, ours)]
        figures.append(Figure(name, unit, both[0], both[1], stats.ratio(*both, exact=exact)))
    runs = zip(KERNELS, (stock, patched), strict=True)
    differing = tuple(kernel for kernel, of_it in runs if exact and len(set(of_it)) > 1)
    return Comparison(machine, threads, accel, tuple(figures), pages, differing)


def published(machine: str) -> dict[str, float]:
    """By threads, "0" for stock, a machine's deferred init in ms; empty if it was not published."""
    with PUBLISHED.open(newline="") as file:
        of_machine = [row for row in csv.DictReader(file) if row["machine"] == machine]
    return {row["threads"]: float(row["deferred_init_ms"]) for row in of_machine}


def show(comparisons: Sequence[Comparison], build: Build) -> None:
    """Of one machine: a row for stock, and one for each number of threads of ours."""
    console, first = table.console(), comparisons[0]
    machine, exact = first.machine, first.accel.exact
    console.print(f"[bold]{machine.name}[/]: {machine.summary()}; {source.name_of(build.source_version)}")
    console.print(f"{first.accel.described}; medians of {first.figures[0].stock.n}", markup=False)
    console.print("; ".join(f"{figure.name}: {figure.unit}" for figure in first.figures))
    times = {} if exact else published(machine.name)
    names = [name for figure in first.figures for name in (figure.name, "of stock")]
    names += ["published, 2020"] * bool(times)
    grid = table.grid(("kernel", "threads", *names), left={"kernel"})

    def spread(of: stats.Summary) -> str:
        return f"{of.median:,.3f}" if exact and of.low == of.high else rows.spread(of, 3 if exact else 1)

    def add(kernel: str, threads: str | None, cells: Iterable[tuple[str, str]], key: str) -> None:
        last = [f"{times[key]:,.0f}"] if key in times else []
        grid.add_row(kernel, threads or "all", *(word for pair in cells for word in pair), *last)

    add("stock", None, ((spread(figure.stock), "") for figure in first.figures), "0")
    for each in comparisons:
        cells = ((spread(figure.patched), table.marked(figure.ratio)) for figure in each.figures)
        add("patched", each.threads, cells, each.threads or "")
    console.print(grid)
    for noise in sorted({x.ratio.noise for each in comparisons for x in each.figures if x.ratio.noise}):
        console.print(f"[yellow]{table.OPEN}[/] such a ratio means nothing: {noise}")
    if first.pages is not None:
        console.print(f"{first.pages:,} deferred pages, as ours counts them; stock's are the same")
    for kernel in KERNELS if exact else ():
        equal = kernel not in first.differing
        console.print(f"{kernel}: {'equal to the digit' if equal else '[red]the runs differ[/]'}")
