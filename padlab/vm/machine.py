# SPDX-License-Identifier: GPL-2.0-only
"""Machines to boot: one TOML file each under machines/, checked when loaded.

A file looks like this::

    description = "two nodes of two cores"
    kind = "odd"                # or "published": has rows in the published tables
    arch = "arm64"              # x86_64 if left out
    small = true                # boots in seconds: used by tests
    threads_per_core = 2        # 1 if left out
    append = ["memmap=..."]     # more kernel arguments, if any
    below_4g_mib = 1024         # RAM below 4 GiB, if not what QEMU makes it
    firmware = "ovmf"           # EFI, on a board with PCI Express; QEMU's own BIOS if left out
    monitor = true              # the guest has QEMU's monitor at its third serial port, ttyS2
    qemu = ["-device", "..."]   # more arguments of QEMU, if any

    [[node]]                    # one table per NUMA node, in node order
    gib = 2                     # or mib = 2048
    cores = 2                   # 0, or left out: a node without CPUs
                                # mib = 0: without memory, but for a DIMM's
    distances = [10, 20]        # to each node, if not what QEMU makes them

    [[dimm]]                    # memory in a slot: the kernel adds it by hotplug
    gib = 1                     # or mib = 1024
    node = 0                    # 0 if left out
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NoReturn

from msgspec import Meta, Struct, structs

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


@dataclass(frozen=True)
class Node:
    mib: int
    cpus: int
    distances: tuple[int, ...] = ()  # to each node, if not what QEMU makes them


@dataclass(frozen=True)
class Dimm:
    mib: int
    node: int


@dataclass(frozen=True)
class Machine:
    name: str
    description: str
    kind: str
    nodes: tuple[Node, ...]
    threads_per_core: int = 1
    append: tuple[str, ...] = ()
    small: bool = False
    below_4g_mib: int | None = None  # RAM below 4 GiB, if not what QEMU makes it
    dimms: tuple[Dimm, ...] = ()
    arch: archs.Arch = archs.X86_64
    firmware: str | None = None
    monitor: bool = False
    qemu: tuple[str, ...] = ()

    @property
    def config(self) -> kconfig.Config:
        """What it boots if not told otherwise."""
        usual = kconfig.ARM64 if self.arch.foreign else kconfig.PERF
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
    return _machine(name, toml.load(folder / f"{name}.toml", _File))


_Gib = Annotated[int, Meta(ge=1, le=MAX_MIB // 1024)]
_Mib = Annotated[int, Meta(ge=1, le=MAX_MIB)]


class _Memory(Struct, forbid_unknown_fields=True, kw_only=True):
    """One of the two is given."""

    gib: _Gib | None = None
    mib: _Mib | None = None


class _Node(_Memory, forbid_unknown_fields=True, kw_only=True):
    mib: Annotated[int, Meta(ge=0, le=MAX_MIB)] | None = None
    cores: Annotated[int, Meta(ge=0, le=MAX_CPUS)] = 0
    distances: tuple[Annotated[int, Meta(ge=LOCAL_DISTANCE, le=254)], ...] = ()


class _Dimm(_Memory, forbid_unknown_fields=True, kw_only=True):
    node: Annotated[int, Meta(ge=0, le=MAX_NODES - 1)] = 0


class _File(Struct, forbid_unknown_fields=True, kw_only=True):
    description: str
    kind: Literal["odd", "published"]
    arch: Literal["x86_64", "arm64"] = "x86_64"
    small: bool = False
    threads_per_core: Annotated[int, Meta(ge=1, le=MAX_CPUS)] = 1
    append: tuple[Annotated[str, Meta(pattern=r"^\S+\Z")], ...] = ()
    below_4g_mib: Annotated[int, Meta(ge=MIN_MIB, le=3584)] | None = None
    firmware: Literal["ovmf"] | None = None
    monitor: bool = False
    qemu: tuple[str, ...] = ()
    node: Annotated[list[_Node], Meta(min_length=1, max_length=MAX_NODES)]
    dimm: Annotated[list[_Dimm], Meta(max_length=MAX_DIMMS)] = []


def _machine(name: str, file: _File) -> Machine:
    """Put the parts together, and check what concerns more than one of them."""
    nodes = tuple(
        Node(_mib(name, f"node[{index}]", node), node.cores * file.threads_per_core, node.distances)
        for index, node in enumerate(file.node)
    )
    for index, node in enumerate(nodes):
        away = list(node.distances)
        if away and (
            len(away) != len(nodes) or [i for i, d in enumerate(away) if d == LOCAL_DISTANCE] != [index]
        ):
            todo = f"give one to each of {len(nodes)} nodes, {LOCAL_DISTANCE} to itself alone"
            _fail(name, f"node[{index}].distances is {away}", todo)
    for index, dimm in enumerate(file.dimm):
        if dimm.node >= len(nodes):
            _fail(name, f"dimm[{index}].node is {dimm.node}", f"there are nodes 0 to {len(nodes) - 1}")
    dimms = tuple(Dimm(_mib(name, f"dimm[{nr}]", dimm), dimm.node) for nr, dimm in enumerate(file.dimm))
    rest = {key: value for key, value in structs.asdict(file).items() if key not in ("node", "dimm", "arch")}
    machine = Machine(name, nodes=nodes, dimms=dimms, arch=archs.ALL[file.arch], **rest)
    if machine.arch.foreign and (
        machine.dimms or machine.below_4g_mib or machine.firmware or machine.monitor
    ):
        _fail(name, f"is of {file.arch}", "DIMMs, below_4g_mib, firmware and monitor are for x86_64")
    if not 1 <= machine.cpus <= MAX_CPUS:
        _fail(name, f"has {machine.cpus} CPUs in all", f"give 1 to {MAX_CPUS}")
    if not MIN_MIB <= machine.mib <= MAX_MIB - machine.dimm_mib:
        room = f"{MIN_MIB} to {MAX_MIB} MiB, DIMMs included (the emulated CPU has 40 physical address bits)"
        _fail(name, f"has {machine.mib + machine.dimm_mib} MiB in all", f"give {room}")
    return machine


def _mib(name: str, where: str, memory: _Memory) -> int:
    if (memory.gib is None) == (memory.mib is None):
        _fail(name, f"{where}: needs its memory once", "give either gib or mib")
    return memory.mib if memory.mib is not None else (memory.gib or 0) * 1024


def _fail(name: str, why: str, todo: str) -> NoReturn:
    raise LabError(f"machines/{name}.toml", why, todo)
