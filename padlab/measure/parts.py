# SPDX-License-Identifier: GPL-2.0-only
"""``./lab record parts``: what a boot costs after each part of the series, or each step of it, beside stock.

All but stock are built in one tree, one after the other: only what a part changes is compiled.
"""

from collections.abc import Mapping

from padlab.core import paths, table
from padlab.core.errors import LabError
from padlab.kernel import source, steps, tree
from padlab.measure import provenance
from padlab.measure.growth import SIZES_GIB, Boots, measure
from padlab.measure.phases import DEFERRED
from padlab.vm import boot

STOCK = "stock"


def kernels() -> dict[str, tree.Variant]:
    parts = steps.read_parts()
    if len(parts) == 1:
        raise LabError("parts", f"the series of base {paths.base().name} has none", "choose another base")
    variants: dict[str, tree.Variant] = {}
    done: list[steps.Step] = []
    for part in (part for part in parts if part.costs):
        for step in part.steps:
            done.append(step)
            if part.each:
                variants[step.name.removesuffix(".msg")] = steps.variant(done)
        variants[part.name] = steps.variant(done)
    return variants


def figures(boots: Mapping[str, Boots]) -> dict[str, dict[str, float]]:
    """Instructions of each kernel.  How many pages more the larger size defers, not all of them say."""
    pages = next((more for of in boots.values() if (more := more_pages(of))), None)
    if pages is None:
        raise LabError("instructions per page", "no kernel says how many are deferred", "see the consoles")
    return {
        name: {
            "a deferred page": round(1e6 * of.grown(DEFERRED) / pages, 2),
            "a page of the lower zones": round(of.lower(), 2),
            "boot to init, a GiB": round(1e6 * of.per_gib()),
        }
        for name, of in boots.items()
    }


def more_pages(of: Boots) -> int | None:
    small, large = (of.sizes[gib].pages for gib in SIZES_GIB)
    return None if small is None or large is None else large - small


def main() -> int:
    wanted = kernels()
    boots = {STOCK: measure(boot.prepare(STOCK))}
    last: tree.Variant | None = None
    for name, variant in wanted.items():
        if variant != last:  # or it is a part whose last step has been measured
            tree.VARIANTS[steps.TREE] = last = variant
            ready = boot.prepare(steps.TREE)
            measured = measure(ready)
        boots[name] = measured
    costs = figures(boots)
    record = {
        **provenance.provenance("./lab record parts", ready.build, measured.accel),
        "unit": "guest instructions; of boots: millions",
        "per_gib_from_to": SIZES_GIB,
        "figures": costs,
        "boots": {name: of.by_machine() for name, of in boots.items()},
    }
    provenance.record("parts.json", record)
    console = table.console()
    version = source.name_of(ready.build.source_version)
    console.print(f"[bold]parts[/]: one node, one CPU, guest instructions counted; {version}")
    grid = table.grid(("instructions", *costs), left={"instructions"})
    for figure in costs[STOCK]:
        grid.add_row(figure, *(f"{of_kernel[figure]:,}" for of_kernel in costs.values()))
    console.print(grid)
    return 0
