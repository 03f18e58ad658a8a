# SPDX-License-Identifier: GPL-2.0-only
"""Checks of ``./lab test`` that compare times at native speed, on a host that may be busy.

A gate is a function that measures and says what is too slow; see until_met().
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from padlab import stats
from padlab.errors import LabError

TRIES, ROUNDS = 30, 9
PAUSE_S = 2  # between tries: a busy spell may pass


class Timed(Protocol):
    @property
    def threads(self) -> int: ...
    @property
    def ns(self) -> int: ...


AnyTimed = TypeVar("AnyTimed", bound=Timed)


def judged(
    alone: list[AnyTimed], timings: Iterable[AnyTimed], key: Callable[[AnyTimed], Hashable]
) -> list[AnyTimed]:
    """What a gate goes by, of the timings of a try and those of one thread that it kept in ``alone``.

    One thread: the least of all tries, as nothing but the program itself makes it slow
    at all times.  Several have to be fast together more often than once by chance: the
    lower quartile of this try.
    """
    timings = list(timings)
    alone += [timing for timing in timings if timing.threads == 1]
    several = [timing for timing in timings if timing.threads > 1]
    return [
        *stats.least(alone, key, lambda timing: timing.ns),
        *stats.lower_quartile(several, key, lambda timing: timing.ns),
    ]


def need(what: str, missing: Iterable[Any], log: Path) -> None:
    """A gate must not pass for want of timings."""
    if missing := sorted(missing):
        raise LabError(what, f"it did not time {', '.join(map(str, missing))}", "see its log", log=log)


def until_met(measure: Callable[[], list[str]]) -> list[str]:
    """What ``measure`` finds wrong, tried again until that is nothing, or for minutes."""
    for nr in range(TRIES):
        time.sleep(PAUSE_S if nr else 0)
        found = measure()
        if not found:
            break
    return found
