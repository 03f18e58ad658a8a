# SPDX-License-Identifier: GPL-2.0-only
"""What a task takes to zero a folio that it touched, and to use it from there on.

Part of ``./lab bench hugepages``.  Zeroing may be fast at the cost of what comes
after: memory that is not in the cache has to be fetched.  So both are timed,
``zero_bench --use``, and what counts is their sum.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rich.table import Table

from padlab.core import stats, table
from padlab.measure.verdict import Best, Limit, best

MAX_RATIO = 1.02  # of stock's time, both together: no slower, and noise
# The same where stock zeroes in extents, too.  Ours does as stock then, at all of these sizes,
# so this is noise alone, of as many ratios as there are rows.
MAX_RATIO_EXTENTS = 1.05
SIZES = (16, 64, 512, 1024, 2048)  # in KiB
STOCK, OURS = "stock", "ours"
WAYS = (STOCK, OURS, "movnti", "clzero")  # the last two bare, if this CPU has them
HOW = ("forward", "backward", "random")
# Reads at random, each of which needs the outcome of the one before.  Shown, not judged:
# what is not in the cache is fetched line by line then.
DEPENDENT = "dependent"
PARTS = ("zero", "use", "both")


def touched(kib: int) -> tuple[int, int, int]:
    """The pages of a folio that are touched: its first, one after a third of it, its last."""
    pages = kib // 4
    return 0, pages // 3, pages - 1


WANTED = {
    (kib, page, how, way) for kib in SIZES for page in touched(kib) for how in HOW for way in (STOCK, OURS)
}

_ROUND = re.compile(r"^round \d+ kib (\d+) page (\d+) (\w+) (\w+) zero (\d+) ns use (\d+) ns$")


@dataclass(frozen=True)
class Use:
    """A folio of ``kib``, touched at ``page``, half of it used ``how``: means of a round, in ns."""

    kib: int
    page: int
    how: str
    way: str
    zero: int
    use: int

    @property
    def both(self) -> int:
        return self.zero + self.use


@dataclass(frozen=True)
class Row:
    """In us.  The ratio is of stock's time in the same round."""

    kib: int
    page: int
    how: str
    way: str
    zero: stats.Summary
    use: stats.Summary
    both: stats.Summary
    of_stock: stats.Paired | None  # both

    @property
    def name(self) -> str:
        return f"{self.kib} KiB touched at page {self.page}, used {self.how}"


def parse(line: str) -> Use | None:
    """A line of zero_bench --use, if it is one."""
    if (match := _ROUND.match(line)) and match[4] in WAYS:
        kib, page, how, way, zero, use = match.groups()
        return Use(int(kib), int(page), how, way, int(zero), int(use))
    return None


def rows(uses: Iterable[Use]) -> list[Row]:
    """By size, page and way of use, stock's first.  All have the same rounds, in the same order."""
    by = _by_way(uses)
    result: list[Row] = []
    for key in sorted(by):
        own, peer = by[key], by.get((*key[:3], WAYS.index(STOCK))) if key[3] else None
        zero, use, both = (stats.summarize(_times(own, what)) for what in PARTS)
        of_stock = stats.paired(_times(peer, "both"), _times(own, "both")) if peer else None
        first = own[0]
        result.append(Row(first.kib, first.page, first.how, first.way, zero, use, both, of_stock))
    return result


def _by_way(uses: Iterable[Use]) -> dict[tuple[int, int, int, int], list[Use]]:
    return stats.group(
        uses, lambda use: (use.kib, use.page, (*HOW, DEPENDENT).index(use.how), WAYS.index(use.way))
    )


def bests(uses: Iterable[Use]) -> list[Best]:
    """The best way to zero and to use, for each size, page and use."""
    found: dict[str, dict[str, list[float]]] = {}
    for same in _by_way(uses).values():
        first = same[0]
        name = f"{first.kib} KiB touched at page {first.page}, used {first.how}"
        found.setdefault(name, {})[first.way] = _times(same, "both")
    return [best(name, times, OURS) for name, times in found.items()]


def _times(uses: Iterable[Use], what: str) -> list[float]:
    return [getattr(use, what) / 1000 for use in uses]


def limits(table_rows: Iterable[Row], extents: bool = False) -> list[Limit]:
    """What ours may take to zero and use a folio; ``extents``: stock zeroes in these."""
    most = MAX_RATIO_EXTENTS if extents else MAX_RATIO
    return [Limit(row.name, row.of_stock, most) for row in table_rows if row.of_stock and row.way == OURS]


def grid(table_rows: Iterable[Row]) -> Table:
    names = ("KiB", "touched page", "used", "way", "n", "zeroed", "then used", "both", "of stock")
    result = table.grid(names, left={"way", "used"})
    for row in table_rows:
        figures = [f"{value:,.1f}" for value in (row.zero.median, row.use.median, row.both.median)]
        cells = (f"{row.kib:,}", str(row.page), row.how, row.way, str(row.both.n))
        result.add_row(*cells, *figures, table.marked(row.of_stock))
    return result
