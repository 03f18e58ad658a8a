# SPDX-License-Identifier: GPL-2.0-only
"""``./lab sweep``: deferred init by number of threads, as the published tables give it.

The first row is the peer, stock, which always uses all CPUs of a node; then
come ours, limited to the published percentages of a node's CPUs.  Speedup is
the time saved against the row with one thread, in percent, in both our columns
and the published ones.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass

from padlab.core import paths, stats, table
from padlab.core.errors import LabError
from padlab.kernel import source
from padlab.measure import compare, provenance, published
from padlab.vm import boot, summary
from padlab.vm.accel import Accel
from padlab.vm.machine import Machine, plural

DEFAULT_RUNS = 3
# For machines that were not published.
_PERCENTS = (25, 50, 75, 100)


@dataclass(frozen=True)
class Point:
    """One row to measure; ``percent`` is None for stock, which cannot be limited."""

    percent: int | None
    threads: int

    @property
    def kernel(self) -> str:
        return "stock" if self.percent is None else "patched"


@dataclass(frozen=True)
class Row:
    """One measured row."""

    point: Point
    boot: stats.Summary
    deferred: stats.Summary
    published: published.Row | None


@dataclass(frozen=True)
class Sweep:
    """A machine's measured sweep; emulated times give the form of the table and no more."""

    machine: Machine
    rows: tuple[Row, ...]
    accel: Accel

    def base(self) -> Row:
        """The row that speedups are relative to: one thread of ours, or our fewest."""
        return min((row for row in self.rows if row.point.percent), key=lambda row: row.point.threads)


def points(machine: Machine) -> list[Point]:
    """The rows of a machine's sweep: stock, then ours by threads."""
    cpus = max(node.cpus for node in machine.nodes)
    percents = [row.percent for row in published.rows(machine.name) if row.percent]
    ours: dict[int, Point] = {}
    for percent in percents or _fewest(cpus) + list(_PERCENTS):
        threads = summary.threads_of_percent(percent, cpus)
        ours.setdefault(threads, Point(percent, threads))
    return [Point(None, cpus), *ours.values()]


