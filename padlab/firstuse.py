# SPDX-License-Identifier: GPL-2.0-only
"""What a task takes to zero a folio that it touched, and to use it from there on.

Part of ``./lab bench hugepages``.  Zeroing may be fast at the cost of what comes
after: memory that has left the cache again has to be fetched.  So both are timed,
``zero_bench --use``, and what counts is their sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from rich.table import Table

from padlab import stats, table

MAX_RATIO = 1.02  # of stock's time, both together: no slower, and noise
# Of stock's time to use a huge page.  Extents gain more than may be lost here, so the
# sum would not show it: zeroed in ascending order, a page takes 2.5 times as long to use.
MAX_USE_RATIO = 1.3
HUGE = 2048  # in KiB
WANTED = {(kib, page, way) for kib, page in ((64, 0), (64, 5), (HUGE, 0), (HUGE, 170)) for way in ("stock", "ours")}

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
    use_of_stock: stats.Ratio | None


def parse(notes: Iterable[str]) -> list[Use]:
    found = (match for note in notes if (match := _ROUND.match(note)))
    return [Use(int(m[1]), int(m[2]), m[3], int(m[4]), int(m[5])) for m in found]


def least(uses: Iterable[Use]) -> list[Use]:
    """The least time to zero, and the least to use."""

    def key(one: Use) -> tuple[int, int, str]:
        return one.kib, one.page, one.way

    uses = list(uses)
    by_use = {key(one): one.use for one in stats.least(uses, key, lambda one: one.use)}
    return [replace(one, use=by_use[key(one)]) for one in stats.least(uses, key, lambda one: one.zero)]


def rows(uses: Iterable[Use]) -> list[Row]:
    """By size and page, stock's first."""
    by = stats.group(uses, lambda one: (one.kib, one.page, one.way == "ours"))
    result: list[Row] = []
    for kib, page, ours in sorted(by):
        found = by[kib, page, ours]
        zero, use, both = (
            stats.summarize([getattr(one, what) / 1000 for one in found]) for what in ("zero", "use", "both")
        )
        stock = next((row for row in result if (row.kib, row.page) == (kib, page)), None)
        of_stock = stats.ratio(stock.both, both) if stock else None
        use_of_stock = stats.ratio(stock.use, use) if stock else None
        result.append(Row(kib, page, "ours" if ours else "stock", zero, use, both, of_stock, use_of_stock))
    return result


def too_slow(table_rows: Iterable[Row]) -> list[str]:
    found = []
    for row in table_rows:
        name = f"{row.kib} KiB touched at page {row.page}"
        if row.of_stock and (row.of_stock.value or 0) > MAX_RATIO:
            found.append(f"{name}: {row.of_stock.value:.2f} of stock's time, at most {MAX_RATIO}")
        if row.kib >= HUGE and row.use_of_stock and (row.use_of_stock.value or 0) > MAX_USE_RATIO:
            found.append(f"{name}: {row.use_of_stock.value:.2f} of stock's time to use it, at most {MAX_USE_RATIO}")
    return found


def grid(table_rows: Iterable[Row]) -> Table:
    names = ("KiB", "touched page", "way", "n", "zeroed", "then used", "both", "of stock", "use of stock")
    result = table.grid(names, left={"way"})
    for row in table_rows:
        ratios = [table.ratio(row.of_stock), table.ratio(row.use_of_stock)]
        figures = [f"{value:,.1f}" for value in (row.zero.median, row.use.median, row.both.median)]
        result.add_row(f"{row.kib:,}", str(row.page), row.way, str(row.both.n), *figures, *ratios)
    return result
