# SPDX-License-Identifier: GPL-2.0-only
"""The checks of ``./lab test`` that boot guests with tests that others wrote."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from padlab.check.base.runner import Check
from padlab.check.guest import stress
from padlab.check.others import outside
from padlab.kernel.kconfig import Config
from padlab.vm import boot as boots
from padlab.vm import machine

MAKING_S = 300  # the programs, and an image for guests


def checks(everything: bool) -> Iterator[Check]:
    """Tests that nobody here wrote."""
    if not everything:
        return
    quick = outside.names(quick=True)
    yield _compared("quick ones, jobs on all huge pages", quick, "least", outside.QUICK_CONFIG)
    for suite in outside.suites():
        for threshold in outside.THRESHOLDS:
            yield _compared(f"{suite}, threshold {threshold}", outside.names(suite), threshold)
    limit_s = MAKING_S + 2 * stress.LIMIT_S
    yield Check("stress-ng (debug)", stress.check, limit_s, mib=_mib(stress.MACHINE))


def _compared(name: str, programs: tuple[str, ...], threshold: str, config: Config = outside.CONFIG) -> Check:
    """All tries of both kernels."""
    return Check(
        f"kselftests of others, {name}: as in stock ({config})",
        partial(outside.check, programs, threshold, config),
        MAKING_S + 2 * outside.TRIES * outside.limit_s(programs),
        mib=_mib(outside.MACHINE),
        cpus=machine.load(outside.MACHINE).cpus,
    )


def _mib(name: str) -> int:
    """Programs touch all of a guest's memory."""
    loaded = machine.load(name)
    return boots.host_mib(loaded) + loaded.mib
