# SPDX-License-Identifier: GPL-2.0-only
"""Huge pages zeroed and copied natively: what zero_bench says, what it comes to, and its limits.

tools/testing/folio_zero compiles mm/folio_zero.c, mm/folio_copy.c, x86's stores and the job
engine in userspace, beside stock's loops and the other ways that this CPU has.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from msgspec import Struct

from padlab.core import host, paths, stats, toml
from padlab.kernel import native
from padlab.measure import tools
from padlab.measure.tools import Measured, Times, Timing
from padlab.measure.verdict import Best, Gate, Limit, best

GIB = 1 << 20  # in KiB
_GIB = str(GIB)  # as timings have it
MAX_OF_BEST = 1.05  # one thread, of the best way of one thread that this CPU has: 1 GiB
# One thread, of stock's loop, 1 GiB: on any CPU; past the cache, on Sapphire and Emerald
# Rapids, and those with CLZERO, which stock does not do.
MAX_OF_STOCK, MAX_OF_STOCK_INTEL, MAX_OF_STOCK_CLZERO = 1.0, 0.55, 0.45
MAX_OF_STOCK_COPY, MAX_OF_STOCK_COPY_INTEL = 1.0, 0.75  # 1 GiB copied, one thread
MAX_OF_EXTENTS = 1.05  # where stock zeroes in extents, too: no more, and noise
MAX_OF_ONE = 0.6  # two threads of one, 1 GiB, where the memory allows it
MAX_OF_SPLIT = 1.05  # else of what two threads gain that have half of it each
MAX_OF_ONE_EVER = 0.95  # unless even those do not gain so much
NO_LOSS = 1.02  # then no more than one takes, and noise
MAX_OF_BARE = 1.15  # more threads, of as many with an equal share of it each
ROUNDS = 16  # of 1 GiB in a run: with eight ways, each comes twice after each of the others
RUNS = 6  # at most, while a verdict is not decided
SIZES_ROUNDS = 8
OURS, STOCK, CLZERO, MOVNTI, SPLIT = "ours", "stock", "clzero", "movnti", "split"
# One thread each; of movnti, ours is judged on Sapphire and Emerald Rapids, which have it.
PEERS = (STOCK, "mainline", "whole", CLZERO)
UNTOUCHED, MIGRATED = "fallocate", "migrated"  # ours, of pages that nobody has touched, and of copies
WAYS = (*PEERS, MOVNTI, SPLIT, OURS, UNTOUCHED, MIGRATED)
COPY_PEERS = (STOCK, MOVNTI)  # not one string instruction for all, which cannot be interrupted
COPIES = ("--copy", "--min-kib=2048")  # zero_bench: of pages that are copied

# To zero a folio that was touched, and to use it: zeroing may be fast at the cost of what comes after, as
# memory that is not in the cache has to be fetched.  Both together, of stock's time: no slower, and noise.
MAX_USE = 1.02
USE_ROUNDS, USE_RUNS = 25, 4
USE_SIZES = (16, 64, 512, 1024, 2048)  # in KiB
COPY_SIZES = USE_SIZES[-1:]
USE_HOW = ("forward", "backward", "random")

FILE = "zeroing.toml"
_FOLIO = ("mm/folio_zero.c", "mm/folio_copy.c", "include/linux/folio_zero.h", "include/linux/folio_copy.h")
_X86 = ("mm/zero_pages.c", "mm/copy_pages.c", "mm/bulk_stores.c", "include/asm/bulk_stores.h")
_SOURCES = ("tools/testing/padata", *_FOLIO, *(f"arch/x86/{name}" for name in _X86))
TOOL = native.Tool("tools/testing/folio_zero", (*native.ENGINE, *_SOURCES))
_ROUND = re.compile(r"^round \d+ kib (\d+) threads (\d+) (\w+) (\d+) ns cpu (\d+) ns$")
_USE = re.compile(r"^round \d+ kib (\d+) page (\d+) (\w+) (\w+) zero (\d+) ns use (\d+) ns$")


def log_path() -> Path:
    return paths.base().logs / "zero-bench.log"


class Stock(Struct, frozen=True, forbid_unknown_fields=True):
    """``FILE`` of the base in use: whether its stock zeroes in extents, and not page by page."""

    zeroes_extents: bool = False


def stock_zeroes_extents() -> bool:
    path = paths.over(FILE)
    return toml.load(path, Stock).zeroes_extents if path else False


def use_name(kib: int, page: int, how: str) -> str:
    """Of a folio that was touched at a page, zeroed or copied, and half of it used, which is timed, too."""
    return f"{kib} KiB touched at page {page}, used {how}"


def parse(said: tools.Said) -> Measured:
    timings, notes = [], []
    for text in said.lines:
        if match := _ROUND.match(text):
            kib, threads, way, ns, cpu_ns = match.groups()
            timings.append(Timing(kib, int(threads), way, int(ns), int(cpu_ns)))
        elif match := _USE.match(text):
            kib, page, how, way, zero, use = match.groups()
            timings.append(Timing(use_name(int(kib), int(page), how), 1, way, int(zero) + int(use)))
        else:
            notes.append(text)
    return Measured(tuple(timings), tuple(notes), said.reference)


def run(*args: str) -> Measured:
    program = native.make(TOOL, "zero_bench")
    return parse(tools.run(program, *args, what="huge pages, userspace", log=log_path()))


@dataclass(frozen=True)
class Row:
    kib: int
    threads: int
    way: str
    us: stats.Summary
    cpu_us: stats.Summary  # of all threads together
    of_stock: stats.Ratio | None
    of_one: stats.Ratio | None  # ours, of our own with one thread
    of_bare: stats.Ratio | None  # ours, of as many bare threads


def rows(timings: Iterable[Timing]) -> list[Row]:
    by = stats.group(timings, lambda timing: timing.key)
    us = {key: stats.summarize([timing.ns / 1000 for timing in same]) for key, same in by.items()}

    def of(peer: tools.Key, ours: tools.Key) -> stats.Ratio | None:
        return stats.ratio(us[peer], us[ours]) if peer in us and peer != ours else None

    result = []
    for key in sorted(by, key=lambda key: (int(key[0]), WAYS.index(key[2]), key[1])):
        kib, threads, way = key
        cpu = stats.summarize([timing.more / 1000 for timing in by[key]])
        of_ours = [of((kib, 1, OURS), key), of((kib, threads, SPLIT), key)] if way == OURS else [None, None]
        result.append(Row(int(kib), threads, way, us[key], cpu, of((kib, 1, STOCK), key), *of_ours))
    return result


def limits(times: Times, several: bool, extents: bool = False) -> list[Limit]:
    """Of 1 GiB with one thread and, on ``several`` CPUs, more; ``extents``: stock zeroes in these."""
    rapids = host.is_rapids()
    most = MAX_OF_STOCK_INTEL if rapids else MAX_OF_STOCK
    if extents or (_GIB, 1, CLZERO) in times:
        most = MAX_OF_EXTENTS if extents else MAX_OF_STOCK_CLZERO
    found = _one(times, most, (*PEERS, MOVNTI) if rapids else PEERS)
    return found + _two(times) + _more(times) if several else found


def _one(times: Times, most: float, ways: Iterable[str]) -> list[Limit]:
    """Of each way that this CPU has, and so of the best; stock's once more, which may be ``most``."""
    peers = [(way, MAX_OF_BEST, way) for way in ways if (_GIB, 1, way) in times]
    return [
        Limit(f"1 thread, of {name}", stats.paired(times[_GIB, 1, way], times[_GIB, 1, OURS]), limit)
        for way, limit, name in (*peers, (STOCK, most, "stock's loop"))
    ]


