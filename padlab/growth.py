# SPDX-License-Identifier: GPL-2.0-only
"""``./lab growth``: what a boot costs for each GiB, and for each page below 4 GiB.

Exact mode: stock and patched are booted on one CPU with two sizes of memory, and
every part of the boot that grows is told apart by the kernel's own messages, whose
stamps count instructions.  Parts that stay the same cancel out.

What a page of the lower zones costs cannot be told from the size of the machine,
since there are always 3 GiB of them.  Two machines of the same size tell it, that
have more and less of their RAM below 4 GiB.
"""

from __future__ import annotations

import json as jsonlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from padlab import boot, record, report, table
from padlab import machine as machines
from padlab.boot import BootResult
from padlab.build import Build
from padlab.dmesg import Dmesg
from padlab.errors import LabError

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


@dataclass(frozen=True)
class Phase:
    """A part of the boot: from the last message like ``begin`` to the next like ``end``."""

    name: str
    begin: str
    end: str


EARLY_INIT = Phase("struct pages, early", r"Initmem setup node", r"ACPI: PM-Timer IO Port")
HASHES = Phase("hash tables", r"Kernel command line:", r"Fallback order for Node")
EARLY_FREE = Phase("memblock retires", r"software IO TLB: area num", r"SLUB: HWalign")
DEFERRED = Phase(
    "deferred init", r"smpboot: Total of", r"node \d+ (?:deferred pages initialised|initialised, )"
)
REST = Phase("serial rest after it", DEFERRED.end, r"devtmpfs: initialized")
BLOCKS = Phase("memory blocks", r"x86/mm: Memory block size", r"futex hash table")
PHASES = (EARLY_INIT, HASHES, EARLY_FREE, DEFERRED, REST, BLOCKS)

_LINE = re.compile(r"\[\s*(\d+)\.(\d{6})\] ([^\n]*)")


@dataclass(frozen=True)
class Costs:
    """Millions of instructions of one boot, by phase and in all."""

    phases: Mapping[str, float]
    boot: float
    pages: int | None  # deferred; stock does not say


@dataclass(frozen=True)
class Growth:
    """All boots, and what they come to."""

    sizes: Mapping[str, Mapping[int, Costs]]  # kernel -> GiB -> costs
    low: Mapping[str, Mapping[int, Costs]]  # kernel -> GiB below 4 GiB -> costs

    def per_gib(self, kernel: str, name: str | None = None) -> float:
        """Millions of instructions a GiB: of a phase, or of the whole boot."""
        small, large = (self.sizes[kernel][gib] for gib in SIZES_GIB)
        grown = large.boot - small.boot if name is None else large.phases[name] - small.phases[name]
        return grown / (SIZES_GIB[1] - SIZES_GIB[0])

    def lower(self, kernel: str) -> float:
        """Instructions for a page of the lower zones, from memmap init to being free."""
        few, many = (self.low[kernel][gib].phases for gib in LOW_GIB)
        grown = sum(many[phase.name] - few[phase.name] for phase in (EARLY_INIT, EARLY_FREE))
        return 1e6 * grown / ((LOW_GIB[1] - LOW_GIB[0]) * PAGES_PER_GIB)

    def per_page(self, kernel: str) -> float:
        """Instructions for a deferred page."""
        costs = self.sizes[kernel][SIZES_GIB[0]]
        pages = self.sizes["patched"][SIZES_GIB[0]].pages
        return 1e6 * costs.phases[DEFERRED.name] / pages if pages else float("nan")


@dataclass(frozen=True)
class Goal:
    """One figure that has to be reached."""

    name: str
    unit: str
    stock: float
    patched: float
    limit: float  # of patched, in the same unit

    @property
    def ok(self) -> bool:
        return self.patched <= self.limit


def costs_of(dmesg: Dmesg, what: str = "a boot") -> Costs:
    """Tell the phases of one boot.  Pure."""
    stamps = [(int(s) * 1_000_000 + int(us), text) for s, us, text in _LINE.findall(dmesg.text)]
    phases = {}
    for phase in PHASES:
        begin = end = None
        for at, text in stamps:
            if end is None and re.match(phase.begin, text):
                begin = at
            elif begin is not None and re.match(phase.end, text):
                end = at
        if begin is None or end is None:
            raise LabError(what, f"its console lacks the messages around '{phase.name}'", "see the console")
        phases[phase.name] = (end - begin) * report.INSTRUCTIONS_PER_MS / 1e9
    if dmesg.tsc_ms is not None:
        phases[DEFERRED.name] = dmesg.tsc_ms * report.INSTRUCTIONS_PER_MS / 1e6
    if dmesg.boot_ms is None:
        raise LabError(what, "it did not get to init", "see the console")
    pages = [line.pages for line in dmesg.nodes]
    total = sum(page for page in pages if page is not None) if None not in pages else None
    return Costs(phases, dmesg.boot_ms * report.INSTRUCTIONS_PER_MS / 1e6, total)


