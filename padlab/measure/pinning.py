# SPDX-License-Identifier: GPL-2.0-only
"""``./lab bench pinning``: what it takes to pin and map a virtual machine's memory for a device.

Stock beside ours: a guest (padlab/guest/pincost.sh) maps its memory for QEMU's device "edu" through VFIO.  In
exact mode one CPU has no help.  Where guests have CPUs that run at the same time, it is also timed, in turns;
the host has to have as many CPUs as the guest, which do nothing else.
"""

import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from padlab.core import table
from padlab.core.errors import LabError
from padlab.kernel.kconfig import VFIO
from padlab.measure import provenance
from padlab.vm import boot, machine
from padlab.vm.accel import Accel

MACHINE = "devices"
MIB = 256
PAGES = machine.PAGES_PER_MIB * MIB
# By what a guest says: memory that is there, in 4 KiB pages and in huge ones; and that is not.
KINDS = {"there": "4 KiB pages that are there", "thp": "huge pages that are there", "new": "not there"}
# Zeroing a page is one instruction, or as many as it has bytes, as the emulator pleases.
EXACT_KINDS = ("there", "thp")
KERNELS = ("stock", "patched")
ROUNDS = 5


@dataclass(frozen=True)
class Row:
    """Of a kind of memory, to pin and map a page of it, or all."""

    memory: str
    unit: str
    n: int
    stock: float
    ours: float


def measure(exact: bool) -> tuple[list[Row], Accel]:
    """Exactly, or medians of rounds in turns; no rows if the CPUs of guests would have to take turns, too."""
    # A microsecond is a thousand instructions.
    kinds, scale = (EXACT_KINDS, 1000 / PAGES) if exact else (tuple(KINDS), 1)
    ready = {kernel: boot.prepare(kernel, VFIO, "pincost") for kernel in KERNELS}
    runs: dict[str, list[dict[str, int]]] = {kernel: [] for kernel in KERNELS}
    guest, append = machine.load(MACHINE), (f"padlab_mib={MIB}", f"padlab_memory={','.join(kinds)}")
    for _ in range(1 if exact else ROUNDS):
        for kernel in KERNELS:
            result = boot.boot_ready(guest, ready[kernel], "pinning", exact=exact, append=append)
            if not (exact or result.accel.parallel):
                return [], result.accel
            runs[kernel].append(parse(result.guest.values("cost")))
            if set(runs[kernel][-1]) != set(kinds):
                raise LabError("cost of pinning", "the guest did not say it", "see why", log=result.guest_log)
    unit, rows = "instructions a page" if exact else "us", []
    for kind in kinds:
        medians = (statistics.median(run[kind] for run in runs[kernel]) * scale for kernel in KERNELS)
        rows.append(Row(KINDS[kind], unit, len(runs["stock"]), *medians))
    return rows, result.accel


def parse(lines: Iterable[str]) -> dict[str, int]:
    """To pin and map, of ``KIND US US``; the last of a kind counts.  Pure."""
    return {kind: int(us) for kind, us, _ in map(str.split, lines)}


def main(quick: bool = False) -> int:
    rows, accel = measure(exact=True)
    more, accel = measure(exact=False) if not quick else ([], accel)
    if more:
        made = {**accel.as_dict(), **provenance.of_native("./lab bench pinning")}
        provenance.record("pinning.json", {**made, "mib": MIB, "rows": [asdict(row) for row in rows + more]})
    grid = table.grid(("memory", "unit", "n", "stock", "ours", "of stock"), left={"memory", "unit"})
    for row in rows + more:
        figures = (f"{row.stock:,.0f}", f"{row.ours:,.0f}", f"{row.ours / row.stock:.2f}")
        grid.add_row(row.memory, row.unit, str(row.n), *figures)
    table.console().print(grid)
    if not more:
        table.console().print("not timed: guests' CPUs take turns (with KVM or QEMU 8.1 they do not)")
    return 0
