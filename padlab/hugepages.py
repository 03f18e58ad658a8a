# SPDX-License-Identifier: GPL-2.0-only
"""``./lab bench hugepages``: how long it takes to zero huge pages, stock's way beside ours.

Natively, tools/testing/folio_zero runs mm/folio_zero.c, x86's extents and the job
engine as they are, on real memory.  In the guest, a program touches pages of stock
and of ours; there the times are those of an emulator, and what counts is what a
caller does before the first byte is zeroed: instructions, in exact mode.
"""

from __future__ import annotations

import json as jsons
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from padlab import bench, boot, firstuse, gate, initramfs, machine, paths, progress, record, stats, table
from padlab import build as builds
from padlab.errors import LabError
from padlab.outcome import Outcome, judge

COMMAND = "./lab bench hugepages"
MACHINE = "huge-pages"  # four CPUs on two nodes
GIB, MIB2 = 1 << 20, 2048  # in KiB

MAX_RATIO = 0.6  # two threads of one, 1 GiB
MAX_ONE_RATIO = 1.02  # one thread with extents of stock's loop: no slower, and noise
MAX_COST = 50_000  # instructions of the caller before the first byte is zeroed
GAIN = 0.9  # a job pays where two threads take at most this of one thread's time
ROUNDS, QUICK_ROUNDS, GUEST_ROUNDS = 15, 5, 3

_FOLDER = "tools/testing/folio_zero"
_PLACE = paths.BUILD / "zero-bench"
_LOG = paths.LOGS / "zero-bench.log"
_PREFIX = "zero_bench: "
_ROUND = re.compile(r"^round \d+ kib (\d+) threads (\d+) (stock|ours) (\d+) ns$")
_GUEST = re.compile(r"^kib (\d+) threads (\d+) ns (\d+)$")
_EVENT = re.compile(r"PADLAB: trace\s+(.+)-\d+\s+\[\d+\]\s+\S+\s+(\d+): (\w+):")

SHOWS = (
    "native: mm/folio_zero.c, x86's extents and the job engine as they are, and stock's loops written out",
    "  with the kernel's instruction for a page.  Shows not: faults, NUMA, how long the kernel takes to",
    "  wake a helper (here: a futex)",
    "guest: the whole of a page fault, in an emulator that has a thread for all CPUs: more threads cannot",
    "  be faster, and string instructions go byte by byte",
)


# What the programs say


@dataclass(frozen=True)
class Timing:
    """A page of ``kib`` zeroed: the mean of a round, in ns."""

    kib: int
    threads: int
    way: str
    ns: int


@dataclass(frozen=True)
class Measured:
    timings: tuple[Timing, ...] = ()
    notes: tuple[str, ...] = ()
    failure: str = ""
    ended: bool = False


def parse(lines: Iterable[str]) -> Measured:
    """Read zero_bench's output."""
    timings, notes = [], []
    texts, failure, ended = bench.said(lines, _PREFIX)
    for text in texts:
        if match := _ROUND.match(text):
            timings.append(Timing(int(match[1]), int(match[2]), match[3], int(match[4])))
        else:
            notes.append(text)
    return Measured(tuple(timings), tuple(notes), failure, ended)


def problems(measured: Measured, status: int) -> list[str]:
    if measured.failure:
        return [measured.failure]
    if not measured.ended or status:
        return [f"it ended with status {status}{'' if measured.ended else ' and no result'}"]
    return []


def parse_guest(values: Iterable[tuple[str, str]], kernel: str) -> list[Timing]:
    """Read what role "hugepages" says."""
    found = []
    for key, value in values:
        if key == "huge" and (match := _GUEST.match(value)):
            way = "stock" if kernel == "stock" else "ours"
            found.append(Timing(int(match[1]), int(match[2]), way, int(match[3])))
    return found


@dataclass(frozen=True)
class Cost:
    """Instructions from a page fault, and from the job's start, to its first chunk."""

    fault: int
    job: int
    helpers: int


def parse_cost(console: Iterable[str]) -> Cost | None:
    """Read the trace of role "hugecost".  Whatever other CPUs did meanwhile is counted, too."""
    fault = start = None
    helpers = 0
    for line in console:
        match = _EVENT.search(line)
        if not match:
            continue
        event, at = match[3], int(match[2])
        if event == "page_fault_user" and start is None:
            fault = at
        elif event == "padata_mt_job_start" and start is None:
            start = at
        elif event == "padata_mt_helper" and start is not None:
            helpers += 1
        elif event == "padata_mt_chunk" and start is not None and fault is not None:
            # Until the caller's own: a helper may have begun before.
            if "kworker" not in match[1]:
                return Cost(at - fault, at - start, helpers)
    return None


