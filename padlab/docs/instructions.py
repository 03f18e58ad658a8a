# SPDX-License-Identifier: GPL-2.0-only
"""Tables of counted instructions: of boots, of a job's helpers, and of threads that are made."""

from itertools import product

from padlab.docs import records
from padlab.docs.form import Table, figure, ratio
from padlab.vm.machine import SMALL

KERNELS = ("stock", "patched")
HEAD = (*KERNELS, "ratio")
UNALIGNED = "three-nodes"
# Phases of growth.json, as the table calls them.
PHASES = {
    "deferred init": "deferred init",
    "memblock retires": "`memblock_free_all()`: struct pages of reserved memory",
    "hash tables": "hash tables are zeroed",
    "serial rest after it": "serial rest after deferred init",
    "memory blocks": "memory blocks are registered",
    "whole boot to init": "whole boot to init",
}
# Goals of growth.json.
SERIAL = "one CPU alone, but for hash tables, a GiB"
PAGE, LOWER = "a deferred page", "a page of the lower zones"
BOOT, REST = "whole boot to init, a GiB", "serial rest after deferred init, a GiB"

Pair = tuple[float, float]  # stock and patched


def _growth(base: str = "6.12") -> records.Record:
    return records.read(base, "growth.json")


def _goal(name: str, base: str = "6.12", times: float = 1) -> Pair:
    goal = {goal["name"]: goal for goal in _growth(base)["goals"]}[name]
    return goal["stock"] * times, goal["patched"] * times


def _boots() -> dict[str, Pair]:
    """By GiB."""
    stock, patched = (_growth()["boots"][kernel] for kernel in KERNELS)
    sizes = [name for name in stock if name.startswith("memory-")]
    return {name.partition("-")[2]: (stock[name]["boot"], patched[name]["boot"]) for name in sizes}


def _exact(machine: str, name: str) -> Pair:
    figures = records.read("6.12", f"compare-{machine}-exact.json")["figures"]
    compared = {figure["name"]: figure for figure in figures}[name]
    return compared["stock"]["median"], compared["patched"]["median"]


def _row(name: str, pair: Pair, digits: int = 2, of_ratio: int | None = None) -> list[str]:
    """Of both kernels, with the ratio if that has digits."""
    cells = [name, *(figure(value, digits) for value in pair)]
    return cells if of_ratio is None else [*cells, ratio(pair[1], pair[0], of_ratio)]


def boots() -> Table:
    """A page of each kind, and whole boots, of base 6.12."""
    page = "per deferred page"
    pages = {
        "a deferred page, 64 GiB": _goal(PAGE),
        f"a deferred page, 16 GiB VM (`{SMALL}`)": _exact(SMALL, page),
        f"a deferred page, 4 GiB on three unaligned nodes (`{UNALIGNED}`)": _exact(UNALIGNED, page),
        "a page of the lower zones, from memmap init to being free": _goal(LOWER),
    }
    whole = {
        "4 GiB on three nodes": _exact(UNALIGNED, "boot to init"),
        "16 GiB VM": _exact(SMALL, "boot to init"),
        **{f"{gib} GiB": pair for gib, pair in _boots().items()},
    }
    rows = [_row(name, pair, 2, 3) for name, pair in pages.items()]
    rows += [_row(f"whole boot to init, {name}, millions", pair, 1, 3) for name, pair in whole.items()]
    return Table(("instructions", *HEAD), rows)


def per_gib() -> Table:
    stock, patched = (_growth()["per_gib"][kernel] for kernel in KERNELS)
    rows = [_row(name, (stock[phase], patched[phase]), 4, 3) for phase, name in PHASES.items()]
    rows.append(_row("of that, on one CPU only, hash tables and memory blocks aside", _goal(SERIAL), 4, 3))
    return Table(("millions of instructions a GiB", *HEAD), rows)


