# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts on times: ratios within one run on one CPU, each with the most that it may be.

A ratio is the median of the ratios round by round, with its interval (stats.paired()), as what
the memory can do may change from one round to the next.  A bound inside the interval decides
nothing.  Then there is another run, a few times at most and while the host does nothing else, and
all rounds count.  What is open after the last one is said to be.
"""

from __future__ import annotations

import enum
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from padlab.core import host, progress, stats


class Verdict(enum.StrEnum):
    PASSED = "passed"
    FAILED = "FAILED"
    OPEN = "not decided"


@dataclass(frozen=True)
class Limit:
    """What is compared with what, and the most that ours may take of the other's time."""

    name: str
    ratio: stats.Paired
    most: float

    @property
    def verdict(self) -> Verdict:
        if self.ratio.high <= self.most:
            return Verdict.PASSED
        return Verdict.FAILED if self.ratio.low > self.most else Verdict.OPEN

    def __str__(self) -> str:
        ratio = self.ratio
        return f"{self.name}: {ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f}), at most {self.most}"


MAX_OF_BEST = 1.05  # and ours counts as the best way


@dataclass(frozen=True)
class Best:
    """The quickest of all ways to do something, and what ours takes of its time."""

    name: str
    way: str
    ratio: stats.Paired

    @property
    def is_ours(self) -> bool:
        return self.ratio.low <= MAX_OF_BEST


def best(name: str, times: Mapping[str, Sequence[float]], ours: str) -> Best:
    """Of ways by name, each with its times round by round."""
    way = min(times, key=lambda way: statistics.median(times[way]))
    return Best(name, way, stats.paired(times[way], times[ours]))


class Run(Protocol):
    @property
    def reference(self) -> Sequence[int]:
        """What a loop took that always does the same, in each round."""


Measured = TypeVar("Measured", bound=Run)


@dataclass(frozen=True)
class Gate(Generic[Measured]):
    """Limits on what ``measure`` finds, which is called ``runs`` times at most.

    ``bests`` says what the CPU is best with, and decides nothing.
    """

    name: str
    measure: Callable[[], Measured]
    limits: Callable[[Sequence[Measured]], list[Limit]]
    runs: int
    bests: Callable[[Sequence[Measured]], list[Best]] = lambda _runs: []

    def judge(self, quick: bool = False) -> Judged:
        before = host.cpu_time()
        measured: list[Measured] = []
        for nr in range(1, 2 if quick else self.runs + 1):
            measured.append(self.measure())
            limits = self.limits(measured)
            reference = [ns for run in measured for ns in run.reference]
            busy = host.why_busy(before, host.cpu_time(), reference)
            undecided = [limit for limit in limits if limit.verdict is Verdict.OPEN]
            if busy or not undecided:
                break
            progress.note(f"{self.name}: not decided after run {nr}: {'; '.join(map(str, undecided))}")
        return Judged(self.name, tuple(limits), len(measured), tuple(busy), tuple(self.bests(measured)))


@dataclass(frozen=True)
class Judged:
    """A gate's limits; ``busy`` says what else the host did meanwhile."""

    gate: str
    limits: tuple[Limit, ...]
    runs: int
    busy: tuple[str, ...] = ()
    bests: tuple[Best, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """What is too slow on a busy host may be so because of that."""
        total = overall(limit.verdict for limit in self.limits)
        return Verdict.OPEN if total is Verdict.FAILED and self.busy else total


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    given = set(verdicts)
    return next((verdict for verdict in (Verdict.FAILED, Verdict.OPEN) if verdict in given), Verdict.PASSED)