# What it comes to


@dataclass(frozen=True)
class Row:
    kib: int
    threads: int
    way: str
    us: stats.Summary
    of_stock: stats.Ratio | None
    of_one: stats.Ratio | None  # of our own with one thread

    @property
    def gib_s(self) -> float:
        return self.kib / GIB / (self.us.median / 1e6)


def rows(timings: Iterable[Timing]) -> list[Row]:
    by = stats.group(timings, lambda timing: (timing.kib, timing.threads, timing.way))
    summaries = {key: stats.summarize([one.ns / 1000 for one in found]) for key, found in by.items()}
    result = []
    for key in sorted(summaries, key=lambda key: (key[0], key[2] != "stock", key[1])):
        kib, threads, way = key
        stock, one = summaries.get((kib, 1, "stock")), summaries.get((kib, 1, "ours"))
        ours = summaries[key]
        of_stock = stats.ratio(stock, ours) if stock and way == "ours" else None
        of_one = stats.ratio(one, ours) if one and way == "ours" and threads > 1 else None
        result.append(Row(kib, threads, way, ours, of_stock, of_one))
    return result


def break_even(table_rows: Sequence[Row]) -> int | None:
    """The least size, in KiB, from which on two threads gain; None if they never do."""
    least = None
    for row in sorted(table_rows, key=lambda row: -row.kib):
        if row.threads != 2 or row.of_one is None or row.of_one.value is None:
            continue
        if row.of_one.value > GAIN:
            break
        least = row.kib
    return least


def too_slow(table_rows: Iterable[Row]) -> list[str]:
    found = []
    for row in table_rows:
        if row.kib != GIB or row.way != "ours":
            continue
        if row.threads == 1 and row.of_stock and (row.of_stock.value or 0) > MAX_ONE_RATIO:
            found.append(f"one thread takes {row.of_stock.value:.2f} of stock's time, at most {MAX_ONE_RATIO}")
        if row.threads == 2 and row.of_one and (row.of_one.value or 0) > MAX_RATIO:
            found.append(f"two threads take {row.of_one.value:.2f} of one's time, at most {MAX_RATIO}")
    return found


# Running


def run_native(*args: str) -> Measured:
    sources = ("mm/folio_zero.c", "arch/x86/mm/zero_pages.c", "include/linux/folio_zero.h")
    program = bench.build_tool(_FOLDER, "zero_bench", sources, _PLACE)
    with progress.step("huge pages, native"):
        lines, status = bench.run_tool(program, *args, log=_LOG)
    measured = parse(lines)
    if bad := problems(measured, status):
        raise LabError("zero_bench", bad[0], "see its log", log=_LOG)
    return measured


def run_guest(ready: dict[str, builds.Build], rounds: int) -> list[Timing]:
    """Stock and ours by turns."""
    found = []
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
            timings = parse_guest(result.dmesg.padlab, kernel)
            if not timings:
                raise LabError(f"huge pages of {kernel}", "the guest timed none", "see the console", log=result.log)
            found += timings
    return found


def measure_cost(build: builds.Build) -> tuple[Cost, boot.BootResult]:
    spec = boot.BootSpec(
        machine.load(MACHINE),
        build.kernel,
        build.config,
        exact=True,
        all_cpus=True,
        initrd=initramfs.ensure(build, "hugecost"),
    )
    result = boot.boot(spec, build, "huge pages, exact")
    cost = parse_cost(result.console)
    if cost is None:
        raise LabError("cost of a job", "the trace has no job", "see the console", log=result.log)
    return cost, result


# The command


def main(quick: bool = False, json: bool = False) -> int:
    """Measure, print, and record unless it was quick."""
    with boot.quiet_stdout():
        rounds = f"--rounds={QUICK_ROUNDS if quick else ROUNDS}"
        native = run_native(rounds)
        uses = firstuse.rows(firstuse.parse(run_native("--use", rounds).notes))
        ready = {kernel: builds.ensure_build(kernel, "perf") for kernel in ("stock", "patched")}
        guest = run_guest(ready, 1 if quick else GUEST_ROUNDS)
        cost, _ = measure_cost(ready["patched"])
    result = as_dict(native, uses, guest, cost)
    if not quick:
        record.write_json(record.path_of("hugepages.json"), result)
    if json:
        print(jsons.dumps(result, indent=2))
    else:
        show(native, uses, guest, cost)
    return 0


