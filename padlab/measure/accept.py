# SPDX-License-Identifier: GPL-2.0-only
"""``./lab record accept``: how long a guest takes that has to accept its memory.

The kernels have checks/faults/, where to accept 2 MiB takes a given time in which a CPU does nothing.
The guest's clock counts instructions, of all of its CPUs, which take turns: so waits of several CPUs pass
at the same time, whatever the host has, and what they compute adds up.
"""

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from msgspec import structs

from padlab.core import table
from padlab.kernel.kconfig import UNACCEPTED
from padlab.measure import provenance
from padlab.vm import boot, machine

KERNELS = {"stock": "mirrored", "ours": "faulty"}
WAYS = (("stock", "lazy"), ("stock", "eager"), ("ours", "lazy"), ("ours", "eager"), ("ours", "background"))
CPUS = (1, 2, 4, 8)
MIB = 16384
US = 2500  # for 2 MiB: 64 GiB take 82 s
USED_MIB = 8192  # by a program, right after boot
WAIT_S = 60  # of the guest's time, until all is accepted
LIMIT_S = 3600


@dataclass(frozen=True)
class Figures:
    """In seconds of the guest's clock, from its start: to init, and to the end of the last unit, if there is
    one; and how long the program takes.  Then units of 2 MiB that were accepted with interrupts off, and
    CPUs that accepted units at a time, at most, after boot.
    """

    init: float
    accepted: float | None
    program: float | None
    units: int
    cpus: int


def figures(result: boot.BootResult) -> Figures:
    def us(key: str) -> int:
        return result.guest.number(key) or 0

    init, touched = us("boot-now-us"), us("touched-now-us")
    return Figures(
        round(init / 1e6, 2),
        None if us("end-left") else round(us("end-last-us") / 1e6, 2),
        round((touched - init) / 1e6, 2) if touched else None,
        us("end-longest"),
        us("end-most"),
    )


def measure(ready: boot.Ready, mode: str, cpus: int, used_mib: int) -> tuple[Figures, boot.BootResult]:
    small, nodes = machine.load(machine.SMALL), (machine.Node(MIB, cpus),)
    target = structs.replace(small, nodes=nodes, threads_per_core=1, name=f"accept-{cpus}")
    append = ["nogbpages", f"accept_memory={mode}", f"fake_unaccepted=1G,{US * 1000}"]
    append += [f"padlab_wait={WAIT_S}"] if mode == "background" else []
    append += [f"padlab_touch={used_mib}"] if used_mib else []
    label = f"{mode}, {cpus} CPUs"
    result = boot.boot(
        *(target, ready, label), append=tuple(append), exact=True, all_cpus=True, time_limit_s=LIMIT_S
    )
    return figures(result), result


def main() -> int:
    """Measure, show, record.  The exit status is 1 if a kernel complains."""
    rows: list[dict[str, Any]] = []
    trouble: list[str] = []
    ready = {name: boot.prepare(kernel, UNACCEPTED, "accept") for name, kernel in KERNELS.items()}
    for cpus, (name, mode) in product(CPUS, WAYS):
        alone, result = measure(ready[name], mode, cpus, 0)
        used, beside = measure(ready[name], mode, cpus, USED_MIB)
        trouble += [*result.dmesg.trouble, *beside.dmesg.trouble]
        got = asdict(alone) | {"program": used.program, "units": used.units}
        rows.append({"on": cpus, "kernel": name, "mode": mode, **got})
    facts = provenance.provenance("./lab record accept", result.build, result.accel)
    sizes = {"mib": MIB, "us_for_2_mib": US, "used_mib": USED_MIB}
    provenance.record("accept.json", {**facts, **sizes, "boots": rows})
    grid = table.grid(tuple(rows[0]), left={"kernel", "mode"})
    for row in rows:
        grid.add_row(*("" if value is None else str(value) for value in row.values()))
    table.console().print(grid)
    for line in trouble:
        table.console().print(line)
    return 1 if trouble else 0
