# SPDX-License-Identifier: GPL-2.0-only
"""``./lab machines``: what can be booted, and what it takes of the host."""

from __future__ import annotations

import json as jsonlib

from padlab.core import table
from padlab.vm import machine as machines
from padlab.vm.boot import host_mib


def main(json: bool = False) -> int:
    """Print every machine of machines/."""
    found = [machines.load(name) for name in machines.names()]
    if json:
        rows = [
            {
                "name": one.name,
                "kind": one.kind,
                "nodes": len(one.nodes),
                "cpus": one.cpus,
                "mib": one.mib,
                "summary": one.summary(),
                "description": one.description,
                "host_mib": host_mib(one),
            }
            for one in found
        ]
        print(jsonlib.dumps(rows, indent=2))
        return 0
    names = ("machine", "kind", "host GiB", "what it is", "why it is here")
    grid = table.grid(names, left=set(names) - {"host GiB"})
    for one in found:
        gib = f"{host_mib(one) / 1024:.1f}"
        grid.add_row(one.name, one.kind, gib, one.summary(), table.plain(one.description))
    table.console().print(grid)
    return 0