def _fewest(cpus: int) -> list[int]:
    """The percentage that is one thread."""
    return [max(1, 100 // cpus)]


def main(machine: Machine, runs: int | None = None) -> int:
    """Measure, print, and keep as CSV."""
    runs = DEFAULT_RUNS if runs is None else runs
    if runs < 1:
        raise LabError(f"--runs {runs}", "too few runs", "give 1 or more")
    with boot.quiet_stdout():
        ready = {kernel: boot.prepare(kernel) for kernel in compare.KERNELS}
        done = measure(machine, ready, runs)
    build = ready["patched"][0]
    notes = provenance.provenance(_command(machine, runs), build, done.accel)
    path = provenance.keep(f"sweep-{machine.name}.csv", to_csv(done, notes))

    out = table.console()
    out.print(format_table(done, build.source_version), markup=False, soft_wrap=True)
    out.print(f"kept in {path}", markup=False, soft_wrap=True)
    return 0


def _command(machine: Machine, runs: int) -> str:
    return f"./lab sweep --machine {machine.name}" + (f" --runs {runs}" if runs != DEFAULT_RUNS else "")


def measure(machine: Machine, ready: dict[str, boot.Ready], runs: int) -> Sweep:
    """Boot every row once, ``runs`` times over, so that drift of the host meets all rows."""
    rows = points(machine)
    taken: dict[Point, list[compare.Run]] = {point: [] for point in rows}
    for point in (rows[0], rows[-1]):
        _boot(machine, point, ready, f"{_name(point)}, warm-up")
    for number in range(runs):
        for point in rows:
            run, accel = _boot(machine, point, ready, f"{_name(point)}, run {number + 1} of {runs}")
            taken[point].append(run)
    return Sweep(machine, tuple(_row(machine, point, taken[point]) for point in rows), accel)


def _name(point: Point) -> str:
    return "stock" if point.percent is None else f"{point.percent}% ({point.threads})"


def _boot(
    machine: Machine, point: Point, ready: dict[str, boot.Ready], label: str
) -> tuple[compare.Run, Accel]:
    build, initrd = ready[point.kernel]
    threads = None if point.percent is None else f"{point.percent}%"
    spec = boot.BootSpec(machine, point.kernel, build.config, threads, sync=True, initrd=initrd)
    return compare.run_of(f"sweeping {machine.name}", spec, build, label)


def _row(machine: Machine, point: Point, runs: Sequence[compare.Run]) -> Row:
    by_percent = {row.percent: row for row in published.rows(machine.name)}
    return Row(
        point,
        stats.summarize([run.boot_ms for run in runs]),
        stats.summarize([run.deferred_ms for run in runs]),
        by_percent.get(point.percent or 0),
    )


# A group of columns: speedup, time_ms (stdev).
_GROUP = "{:>7}  {:>7} ({:>5})"
_GROUP_HEAD = "speedup  time_ms (stdev)"


def format_table(done: Sweep, source_version: str) -> str:
    """The published form: node% (thr), then speedup and time_ms (stdev) of boot and deferred init."""
    beside = any(row.published for row in done.rows)
    base = done.base()
    published_base = next((row.published for row in done.rows if row.published and row is base), None)
    n = base.boot.n
    lines = [
        f"{done.machine.name} ({done.machine.description})",
        f"  {done.machine.summary()}; {source.described(source_version)}; {plural(n, 'run')} of each row",
    ]
    if done.accel.emulated:
        lines.append(
            f"  emulated: shape of the table only ({done.machine.cpus} CPUs on {os.cpu_count()} of the host)"
        )
    names = ["boot", "deferred init"]
    groups = [*names, *(f"published {name}" for name in names)] if beside else names
    head = " " * 13
    lines += [
        "",
        (head + "".join(f"    {name:^24}" for name in groups)).rstrip(),
        head + "".join(f"    {'-' * 24}" for _ in groups),
        f"{'node% (thr)':>13}" + "".join(f"    {_GROUP_HEAD:>24}" for _ in groups),
    ]
    for row in done.rows:
        cells = [_cell(row.boot, base.boot, row is base), _cell(row.deferred, base.deferred, row is base)]
        if beside:
            cells += _published_cells(row.published, published_base)
        name = "stock" if row.point.percent is None else f"{row.point.percent}%"
        lines.append(f"{name:>7} ({row.point.threads:>3})" + "".join(f"    {cell}" for cell in cells))
    lines += [
        "",
        f"speedup: time saved against {base.point.threads} thread{'s' * (base.point.threads > 1)} per node",
    ]
    if beside:
        lines.append(
            f"stock: {paths.BASE}'s own multithreaded init, all CPUs; "
            "published there: v5.7, one thread per node"
        )
    return "\n".join(lines)


def _cell(value: stats.Summary, base: stats.Summary, is_base: bool) -> str:
    return _group(None if is_base else stats.saved(base.mean, value.mean), value.mean, value.stdev)


def _published_cells(row: published.Row | None, base: published.Row | None) -> list[str]:
    if row is None or base is None:
        return [" " * 24] * 2
    pairs = (
        (row.boot_ms, base.boot_ms, row.boot_stdev),
        (row.deferred_ms, base.deferred_ms, row.deferred_stdev),
    )
    return [_group(None if row is base else stats.saved(of, ms), ms, stdev) for ms, of, stdev in pairs]


def _group(speedup: float | None, ms: float, stdev: float) -> str:
    shown = "--" if speedup is None else f"{speedup:.1f}%"
    # Emulated times spread widely; the columns stay where they are.
    spread = f"{stdev:.1f}" if stdev < 1000 else f"{stdev:.0f}"
    return _GROUP.format(shown, f"{ms:.1f}", spread)


def to_csv(done: Sweep, notes: dict[str, str]) -> str:
    """The rows as data, below comment lines that say what made them."""
    out = io.StringIO()
    for key, value in notes.items():
        out.write(f"# {key}: {value}\n")
    if done.accel.emulated:
        out.write("# emulated: shape of the table only\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["machine", "kernel", "node_pct", "threads", "runs"]
        + [
            f"{figure}_{what}"
            for figure in ("boot", "deferred_init")
            for what in ("ms", "stdev", "median_ms")
        ]
    )
    for row in done.rows:
        figures = [v for s in (row.boot, row.deferred) for v in (s.mean, s.stdev, s.median)]
        writer.writerow(
            [done.machine.name, row.point.kernel, row.point.percent or "", row.point.threads, row.boot.n]
            + [f"{value:.3f}" for value in figures]
        )
    return out.getvalue()
