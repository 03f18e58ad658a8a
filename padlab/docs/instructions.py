# SPDX-License-Identifier: GPL-2.0-only
"""Tables of counted instructions: of boots, of a job's helpers, and of threads that are made."""

from __future__ import annotations

from padlab.docs import records
from padlab.docs.form import Table, figure, ratio
from padlab.docs.records import Record

KERNELS = ("stock", "patched")
HEAD = ("stock", "patched", "ratio")
SMALL, UNALIGNED = "epyc-7551-kvm-small", "three-nodes"
# Phases of growth.json, as the table calls them.
PHASES = {
    "deferred init": "deferred init",
    "memblock retires": "`memblock_free_all()`: struct pages of reserved memory",
    "hash tables": "hash tables are zeroed",
    "serial rest after it": "serial rest after deferred init",
    "memory blocks": "memory blocks are registered",
    "whole boot to init": "whole boot to init",
}
SERIAL = "one CPU alone, but for hash tables, a GiB"
PAGE, LOWER = "a deferred page", "a page of the lower zones"


def _goal(record: Record, name: str) -> tuple[float, float]:
    goal = records.find(record["goals"], name=name) or {}
    return goal["stock"], goal["patched"]


def _exact(machine: str, name: str) -> tuple[float, float]:
    """A figure of both kernels on a machine, of base 6.12."""
    recorded = records.find(records.read("6.12", f"compare-{machine}-exact.json")["figures"], name=name) or {}
    return recorded["stock"]["median"], recorded["patched"]["median"]


def _pair(name: str, pair: tuple[float, float], digits: int = 2, of: int = 3) -> list[str]:
    return [name, *(figure(value, digits) for value in pair), ratio(pair[1], pair[0], of)]


def boots() -> Table:
    """A page of each kind, and whole boots, of base 6.12."""
    growth = records.read("6.12", "growth.json")
    pages = [
        ("a deferred page, 64 GiB", _goal(growth, PAGE)),
        (f"a deferred page, 16 GiB VM (`{SMALL}`)", _exact(SMALL, "per deferred page")),
        (f"a deferred page, 4 GiB on three unaligned nodes (`{UNALIGNED}`)",
         _exact(UNALIGNED, "per deferred page")),
        ("a page of the lower zones, from memmap init to being free", _goal(growth, LOWER)),
    ]  # fmt: skip
    whole = [("4 GiB on three nodes", _exact(UNALIGNED, "boot to init")),
             ("16 GiB VM", _exact(SMALL, "boot to init"))]  # fmt: skip
    sizes = growth["boots"]
    whole += [
        (f"{gib} GiB", (sizes["stock"][name]["boot"], sizes["patched"][name]["boot"]))
        for name in sizes["stock"]
        if name.startswith("memory-")
        for gib in [name.removeprefix("memory-")]
    ]
    rows = [_pair(name, pair) for name, pair in pages]
    rows += [_pair(f"whole boot to init, {name}, millions", pair, 1) for name, pair in whole]
    return Table(("instructions", *HEAD), rows)


def per_gib() -> Table:
    """What grows with memory, of base 6.12."""
    growth = records.read("6.12", "growth.json")
    grown = growth["per_gib"]
    pairs = [(name, (grown["stock"][phase], grown["patched"][phase])) for phase, name in PHASES.items()]
    pairs.append(("of that, on one CPU only, hash tables and memory blocks aside", _goal(growth, SERIAL)))
    return Table(("millions of instructions a GiB", *HEAD), [_pair(*pair, 4) for pair in pairs])


def bases() -> Table:
    """The main figures on each base."""
    kernels = [(base, kernel) for base in ("6.12", "7.3") for kernel in KERNELS]
    growths = {base: records.read(base, "growth.json") for base in ("6.12", "7.3")}

    def row(name: str, digits: int, pairs: dict[str, tuple[float, float]]) -> list[str]:
        return [name, *(figure(pairs[base][KERNELS.index(kernel)], digits) for base, kernel in kernels)]

    goals = ((PAGE, 2), (LOWER, 2))
    rows = [row(name, digits, {b: _goal(g, name) for b, g in growths.items()}) for name, digits in goals]
    whole = {b: _scaled(_goal(g, "whole boot to init, a GiB"), 1e6) for b, g in growths.items()}
    rows.append(row("boot to init, a GiB", 0, whole))
    return Table(("instructions", *(f"{kernel} {base}" for base, kernel in kernels)), rows)


