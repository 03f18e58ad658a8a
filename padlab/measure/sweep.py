# SPDX-License-Identifier: GPL-2.0-only
"""``./lab compare --threads``: deferred init by number of threads, as the published tables of 2020 give it.

Stock, which always uses all CPUs of a node, comes first.  On a published machine the published times are
beside ours.  All threads and all pages have to be accounted for in each boot.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab.core import stats, table
from padlab.measure import compare
from padlab.vm import boot
from padlab.vm.machine import Machine

TABLE = Path(__file__).parent / "data" / "published-deferred-init.csv"


@dataclass(frozen=True)
class Published:
    percent: int
    threads: int
    deferred_ms: float


def published(machine: str) -> tuple[Published, ...]:
    """A machine's published sweep with one thread or more; empty if it was not published."""
    with TABLE.open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["machine"] == machine]
    found = (Published(int(x["node_pct"]), int(x["threads"]), float(x["deferred_init_ms"])) for x in lines)
    return tuple(row for row in found if row.threads)


RUNS = 3


def main(machine: Machine, counts: Sequence[str]) -> int:
    """Boot each row once, several times over, so that drift of the host meets all rows."""
    rows: list[tuple[str, str | None]] = [("stock", None), *(("patched", threads) for threads in counts)]
    taken: dict[tuple[str, str | None], list[compare.Run]] = {row: [] for row in rows}
    ready = {kernel: boot.prepare(kernel) for kernel in compare.KERNELS}
    for number in range(1, RUNS + 1):
        for kernel, threads in rows:
            label = f"{kernel}, {threads or 'all'} threads, run {number} of {RUNS}"
            run, accel = compare.run_of("sweeping", machine, ready[kernel], label, threads=threads)
            taken[kernel, threads].append(run)
    out = table.console()
    title = f"[bold]{machine.name}[/]: {machine.summary()}; ms, medians of {RUNS}; {accel.described}"
    out.print(title, soft_wrap=True)
    show(machine.name, taken)
    return 0


def show(name: str, taken: Mapping[tuple[str, str | None], Sequence[compare.Run]]) -> None:
    """ "saved" is against the first number of threads."""
    columns = ("kernel", "threads", "boot to init", "deferred init", "saved", "of stock", "published, 2020")
    grid = table.grid(columns, left={"kernel"})
    of_2020 = {str(row.threads): f"{row.deferred_ms:,.0f}" for row in published(name)}
    deferred = {row: stats.summarize([run.deferred_ms for run in runs]) for row, runs in taken.items()}
    first = next(deferred[row] for row in taken if row[0] == "patched")
    for (kernel, threads), runs in taken.items():
        own = deferred[kernel, threads]
        grid.add_row(
            kernel,
            threads or "all",
            f"{stats.summarize([run.boot_ms for run in runs]).median:,.1f}",
            f"{own.median:,.1f}",
            "" if kernel == "stock" else f"{100 * (1 - own.median / first.median):.0f} %",
            table.marked(stats.ratio(deferred["stock", None], own)),
            of_2020.get(threads or "", ""),
        )
    table.console().print(grid)
