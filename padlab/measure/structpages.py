# SPDX-License-Identifier: GPL-2.0-only
"""Struct pages timed natively: what the two programs say, what it comes to, and its limits.

tools/testing/memmap_bulk compiles mm/memmap_bulk.c, x86's stores and the job engine in
userspace; the KUnit suite under User-mode Linux calls the kernel's own functions (bench.py).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from padlab.core import paths, stats
from padlab.core.errors import LabError
from padlab.kernel import native
from padlab.measure import tools
from padlab.measure.tools import Measured, Timing
from padlab.measure.verdict import Gate, Limit, best
from padlab.vm.machine import plural

UML, USERSPACE = "UML", Measured.bench
OURS = "movnti"  # the stores of the kernel
# The machine's limit: bare streaming stores of 64 bytes for each struct page, and nothing else.
LIMIT = "limit"
MAX_OF_LIMIT = 1.10
MAX_OF_STOCK = 1.0
MAX_USE_OF_STOCK = 1.02  # of other uses, in which the memory decides: no slower, and noise
# What struct pages are initialised for, by the program's names: to be freed together, or else.
DEFERRED = "deferred"
USES = {
    "hotplug": "hotplug, 128 MiB at a time",
    "hotplug_large": "hotplug, 2 GiB at a time",
    "early": "early pages, 64 MiB of struct pages",
    "early_large": "early pages, 256 MiB of struct pages",
    "cma": "reserved pages that CMA frees",
    "reserved": "reserved pages that nobody frees",
}
USE_OURS = "ours"  # by CPU movnti or plain stores, which are timed beside it
USE_WAYS = ("stock", OURS, USE_OURS, "plain")
QUICK_MIB = 1024  # of struct pages
ROUNDS = 15  # of a run for a verdict
RUNS = 4  # at most, while one is not decided
_MM = (f"mm/memmap_{name}" for name in ("bulk.c", "bulk.h", "early.c", "early.h", "job.c", "job.h"))
_SOURCES = ("tools/testing/padata", *_MM, "arch/x86/mm/memmap_bulk.c", "include/linux/memmap_bulk.h")
TOOL = native.Tool("tools/testing/memmap_bulk", (*native.ENGINE, *_SOURCES))
WAYS = ("stock", OURS, "plain", LIMIT)


def log_path() -> Path:
    return paths.base().logs / "memmap-bench.log"


_MEMORY = re.compile(r"^memory: (\d+) pages, (.*)$")
_ROUND = re.compile(r"^round \d+ threads (\d+) ran (\d+) (?:(\w+) )?(\w+) (\d+) ns$")


def parse(said: tools.Said) -> Measured:
    pages, timings, notes = 0, [], []
    for text in said.lines:
        if match := _ROUND.match(text):
            threads, ran, use, way, ns = match.groups()
            timings.append(Timing(use or DEFERRED, int(threads), way, int(ns), int(ran)))
        elif match := _MEMORY.match(text):
            pages = int(match[1])
            notes.append(f"{pages:,} pages, {match[2]}")
        else:
            notes.append(text)
    return Measured(tuple(timings), tuple(notes), said.reference, pages)


@dataclass(frozen=True)
class Row:
    """A way on so many threads, in ns per page, beside stock's and the limit on as many."""

    bench: str
    threads: int
    way: str
    ns: stats.Summary
    ratio: stats.Ratio | None  # of stock; None: this is stock
    of_limit: stats.Ratio | None  # None: this is the limit, or it was not timed
    alone: int  # rounds in which not all threads took part


@dataclass(frozen=True)
class UseRow:
    """A way to initialise and use struct pages that are not freed together, on one thread, in ns per page."""

    use: str
    way: str
    ns: stats.Summary
    ratio: stats.Ratio | None  # of stock; None: this is stock


def rows(measured: Measured) -> list[Row]:
    ns = _per_page(measured)
    alone = [timing.key for timing in measured.timings if timing.more < timing.threads]
    result = []
    for key in sorted(
        (key for key in ns if key[0] == DEFERRED), key=lambda key: (key[1], WAYS.index(key[2]))
    ):
        _what, threads, way = key
        stock, limit = (ns.get((DEFERRED, threads, other)) for other in ("stock", LIMIT))
        if stock is None:
            raise LabError(f"bench, {measured.bench}", "stock was not timed", "see its log")
        of_stock = None if way == "stock" else stats.ratio(stock, ns[key])
        of_limit = stats.ratio(limit, ns[key]) if limit and way != LIMIT else None
        result.append(Row(measured.bench, threads, way, ns[key], of_stock, of_limit, alone.count(key)))
    return result


def use_rows(measured: Measured) -> list[UseRow]:
    by = _per_page(measured)
    return [
        UseRow(use, way, ns, None if way == "stock" else stats.ratio(by[use, 1, "stock"], ns))
        for use, way in product(USES, USE_WAYS)
        if (ns := by.get((use, 1, way)))
    ]


def _per_page(measured: Measured) -> dict[tools.Key, stats.Summary]:
    times = tools.times_of([measured])
    return {key: stats.summarize([ns / measured.pages for ns in of_key]) for key, of_key in times.items()}


def run(*args: str) -> Measured:
    program = native.make(TOOL, "memmap_bench")
    return parse(tools.run(program, *args, what="struct pages, userspace", log=log_path()))


def limits(times: tools.Times, counts: Iterable[int]) -> list[Limit]:
    """Of ours over its peers, round by round: on so many threads, and for each use."""
    found = []
    for threads in counts:
        name, ours = plural(threads, "thread"), times[DEFERRED, threads, OURS]
        of_limit, of_stock = (stats.paired(times[DEFERRED, threads, way], ours) for way in (LIMIT, "stock"))
        found.append(Limit(f"{name}, of the machine's limit", of_limit, MAX_OF_LIMIT))
        found.append(Limit(f"{name}, of stock", of_stock, MAX_OF_STOCK))
    for use, name in USES.items():
        # In most, both store through the cache: the memory decides, and they take the same time.
        of_stock = stats.paired(times[use, 1, "stock"], times[use, 1, USE_OURS])
        found.append(Limit(f"{name}, of stock", of_stock, MAX_USE_OF_STOCK))
    return found


def time_gate() -> Gate:
    """Close to the machine's limit, below stock on one CPU and on all, and never above it."""
    counts = sorted({1, native.cpus()})
    return Gate(
        "struct pages",
        lambda: run(f"--rounds={ROUNDS}", f"--mib={QUICK_MIB}"),
        log=log_path(),
        runs=RUNS,
        wanted={*product([DEFERRED], counts, ("stock", OURS, LIMIT)), *product(USES, [1], USE_WAYS)},
        limits=lambda times: limits(times, counts),
        bests=lambda times: [
            best(name, {way: times[use, 1, way] for way in USE_WAYS}, USE_OURS) for use, name in USES.items()
        ],
    )
