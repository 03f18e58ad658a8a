# SPDX-License-Identifier: GPL-2.0-only
"""Huge pages zeroed and copied natively: what zero_bench says, what it comes to, and its limits.

tools/testing/folio_zero compiles mm/folio_zero.c, mm/folio_copy.c, x86's stores and the job
engine in userspace, beside stock's loops and the other ways that this CPU has.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from msgspec import Struct

from padlab.core import host, paths, stats, toml
from padlab.kernel import native
from padlab.measure import tools
from padlab.measure.verdict import Best, Gate, Limit, best

GIB = 1 << 20  # in KiB
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

Times = dict[tuple[int, str], list[int]]  # of 1 GiB by threads and way, in ns, round by round


def log_path() -> Path:
    return paths.base().logs / "zero-bench.log"


class Stock(Struct, frozen=True, forbid_unknown_fields=True):
    """``FILE`` of the base in use: whether its stock zeroes in extents, and not page by page."""

    zeroes_extents: bool = False


def stock_zeroes_extents() -> bool:
    path = paths.over(FILE)
    return toml.load(path, Stock).zeroes_extents if path else False


@dataclass(frozen=True)
class Timing:
    kib: int
    threads: int
    way: str
    ns: int
    cpu_ns: int = 0


@dataclass(frozen=True)
class Use:
    """A folio that was touched, zeroed, and half of it used, as ``name`` says: the mean of a round."""

    name: str
    way: str
    ns: int


def use_name(kib: int, page: int, how: str) -> str:
    return f"{kib} KiB touched at page {page}, used {how}"


@dataclass(frozen=True)
class Measured:
    timings: tuple[Timing, ...] = ()
    uses: tuple[Use, ...] = ()
    notes: tuple[str, ...] = ()
    reference: tuple[int, ...] = ()


def parse(said: tools.Said) -> Measured:
    timings, uses, notes = [], [], []
    for text in said.lines:
        if match := _ROUND.match(text):
            kib, threads, way, ns, cpu_ns = match.groups()
            timings.append(Timing(int(kib), int(threads), way, int(ns), int(cpu_ns)))
        elif match := _USE.match(text):
            kib, page, how, way, zero, use = match.groups()
            uses.append(Use(use_name(int(kib), int(page), how), way, int(zero) + int(use)))
        else:
            notes.append(text)
    return Measured(tuple(timings), tuple(uses), tuple(notes), said.reference)


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
    by = stats.group(timings, lambda timing: (timing.kib, WAYS.index(timing.way), timing.threads))
    us = {key: stats.summarize([timing.ns / 1000 for timing in same]) for key, same in by.items()}

    def of(peer: str, threads: int, ours: tuple[int, int, int]) -> stats.Ratio | None:
        key = (ours[0], WAYS.index(peer), threads)
        return stats.ratio(us[key], us[ours]) if key in us and key != ours else None

    result = []
    for key in sorted(by):
        kib, way, threads = key[0], WAYS[key[1]], key[2]
        cpu = stats.summarize([timing.cpu_ns / 1000 for timing in by[key]])
        of_ours = (of(OURS, 1, key), of(SPLIT, threads, key)) if way == OURS else (None, None)
        result.append(Row(kib, threads, way, us[key], cpu, of(STOCK, 1, key), *of_ours))
    return result


def _of_gib(runs: Iterable[Measured]) -> Times:
    of_gib = (timing for measured in runs for timing in measured.timings if timing.kib == GIB)
    groups = stats.group(of_gib, lambda timing: (timing.threads, timing.way))
    return {key: [timing.ns for timing in same] for key, same in groups.items()}


def _need(by: Times, wanted: Iterable[tuple[int, str]]) -> None:
    tools.need(
        "zero_bench", (f"{way} with {threads} threads" for threads, way in set(wanted) - set(by)), log_path()
    )


def limits(runs: Iterable[Measured], several: bool, extents: bool = False) -> list[Limit]:
    """Of 1 GiB with one thread and, on ``several`` CPUs, two; ``extents``: stock zeroes in these."""
    by = _of_gib(runs)
    wanted = [(1, way) for way in (OURS, *PEERS) if way != CLZERO]
    _need(by, [*wanted, (2, OURS), (2, SPLIT)] if several else wanted)
    rapids = host.is_rapids()
    most = MAX_OF_STOCK_INTEL if rapids else MAX_OF_STOCK
    if extents or (1, CLZERO) in by:
        most = MAX_OF_EXTENTS if extents else MAX_OF_STOCK_CLZERO
    return _one(by, most, (*PEERS, MOVNTI) if rapids else PEERS) + (_two(by) + _more(by) if several else [])


def _one(by: Times, most: float, ways: Iterable[str]) -> list[Limit]:
    """Of each way that this CPU has, and so of the best; stock's once more, which may be ``most``."""
    peers = [(way, MAX_OF_BEST, way) for way in ways if (1, way) in by]
    return [
        Limit(f"1 thread, of {name}", stats.paired(by[1, way], by[1, OURS]), limit)
        for way, limit, name in (*peers, (STOCK, most, "stock's loop"))
    ]