def as_dict(
    native: Measured, uses: Sequence[firstuse.Row], guest: Sequence[Timing], cost: Cost
) -> dict[str, Any]:
    native_rows = rows(native.timings)
    return {
        **bench.provenance(COMMAND),
        "cannot_show": " ".join(SHOWS),
        "native": [asdict(row) for row in native_rows],
        "native_break_even_kib": break_even(native_rows),
        "native_first_use": [asdict(row) for row in uses],
        "guest_emulated": [asdict(row) for row in rows(guest)],
        "exact": {**asdict(cost), "machine": MACHINE, "most": MAX_COST},
    }


def show(native: Measured, uses: Sequence[firstuse.Row], guest: Sequence[Timing], cost: Cost) -> None:
    out = table.console()
    for name, timings in (("native", native.timings), ("guest, emulated", guest)):
        out.print(f"{name}: us for a page (median, least and most)")
        out.print(_grid(rows(timings)))
    out.print("native, by the task alone, which then goes on from there through half of it: us for a page (median)")
    out.print(firstuse.grid(uses))
    even = break_even(rows(native.timings))
    told = f"from {even} KiB on" if even else "at no size"
    out.print(f"\ntwo threads gain {1 - GAIN:.0%} and more {told} (native)")
    out.print(
        f"exact: {cost.job:,} instructions from the start of a job of 1 GiB to the caller's first chunk, "
        f"{cost.fault:,} from the page fault, with {cost.helpers} helpers woken"
    )
    out.print("\n".join(["", *native.notes, *SHOWS]), markup=False)


def _grid(table_rows: Iterable[Row]) -> Table:
    names = ("KiB", "way", "threads", "n", "median", "min", "max", "GiB/s", "of stock", "of one thread")
    grid = table.grid(names, left={"way"})
    for row in table_rows:
        figures = [f"{value:,.0f}" for value in (row.us.median, row.us.low, row.us.high)]
        ratios = [table.ratio(row.of_stock), table.ratio(row.of_one)]
        grid.add_row(
            f"{row.kib:,}", row.way, str(row.threads), str(row.us.n), *figures, f"{row.gib_s:.1f}", *ratios
        )
    return grid


# Checks of ./lab test


def check_zeroed() -> Outcome:
    """All of a folio is zeroed, and nothing beside it, for folios and arrays of any size."""
    for note in run_native("--check").notes:
        progress.note(note)
    return Outcome(1, log=_LOG)


def time_gate() -> Outcome:
    """The native goals for 1 GiB."""
    alone: list[Timing] = []
    several = (os.cpu_count() or 1) > 1
    wanted = {(1, "stock"), (1, "ours")} | ({(2, "ours")} if several else set())

    def measure() -> list[str]:
        timings = run_native(f"--rounds={gate.ROUNDS}", f"--min-kib={GIB}").timings
        table_rows = rows(gate.judged(alone, timings, key=lambda t: (t.kib, t.threads, t.way)))
        gate.need("zero_bench", wanted - {(row.threads, row.way) for row in table_rows}, _LOG)
        for row in table_rows:
            if row.of_stock:
                of_one = f", {row.of_one.value:.2f} of one thread's" if row.of_one else ""
                progress.note(f"{row.threads} threads: {row.of_stock.value:.2f} of stock's time{of_one}")
        return too_slow(table_rows)

    outcome = judge(gate.until_met(measure), _LOG)
    return outcome if several else outcome + Outcome(skips=("two threads: needs two CPUs",))


def first_use_gate() -> Outcome:
    """To zero a folio and to use it takes no longer than in stock; nor does use alone of a huge one."""
    uses: list[firstuse.Use] = []

    def measure() -> list[str]:
        uses.extend(firstuse.parse(run_native("--use", f"--rounds={gate.ROUNDS}").notes))
        table_rows = firstuse.rows(firstuse.least(uses))
        timed = {(row.kib, row.page, row.way) for row in table_rows}
        gate.need("zero_bench --use", firstuse.WANTED - timed, _LOG)
        for row in table_rows:
            if row.of_stock and row.use_of_stock:
                progress.note(
                    f"{row.kib} KiB touched at page {row.page}: {row.of_stock.value:.2f} of stock's time,"
                    f" {row.use_of_stock.value:.2f} to use it"
                )
        return firstuse.too_slow(table_rows)

    return judge(gate.until_met(measure), _LOG)


def cost_gate(build: builds.Build) -> Outcome:
    """What a caller does before the first byte of 1 GiB is zeroed, the page fault included."""
    cost, result = measure_cost(build)
    progress.note(f"{cost.fault:,} instructions from the fault, {cost.job:,} of the job, {cost.helpers} helpers")
    found = []
    if cost.fault > MAX_COST:
        found.append(f"{cost.fault:,} instructions, at most {MAX_COST:,}")
    if not cost.helpers:
        found.append("no helper was woken")
    return judge(found, result.log)
