# SPDX-License-Identifier: GPL-2.0-only
"""What it costs to have a virtual machine's memory pinned and mapped for a device, stock beside ours.

A guest (padlab/guest/pincost.sh) maps its memory for QEMU's device "edu" through VFIO, as QEMU itself does
for a device that it gives to a virtual machine.  In exact mode a page's cost is in instructions, of one CPU,
where nobody can help.
"""

from dataclasses import dataclass

from padlab.core.errors import LabError
from padlab.kernel.kconfig import VFIO
from padlab.vm import boot, machine

MACHINE = "devices"
MIB = 256
PAGES = machine.PAGES_PER_MIB * MIB
# All of it there: in 4 KiB pages, and in huge pages.
KINDS = ("there", "thp")
# Instructions for each microsecond of the guest's clock.
PER_US = 1000


@dataclass(frozen=True)
class Cost:
    """Of a page, to pin and map it, and to undo that, in instructions."""

    mapped: float
    unmapped: float


def exact(kernel: str) -> dict[str, Cost]:
    """By kind of memory, the second time."""
    ready, append = boot.prepare(kernel, VFIO, "pincost"), (f"padlab_mib={MIB}",)
    result = boot.boot_ready(machine.load(MACHINE), ready, "pinning, exact", exact=True, append=append)
    costs = parse(result.guest.values("cost"))
    if set(costs) != set(KINDS):
        raise LabError("cost of pinning", "the guest did not say it", "see why", log=result.guest_log)
    return costs


def parse(lines: list[str]) -> dict[str, Cost]:
    """Of ``KIND US US``; the last line of a kind counts.  Pure."""
    costs = {}
    for kind, *times in map(str.split, lines):
        costs[kind] = Cost(*(int(us) * PER_US / PAGES for us in times))
    return costs