def bases() -> Table:
    both = ("6.12", "7.3")
    rows = []
    for goal, times, digits in ((PAGE, 1, 2), (LOWER, 1, 2), (BOOT, 1e6, 0)):
        values = (value for base in both for value in _goal(goal, base, times))
        rows.append([goal.removeprefix("whole "), *(figure(value, digits) for value in values)])
    return Table(("instructions", *(f"{kernel} {base}" for base in both for kernel in KERNELS)), rows)


def threads_made(base: str, slug: str) -> Table:
    rows = []
    for kernels in records.of_cpu(base, slug, "starts.json")["machines"].values():
        helpers = kernels["patched"]["queued"]
        threads = (str(kernels[kernel]["made"]) for kernel in KERNELS)
        rows.append([f"{helpers + 1} CPUs", str(helpers), *threads])
    return Table(("guest", "helpers", *KERNELS), rows)


def accepting(base: str) -> Table:
    """Seconds from a guest's start that has to accept its memory, by the number of its CPUs."""
    boots = records.read(base, "accept.json")["boots"]
    cpus = sorted({boot["on"] for boot in boots})
    what = {"init": "init", "accepted": "all is accepted", "end": "a program ends"}
    for boot in boots:
        boot["end"] = boot["init"] + boot["program"]
    rows = []
    for key, mode, kernel in product(what, ("lazy", "eager", "background"), ("stock", "ours")):
        of = {boot["on"]: boot[key] for boot in boots if (boot["mode"], boot["kernel"]) == (mode, kernel)}
        if any(of.values()):
            rows.append([f"until {what[key]}, {kernel}, {mode}", *(figure(of[nr], 1) for nr in cpus)])
    return Table(("seconds", *(f"{nr} CPUs" if nr > 1 else "1 CPU" for nr in cpus)), rows)


def helpers(base: str, slug: str) -> Table:
    """What a helper executes by back end: that of boot, that of tasks, and with cpu.max."""
    costs = records.of_cpu(base, slug, "hugepages.json")["exact"]["helper"]
    kinds = ("boot", "task", "limited")
    chunks = [costs[kind]["chunk"] for kind in kinds]
    # A helper that leaves has done a chunk before: that is not counted again.
    ends = [max(costs[kind]["end"] - chunks[0], 0) for kind in kinds]
    rows = [
        ["for each chunk", *(figure(chunk, 0) for chunk in chunks)],
        ["when it leaves", *(figure(end, 0) for end in ends)],
    ]
    return Table(("instructions", "boot", "task", "cpu.max"), rows)


def _before_after(*rows: list[str]) -> Table:
    return Table(("", "before", "after"), rows)


def cover() -> Table:
    return _before_after(
        _row("a deferred page", _goal(PAGE)),
        _row("a page below 4 GiB, until it is free", _goal(LOWER)),
        _row("boot to init, per GiB", _goal(BOOT, times=1e6), 0),
        _row("boot to init, 768 GiB, millions", _boots()["768"], 0),
    )


def lower() -> Table:
    return _before_after(
        _row("a page below 4 GiB, until it is free", _goal(LOWER)),
        _row("from deferred init to devtmpfs, per GiB", _goal(REST, times=1e6), 0),
    )


def deferred() -> Table:
    return _before_after(
        _row("64 GiB, one node", _goal(PAGE)),
        _row("16 GiB, one node", _exact(SMALL, "per deferred page")),
        _row("4 GiB, three unaligned nodes", _exact(UNALIGNED, "per deferred page")),
    )


def parts(first: str, *more: str) -> Table:
    """After each of these parts of the 7.3 series, "stock" or a number: one digit for a part, two for a
    step.  A word after "=" is its head.
    """
    words = (word.partition("=") for word in (first, *more))
    heads = {number: head.replace("_", " ") or number for number, _, head in words}
    figures = records.read("7.3", "parts.json")["figures"]
    by_number = {name.partition("-")[0]: costs for name, costs in figures.items()}
    rows = [
        [name, *(figure(by_number[number][name], 0 if "GiB" in name else 2) for number in heads)]
        for name in figures["stock"]
    ]
    return Table(("instructions", *heads.values()), rows)
