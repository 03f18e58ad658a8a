# SPDX-License-Identifier: GPL-2.0-only
"""``./lab sweep``: deferred init by number of threads, beside stock, which always uses all CPUs of a node.

All threads and all pages have to be accounted for in each boot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from padlab.core import stats, table
from padlab.measure import compare
from padlab.vm import boot, summary
from padlab.vm.machine import Machine

RUNS = 3
PERCENTS = (25, 50, 75, 100)  # of a node's CPUs


def thread_counts(machine: Machine) -> list[int]:
    """One thread, and those percentages of the largest node's CPUs."""
    cpus = max(node.cpus for node in machine.nodes)
    return sorted({1, *(summary.threads_of_percent(percent, cpus) for percent in PERCENTS)})


def main(machine: Machine) -> int:
    """Boot each row once, several times over, so that drift of the host meets all rows."""
    rows: list[tuple[str, str | None]] = [("stock", None)]
    rows += [("patched", str(threads)) for threads in thread_counts(machine)]
    taken: dict[tuple[str, str | None], list[compare.Run]] = {row: [] for row in rows}
    with boot.quiet_stdout():
        ready = {kernel: boot.prepare(kernel) for kernel in compare.KERNELS}
        for number in range(1, RUNS + 1):
            for kernel, threads in rows:
                build, initrd = ready[kernel]
                spec = boot.BootSpec(machine, kernel, build.config, threads, sync=True, initrd=initrd)
                label = f"{kernel}, {threads or 'all'} threads, run {number} of {RUNS}"
                run, accel = compare.run_of(f"sweeping {machine.name}", spec, build, label)
                taken[kernel, threads].append(run)
    out = table.console()
    title = f"[bold]{machine.name}[/]: {machine.summary()}; ms, medians of {RUNS}; {accel.described}"
    out.print(title, soft_wrap=True)
    show(taken)
    return 0


def show(taken: Mapping[tuple[str, str | None], Sequence[compare.Run]]) -> None:
    grid = table.grid(("kernel", "threads", "boot to init", "deferred init", "of stock"), left={"kernel"})
    stock: stats.Summary | None = None
    for (kernel, threads), runs in taken.items():
        to_init, deferred = (
            stats.summarize([getattr(run, name) for run in runs]) for name in ("boot_ms", "deferred_ms")
        )
        stock = stock or deferred
        cells = (f"{to_init.median:,.1f}", f"{deferred.median:,.1f}")
        grid.add_row(kernel, threads or "all", *cells, table.marked(stats.ratio(stock, deferred)))
    table.console().print(grid)
