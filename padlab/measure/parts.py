# SPDX-License-Identifier: GPL-2.0-only
"""``./lab record parts``: what a boot costs after each part of the series, beside stock.

Exact mode: stock, and a kernel with the first part, with the first two, and so on, are
booted on one CPU, as ``./lab record growth`` does with stock and the whole series.  Where parts.toml
says so, there is a kernel for each step of a part.

All but stock are built in one tree, one after the other: only what a part changes is compiled.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from padlab.core import paths, table
from padlab.core.errors import LabError
from padlab.kernel import source, steps, tree
from padlab.kernel.build import Build
from padlab.measure import provenance
from padlab.measure.growth import LOW_GIB, SIZES_GIB, Costs, boot_exactly, boots_as_dict, lower
from padlab.measure.phases import DEFERRED
from padlab.vm import boot
from padlab.vm.accel import Accel

STOCK = "stock"


@dataclass(frozen=True)
class Boots:
    sizes: Mapping[int, Costs]  # GiB -> costs
    low: Mapping[int, Costs]  # GiB below 4 GiB -> costs

    def figures(self, pages: int) -> dict[str, float]:
        """Instructions; ``pages`` more are deferred in the larger size."""
        small, large = (self.sizes[gib] for gib in SIZES_GIB)
        deferred = large.phases[DEFERRED.name] - small.phases[DEFERRED.name]
        return {
            "a deferred page": round(1e6 * deferred / pages, 2),
            "a page of the lower zones": round(lower(self.low), 2),
            "boot to init, a GiB": round(1e6 * (large.boot - small.boot) / (SIZES_GIB[1] - SIZES_GIB[0])),
        }


def kernels() -> dict[str, tree.Variant]:
    parts = steps.read_parts()
    if len(parts) == 1:
        raise LabError("parts", f"the series of base {paths.base().name} has none", "choose another base")
    variants: dict[str, tree.Variant] = {}
    done: list[steps.Step] = []
    for part in parts:
        for step in part.steps:
            done.append(step)
            if part.each:
                variants[step.name.removesuffix(".msg")] = steps.variant(done)
        variants[part.name] = steps.variant(done)
    return variants


def more_pages(boots: Mapping[str, Boots]) -> int:
    """How many more pages are deferred in the larger size: of a kernel that says it.  Pure."""
    for of_kernel in boots.values():
        small, large = (of_kernel.sizes[gib].pages for gib in SIZES_GIB)
        if small is not None and large is not None:
            return large - small
    raise LabError("instructions per page", "no kernel says how many are deferred", "see the consoles")


def measure(ready: boot.Ready) -> tuple[Boots, Accel]:
    sizes = {gib: boot_exactly(ready, f"memory-{gib}") for gib in SIZES_GIB}
    low = {gib: boot_exactly(ready, f"low-memory-{gib}") for gib in LOW_GIB}
    _, accel = sizes[SIZES_GIB[0]]
    return Boots(*({gib: costs for gib, (costs, _) in of.items()} for of in (sizes, low))), accel


def main() -> int:
    boots: dict[str, Boots] = {}
    wanted = kernels()
    boots[STOCK], _ = measure(boot.prepare(STOCK))
    last: tree.Variant | None = None
    for name, variant in wanted.items():
        if variant != last:  # or it is a part whose last step has been measured
            tree.VARIANTS[steps.TREE] = last = variant
            ready = boot.prepare(steps.TREE)
            measured, accel = measure(ready)
        boots[name] = measured
    build = ready.build
    provenance.record("parts.json", as_dict(boots, build, accel))
    show(boots, build)
    return 0


def show(boots: Mapping[str, Boots], build: Build) -> None:
    console = table.console()
    console.print(
        "[bold]parts[/]: one node, one CPU, guest instructions counted; "
        f"{source.name_of(build.source_version)}"
    )
    pages = more_pages(boots)
    figures = {name: of_kernel.figures(pages) for name, of_kernel in boots.items()}
    grid = table.grid(("instructions", *figures), left={"instructions"})
    for figure in figures[STOCK]:
        grid.add_row(figure, *(f"{of_kernel[figure]:,}" for of_kernel in figures.values()))
    console.print(grid)


def as_dict(boots: Mapping[str, Boots], build: Build, accel: Accel) -> dict[str, Any]:
    pages = more_pages(boots)
    return {
        **provenance.provenance("./lab record parts", build, accel),
        "unit": "guest instructions; of boots: millions",
        "per_gib_from_to": list(SIZES_GIB),
        "figures": {name: of_kernel.figures(pages) for name, of_kernel in boots.items()},
        "boots": {name: boots_as_dict(of_kernel.sizes, of_kernel.low) for name, of_kernel in boots.items()},
    }
