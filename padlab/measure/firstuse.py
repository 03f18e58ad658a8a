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
from padlab.measure.verdict import Limit

MAX_RATIO = 1.02  # of stock's time, both together: no slower, and noise
# The same where stock zeroes in extents, too.  Ours does as stock then, at all of these sizes,
# so this is noise alone, of as many ratios as there are rows.
MAX_RATIO_EXTENTS = 1.05
# 2 MiB that are touched in their first half, on a CPU with CLZERO: to zero them, and
# both if they are then used forward.
MAX_ZERO_CLZERO, MAX_BOTH_CLZERO = 0.45, 0.8
# To zero them where the quarter that goes through the cache gains nothing: as long as stock for
# that, and for the rest 0.31 of it, as for 1 GiB on a Zen 3 (results/cpus/amd-family-25-model-1-2cpus).
MAX_ZERO_CACHE_AS_STOCK = 0.48
# Of stock's time for a folio that goes through the cache as a whole; on a Zen 3 0.99 to 1.00, on
# CPUs that gain something there 0.50 to 0.64.
CACHE_AS_STOCK = 0.9
# On other CPUs, of stock's time to use a huge page forward.  Extents gain more there than
# may be lost, so the sum would not show it: zeroed in ascending order, a page takes 2.5
# times as long to use.
MAX_USE_RATIO = 1.3
HUGE = 2048  # in KiB
SIZES = (64, 512, 1024, HUGE)
HOW = ("forward", "backward", "random")
FORWARD = HOW[0]
# Reads at random, each of which needs the outcome of the one before.  Shown, not judged:
# what is not in the cache is fetched line by line then.
DEPENDENT = "dependent"
PARTS = ("zero", "use", "both")


def touched(kib: int) -> tuple[int, int, int]:
    """The pages of a folio that are touched: its first, one after a third of it, its last."""
    pages = kib // 4
    return 0, pages // 3, pages - 1


WANTED = {
    (kib, page, how, way)
    for kib in SIZES
    for page in touched(kib)
    for how in HOW
    for way in ("stock", "ours")
}

_ROUND = re.compile(r"^round \d+ kib (\d+) page (\d+) (\w+) (stock|ours) zero (\d+) ns use (\d+) ns$")


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
    """In us.  The ratios are of stock's time in the same round."""

    kib: int
    page: int
    how: str
    way: str
    zero: stats.Summary
    use: stats.Summary
    both: stats.Summary
    of_stock: stats.Paired | None  # both
    zero_of_stock: stats.Paired | None
    use_of_stock: stats.Paired | None

    @property
    def name(self) -> str:
        return f"{self.kib} KiB touched at page {self.page}, used {self.how}"


def parse(line: str) -> Use | None:
    """A line of zero_bench --use, if it is one."""
    if match := _ROUND.match(line):
        kib, page, how, way, zero, use = match.groups()
        return Use(int(kib), int(page), how, way, int(zero), int(use))
    return None


def rows(uses: Iterable[Use]) -> list[Row]:
    """By size, page and way of use, stock's first.  Both have the same rounds, in the same order."""
    by = stats.group(
        uses, lambda use: (use.kib, use.page, (*HOW, DEPENDENT).index(use.how), use.way == "ours")
    )
    result: list[Row] = []
    for key in sorted(by):
        own, peer = by[key], by.get((*key[:3], False)) if key[3] else None
        zero, use, both = (stats.summarize(_times(own, what)) for what in PARTS)
        zero_of, use_of, both_of = (
            stats.paired(_times(peer, what), _times(own, what)) if peer else None for what in PARTS
        )
        first = own[0]
        result.append(
            Row(first.kib, first.page, first.how, first.way, zero, use, both, both_of, zero_of, use_of)
        )
    return result


def _times(uses: Iterable[Use], what: str) -> list[float]:
    return [getattr(use, what) / 1000 for use in uses]


def limits(table_rows: Iterable[Row], clzero: bool, extents: bool = False) -> list[Limit]:
    """What ours may take; ``clzero``: the CPU has that instruction; ``extents``: stock zeroes in these."""
    result: list[Limit] = []
    table_rows = list(table_rows)
    for row in table_rows:
        if not (row.of_stock and row.zero_of_stock and row.use_of_stock):
            continue
        result.append(Limit(row.name, row.of_stock, MAX_RATIO_EXTENTS if extents else MAX_RATIO))
        if extents:
            continue
        first_half = row.kib >= HUGE and row.page < row.kib // 8
        if first_half and clzero:
            most = MAX_ZERO_CACHE_AS_STOCK if _cache_as_stock(row, table_rows) else MAX_ZERO_CLZERO
            result.append(Limit(f"{row.name}: to zero it", row.zero_of_stock, most))
            if row.how == FORWARD:
                result.append(Limit(row.name, row.of_stock, MAX_BOTH_CLZERO))
        elif first_half and row.how == FORWARD:
            result.append(Limit(f"{row.name}: to use it", row.use_of_stock, MAX_USE_RATIO))
    return result


def _cache_as_stock(row: Row, table_rows: Iterable[Row]) -> bool:
    """Whether the CPU gains nothing through the cache, by the same folio touched at its last page."""
    wanted = (row.kib, touched(row.kib)[-1], row.how)
    ratios = [other.zero_of_stock for other in table_rows if (other.kib, other.page, other.how) == wanted]
    return any(ratio and ratio.value >= CACHE_AS_STOCK for ratio in ratios)


def grid(table_rows: Iterable[Row]) -> Table:
    names = ("KiB", "touched page", "used", "way", "n", "zeroed", "then used", "both", "of stock")
    result = table.grid(names, left={"way", "used"})
    for row in table_rows:
        figures = [f"{value:,.1f}" for value in (row.zero.median, row.use.median, row.both.median)]
        cells = (f"{row.kib:,}", str(row.page), row.how, row.way, str(row.both.n))
        result.add_row(*cells, *figures, table.marked(row.of_stock))
    return result
