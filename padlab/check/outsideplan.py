# SPDX-License-Identifier: GPL-2.0-only
"""The checks of ``./lab test`` that boot guests with tests that others wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from padlab.check import outside, stress
from padlab.check.runner import Check
from padlab.core.outcome import Outcome
from padlab.vm import boot as boots
from padlab.vm import machine

MAKING_S = 300  # the programs, and an image for guests


def checks(everything: bool) -> Iterator[Check]:
    """Tests that nobody here wrote."""
    if not everything:
        return
    run = partial(outside.check, quick=True)
    yield _compared("kselftests of others, the quick ones, as in stock", run, outside.names(quick=True))
    for suite in outside.suites():
        for threshold in outside.THRESHOLDS:
            run = partial(outside.check, suite, threshold)
            name = f"kselftests of others, {suite}, threshold {threshold}, as in stock"
            yield _compared(name, run, outside.names(suite))
    yield Check("stress-ng (debug)", stress.check, MAKING_S + 2 * stress.LIMIT_S, mib=_mib())


def _compared(name: str, run: Callable[[], Outcome], programs: tuple[str, ...]) -> Check:
    """All tries of both kernels."""
    limit_s = MAKING_S + 2 * outside.TRIES * outside.limit_s(programs)
    return Check(name, run, limit_s, mib=_mib(), cpus=machine.load(outside.MACHINE).cpus)


def _mib() -> int:
    """Programs touch all of a guest's memory."""
    loaded = machine.load(outside.MACHINE)
    return boots.host_mib(loaded) + loaded.mib
