# SPDX-License-Identifier: GPL-2.0-only
"""Huge pages zeroed and copied natively: what zero_bench says, what it comes to, and its limits.

tools/testing/folio_zero compiles mm/folio_zero.c, mm/folio_copy.c, x86's stores and the job
engine in userspace, beside stock's loops and the other ways that this CPU has.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from padlab.core import host, paths, progress, stats, toml
from padlab.core.outcome import Outcome
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
USE_HOW = ("forward", "backward", "random")

FILE = "zeroing.toml"
_FOLIO = ("mm/folio_zero.c", "mm/folio_copy.c", "include/linux/folio_zero.h", "include/linux/folio_copy.h")
_X86 = ("mm/zero_pages.c", "mm/copy_pages.c", "mm/bulk_stores.c", "include/asm/bulk_stores.h")
_SOURCES = ("tools/testing/padata", *_FOLIO, *(f"arch/x86/{name}" for name in _X86))
TOOL = native.Tool("tools/testing/folio_zero", (*native.ENGINE, *_SOURCES))
_ROUND = re.compile(r"^round (\d+) kib (\d+) threads (\d+) (\w+) (\d+) ns cpu (\d+) ns$")
_USE = re.compile(r"^round \d+ kib (\d+) page (\d+) (\w+) (\w+) zero (\d+) ns use (\d+) ns$")
_NOT_HERE = re.compile(r"^store \w+: not on this CPU$")
_PROGRESS = re.compile(r"^(memory: \d+ MiB of \d+|\d+ of \d+, store \w+)$")

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
    """A folio of ``kib``, touched at ``page``, zeroed, and half of it used ``how``: the mean of a round."""

    kib: int
    page: int
    how: str
    way: str
    ns: int


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
            _nr, kib, threads, way, ns, cpu_ns = match.groups()
            timings.append(Timing(int(kib), int(threads), way, int(ns), int(cpu_ns)))
        elif match := _USE.match(text):
            kib, page, how, way, zero, use = match.groups()
            uses.append(Use(int(kib), int(page), how, way, int(zero) + int(use)))
        elif not _PROGRESS.match(text):
            notes.append(text)
    return Measured(tuple(timings), tuple(uses), tuple(notes), said.reference)


def run(*args: str) -> Measured:
    return parse(
        tools.run(native.make(TOOL, "zero_bench"), *args, what="huge pages, userspace", log=log_path())
    )


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
    by = stats.group(timings, lambda timing: (timing.kib, timing.threads, timing.way))
    summaries = {key: stats.summarize([timing.ns / 1000 for timing in same]) for key, same in by.items()}
    cpu = {key: stats.summarize([timing.cpu_ns / 1000 for timing in same]) for key, same in by.items()}
    result = []
    for kib, threads, way in sorted(summaries, key=lambda key: (key[0], WAYS.index(key[2]), key[1])):
        stock, alone = summaries.get((kib, 1, STOCK)), summaries.get((kib, 1, OURS))
        us = summaries[kib, threads, way]
        of_stock = stats.ratio(stock, us) if stock and way != STOCK else None
        of_one = stats.ratio(alone, us) if alone and way == OURS and threads > 1 else None
        bare = summaries.get((kib, threads, SPLIT)) if way == OURS else None
        of_bare = stats.ratio(bare, us) if bare else None
        result.append(Row(kib, threads, way, us, cpu[kib, threads, way], of_stock, of_one, of_bare))
    return result


CHECKS = ("zero_check", "zero_check-generic", "copy_check")


def check() -> Outcome:
    """Every page of a folio is zeroed or copied once, the touched one last, and nothing beside it.

    With each of the kernel's stores that this CPU has, the others being skipped, and with
    the functions of architectures that have none of their own.
    """
    return sum((check_program(native.make(TOOL, program)) for program in CHECKS), Outcome())


def check_program(program: Path) -> Outcome:
    log, limit_s = paths.base().logs / f"{program.name}.log", tools.CHECK_LIMIT_S
    notes = parse(tools.run(program, what=program.name, log=log, limit_s=limit_s)).notes
    for note in notes:
        progress.note(note)
    passed = sum(note.startswith("checked ") for note in notes)
    failures = () if passed else (f"{program.name} did not check anything",)
    return Outcome(passed, failures, tuple(note for note in notes if _NOT_HERE.match(note)), log)


def _of_gib(timings: Iterable[Timing]) -> Times:
    of_gib = (timing for timing in timings if timing.kib == GIB)
    groups = stats.group(of_gib, lambda timing: (timing.threads, timing.way))
    return {key: [timing.ns for timing in same] for key, same in groups.items()}


def limits(timings: Iterable[Timing], several: bool, extents: bool = False) -> list[Limit]:
    """Of 1 GiB with one thread and, on ``several`` CPUs, two; ``extents``: stock zeroes in these."""
    by = _of_gib(timings)
    wanted = {(1, OURS), *((1, way) for way in PEERS if way != CLZERO)}
    wanted |= {(2, OURS), (2, SPLIT)} if several else set()
    tools.need(
        "zero_bench", (f"{way} with {threads} threads" for threads, way in wanted - set(by)), log_path()
    )
    rapids = host.is_rapids()
    most = MAX_OF_STOCK_INTEL if rapids else MAX_OF_STOCK
    if extents or (1, CLZERO) in by:
        most = MAX_OF_EXTENTS if extents else MAX_OF_STOCK_CLZERO
    return _one(by, most, (*PEERS, MOVNTI) if rapids else PEERS) + (_two(by) + _more(by) if several else [])


def _one(by: Times, most: float, ways: Iterable[str]) -> list[Limit]:
    """Of each way that this CPU has, and so of the best; stock's once more, which may be ``most``."""
    ours = by[1, OURS]
    peers = [(way, MAX_OF_BEST, way) for way in ways if (1, way) in by]
    peers.append((STOCK, most, "stock's loop"))
    return [
        Limit(f"1 thread, of {name}", stats.paired(by[1, way], ours), limit) for way, limit, name in peers
    ]


