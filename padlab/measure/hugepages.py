# SPDX-License-Identifier: GPL-2.0-only
"""``./lab bench hugepages``: how long it takes to zero huge pages, stock's way beside ours.

Natively, tools/testing/folio_zero runs mm/folio_zero.c, x86's extents and the job
engine as they are, on real memory.  In the guest, a program touches pages of stock
and of ours; there the times are those of an emulator, and what counts is what a
caller does before the first byte is zeroed: instructions, in exact mode.
"""

from __future__ import annotations

import json as jsons
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from padlab.core import progress, table
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import build as builds
from padlab.measure import firstuse, jobcost, provenance, zeroing
from padlab.measure.zeroing import Timing
from padlab.vm import boot, initramfs, machine
from padlab.vm.channel import Guest
from padlab.vm.trace import Trace

COMMAND = "./lab bench hugepages"
MACHINE = jobcost.MACHINE
MAX_COST = 50_000  # instructions of the caller before the first byte is zeroed
ROUNDS, QUICK_ROUNDS, GUEST_ROUNDS = 15, 5, 3
# The smallest and the largest chunk of a job, see mm/folio_zero.c.
CHUNKS_KIB = (512, 4096)
NS_PER_US = 1000
# What is timed of the use of pages, and how zero_bench --use is asked for it.
USES: dict[str, tuple[str, ...]] = {
    "native_first_use": (),
    "native_first_use_job": ("--job",),
    "native_dependent_reads": ("--dependent",),
}

_GUEST = re.compile(r"^kib (\d+) threads (\d+) ns (\d+)$")

SHOWS = (
    "native: mm/folio_zero.c, x86's extents and the job engine as they are, and stock's loops written out",
    "  with the kernel's instruction for a page.  Does not show: faults, NUMA, how long the kernel takes",
    "  to wake a helper (here: a futex), nor the back end for jobs of tasks: with the one for boot, helpers",
    "  run at the caller's priority, on all CPUs, idle or not, and pay nothing.  What the back end for tasks",
    "  adds is counted in the guest.  CPU time is that of all threads together",
    "guest: the whole of a page fault, in an emulator that has a thread for all CPUs: more threads cannot",
    "  be faster, and string instructions go byte by byte",
)


# What the guest says


def parse_guest(guest: Guest, kernel: str) -> list[Timing]:
    """Read what role "hugepages" says."""
    timings = []
    for value in guest.values("huge"):
        if match := _GUEST.match(value):
            way = "stock" if kernel == "stock" else "ours"
            timings.append(Timing(int(match[1]), int(match[2]), way, int(match[3])))
    return timings


@dataclass(frozen=True)
class Cost:
    """Instructions from a page fault, and from the job's start, to its first chunk."""

    fault: int
    job: int
    helpers: int


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


# Running


def run_guest(ready: dict[str, builds.Build], rounds: int) -> list[Timing]:
    """Stock and ours, in turn."""
    all_timings = []
    for nr in range(rounds):
        for kernel, build in ready.items():
            threads = "1" if kernel == "stock" else "1,2,4"
            spec = boot.BootSpec(
                machine.load(MACHINE),
                kernel,
                build.config,
                append=(f"huge_threads={threads}",),
                initrd=initramfs.ensure(build, "hugepages"),
            )
            result = boot.boot(spec, build, f"huge pages, round {nr + 1} of {rounds}")
            timings = parse_guest(result.guest, kernel)
            if not timings:
                raise LabError(
                    f"huge pages of {kernel}",
                    "the guest timed none",
                    "see what it reported",
                    log=result.guest_log,
                )
            all_timings += timings
    return all_timings


def measure_cost(build: builds.Build) -> tuple[Cost, boot.BootResult]:
    result = jobcost.boot_exactly(build, "hugecost", "huge pages, exact")
    cost = parse_cost(result.guest.trace)
    if cost is None:
        raise LabError(
            "cost of a job", "the trace has no job", "see what the guest reported", log=result.guest_log
        )
    return cost, result


# The command


def main(quick: bool = False, json: bool = False) -> int:
    """Measure, print, and record unless it was quick."""
    with boot.quiet_stdout():
        rounds = f"--rounds={QUICK_ROUNDS if quick else ROUNDS}"
        native = zeroing.run(rounds)
        uses = {name: firstuse.rows(zeroing.run("--use", *args, rounds).uses) for name, args in USES.items()}
        ready = {kernel: builds.ensure_build(kernel) for kernel in ("stock", "patched")}
        guest = run_guest(ready, 1 if quick else GUEST_ROUNDS)
        cost, exact = measure_cost(ready["patched"])
        helpers, _ = jobcost.measure(ready["patched"])
    result = {**exact.accel.as_dict(), **as_dict(native, uses, guest, cost, helpers)}
    if not quick:
        provenance.write_json(provenance.path_of("hugepages.json"), result)
    if json:
        print(jsons.dumps(result, indent=2))
    else:
        show(native, uses, guest, cost, helpers)
    return 0


