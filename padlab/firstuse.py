# SPDX-License-Identifier: GPL-2.0-only
"""What a task takes to zero a folio that it touched, and to use it from there on.

Part of ``./lab bench hugepages``.  Zeroing may be fast at the cost of what comes
after: memory that has left the cache again has to be fetched.  So both are timed,
``zero_bench --use``, and what counts is their sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from padlab import stats

MAX_RATIO = 1.02  # of stock's time, both together: no slower, and noise

_ROUND = re.compile(r"^round \d+ kib (\d+) page (\d+) (stock|ours) zero (\d+) ns use (\d+) ns$")


@dataclass(frozen=True)
class Use:
    """A folio of ``kib``, touched at ``page``: the mean of a round, in ns."""

    kib: int
    page: int
    way: str
    zero: int
    use: int

    @property
    def both(self) -> int:
        return self.zero + self.use


@dataclass(frozen=True)
class Row:
    """In us."""

    kib: int
    page: int
    way: str
    zero: stats.Summary
    use: stats.Summary
    both: stats.Summary
    of_stock: stats.Ratio | None  # both


def parse(notes: Iterable[str]) -> list[Use]:
    found = (match for note in notes if (match := _ROUND.match(note)))
    return [Use(int(m[1]), int(m[2]), m[3], int(m[4]), int(m[5])) for m in found]


def least(uses: Iterable[Use]) -> list[Use]:
    return stats.least(uses, key=lambda u: (u.kib, u.page, u.way), value=lambda u: u.both)


def rows(uses: Iterable[Use]) -> list[Row]:
    """By size and page, stock's first."""
    by: dict[tuple[int, int, bool], list[Use]] = {}
    for one in uses:
        by.setdefault((one.kib, one.page, one.way == "ours"), []).append(one)
    result: list[Row] = []
    for kib, page, ours in sorted(by):
        found = by[kib, page, ours]
        zero, use, both = (
            stats.summarize([getattr(one, what) / 1000 for one in found]) for what in ("zero", "use", "both")
        )
        stock = next((row for row in result if (row.kib, row.page) == (kib, page)), None)
        of_stock = stats.ratio(stock.both, both) if stock else None
        result.append(Row(kib, page, "ours" if ours else "stock", zero, use, both, of_stock))
    return result


def too_slow(table_rows: Iterable[Row]) -> list[str]:
    return [
        f"{row.kib} KiB touched at page {row.page}: {row.of_stock.value:.2f} of stock's time, at most {MAX_RATIO}"
        for row in table_rows
        if row.of_stock and (row.of_stock.value or 0) > MAX_RATIO
    ]


def grid(table_rows: Iterable[Row]) -> Table:
    table = Table(box=None, padding=(0, 2), pad_edge=False)
    for name in ("KiB", "touched page", "way", "n", "zeroed", "then used", "both", "of stock"):
        table.add_column(name, justify="left" if name == "way" else "right")
    for row in table_rows:
        ratio = f"{row.of_stock.value:.2f}" if row.of_stock and row.of_stock.value is not None else ""
        figures = [f"{value:,.1f}" for value in (row.zero.median, row.use.median, row.both.median)]
        table.add_row(f"{row.kib:,}", str(row.page), row.way, str(row.both.n), *figures, ratio)
    return table


def as_dicts(table_rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [asdict(row) for row in table_rows]
