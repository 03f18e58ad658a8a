# SPDX-License-Identifier: GPL-2.0-only
"""Checks of ``./lab test`` that compare times at native speed, on a host that may be busy.

A gate measures rounds in which all ways take turns, and compares ours with peers of the
same run on the same CPU: by the median of the ratios round by round (stats.paired()), as
what the memory can do may change from one round to the next.  What a gate finds too slow
counts, unless the host was measurably busy with other things meanwhile: then it measures
again, a few times, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from padlab.core import host, progress
from padlab.core.errors import LabError

TRIES, ROUNDS = 5, 15
PAUSE_S = 5  # between tries: a busy spell may pass

Measured = TypeVar("Measured")  # what one run of a program says


@dataclass(frozen=True)
class Try:
    """What was too slow, and how long the reference loop took in each round."""

    problems: Sequence[str]
    reference: Sequence[int]


def need(what: str, missing: Iterable[Any], log: Path) -> None:
    """A gate must not pass for want of timings."""
    if missing := sorted(missing):
        raise LabError(what, f"it did not time {', '.join(map(str, missing))}", "see its log", log=log)


def until_decided(
    runs: int, measure: Callable[[], Measured], undecided: Callable[[list[Measured]], int]
) -> list[Measured]:
    """What ``measure`` finds, ``runs`` times at most.

    It is called again while so many ratios of all that was measured may lie on either side of
    their limit; nothing is left out.
    """
    measured: list[Measured] = []
    for _run in range(runs):
        measured.append(measure())
        if not (open_yet := undecided(measured)):
            break
        progress.note(f"run {len(measured)}: {open_yet} ratios may lie on either side of their limit")
    return measured


def until_met(measure: Callable[[], Try]) -> list[str]:
    """What ``measure`` finds too slow on this CPU.  It is called again only if the host was busy."""
    for nr in range(1, TRIES + 1):
        before = host.cpu_time()
        tried = measure()
        busy = host.why_busy(before, host.cpu_time(), tried.reference)
        if not tried.problems:
            break
        if not busy:
            return [f"{problem} ({host.cpu()})" for problem in tried.problems]
        why = "; ".join(busy)
        progress.note(f"try {nr} of {TRIES} on a busy host ({why}): {'; '.join(tried.problems)}")
        if nr == TRIES:
            return [f"{problem} ({host.cpu()}; busy: {why})" for problem in tried.problems]
        time.sleep(PAUSE_S)
    return []