def as_dict(
    native: zeroing.Measured,
    uses: Mapping[str, Sequence[firstuse.Row]],
    guest: Sequence[Timing],
    cost: Cost,
    helpers: jobcost.JobCost,
) -> dict[str, Any]:
    native_rows = zeroing.rows(native.timings)
    return {
        **provenance.of_native(COMMAND),
        "cannot_show": " ".join(SHOWS),
        "native": [asdict(row) for row in native_rows],
        "native_break_even_kib": zeroing.break_even(native_rows),
        **{name: [asdict(row) for row in table_rows] for name, table_rows in uses.items()},
        "guest_emulated": [asdict(row) for row in zeroing.rows(guest)],
        "exact": {**asdict(cost), "machine": MACHINE, "most": MAX_COST, "helper": helpers.as_dict()},
    }


def show(
    native: zeroing.Measured,
    uses: Mapping[str, Sequence[firstuse.Row]],
    guest: Sequence[Timing],
    cost: Cost,
    helpers: jobcost.JobCost,
) -> None:
    out = table.console()
    native_rows = zeroing.rows(native.timings)
    for name, table_rows in (("native", native_rows), ("guest, emulated", zeroing.rows(guest))):
        out.print(f"{name}: us for a page (median, least and most), CPU time of all threads (median)")
        out.print(_grid(table_rows))
    out.print(f"{table.OPEN}: the ranges overlap, or are not known: which one is faster is open\n")
    for name, use_rows in uses.items():
        out.print(f"{name}, from the touched page on: us for a page (median)")
        out.print(firstuse.grid(use_rows))
    even = zeroing.break_even(native_rows)
    told = f"from {even} KiB on" if even else "at no size"
    out.print(f"\ntwo threads gain {1 - zeroing.GAIN:.0%} and more {told} (native)")
    out.print(
        f"exact: {cost.job:,} instructions from the start of a job of 1 GiB to the caller's first chunk, "
        f"{cost.fault:,} from the page fault, with {cost.helpers} helpers woken"
    )
    out.print("\n".join([*told_helper(helpers, native_rows), "", *native.notes, *SHOWS]), markup=False)


def told_helper(helpers: jobcost.JobCost, native_rows: Sequence[zeroing.Row]) -> list[str]:
    """What the back end for tasks adds, also as a share of what a chunk takes natively."""
    lines = [
        f"exact: a helper of a task's job executes {helpers.task.chunk - helpers.boot.chunk:,} instructions "
        f"more for each chunk than one at boot, {helpers.limited.chunk - helpers.boot.chunk:,} with cpu.max "
        f"at two levels, and {helpers.end:,} when it leaves"
    ]
    for row in native_rows:
        if (row.kib, row.threads, row.way) == (zeroing.GIB, 1, zeroing.OURS):
            for kib in CHUNKS_KIB:
                us = row.us.median * kib / zeroing.GIB
                share = helpers.chunk / NS_PER_US / us
                lines.append(
                    f"  that is at most {share:.1%} of a chunk of {kib:,} KiB, {us:.0f} us here, at one "
                    "instruction a ns"
                )
    return lines


def _grid(table_rows: Iterable[zeroing.Row]) -> Table:
    names = (
        "KiB",
        "way",
        "threads",
        "n",
        "median",
        "min",
        "max",
        "CPU",
        "GiB/s",
        "of stock",
        "of one thread",
    )
    grid = table.grid(names, left={"way"})
    for row in table_rows:
        figures = [f"{value:,.0f}" for value in (row.us.median, row.us.low, row.us.high)]
        figures.append(f"{row.cpu_us.median:,.0f}" if row.cpu_us else "")
        ratios = [table.marked(row.of_stock), table.marked(row.of_one)]
        grid.add_row(
            f"{row.kib:,}", row.way, str(row.threads), str(row.us.n), *figures, f"{row.gib_s:.1f}", *ratios
        )
    return grid


# Checks of ./lab test


def cost_gate(build: builds.Build) -> Outcome:
    """What a caller does before the first byte of 1 GiB is zeroed, and a helper for each chunk."""
    cost, result = measure_cost(build)
    helpers, helpers_result = jobcost.measure(build)
    progress.note(
        f"{cost.fault:,} instructions from the fault, {cost.job:,} of the job, {cost.helpers} helpers"
    )
    for text in told_helper(helpers, ()):
        progress.note(text)
    problems = []
    if cost.fault > MAX_COST:
        problems.append(f"{cost.fault:,} instructions, at most {MAX_COST:,}")
    if not cost.helpers:
        problems.append("no helper was woken")
    return judge(problems, result.log) + judge(jobcost.too_much(helpers), helpers_result.log)
