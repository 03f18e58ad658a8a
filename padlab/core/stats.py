# SPDX-License-Identifier: GPL-2.0-only
"""Medians, spreads and ratios of repeated measurements."""

import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Summary:
    n: int
    median: float
    low: float
    high: float


def summarize(values: Sequence[float]) -> Summary:
    return Summary(len(values), statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Ratio:
    """``ours`` over ``peer``: below 1 is better for times and counts."""

    value: float | None  # None: the peer's median is 0
    noise: str | None  # why the ratio means nothing, or None when it does


def ratio(peer: Summary, ours: Summary, *, exact: bool = False) -> Ratio:
    """The ratio of two medians, and whether noise makes it meaningless.

    Measurements that repeat exactly need not be repeated (``exact``).  Else three runs of each are the least
    that shows a spread, and ranges that overlap leave the order of the two open.
    """
    value = ours.median / peer.median if peer.median else None
    if value is None:
        return Ratio(None, "the peer's median is 0")
    if exact:
        return Ratio(value, None)
    fewest = min(peer.n, ours.n)
    if fewest < 3:
        return Ratio(value, f"{fewest} run{'s' * (fewest > 1)} of each show no spread")
    if peer.low <= ours.high and ours.low <= peer.high:
        return Ratio(value, "the ranges overlap")
    return Ratio(value, None)


@dataclass(frozen=True)
class Paired:
    """The median of ratios round by round, and an interval that has the true one in 99 of 100 cases."""

    value: float
    low: float
    high: float


OUTSIDE = 0.01  # how often an interval may miss the median


def paired(peer: Sequence[float], ours: Sequence[float]) -> Paired:
    """Ours over the peer's, measured in the same rounds: what disturbs a round disturbs both.

    The interval is that of the order statistics, which takes nothing of the distribution for granted: each
    ratio is as likely above as below the median.  With fewer than 8 rounds it is the whole range.
    """
    ratios = sorted(mine / theirs for theirs, mine in zip(peer, ours, strict=True))
    n, skip, below = len(ratios), 0, 0.5 ** len(ratios)
    while 2 * below <= OUTSIDE:
        skip += 1
        below += math.comb(n, skip) * 0.5**n
    skip = max(skip - 1, 0)
    return Paired(statistics.median(ratios), ratios[skip], ratios[n - 1 - skip])


def group(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by what they have in common, in the order in which they came."""
    by: dict[Key, list[Item]] = {}
    for item in items:
        by.setdefault(key(item), []).append(item)
    return by
