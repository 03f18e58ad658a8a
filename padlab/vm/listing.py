# SPDX-License-Identifier: GPL-2.0-only
"""``./lab machines``: what can be booted, and what it takes of the host."""

from __future__ import annotations

import json as jsonlib

from padlab.core import table
from padlab.vm import machine as machines
from padlab.vm.boot import host_mib


def main(json: bool = False) -> int:
    """Print every machine of machines/."""
    listed = [machines.load(name) for name in machines.names()]
    if json:
        rows = [
            {
                "name": machine.name,
                "kind": machine.kind,
                "nodes": len(machine.nodes),
                "cpus": machine.cpus,
                "mib": machine.mib,
                "summary": machine.summary(),
                "description": machine.description,
                "host_mib": host_mib(machine),
            }
            for machine in listed
        ]
        print(jsonlib.dumps(rows, indent=2))
        return 0
    names = ("machine", "kind", "host GiB", "what it is", "why it is here")
    grid = table.grid(names, left=set(names) - {"host GiB"})
    for machine in listed:
        gib = f"{host_mib(machine) / 1024:.1f}"
        grid.add_row(machine.name, machine.kind, gib, machine.summary(), table.plain(machine.description))
    table.console().print(grid)
    return 0
