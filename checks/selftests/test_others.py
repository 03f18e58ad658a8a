# SPDX-License-Identifier: GPL-2.0-only
"""Kselftests of others, and stress-ng: as in stock (others.py)."""

from checks.declare import FULL, Needs, check, each, row, whole_mib
from checks.selftests import others
from padlab.core.outcome import Outcome
from padlab.vm import machine

MAKING_S = 300  # programs that others wrote


def _needs(limit_s: float, name: str = others.MACHINE) -> Needs:
    return Needs(MAKING_S + 2 * limit_s, whole_mib(name), machine.load(name).cpus)


@each(
    "suite",
    (
        row(
            f"kselftests of others, {suite}: as in stock ({others.CONFIG})",
            suite,
            needs=_needs(others.TRIES * others.limit_s(names)),
            when=FULL,
        )
        for suite, names in others.suites().items()
    ),
)
def test_suite(suite: str) -> Outcome:
    return others.check(suite)


@check("stress-ng (debug)", _needs(others.STRESS_LIMIT_S, others.STRESS_MACHINE), FULL)
def test_stress() -> Outcome:
    return others.stress()
