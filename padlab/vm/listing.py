# SPDX-License-Identifier: GPL-2.0-only
"""``./lab machines``: what can be booted, and what it takes of the host."""

from __future__ import annotations

from padlab.core import table
from padlab.vm import machine as machines
from padlab.vm.boot import host_mib


def main() -> int:
    """Print every machine of machines/."""
    names = ("machine", "kind", "host GiB", "what it is", "why it is here")
    grid = table.grid(names, left=set(names) - {"host GiB"})
    for machine in map(machines.load, machines.names()):
        gib = f"{host_mib(machine) / 1024:.1f}"
        grid.add_row(machine.name, machine.kind, gib, machine.summary(), table.plain(machine.description))
    table.console().print(grid)
    return 0