def _two(by: Times) -> list[Limit]:
    alone, two, split = by[1, OURS], by[2, OURS], by[2, SPLIT]
    of_one, machine = stats.paired(alone, two), stats.paired(alone, split).value
    name = "2 threads, of one"
    if of_one.value <= MAX_OF_ONE:
        return [Limit(name, of_one, MAX_OF_ONE)]
    most = max(MAX_OF_ONE_EVER, min(MAX_OF_SPLIT * machine, NO_LOSS))
    half = Limit("2 threads, of two with half of it each", stats.paired(split, two), MAX_OF_SPLIT)
    return [Limit(name, of_one, most), half]


def _more(by: Times) -> list[Limit]:
    return [
        Limit(f"{threads} threads, of as many bare ones", stats.paired(bare, by[threads, OURS]), MAX_OF_BARE)
        for (threads, way), bare in sorted(by.items())
        if way == SPLIT and threads > 2
    ]


def time_gate(extents: bool = False) -> Gate[Measured]:
    several = native.cpus() > 1
    return Gate(
        "1 GiB zeroed",
        lambda: run(f"--rounds={ROUNDS}", f"--min-kib={GIB}"),
        lambda runs: limits(runs, several, extents),
        RUNS,
    )


def sizes_gate() -> Gate[Measured]:
    """What ours takes of the best way of one thread, for each size that nobody has touched: no limits."""

    def bests(runs: Sequence[Measured]) -> list[Best]:
        timings = [timing for measured in runs for timing in measured.timings]
        alone = (timing for timing in timings if timing.threads == 1 and timing.way != OURS)
        sizes = _by_way((f"{timing.kib} KiB", timing.way, timing.ns) for timing in alone)
        return [best(name, ways, UNTOUCHED) for name, ways in sizes.items() if UNTOUCHED in ways]

    return Gate(
        "pages zeroed that nobody has touched",
        lambda: run(f"--rounds={SIZES_ROUNDS}", "--threads=1"),
        lambda _runs: [],
        1,
        bests,
    )


def copy_gate() -> Gate[Measured]:
    """1 GiB copied by one thread: of stock's loop, and of each way that this CPU has."""

    def limits_of(runs: Sequence[Measured]) -> list[Limit]:
        by = _of_gib(runs)
        _need(by, [(1, way) for way in (OURS, *COPY_PEERS)])
        return _one(by, MAX_OF_STOCK_COPY_INTEL if host.is_rapids() else MAX_OF_STOCK_COPY, COPY_PEERS)

    def bests_of(runs: Sequence[Measured]) -> list[Best]:
        alone = {way: ns for (threads, way), ns in _of_gib(runs).items() if threads == 1}
        return [best("1 GiB copied", alone, OURS)]

    args = ("--copy", f"--rounds={ROUNDS}", f"--min-kib={GIB}")
    return Gate("1 GiB copied", lambda: run(*args), limits_of, RUNS, bests_of)


def _by_way(timed: Iterable[tuple[str, str, int]]) -> Mapping[str, dict[str, list[int]]]:
    """Times by what was done, and then by way."""
    found: dict[str, dict[str, list[int]]] = {}
    for name, way, ns in timed:
        found.setdefault(name, {}).setdefault(way, []).append(ns)
    return found


def wanted_uses(copies: bool) -> Iterator[tuple[str, str]]:
    """Folios touched at their first page, at one after a third of them, and at their last."""
    for kib, how, way in product(COPY_SIZES if copies else USE_SIZES, USE_HOW, (STOCK, OURS)):
        for page in (0, kib // 4 // 3, kib // 4 - 1):
            yield use_name(kib, page, how), way


def first_use_gate(extents: bool = False, copies: bool = False) -> Gate[Measured]:
    """To zero a folio and to use it takes no longer than in stock, wherever and however it is used.

    ``extents``: stock does as ours, and differences are noise.  ``copies``: huge pages are copied.
    """

    def by_use(runs: Sequence[Measured]) -> Mapping[str, dict[str, list[int]]]:
        return _by_way((use.name, use.way, use.ns) for measured in runs for use in measured.uses)

    def limits_of(runs: Sequence[Measured]) -> list[Limit]:
        by = by_use(runs)
        missing = (f"{name}, {way}" for name, way in wanted_uses(copies) if way not in by.get(name, ()))
        tools.need("zero_bench --use", missing, log_path())
        most = MAX_OF_EXTENTS if extents else MAX_USE
        return [Limit(name, stats.paired(ways[STOCK], ways[OURS]), most) for name, ways in by.items()]

    return Gate(
        f"folios {'copied' if copies else 'zeroed'} and used",
        lambda: run("--use", f"--rounds={USE_ROUNDS}", *(COPIES if copies else ())),
        limits_of,
        USE_RUNS,
        lambda runs: [best(name, ways, OURS) for name, ways in by_use(runs).items()],
    )
