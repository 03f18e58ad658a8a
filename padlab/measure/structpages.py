# SPDX-License-Identifier: GPL-2.0-only
"""Struct pages timed natively: what the two programs say, what it comes to, and its limits.

tools/testing/memmap_bulk compiles mm/memmap_bulk.c, x86's stores and the job engine in
userspace; the KUnit suite under User-mode Linux calls the kernel's own functions (bench.py).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab.core import paths, stats
from padlab.core.errors import LabError
from padlab.kernel import native
from padlab.measure import tools
from padlab.measure.verdict import Best, Gate, Limit, best

UML, USERSPACE = "UML", "userspace"
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
QUICK_MIB = 1024  # of struct pages
ROUNDS = 15  # of a run for a verdict
RUNS = 4  # at most, while one is not decided
_MM = (f"mm/memmap_{name}" for name in ("bulk.c", "bulk.h", "early.c", "early.h", "job.c", "job.h"))
_SOURCES = ("tools/testing/padata", *_MM, "arch/x86/mm/memmap_bulk.c", "include/linux/memmap_bulk.h")
TOOL = native.Tool("tools/testing/memmap_bulk", (*native.ENGINE, *_SOURCES))
WAYS = ("stock", OURS, "plain", LIMIT)


def log_path() -> Path:
    return paths.base().logs / "memmap-bench.log"


@dataclass(frozen=True)
class Timing:
    threads: int
    way: str
    ns: int
    ran: int  # threads that took part
    use: str = DEFERRED


@dataclass(frozen=True)
class Measured:
    bench: str
    pages: int = 0
    timings: tuple[Timing, ...] = ()
    notes: tuple[str, ...] = ()
    reference: tuple[int, ...] = ()


_MEMORY = re.compile(r"^memory: (\d+) pages, (.*)$")
_ROUND = re.compile(r"^round \d+ threads (\d+) ran (\d+) (?:(\w+) )?(\w+) (\d+) ns$")


def parse(said: tools.Said) -> Measured:
    pages, timings, notes = 0, [], []
    for text in said.lines:
        if match := _ROUND.match(text):
            threads, ran, use, way, ns = match.groups()
            timings.append(Timing(int(threads), way, int(ns), int(ran), use or DEFERRED))
        elif match := _MEMORY.match(text):
            pages = int(match[1])
            notes.append(f"{pages:,} pages, {match[2]}")
        else:
            notes.append(text)
    return Measured(USERSPACE, pages, tuple(timings), tuple(notes), said.reference)


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
    deferred = (timing for timing in measured.timings if timing.use == DEFERRED)
    by = stats.group(deferred, lambda timing: (timing.threads, timing.way))
    result = []
    ns = {key: _per_page(timings, measured.pages) for key, timings in by.items()}
    for threads, way in sorted(ns, key=lambda key: (key[0], WAYS.index(key[1]))):
        if (threads, "stock") not in ns:
            raise LabError(f"bench, {measured.bench}", "stock was not timed", "see its log")
        ours, stock, limit = ns[threads, way], ns[threads, "stock"], ns.get((threads, LIMIT))
        of_stock = None if way == "stock" else stats.ratio(stock, ours)
        of_limit = stats.ratio(limit, ours) if limit and way != LIMIT else None
        alone = sum(timing.ran < threads for timing in by[threads, way])
        result.append(Row(measured.bench, threads, way, ours, of_stock, of_limit, alone))
    return result


def use_rows(measured: Measured) -> list[UseRow]:
    others = [timing for timing in measured.timings if timing.use != DEFERRED]
    by = stats.group(others, lambda timing: (timing.use, timing.way))
    result = []
    for (use, way), timings in by.items():
        ns = _per_page(timings, measured.pages)
        stock = _per_page(by[use, "stock"], measured.pages)
        result.append(UseRow(use, way, ns, None if way == "stock" else stats.ratio(stock, ns)))
    return sorted(result, key=lambda row: (list(USES).index(row.use), row.way != "stock", row.way))


def _per_page(timings: Iterable[Timing], pages: int) -> stats.Summary:
    return stats.summarize([timing.ns / pages for timing in timings])


def run(*args: str) -> Measured:
    program = native.make(TOOL, "memmap_bench")
    return parse(tools.run(program, *args, what="struct pages, userspace", log=log_path()))


def limits(timings: Sequence[Timing], wanted: Iterable[int]) -> list[Limit]:
    """Of ours over its peers, round by round: with ``wanted`` numbers of threads, and for each use."""
    found = []
    for threads in sorted(set(wanted)):
        name = f"{threads} thread{'s' * (threads > 1)}"
        limit, stock, ours = _times(timings, (DEFERRED, threads), (LIMIT, "stock", OURS), name)
        found.append(Limit(f"{name}, of the machine's limit", stats.paired(limit, ours), MAX_OF_LIMIT))
        found.append(Limit(f"{name}, of stock", stats.paired(stock, ours), MAX_OF_STOCK))
    for use, name in USES.items():
        # In most, both store through the cache: the memory decides, and they take the same time.
        stock, ours = _times(timings, (use, 1), ("stock", USE_OURS), name)
        found.append(Limit(f"{name}, of stock", stats.paired(stock, ours), MAX_USE_OF_STOCK))
    return found


def _times(
    timings: Iterable[Timing], which: tuple[str, int], ways: Sequence[str], name: str
) -> list[list[int]]:
    of_use = (timing for timing in timings if (timing.use, timing.threads) == which)
    by = stats.group(of_use, lambda timing: timing.way)
    tools.need("memmap_bench", [f"{name}, {way}" for way in ways if way not in by], log_path())
    return [[timing.ns for timing in by[way]] for way in ways]


def bests(timings: Sequence[Timing]) -> list[Best]:
    """Which stores are best for each use that chooses by CPU."""
    ways = ("stock", OURS, "plain", USE_OURS)
    return [
        best(name, dict(zip(ways, _times(timings, (use, 1), ways, name), strict=True)), USE_OURS)
        for use, name in USES.items()
    ]


def time_gate() -> Gate[Measured]:
    """Close to the machine's limit, below stock on one CPU and on all, and never above it."""
    wanted = {1, native.cpus()}
    return Gate(
        "struct pages",
        lambda: run(f"--rounds={ROUNDS}", f"--mib={QUICK_MIB}"),
        lambda runs: limits([one for run in runs for one in run.timings], wanted),
        RUNS,
        lambda runs: bests([one for run in runs for one in run.timings]),
    )
