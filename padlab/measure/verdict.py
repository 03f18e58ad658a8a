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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab.core import host, progress, stats
from padlab.core.errors import LabError
from padlab.measure.rows import spread
from padlab.measure.tools import Key, Measured, Times, times_of


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

    def as_row(self) -> dict[str, object]:
        most = f"{self.most:.2f}"
        return {"": self.name, "of its time": self.ratio, "at most": most, "verdict": self.verdict}

    def __str__(self) -> str:
        return f"{self.name}: {spread(self.ratio)}, at most {self.most}"


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


@dataclass(frozen=True)
class Gate:
    """Limits on times of what is ``wanted``, and may be measured ``runs`` times; ``bests`` decide nothing."""

    name: str
    measure: Callable[[], Measured]
    log: Path  # of what it measures
    runs: int
    wanted: Collection[Key]
    limits: Callable[[Times], list[Limit]]
    bests: Callable[[Times], list[Best]] = lambda _times: []

    def limits_of(self, times: Times) -> list[Limit]:
        missing = [f"{what}: {way}, threads {nr}" for what, nr, way in sorted({*self.wanted} - times.keys())]
        if missing:
            raise LabError(self.name, f"it did not time {'; '.join(missing)}", "see its log", log=self.log)
        return self.limits(times)

    def judge(self, quick: bool = False) -> Judged:
        before = host.cpu_time()
        measured: list[Measured] = []
        for nr in range(1, 2 if quick else self.runs + 1):
            measured.append(self.measure())
            times = times_of(measured)
            limits = self.limits_of(times)
            reference = [ns for run in measured for ns in run.reference]
            busy = host.why_busy(before, host.cpu_time(), reference)
            undecided = [limit for limit in limits if limit.verdict is Verdict.OPEN]
            if busy or not undecided:
                break
            progress.note(f"{self.name}: not decided after run {nr}: {'; '.join(map(str, undecided))}")
        return Judged(self.name, tuple(limits), len(measured), tuple(busy), tuple(self.bests(times)))


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