def goals(growth: Growth) -> list[Goal]:
    """What has to be reached.  Pure."""

    def pair(figure) -> tuple[float, float]:  # noqa: ANN001
        return figure("stock"), figure("patched")

    page, lower = pair(growth.per_page), pair(growth.lower)
    rest, whole = pair(lambda k: growth.per_gib(k, REST.name)), pair(growth.per_gib)
    return [
        Goal("a deferred page", "instructions", *page, MAX_PER_PAGE),
        Goal("a page of the lower zones", "instructions", *lower, lower[0] * MAX_LOWER),
        Goal("serial rest after deferred init, a GiB", "M instructions", *rest, rest[0] * MAX_REST),
        Goal("whole boot to init, a GiB", "M instructions", *whole, whole[0] * MAX_BOOT),
    ]


def measure(ready: Mapping[str, tuple], large: bool = False) -> Growth:
    """Boot both kernels on all machines."""
    sizes = (*SIZES_GIB, LARGE_GIB) if large else SIZES_GIB

    def costs(kernel: str, name: str) -> Costs:
        build, initrd = ready[kernel]
        spec = boot.BootSpec(machines.load(name), kernel, build.config, exact=True, initrd=initrd)
        result: BootResult = boot.boot(spec, build, "exact")
        return costs_of(result.dmesg, f"{kernel} on {name}")

    return Growth(
        {k: {gib: costs(k, f"memory-{gib}") for gib in sizes} for k in KERNELS},
        {k: {gib: costs(k, f"low-memory-{gib}") for gib in LOW_GIB} for k in KERNELS},
    )


def main(large: bool = False, json: bool = False) -> int:
    """Measure, show, record.  The exit status is 1 if a goal is not reached."""
    if large:
        boot.check_memory(machines.load(f"memory-{LARGE_GIB}"), boot.available_mib())
    with boot.quiet_stdout():
        ready = {kernel: boot.prepare(kernel) for kernel in KERNELS}
        growth = measure(ready, large)
    build = ready["patched"][0]
    path = record.path_of("growth.json")
    record.write_json(path, as_dict(growth, build))
    if json:
        print(jsonlib.dumps(as_dict(growth, build), indent=2))
    else:
        show(growth, build)
        table.console().print(f"recorded in {path}", markup=False, soft_wrap=True)
    return 0 if all(goal.ok for goal in goals(growth)) else 1


def show(growth: Growth, build: Build) -> None:
    console = table.console()
    console.print(
        f"[bold]growth[/]: one node, one CPU, guest instructions counted; per GiB from {SIZES_GIB[0]}"
        f" to {SIZES_GIB[1]} GiB; Debian linux-source {build.source_version}"
    )
    sizes = sorted(growth.sizes["stock"])
    first = "millions of instructions"
    figures = (f"{kernel} {gib}" for kernel in KERNELS for gib in sizes)
    grid = table.grid((first, *figures, "stock a GiB", "patched", "ratio"), left={first})
    for name in [phase.name for phase in PHASES] + [None]:
        cells = []
        for kernel in KERNELS:
            for gib in sizes:
                costs = growth.sizes[kernel][gib]
                cells.append(f"{costs.boot if name is None else costs.phases[name]:,.2f}")
        stock, ours = (growth.per_gib(kernel, name) for kernel in KERNELS)
        ratio = f"{ours / stock:.3f}" if stock > 0 else ""
        grid.add_row(name or "whole boot to init", *cells, f"{stock:.4f}", f"{ours:.4f}", ratio)
    console.print(grid)
    for goal in goals(growth):
        verdict = "[green]ok[/]" if goal.ok else "[red]not reached[/]"
        console.print(
            f"{goal.name}: stock {goal.stock:.4g}, patched {goal.patched:.4g} {goal.unit}"
            f" ({goal.patched / goal.stock:.3f}), at most {goal.limit:.4g}: {verdict}"
        )


def as_dict(growth: Growth, build: Build) -> dict:
    """For --json and for results/."""
    large = LARGE_GIB in growth.sizes["stock"]
    return {
        **record.provenance("./lab growth" + " --large" * large, build, "tcg, icount"),
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
        "boots": {
            kernel: {
                **{f"memory-{gib}": asdict(costs) for gib, costs in growth.sizes[kernel].items()},
                **{f"low-memory-{gib}": asdict(growth.low[kernel][gib]) for gib in LOW_GIB},
            }
            for kernel in KERNELS
        },
    }