def _two(times: Times) -> list[Limit]:
    alone, two, split = times[_GIB, 1, OURS], times[_GIB, 2, OURS], times[_GIB, 2, SPLIT]
    of_one, machine = stats.paired(alone, two), stats.paired(alone, split).value
    name = "2 threads, of one"
    if of_one.value <= MAX_OF_ONE:
        return [Limit(name, of_one, MAX_OF_ONE)]
    most = max(MAX_OF_ONE_EVER, min(MAX_OF_SPLIT * machine, NO_LOSS))
    half = Limit("2 threads, of two with half of it each", stats.paired(split, two), MAX_OF_SPLIT)
    return [Limit(name, of_one, most), half]


def _more(times: Times) -> list[Limit]:
    counts = sorted(threads for what, threads, way in times if (what, way) == (_GIB, SPLIT) and threads > 2)
    bare = ((nr, stats.paired(times[_GIB, nr, SPLIT], times[_GIB, nr, OURS])) for nr in counts)
    return [Limit(f"{nr} threads, of as many bare ones", ratio, MAX_OF_BARE) for nr, ratio in bare]


def time_gate(extents: bool = False) -> Gate:
    several = native.cpus() > 1
    wanted = {(_GIB, 1, way) for way in (OURS, *PEERS) if way != CLZERO}
    return Gate(
        "1 GiB zeroed",
        lambda: run(f"--rounds={ROUNDS}", f"--min-kib={GIB}"),
        log=log_path(),
        runs=RUNS,
        wanted=wanted | {(_GIB, 2, OURS), (_GIB, 2, SPLIT)} if several else wanted,
        limits=lambda times: limits(times, several, extents),
    )


