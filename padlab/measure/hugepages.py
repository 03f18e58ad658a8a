# SPDX-License-Identifier: GPL-2.0-only
"""``./lab bench hugepages``: how long it takes to zero and copy huge pages, stock's way beside ours.

Natively, tools/testing/folio_zero runs mm/folio_zero.c, mm/folio_copy.c, x86's stores and the
job engine as they are, on real memory.  In a guest, what counts is what a caller does before
the first byte is zeroed: instructions, in exact mode.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from padlab.core import table
from padlab.kernel import build as builds
from padlab.measure import firstuse, jobcost, provenance, zeroing
from padlab.vm import boot
from padlab.vm.trace import Trace

MACHINE = jobcost.MACHINE
MAX_COST = 50_000  # instructions of the caller before the first byte is zeroed
ROUNDS, QUICK_ROUNDS = 15, 5
# What is timed of the use of pages, and how zero_bench --use is asked for it.
USES: dict[str, tuple[str, ...]] = {
    "native_first_use": (),
    "native_first_use_job": ("--job",),
    "native_dependent_reads": ("--dependent",),
}


@dataclass(frozen=True)
class Cost:
    """Instructions from a page fault, and from the job's start, to its first chunk."""

    fault: int
    job: int
    helpers: int

    def __str__(self) -> str:
        return (
            f"{self.job:,} instructions from the start of a job of 1 GiB to the caller's first chunk, "
            f"{self.fault:,} from the page fault, with {self.helpers} helpers woken"
        )


def parse_cost(trace: Trace) -> Cost | None:
    """Read the trace of role "hugecost".  Whatever other CPUs did meanwhile is counted, too."""
    fault = start = None
    helpers = 0
    for event in trace.events:
        if event.name == "page_fault_user" and start is None:
            fault = event.ticks
        elif event.name == "padata_mt_job_start" and start is None:
            start = event.ticks
        elif event.name == "padata_mt_helper_start" and start is not None:
            helpers += 1
        elif event.name == "padata_mt_chunk" and start is not None and fault is not None:
            # Until the caller's own: a helper may have begun before.
            if event.task.startswith("kworker"):
                continue
            return Cost(event.ticks - fault, event.ticks - start, helpers)
    return None


@dataclass(frozen=True)
class Measured:
    native: zeroing.Measured
    copies: zeroing.Measured
    uses: Mapping[str, Sequence[firstuse.Row]]
    cost: Cost
    helpers: jobcost.JobCost

    def as_dict(self) -> dict[str, Any]:
        costs = {**asdict(self.cost), "machine": MACHINE, "most": MAX_COST, "helper": asdict(self.helpers)}
        return {
            **provenance.of_native("./lab bench hugepages"),
            "native": [asdict(row) for row in zeroing.rows(self.native.timings)],
            "native_copies": [asdict(row) for row in zeroing.rows(self.copies.timings)],
            **{name: [asdict(row) for row in rows] for name, rows in self.uses.items()},
            "exact": costs,
        }


def main(quick: bool = False) -> int:
    """Measure, print, and record unless it was quick."""
    with boot.quiet_stdout():
        rounds = f"--rounds={QUICK_ROUNDS if quick else ROUNDS}"
        native, copies = zeroing.run(rounds), zeroing.run(*zeroing.COPIES, rounds)
        uses = {name: firstuse.rows(zeroing.run("--use", *args, rounds).uses) for name, args in USES.items()}
        build = builds.ensure_build("patched")
        cost, exact = jobcost.boot_exactly(build, "hugecost", parse_cost)
        measured = Measured(native, copies, uses, cost, jobcost.measure(build)[0])
    if not quick:
        provenance.record("hugepages.json", {**exact.accel.as_dict(), **measured.as_dict()})
    show(measured)
    return 0


def show(measured: Measured) -> None:
    out = table.console()
    out.print("us for a page (median, least and most), CPU time of all threads (median)")
    out.print(_grid(zeroing.rows(measured.native.timings)))
    out.print("the same of pages that are copied")
    out.print(_grid(zeroing.rows(measured.copies.timings)))
    out.print(f"{table.OPEN}: the ranges overlap, or are not known: which one is faster is open\n")
    for name, use_rows in measured.uses.items():
        out.print(f"{name}, from the touched page on: us for a page (median)")
        out.print(firstuse.grid(use_rows))
    out.print(f"exact: {measured.cost}\nexact: {measured.helpers}\n", markup=False)
    out.print("\n".join(measured.native.notes), markup=False)


def _grid(table_rows: Iterable[zeroing.Row]) -> Table:
    names = ("KiB", "way", "threads", "n", "median", "min", "max", "CPU", "of stock", "of one thread")
    grid = table.grid(names, left={"way"})
    for row in table_rows:
        times = (row.us.median, row.us.low, row.us.high, row.cpu_us.median)
        figures = [f"{value:,.0f}" for value in times]
        figures += [table.marked(row.of_stock), table.marked(row.of_one)]
        grid.add_row(f"{row.kib:,}", row.way, str(row.threads), str(row.us.n), *figures)
    return grid