def _two(by: Times) -> list[Limit]:
    alone, two, split = (by[key] for key in ((1, OURS), (2, OURS), (2, SPLIT)))
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


def timings_of(runs: Iterable[Measured]) -> Iterator[Timing]:
    return (timing for measured in runs for timing in measured.timings)


def time_gate(extents: bool = False) -> Gate[Measured]:
    several = native.cpus() > 1
    return Gate(
        "1 GiB zeroed",
        lambda: run(f"--rounds={ROUNDS}", f"--min-kib={GIB}"),
        lambda runs: limits(timings_of(runs), several, extents),
        RUNS,
    )


def bests(timings: Iterable[Timing]) -> list[Best]:
    """The best way of one thread to zero a page of each size that nobody has touched."""
    sizes: dict[int, dict[str, list[int]]] = {}
    for timing in timings:
        if timing.threads == 1 and timing.way != OURS:
            sizes.setdefault(timing.kib, {}).setdefault(timing.way, []).append(timing.ns)
    return [best(f"{kib} KiB", ways, UNTOUCHED) for kib, ways in sizes.items() if UNTOUCHED in ways]


def sizes_gate() -> Gate[Measured]:
    """What ours takes of the best way, for each size; it has no limits of its own."""
    return Gate(
        "pages zeroed that nobody has touched",
        lambda: run(f"--rounds={SIZES_ROUNDS}", "--threads=1"),
        lambda _runs: [],
        1,
        lambda runs: bests(timings_of(runs)),
    )


def copy_gate() -> Gate[Measured]:
    """1 GiB copied by one thread: of stock's loop, and of each way that this CPU has."""

    def limits_of(runs: Sequence[Measured]) -> list[Limit]:
        by = _of_gib(timings_of(runs))
        tools.need(
            "zero_bench --copy", (way for way in (OURS, *COPY_PEERS) if (1, way) not in by), log_path()
        )
        most = MAX_OF_STOCK_COPY_INTEL if host.is_rapids() else MAX_OF_STOCK_COPY
        return _one(by, most, COPY_PEERS)

    def bests_of(runs: Sequence[Measured]) -> list[Best]:
        alone = {way: ns for (threads, way), ns in _of_gib(timings_of(runs)).items() if threads == 1}
        return [best("1 GiB copied", alone, OURS)]

    args = ("--copy", f"--rounds={ROUNDS}", f"--min-kib={GIB}")
    return Gate("1 GiB copied", lambda: run(*args), limits_of, RUNS, bests_of)


def by_use(uses: Iterable[Use]) -> dict[str, dict[str, list[int]]]:
    """The times of each way, for each folio, page that is touched, and use."""
    found: dict[str, dict[str, list[int]]] = {}
    for use in uses:
        name = f"{use.kib} KiB touched at page {use.page}, used {use.how}"
        found.setdefault(name, {}).setdefault(use.way, []).append(use.ns)
    return found


def use_limits(uses: Iterable[Use], extents: bool = False) -> list[Limit]:
    """What ours may take to zero and use a folio; with ``extents`` it does as stock: that is noise."""
    most = MAX_OF_EXTENTS if extents else MAX_USE
    return [Limit(name, stats.paired(ways[STOCK], ways[OURS]), most) for name, ways in by_use(uses).items()]


def wanted_uses() -> set[tuple[int, int, str, str]]:
    """Folios touched at their first page, at one after a third of them, and at their last."""
    touched = {kib: (0, kib // 4 // 3, kib // 4 - 1) for kib in USE_SIZES}
    return {
        (kib, page, how, way)
        for kib in USE_SIZES
        for page in touched[kib]
        for how in USE_HOW
        for way in (STOCK, OURS)
    }


def first_use_gate(extents: bool = False, copies: bool = False) -> Gate[Measured]:
    """To zero a folio and to use it takes no longer than in stock, wherever and however it is used.

    ``copies``: the same of huge pages that are copied.
    """

    def uses_of(runs: Sequence[Measured]) -> list[Use]:
        return [use for measured in runs for use in measured.uses]

    def limits_of(runs: Sequence[Measured]) -> list[Limit]:
        uses = uses_of(runs)
        wanted = {use for use in wanted_uses() if use[0] >= 2048 or not copies}
        missing = wanted - {(use.kib, use.page, use.how, use.way) for use in uses}
        tools.need("zero_bench --use", (" ".join(map(str, use)) for use in missing), log_path())
        return use_limits(uses, extents)

    return Gate(
        f"folios {'copied' if copies else 'zeroed'} and used",
        lambda: run("--use", f"--rounds={USE_ROUNDS}", *(COPIES if copies else ())),
        limits_of,
        USE_RUNS,
        lambda runs: [best(name, ways, OURS) for name, ways in by_use(uses_of(runs)).items()],
    )