def _alone(times: Times, what: str) -> dict[str, Sequence[int]]:
    """By way, what one thread takes."""
    return {key[2]: ns for key, ns in times.items() if key[:2] == (what, 1)}


def sizes_gate() -> Gate:
    """What ours takes of the best way, for each size that nobody has touched; it has no limits of its own."""

    def bests(times: Times) -> list[Best]:
        sizes = {kib: _alone(times, kib) for kib in dict.fromkeys(kib for kib, _, _ in times)}
        others = {kib: {way: ns for way, ns in of.items() if way != OURS} for kib, of in sizes.items()}
        return [best(f"{kib} KiB", ways, UNTOUCHED) for kib, ways in others.items() if UNTOUCHED in ways]

    measure = partial(run, f"--rounds={SIZES_ROUNDS}", "--threads=1")
    name = "pages zeroed that nobody has touched"
    return Gate(name, measure, log=log_path(), runs=1, wanted=(), limits=lambda _times: [], bests=bests)


def copy_gate() -> Gate:
    """1 GiB copied by one thread: of stock's loop, and of each way that this CPU has."""
    most = MAX_OF_STOCK_COPY_INTEL if host.is_rapids() else MAX_OF_STOCK_COPY
    return Gate(
        "1 GiB copied",
        lambda: run("--copy", f"--rounds={ROUNDS}", f"--min-kib={GIB}"),
        log=log_path(),
        runs=RUNS,
        wanted=[(_GIB, 1, way) for way in (OURS, *COPY_PEERS)],
        limits=lambda times: _one(times, most, COPY_PEERS),
        bests=lambda times: [best("1 GiB copied", _alone(times, _GIB), OURS)],
    )


def first_use_gate(extents: bool = False, copies: bool = False) -> Gate:
    """To zero a folio and to use it takes no longer than in stock, wherever and however it is used.

    Touched are the first page, one after a third of them, and the last.  ``extents``: stock does as ours,
    and differences are noise.  ``copies``: huge pages are copied.
    """
    names = [
        use_name(kib, page, how)
        for kib, how in product(COPY_SIZES if copies else USE_SIZES, USE_HOW)
        for page in (0, kib // 4 // 3, kib // 4 - 1)
    ]
    most = MAX_OF_EXTENTS if extents else MAX_USE
    return Gate(
        f"folios {'copied' if copies else 'zeroed'} and used",
        lambda: run("--use", f"--rounds={USE_ROUNDS}", *(COPIES if copies else ())),
        log=log_path(),
        runs=USE_RUNS,
        wanted=[*product(names, [1], (STOCK, OURS))],
        limits=lambda times: [
            Limit(name, stats.paired(times[name, 1, STOCK], times[name, 1, OURS]), most) for name in names
        ],
        bests=lambda times: [best(name, _alone(times, name), OURS) for name in names],
    )
