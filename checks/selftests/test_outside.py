# SPDX-License-Identifier: GPL-2.0-only
"""Kselftests of others, and stress-ng: as in stock (outside.py)."""

from checks.declare import FULL, Needs, check, each, row, whole_mib
from checks.selftests import outside
from padlab.core.outcome import Outcome
from padlab.vm import machine

MAKING_S = 300  # programs that others wrote


def _needs(limit_s: float, name: str = outside.MACHINE) -> Needs:
    return Needs(MAKING_S + 2 * limit_s, whole_mib(name), machine.load(name).cpus)


@each(
    "suite",
    (
        row(
            f"kselftests of others, {suite}: as in stock ({outside.CONFIG})",
            suite,
            needs=_needs(outside.TRIES * outside.limit_s(outside.names(suite))),
            when=FULL,
        )
        for suite in outside.suites()
    ),
)
def test_suite(suite: str) -> Outcome:
    return outside.check(suite)


@check("stress-ng (debug)", _needs(outside.STRESS_LIMIT_S, outside.STRESS_MACHINE), FULL)
def test_stress() -> Outcome:
    return outside.stress()
