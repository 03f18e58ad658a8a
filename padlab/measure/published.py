# SPDX-License-Identifier: GPL-2.0-only
"""The thread sweeps published in 2020, as data: see data/README.md."""

import csv
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
    """A machine's published sweep with one thread or more; empty if it was not published."""
    with TABLE.open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["machine"] == machine]
    found = (Row(int(x["node_pct"]), int(x["threads"]), float(x["deferred_init_ms"])) for x in lines)
    return tuple(row for row in found if row.threads)
