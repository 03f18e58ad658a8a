# SPDX-License-Identifier: GPL-2.0-only
"""Machines to boot: one TOML file each under machines/, checked when loaded.

A file looks like this::

    description = "two nodes of two cores"
    kind = "odd"                # or "published": has rows in the published tables
    arch = "arm64"              # or "s390x"; x86_64 if left out
    small = true                # boots in seconds: used by tests
    threads_per_core = 2        # 1 if left out
    append = ["memmap=..."]     # more kernel arguments, if any
    below_4g_mib = 1024         # RAM below 4 GiB, if not what QEMU makes it
    firmware = "ovmf"           # EFI, on a board with PCI Express; QEMU's own BIOS if left out
    monitor = true              # the guest has QEMU's monitor at its third serial port, ttyS2
    qemu = ["-device", "..."]   # more arguments of QEMU, if any

    [[node]]                    # one table per NUMA node, in node order
    mib = 2048                  # 0: without memory, but for a DIMM's
    cpus = 4                    # 0, or left out: a node without CPUs
    distances = [10, 20]        # to each node, if not what QEMU makes them

    [[dimm]]                    # memory in a slot: the kernel adds it by hotplug
    mib = 1024
    node = 0                    # 0 if left out
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, field, structs

from padlab.core import toml
from padlab.core.errors import LabError
from padlab.core.paths import MACHINES
from padlab.kernel import arch as archs
from padlab.kernel import kconfig

# QEMU's pc machine numbers CPUs with 8-bit APIC ids, and `-cpu max` has 40
# physical address bits under TCG, of which the PCI windows need some.
MAX_CPUS = 255
MAX_MIB = 1008 * 1024
MIN_MIB = 64  # less has no room for the kernel and its initramfs
MAX_NODES = 64
MAX_DIMMS = 16
LOCAL_DISTANCE = 10  # as ACPI has it
PAGES_PER_MIB = 256
SMALL = "epyc-7551-kvm-small"  # four CPUs on one node: what is booted if no machine is named


class Node(Struct, frozen=True, forbid_unknown_fields=True):
    mib: Annotated[int, Meta(ge=0, le=MAX_MIB)]
    cpus: Annotated[int, Meta(ge=0, le=MAX_CPUS)] = 0
    distances: tuple[Annotated[int, Meta(ge=LOCAL_DISTANCE, le=254)], ...] = ()


class Dimm(Struct, frozen=True, forbid_unknown_fields=True):
    mib: Annotated[int, Meta(ge=1, le=MAX_MIB)]
    node: Annotated[int, Meta(ge=0, le=MAX_NODES - 1)] = 0


class Machine(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str = ""
    description: str
    kind: Literal["odd", "published"]
    arch_name: Literal["x86_64", "arm64", "s390x"] = field(name="arch", default="x86_64")
    small: bool = False
    threads_per_core: Annotated[int, Meta(ge=1, le=MAX_CPUS)] = 1
    append: tuple[Annotated[str, Meta(pattern=r"^\S+\Z")], ...] = ()
    below_4g_mib: Annotated[int, Meta(ge=MIN_MIB, le=3584)] | None = None
    firmware: Literal["ovmf"] | None = None
    monitor: bool = False
    qemu: tuple[str, ...] = ()
    nodes: Annotated[tuple[Node, ...], Meta(min_length=1, max_length=MAX_NODES)] = field(name="node")
    dimms: Annotated[tuple[Dimm, ...], Meta(max_length=MAX_DIMMS)] = field(name="dimm", default=())

    @property
    def arch(self) -> archs.Arch:
        return archs.ALL[self.arch_name]

    @property
    def config(self) -> kconfig.Config:
        """What it boots if not told otherwise."""
        usual = {archs.ARM64: kconfig.ARM64, archs.S390X: kconfig.S390X}.get(self.arch, kconfig.PERF)
        return kconfig.USERS if self.firmware else usual

    @property
    def cpus(self) -> int:
        return sum(node.cpus for node in self.nodes)

    @property
    def mib(self) -> int:
        return sum(node.mib for node in self.nodes)

    @property
    def dimm_mib(self) -> int:
        return sum(dimm.mib for dimm in self.dimms)

    @property
    def cores_per_node(self) -> int | None:
        """Cores of every node that has CPUs, or None when they differ."""
        counts = {node.cpus // self.threads_per_core for node in self.nodes if node.cpus}
        return counts.pop() if len(counts) == 1 else None

    def summary(self) -> str:
        """One line for a table: "2 nodes, 104 CPUs (2 threads a core), 768 GiB"."""
        notes = []
        if self.threads_per_core > 1:
            notes.append(f"{self.threads_per_core} threads a core")
        if len({node.cpus for node in self.nodes}) > 1:
            notes.append(f"{'/'.join(str(node.cpus) for node in self.nodes)} by node")
        cpus = plural(self.cpus, "CPU") + (f" ({', '.join(notes)})" if notes else "")
        memory = f"{self.mib // 1024} GiB" if self.mib % 1024 == 0 else f"{self.mib} MiB"
        return f"{plural(len(self.nodes), 'node')}, {cpus}, {memory}"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def names(folder: Path = MACHINES) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml"))


def load(name: str, folder: Path = MACHINES) -> Machine:
    choices = names(folder)
    if name not in choices:
        todo = f"choose one of {', '.join(choices)}, or add machines/{name}.toml"
        raise LabError(f"machine '{name}'", "there is no such machine", todo)
    machine = structs.replace(toml.load(folder / f"{name}.toml", Machine), name=name)
    for why, todo in _faults(machine):
        raise LabError(f"machines/{name}.toml", why, todo)
    return machine


def _faults(machine: Machine) -> Iterator[tuple[str, str]]:
    """What concerns more than one part, and what to do."""
    nodes, threads = machine.nodes, machine.threads_per_core
    for index, node in enumerate(nodes):
        away = list(node.distances)
        at_home = [other for other, distance in enumerate(away) if distance == LOCAL_DISTANCE]
        if away and (len(away) != len(nodes) or at_home != [index]):
            todo = f"give one to each of {len(nodes)} nodes, {LOCAL_DISTANCE} to itself alone"
            yield f"node[{index}].distances is {away}", todo
        if node.cpus % threads:
            yield f"node[{index}].cpus is {node.cpus}", f"give {threads} for each core"
    for index, dimm in enumerate(machine.dimms):
        if dimm.node >= len(nodes):
            yield f"dimm[{index}].node is {dimm.node}", f"there are nodes 0 to {len(nodes) - 1}"
    of_x86 = machine.dimms or machine.below_4g_mib or machine.firmware or machine.monitor
    if machine.arch.foreign and of_x86:
        yield f"is of {machine.arch_name}", "DIMMs, below_4g_mib, firmware and monitor are for x86_64"
    if machine.arch is archs.S390X and len(nodes) > 1:
        yield f"has {len(nodes)} nodes", "QEMU's s390x has one"
    if not 1 <= machine.cpus <= MAX_CPUS:
        yield f"has {machine.cpus} CPUs in all", f"give 1 to {MAX_CPUS}"
    if not MIN_MIB <= machine.mib <= MAX_MIB - machine.dimm_mib:
        room = f"{MIN_MIB} to {MAX_MIB} MiB, DIMMs included (the emulated CPU has 40 physical address bits)"
        yield f"has {machine.mib + machine.dimm_mib} MiB in all", f"give {room}"
