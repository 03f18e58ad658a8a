# SPDX-License-Identifier: GPL-2.0-only
"""Machines to boot: one TOML file each under machines/, checked when loaded.

A file looks like this::

    description = "two nodes of two cores"
    kind = "odd"                # or "published": has rows in the published tables
    small = true                # boots in seconds: used by tests
    threads_per_core = 2        # 1 if left out
    append = ["memmap=..."]     # more kernel arguments, if any
    below_4g_mib = 1024         # RAM below 4 GiB, if not what QEMU makes it

    [[node]]                    # one table per NUMA node, in node order
    gib = 2                     # or mib = 2048
    cores = 2                   # 0, or left out: a node without CPUs

    [[dimm]]                    # memory in a slot: the kernel adds it by hotplug
    gib = 1                     # or mib = 1024
    node = 0                    # 0 if left out
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from padlab.errors import LabError
from padlab.paths import MACHINES

# QEMU's pc machine numbers CPUs with 8-bit APIC ids, and `-cpu max` has 40
# physical address bits under TCG, of which the PCI windows need some.
MAX_CPUS = 255
MAX_MIB = 1008 * 1024
MIN_MIB = 64  # less has no room for the kernel and its initramfs
MAX_NODES = 64
MAX_DIMMS = 16
PAGES_PER_MIB = 256

KINDS = ("published", "odd")
_KEYS = {"description", "kind", "small", "threads_per_core", "below_4g_mib", "append", "node", "dimm"}
_NODE_KEYS = {"gib", "mib", "cores"}
_DIMM_KEYS = {"gib", "mib", "node"}
_TOML_NAMES = {str: "string", int: "whole number", bool: "boolean", list: "list"}


@dataclass(frozen=True)
class Node:
    """A NUMA node; ``cpus`` counts hardware threads and may be 0."""

    mib: int
    cpus: int


@dataclass(frozen=True)
class Dimm:
    """Memory in a slot of ``node``: no part of the map that the kernel boots with."""

    mib: int
    node: int


@dataclass(frozen=True)
class Machine:
    """A machine to boot, as its file under machines/ describes it."""

    name: str
    description: str
    kind: str
    nodes: tuple[Node, ...]
    threads_per_core: int = 1
    append: tuple[str, ...] = ()
    small: bool = False
    below_4g_mib: int | None = None  # RAM below 4 GiB, if not what QEMU makes it

    dimms: tuple[Dimm, ...] = ()

    @property
    def cpus(self) -> int:
        return sum(node.cpus for node in self.nodes)

    @property
    def mib(self) -> int:
        """Memory that the machine boots with."""
        return sum(node.mib for node in self.nodes)

    @property
    def dimm_mib(self) -> int:
        return sum(dimm.mib for dimm in self.dimms)

    @property
    def pages(self) -> int:
        return self.mib * PAGES_PER_MIB

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
        return ", ".join(
            [
                plural(len(self.nodes), "node"),
                plural(self.cpus, "CPU") + (f" ({', '.join(notes)})" if notes else ""),
                self.memory(),
            ]
        )

    def memory(self) -> str:
        return f"{self.mib // 1024} GiB" if self.mib % 1024 == 0 else f"{self.mib} MiB"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def names(folder: Path = MACHINES) -> list[str]:
    """Every machine there is, in alphabetical order."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load(name: str, folder: Path = MACHINES) -> Machine:
    """Read and check machines/NAME.toml."""
    known = names(folder)
    if name not in known:
        raise LabError(
            f"machine '{name}'",
            "there is no such machine",
            f"choose one of {', '.join(known)}, or add machines/{name}.toml",
        )
    path = folder / f"{name}.toml"
    try:
        return parse(name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as err:
        raise LabError(f"machines/{name}.toml", f"cannot be read: {err}", "repair the file") from None


def parse(name: str, text: str) -> Machine:
    """Make a machine of a file's text; any fault is a LabError naming key and value."""
    check = _Checker(f"machines/{name}.toml")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        check.fail(f"is not valid TOML: {err}", "correct that line")
    check.keys(data, _KEYS, "")

    description = check.typed(data, "description", str, "")
    kind = check.typed(data, "kind", str, "")
    if kind not in KINDS:
        check.fail(f"kind is '{kind}'", f"use {' or '.join(KINDS)}")
    threads = check.integer(data, "threads_per_core", "", 1, MAX_CPUS, default=1)
    small = check.typed(data, "small", bool, "", default=False)
    append = check.typed(data, "append", list, "", default=[])
    for arg in append:
        if not isinstance(arg, str) or not arg or len(arg.split()) != 1:
            check.fail(f"append has {arg!r}", "use one string per kernel argument")

    tables = check.typed(data, "node", list, "")
    if not 1 <= len(tables) <= MAX_NODES:
        check.fail(f"has {len(tables)} nodes", f"give 1 to {MAX_NODES} [[node]] tables")
    nodes = tuple(_node(check, table, i, threads) for i, table in enumerate(tables))

    below = check.integer(data, "below_4g_mib", "", MIN_MIB, 3584) if "below_4g_mib" in data else None
    tables = check.typed(data, "dimm", list, "", default=[])
    if len(tables) > MAX_DIMMS:
        check.fail(f"has {len(tables)} DIMMs", f"give {MAX_DIMMS} at most")
    dimms = tuple(_dimm(check, table, i, len(nodes)) for i, table in enumerate(tables))

    machine = Machine(name, description, kind, nodes, threads, tuple(append), small, below, dimms)
    if not 1 <= machine.cpus <= MAX_CPUS:
        check.fail(f"has {machine.cpus} CPUs in all", f"give 1 to {MAX_CPUS}")
    if not MIN_MIB <= machine.mib <= MAX_MIB - machine.dimm_mib:
        check.fail(
            f"has {machine.mib} MiB in all",
            f"give {MIN_MIB} to {MAX_MIB} MiB (the emulated CPU has 40 physical address bits)",
        )
    return machine


def _node(check: _Checker, table: Any, index: int, threads: int) -> Node:
    where = f"node {index}: "
    if not isinstance(table, dict):
        check.fail(f"{where}is {table!r}", "write each node as a [[node]] table")
    check.keys(table, _NODE_KEYS, where)
    mib = _memory(check, table, where)
    return Node(mib, check.integer(table, "cores", where, 0, MAX_CPUS, default=0) * threads)


def _dimm(check: _Checker, table: Any, index: int, nodes: int) -> Dimm:
    where = f"dimm {index}: "
    if not isinstance(table, dict):
        check.fail(f"{where}is {table!r}", "write each DIMM as a [[dimm]] table")
    check.keys(table, _DIMM_KEYS, where)
    return Dimm(_memory(check, table, where), check.integer(table, "node", where, 0, nodes - 1, default=0))


def _memory(check: _Checker, table: dict[str, Any], where: str) -> int:
    """MiB of a node or DIMM."""
    if ("gib" in table) == ("mib" in table):
        check.fail(f"{where}needs its memory once", "give either gib or mib")
    if "gib" in table:
        return check.integer(table, "gib", where, 1, MAX_MIB // 1024) * 1024
    return check.integer(table, "mib", where, 1, MAX_MIB)


class _Checker:
    """Takes typed values out of parsed TOML, with errors that name the file."""

    def __init__(self, what: str) -> None:
        self.what = what

    def fail(self, why: str, todo: str) -> None:
        raise LabError(self.what, why, todo)

    def keys(self, table: dict[str, Any], known: set[str], where: str) -> None:
        for key in table:
            if key not in known:
                self.fail(f"{where}unknown key '{key}'", f"known keys: {', '.join(sorted(known))}")

    def typed(self, table: dict[str, Any], key: str, kind: type, where: str, default: Any = None) -> Any:
        if key not in table:
            if default is None:
                self.fail(f"{where}key '{key}' is missing", f"add it, as a {_TOML_NAMES[kind]}")
            return default
        value = table[key]
        # bool is a subclass of int, but `cores = true` is a mistake.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.fail(f"{where}{key} is {value!r}", f"use a {_TOML_NAMES[kind]}")
        return value

    def integer(
        self, table: dict[str, Any], key: str, where: str, low: int, high: int, default: int | None = None
    ) -> int:
        value = self.typed(table, key, int, where, default)
        if not low <= value <= high:
            self.fail(f"{where}{key} is {value}", f"use {low} to {high}")
        return value
