# SPDX-License-Identifier: GPL-2.0-only
"""The thread sweeps published in 2020, as data: see data/README.md."""

import csv
import functools
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).parent / "data" / "published-deferred-init.csv"


@dataclass(frozen=True)
class Row:
    """One line of a published table.  ``percent`` of a node's CPUs is ``threads``."""

    percent: int
    threads: int
    deferred_ms: float


def rows(machine: str) -> tuple[Row, ...]:
    """A machine's published sweep, in its order; empty if it was not published."""
    return _tables().get(machine, ())


@functools.cache
def _tables() -> dict[str, tuple[Row, ...]]:
    tables: dict[str, list[Row]] = {}
    with TABLE.open(newline="") as file:
        for line in csv.DictReader(file):
            tables.setdefault(line["machine"], []).append(
                Row(int(line["node_pct"]), int(line["threads"]), float(line["deferred_init_ms"]))
            )
    return {name: tuple(table) for name, table in tables.items()}