def _scaled(pair: tuple[float, float], by: float) -> tuple[float, float]:
    return pair[0] * by, pair[1] * by


def sleeping(base: str) -> Table:
    """Boot to init beside an initcall that sleeps: ms of a million instructions."""
    critical = records.read(base, "growth.json")["critical_ms"]
    by_gib = {int(name.removeprefix("memory-")): name for name in critical["stock"]}
    pairs = {gib: (critical["stock"][name], critical["patched"][name]) for gib, name in by_gib.items()}
    return Table(("boot to init, ms", *HEAD), [_pair(f"{gib} GiB", pair, 0) for gib, pair in pairs.items()])


def threads_made(base: str, slug: str) -> Table:
    """Kthreads made while the helpers of deferred init start."""
    machines = records.of_cpu(base, slug, "starts.json")["machines"]
    rows = [
        [f"{of['patched']['queued'] + 1} CPUs", *map(str, (of["patched"]["queued"], *_made(of)))]
        for of in machines.values()
    ]
    return Table(("guest", "helpers", *KERNELS), rows)


def _made(of: Record) -> tuple[int, int]:
    return of["stock"]["made"], of["patched"]["made"]


def helpers(base: str, slug: str) -> Table:
    """What a helper executes by back end: that of boot, that of tasks, and with cpu.max."""
    costs = records.of_cpu(base, slug, "hugepages.json")["exact"]["helper"]
    kinds = ("boot", "task", "limited")
    names = {"chunk": "for each chunk", "end": "when it leaves"}
    # A helper that leaves has done a chunk before: that is not counted again.
    less = {"chunk": 0, "end": costs["boot"]["chunk"]}
    rows = [
        [name, *(figure(max(costs[kind][key] - less[key], 0), 0) for kind in kinds)]
        for key, name in names.items()
    ]
    return Table(("instructions", "boot", "task", "cpu.max"), rows)


# Tables of messages


def cover() -> Table:
    """For the cover letter of 6.12."""
    growth = records.read("6.12", "growth.json")
    sizes = growth["boots"]
    slowed = _goal(growth, "boot to init with a sleeping initcall, most memory")
    pairs = [
        (PAGE, _goal(growth, PAGE), 2),
        ("a page below 4 GiB, until it is free", _goal(growth, LOWER), 2),
        ("boot to init, per GiB", _scaled(_goal(growth, "whole boot to init, a GiB"), 1e6), 0),
        ("boot to init, 768 GiB, millions", (sizes["stock"]["memory-768"]["boot"],
                                             sizes["patched"]["memory-768"]["boot"]), 0),
        ("768 GiB, of 16 GiB, an initcall sleeping", slowed, 3),
    ]  # fmt: skip
    return _before_after("", pairs)


def _before_after(what: str, pairs: list[tuple[str, tuple[float, float], int]]) -> Table:
    rows = [[name, *(figure(value, digits) for value in pair)] for name, pair, digits in pairs]
    return Table((what, "before", "after"), rows)


def lower() -> Table:
    """For the message of struct pages in bulk, of 6.12."""
    growth = records.read("6.12", "growth.json")
    rest = _scaled(_goal(growth, "serial rest after deferred init, a GiB"), 1e6)
    pairs = [
        ("a page below 4 GiB, until it is free", _goal(growth, LOWER), 2),
        ("from deferred init to devtmpfs, per GiB", rest, 0),
    ]
    return _before_after("", pairs)


def deferred() -> Table:
    """For the message of deferred init, of 6.12."""
    growth = records.read("6.12", "growth.json")
    pairs = [
        ("64 GiB, one node", _goal(growth, PAGE), 2),
        ("16 GiB, one node", _exact(SMALL, "per deferred page"), 2),
        ("4 GiB, three unaligned nodes", _exact(UNALIGNED, "per deferred page"), 2),
    ]
    return _before_after("", pairs)


def parts(first: str, *more: str) -> Table:
    """After each of these parts of the 7.3 series, "stock" or a number; a word after "=" is its head."""
    wanted = dict(word.partition("=")[::2] for word in (first, *more))
    figures = records.read("7.3", "parts.json")["figures"]
    by_number = {name.partition("-")[0]: of for name, of in figures.items()}
    rows = [
        [name, *(figure(by_number[number][name], 0 if "GiB" in name else 2) for number in wanted)]
        for name in figures["stock"]
    ]
    heads = [head.replace("_", " ") or number for number, head in wanted.items()]
    return Table(("instructions", *heads), rows)
