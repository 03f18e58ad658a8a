# SPDX-License-Identifier: GPL-2.0-only
"""KCSAN finds no data race of ours (races.py)."""

import pytest

from checks.declare import FULL, check, each, guest, row, whole_mib
from checks.guests import SMT
from checks.selftests import races
from padlab.core.outcome import Outcome
from padlab.measure import hugepages


def _row(title: str, machine: str, role: str, *append: str, mib: int = 0) -> "pytest.ParameterSet":
    needs = guest(machine, config=races.CONFIG, role=role, mib=mib)
    return row(f"{title}, {machine} (kcsan)", machine, role, append, needs=needs, when=FULL)


@each(
    "machine, role, append",
    [
        *(_row("boot", machine, "boot") for machine in races.MACHINES),
        _row("KUnit", SMT, "kunit"),
        _row("kselftests", SMT, "selftest"),
        _row(
            *("kselftests of huge pages", hugepages.MACHINE, "selftest", "padlab_tests=huge"),
            mib=whole_mib(hugepages.MACHINE),
        ),
    ],
)
def test_races(machine: str, role: str, append: tuple[str, ...]) -> Outcome:
    return races.run(machine, role, *append)


@check(f"a race is reported, {SMT} (kcsan)", guest(SMT, config=races.CONFIG, role="selftest"), FULL)
def test_control() -> Outcome:
    return races.control()
