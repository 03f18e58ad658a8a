# SPDX-License-Identifier: GPL-2.0-only
"""``./lab record growth``: what a boot costs for each GiB, and for each page below 4 GiB.

Exact mode: stock and patched are booted on one CPU with two sizes of memory, and every part of the boot that
grows is told apart by the kernel's own messages, whose stamps count instructions (phases.py).  Parts that
stay the same cancel out.

What a page of the lower zones costs cannot be told from the size of the machine, since there are always 3 GiB
of them.  Two machines of the same size tell it, that have more and less of their RAM below 4 GiB.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from padlab.core import host, table
from padlab.core.errors import LabError
from padlab.kernel import source
from padlab.kernel.build import Build
from padlab.measure import provenance
from padlab.measure.phases import BLOCKS, DEFERRED, EARLY_FREE, EARLY_INIT, PHASES, REST, took
from padlab.vm import boot, summary
from padlab.vm import machine as machines
from padlab.vm.accel import Accel
from padlab.vm.dmesg import Dmesg

KERNELS = ("stock", "patched")
SIZES_GIB = (64, 256)
LARGE_GIB = 768
LOW_GIB = (1, 3)
PAGES_PER_GIB = machines.PAGES_PER_MIB * 1024

# What must hold, as the most that patched may have of stock's; per page for the first.
MAX_PER_PAGE = 10.5
MAX_LOWER = 1 / 3
MAX_REST = 1 / 10
MAX_BOOT = 0.40
# Millions of instructions a GiB that one CPU executes while no job is under way, nearly all for
# struct pages of the memmap's own pages.
MAX_SERIAL = 0.10
# Of stock's: memory blocks, whose code the series does not touch.
MAX_BLOCKS = 1.01
# Of stock's for each page, whatever the configuration.
MAX_OF_STOCK = 1.01


# What is left to one CPU, but for hash tables and memory blocks, which the series does not change.
SERIAL = (EARLY_INIT, EARLY_FREE, REST)


@dataclass(frozen=True)
class Costs:
    """Millions of instructions of one boot, by phase and in all."""

    phases: Mapping[str, float]
    boot: float
    pages: int | None  # deferred; stock does not say


@dataclass(frozen=True)
class Growth:
    sizes: Mapping[str, Mapping[int, Costs]]  # kernel -> GiB -> costs
    low: Mapping[str, Mapping[int, Costs]]  # kernel -> GiB below 4 GiB -> costs
    accel: Accel

    def per_gib(self, kernel: str, name: str | None = None) -> float:
        """Millions of instructions a GiB: of a phase, or of the whole boot."""
        small, large = (self.sizes[kernel][gib] for gib in SIZES_GIB)
        grown = large.boot - small.boot if name is None else large.phases[name] - small.phases[name]
        return grown / (SIZES_GIB[1] - SIZES_GIB[0])

    def serial(self, kernel: str) -> float:
        return sum(self.per_gib(kernel, phase.name) for phase in SERIAL)

    def per_page(self, kernel: str) -> float:
        costs = self.sizes[kernel][SIZES_GIB[0]]
        pages = self.sizes["patched"][SIZES_GIB[0]].pages
        return 1e6 * costs.phases[DEFERRED.name] / pages if pages else float("nan")


def lower(low: Mapping[int, Costs]) -> float:
    """Instructions for a page of the lower zones, from memmap init to being free."""
    few, many = (low[gib].phases for gib in LOW_GIB)
    grown = sum(many[phase.name] - few[phase.name] for phase in (EARLY_INIT, EARLY_FREE))
    return 1e6 * grown / ((LOW_GIB[1] - LOW_GIB[0]) * PAGES_PER_GIB)


@dataclass(frozen=True)
class Goal:
    name: str
    unit: str
    stock: float
    patched: float
    limit: float  # of patched, in the same unit

    @property
    def ok(self) -> bool:
        return self.patched <= self.limit


def costs_of(messages: Dmesg, deferred_ms: float | None, what: str = "a boot") -> Costs:
    if messages.boot_ms is None:
        raise LabError(what, "it did not get to init", "see the console")
    phases = {phase.name: took(messages, phase, what) for phase in PHASES}
    if deferred_ms is not None:
        phases[DEFERRED.name] = deferred_ms * summary.INSTRUCTIONS_PER_MS / 1e6
    pages = [line.pages for line in messages.nodes]
    total = sum(page for page in pages if page is not None) if None not in pages else None
    return Costs(phases, messages.boot_ms * summary.INSTRUCTIONS_PER_MS / 1e6, total)


def goals(growth: Growth) -> list[Goal]:

    def pair(figure: Callable[[str], float]) -> tuple[float, float]:
        return figure("stock"), figure("patched")

    page, early = pair(growth.per_page), pair(lambda k: lower(growth.low[k]))
    rest, whole = pair(lambda k: growth.per_gib(k, REST.name)), pair(growth.per_gib)
    serial, blocks = pair(growth.serial), pair(lambda k: growth.per_gib(k, BLOCKS.name))
    return [
        Goal("a deferred page", "instructions", *page, MAX_PER_PAGE),
        Goal("a page of the lower zones", "instructions", *early, early[0] * MAX_LOWER),
        Goal("serial rest after deferred init, a GiB", "M instructions", *rest, rest[0] * MAX_REST),
        Goal("one CPU alone, but for hash tables, a GiB", "M instructions", *serial, MAX_SERIAL),
        Goal("memory blocks, a GiB", "M instructions", *blocks, blocks[0] * MAX_BLOCKS),
        Goal("whole boot to init, a GiB", "M instructions", *whole, whole[0] * MAX_BOOT),
    ]


def boot_exactly(ready: boot.Ready, name: str) -> tuple[Costs, Accel]:
    result = boot.boot(machines.load(name), ready, "exact", exact=True)
    return costs_of(result.dmesg, result.deferred_ms, f"{result.spec.kernel} on {name}"), result.accel


def measure(ready: Mapping[str, boot.Ready], large: bool = False) -> Growth:
    sizes = (*SIZES_GIB, LARGE_GIB) if large else SIZES_GIB
    accels: list[Accel] = []

    def costs(kernel: str, name: str) -> Costs:
        measured, accel = boot_exactly(ready[kernel], name)
        accels.append(accel)
        return measured

    of_sizes = {k: {gib: costs(k, f"memory-{gib}") for gib in sizes} for k in KERNELS}
    of_low = {k: {gib: costs(k, f"low-memory-{gib}") for gib in LOW_GIB} for k in KERNELS}
    return Growth(of_sizes, of_low, accels[-1])


def of_pages(ready: Mapping[str, boot.Ready]) -> list[Goal]:
    """What a page costs, deferred and of the lower zones: of other kernels, by two small machines.

    Ours is never to cost more than stock, but for what has nothing to do with pages.
    """
    low = {k: {gib: boot_exactly(ready[k], f"low-memory-{gib}")[0] for gib in LOW_GIB} for k in KERNELS}
    pages = low["patched"][LOW_GIB[0]].pages
    if not pages:
        raise LabError("instructions per page", "no page was deferred", "see the console")
    deferred = {k: 1e6 * low[k][LOW_GIB[0]].phases[DEFERRED.name] / pages for k in KERNELS}
    early = {k: lower(low[k]) for k in KERNELS}
    return [
        Goal(name, "instructions", cost["stock"], cost["patched"], MAX_OF_STOCK * cost["stock"])
        for name, cost in (("a deferred page", deferred), ("a page of the lower zones", early))
    ]


def main(large: bool = False) -> int:
    """Record what is complete, that is, with 768 GiB.  The exit status is 1 if a goal is not reached."""
    if large:
        boot.check_memory(machines.load(f"memory-{LARGE_GIB}"), host.free_mib())
    ready = {kernel: boot.prepare(kernel) for kernel in KERNELS}
    growth = measure(ready, large)
    build = ready["patched"].build
    if large:
        provenance.record("growth.json", as_dict(growth, build))
    show(growth, build)
    return 0 if all(goal.ok for goal in goals(growth)) else 1


def show(growth: Growth, build: Build) -> None:
    console = table.console()
    console.print(
        f"[bold]growth[/]: one node, one CPU, guest instructions counted; per GiB from {SIZES_GIB[0]}"
        f" to {SIZES_GIB[1]} GiB; {source.name_of(build.source_version)}"
    )
    names = ("millions of instructions a GiB", "stock", "patched", "ratio")
    grid = table.grid(names, left=names[:1])
    for name in [phase.name for phase in PHASES] + [None]:
        stock, ours = (growth.per_gib(kernel, name) for kernel in KERNELS)
        ratio = f"{ours / stock:.3f}" if stock > 0 else ""
        grid.add_row(name or "whole boot to init", f"{stock:.4f}", f"{ours:.4f}", ratio)
    console.print(grid)
    for goal in goals(growth):
        verdict = "[green]ok[/]" if goal.ok else "[red]not reached[/]"
        console.print(
            f"{goal.name}: stock {goal.stock:.4g}, patched {goal.patched:.4g} {goal.unit}"
            f" ({goal.patched / goal.stock:.3f}), at most {goal.limit:.4g}: {verdict}"
        )


def as_dict(growth: Growth, build: Build) -> dict[str, Any]:
    return {
        **provenance.provenance("./lab record growth --large", build, growth.accel),
        "unit": "millions of guest instructions",
        "per_gib_from_to": list(SIZES_GIB),
        "goals": [{**asdict(goal), "ok": goal.ok} for goal in goals(growth)],
        "per_gib": {
            kernel: {
                **{phase.name: growth.per_gib(kernel, phase.name) for phase in PHASES},
                "whole boot to init": growth.per_gib(kernel),
            }
            for kernel in KERNELS
        },
        "boots": {kernel: boots_as_dict(growth.sizes[kernel], growth.low[kernel]) for kernel in KERNELS},
    }


def boots_as_dict(sizes: Mapping[int, Costs], low: Mapping[int, Costs]) -> dict[str, Any]:
    of_sizes = {f"memory-{gib}": asdict(costs) for gib, costs in sizes.items()}
    return of_sizes | {f"low-memory-{gib}": asdict(costs) for gib, costs in low.items()}
