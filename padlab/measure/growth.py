# SPDX-License-Identifier: GPL-2.0-only
"""``./lab record growth``: what a boot costs for each GiB, and for each page below 4 GiB (docs/measuring.md).

Every part of the boot that grows is told apart by the kernel's own messages, whose stamps count instructions
(phases.py).  Parts that stay the same cancel out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from padlab.core import host, table
from padlab.core.errors import LabError
from padlab.kernel import source
from padlab.kernel.build import Build
from padlab.measure import provenance
from padlab.measure.phases import BLOCKS, DEFERRED, EARLY_FREE, EARLY_INIT, PHASES, REST, Phase, took
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

    def of(self, *phases: Phase) -> float:
        """Of these, or of the whole boot."""
        return sum(self.phases[phase.name] for phase in phases) if phases else self.boot


@dataclass(frozen=True)
class Boots:
    """Of one kernel: costs by GiB, and by GiB below 4 GiB."""

    sizes: Mapping[int, Costs]
    low: Mapping[int, Costs]
    accel: Accel

    def grown(self, *phases: Phase) -> float:
        """Millions of instructions that the larger size has more."""
        small, large = (self.sizes[gib].of(*phases) for gib in SIZES_GIB)
        return large - small

    def per_gib(self, *phases: Phase) -> float:
        return self.grown(*phases) / (SIZES_GIB[1] - SIZES_GIB[0])

    def lower(self) -> float:
        """Instructions for a page of the lower zones, from memmap init to being free."""
        few, many = (self.low[gib].of(EARLY_INIT, EARLY_FREE) for gib in LOW_GIB)
        return 1e6 * (many - few) / ((LOW_GIB[1] - LOW_GIB[0]) * PAGES_PER_GIB)

    def by_machine(self) -> dict[str, Costs]:
        of_sizes = {f"memory-{gib}": costs for gib, costs in self.sizes.items()}
        return of_sizes | {f"low-memory-{gib}": costs for gib, costs in self.low.items()}


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


def goals(boots: Mapping[str, Boots]) -> list[Goal]:
    stock, ours = (boots[kernel] for kernel in KERNELS)
    pages = ours.sizes[SIZES_GIB[0]].pages or float("nan")

    def pair(figure: Callable[[Boots], float]) -> tuple[float, float]:
        return figure(stock), figure(ours)

    page = pair(lambda of: 1e6 * of.sizes[SIZES_GIB[0]].of(DEFERRED) / pages)
    early, whole = pair(Boots.lower), pair(Boots.per_gib)
    rest, serial = pair(lambda of: of.per_gib(REST)), pair(lambda of: of.per_gib(*SERIAL))
    blocks = pair(lambda of: of.per_gib(BLOCKS))
    return [
        Goal("a deferred page", "instructions", *page, MAX_PER_PAGE),
        Goal("a page of the lower zones", "instructions", *early, early[0] * MAX_LOWER),
        Goal("serial rest after deferred init, a GiB", "M instructions", *rest, rest[0] * MAX_REST),
        Goal("one CPU alone, but for hash tables, a GiB", "M instructions", *serial, MAX_SERIAL),
        Goal("memory blocks, a GiB", "M instructions", *blocks, blocks[0] * MAX_BLOCKS),
        Goal("whole boot to init, a GiB", "M instructions", *whole, whole[0] * MAX_BOOT),
    ]


def measure(ready: boot.Ready, sizes: Iterable[int] = SIZES_GIB) -> Boots:
    def boot_exactly(name: str) -> tuple[Costs, Accel]:
        result = boot.boot(machines.load(name), ready, "exact", exact=True)
        return costs_of(result.dmesg, result.deferred_ms, f"{result.spec.kernel} on {name}"), result.accel

    of_sizes = {gib: boot_exactly(f"memory-{gib}")[0] for gib in sizes}
    low = {gib: boot_exactly(f"low-memory-{gib}") for gib in LOW_GIB}
    return Boots(of_sizes, {gib: costs for gib, (costs, _) in low.items()}, low[LOW_GIB[0]][1])


def of_pages(ready: Mapping[str, boot.Ready]) -> list[Goal]:
    """What a page costs, deferred and of the lower zones: of other kernels, by two small machines.

    Ours is never to cost more than stock, but for what has nothing to do with pages.
    """
    boots = [measure(ready[kernel], ()) for kernel in KERNELS]
    few = [of.low[LOW_GIB[0]] for of in boots]
    if not (pages := few[-1].pages):
        raise LabError("instructions per page", "no page was deferred", "see the console")
    deferred = [1e6 * costs.of(DEFERRED) / pages for costs in few]
    early = [of.lower() for of in boots]
    return [
        Goal(name, "instructions", stock, ours, MAX_OF_STOCK * stock)
        for name, (stock, ours) in (("a deferred page", deferred), ("a page of the lower zones", early))
    ]


def main(large: bool = False) -> int:
    """Record what is complete, that is, with 768 GiB.  The exit status is 1 if a goal is not reached."""
    if large:
        boot.check_memory(machines.load(f"memory-{LARGE_GIB}"), host.free_mib())
    ready = {kernel: boot.prepare(kernel) for kernel in KERNELS}
    boots = {kernel: measure(ready[kernel], SIZES_GIB + large * (LARGE_GIB,)) for kernel in KERNELS}
    build = ready["patched"].build
    if large:
        provenance.record("growth.json", as_dict(boots, build))
    show(boots, build)
    return 0 if all(goal.ok for goal in goals(boots)) else 1


def per_gib(of: Boots) -> dict[str, float]:
    return {**{phase.name: of.per_gib(phase) for phase in PHASES}, "whole boot to init": of.per_gib()}


def show(boots: Mapping[str, Boots], build: Build) -> None:
    console = table.console()
    console.print(
        f"[bold]growth[/]: one node, one CPU, guest instructions counted; per GiB from {SIZES_GIB[0]}"
        f" to {SIZES_GIB[1]} GiB; {source.name_of(build.source_version)}"
    )
    names = ("millions of instructions a GiB", *KERNELS, "ratio")
    grid = table.grid(names, left=names[:1])
    of_stock, of_ours = (per_gib(boots[kernel]) for kernel in KERNELS)
    for name, stock in of_stock.items():
        ratio = f"{of_ours[name] / stock:.3f}" if stock > 0 else ""
        grid.add_row(name, f"{stock:.4f}", f"{of_ours[name]:.4f}", ratio)
    console.print(grid)
    for goal in goals(boots):
        verdict = "[green]ok[/]" if goal.ok else "[red]not reached[/]"
        console.print(
            f"{goal.name}: stock {goal.stock:.4g}, patched {goal.patched:.4g} {goal.unit}"
            f" ({goal.patched / goal.stock:.3f}), at most {goal.limit:.4g}: {verdict}"
        )


def as_dict(boots: Mapping[str, Boots], build: Build) -> dict[str, Any]:
    return {
        **provenance.provenance("./lab record growth --large", build, boots["patched"].accel),
        "unit": "millions of guest instructions",
        "per_gib_from_to": SIZES_GIB,
        "goals": [{**vars(goal), "ok": goal.ok} for goal in goals(boots)],
        "per_gib": {kernel: per_gib(of) for kernel, of in boots.items()},
        "boots": {kernel: of.by_machine() for kernel, of in boots.items()},
    }
