# SPDX-License-Identifier: GPL-2.0-only
"""How a check is declared: its name, what it needs of the host, and when it runs.

A check is a test function of pytest.  It returns an Outcome, which may have many cases.  It, or each row of
its parameters, has a name, and what it needs by its Needs::

    @check("zone->lock, 64 GiB", guest("memory-64", config=DEBUG, boots=2))
    def test_zone_lock() -> Outcome:

    @each("name", (row(f"placement, {name}", name, needs=guest(name)) for name in MACHINES))
    def test_placement(name: str) -> Outcome:

``when`` says in which runs it is: QUICK, in all; FULL, with --full; NAMED, if it is named.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest

from checks import guests
from padlab.kernel.kconfig import PERF, Config
from padlab.vm import boot, machine

QUICK, FULL, NAMED = "quick", "full", "named"
MAKING_S = 120  # an image for a guest, and its modules


@dataclass(frozen=True)
class Needs:
    """Of the host: memory and CPUs, or all of its CPUs; and a time limit, builds of kernels not counted.

    ``sees`` gives a digest of all that the check depends on, if its verdict is to be cached by that.
    ``kernel`` and ``config``: what it boots, for mutants.
    """

    limit_s: float
    mib: int = 0
    cpus: int = 1
    alone: bool = False
    sees: Callable[[], str] | None = None
    kernel: str = "patched"
    config: Config = PERF


def guest(
    *machines: str,
    config: Config = PERF,
    role: str = "boot",
    boots: int = 1,
    exact: bool = False,
    mib: int = 0,
    limit_s: float = 0,
    kernel: str = "patched",
) -> Needs:
    """For ``boots`` of each of ``machines``, one after the other.

    ``mib`` is given if they take more than memmaps, and ``limit_s`` if not what such boots have.
    """
    loaded = [machine.load(name) for name in machines]
    limit_s = limit_s or boots * sum(guests.boot_limit_s(target, config, role, exact) for target in loaded)
    cpus = 1 if exact else max(target.cpus for target in loaded)
    mib = mib or max(map(host_mib, machines))
    return Needs(MAKING_S + limit_s, mib, cpus, kernel=kernel, config=config)


def host_mib(name: str) -> int:
    return boot.host_mib(machine.load(name))


def whole_mib(name: str) -> int:
    """Of the host's memory, for a guest that touches all of its own."""
    return host_mib(name) + machine.load(name).mib


def row(name: str, *values: object, needs: Needs, when: str = "") -> "pytest.ParameterSet":
    marks = [pytest.mark.needs(needs)]
    if when:
        marks.append(getattr(pytest.mark, when))
    return pytest.param(*values, id=name, marks=marks)


def check(name: str, needs: Needs, when: str = "") -> pytest.MarkDecorator:
    return each((), [row(name, needs=needs, when=when)])


def each(parameters: str | tuple[()], rows: "Iterable[pytest.ParameterSet]") -> pytest.MarkDecorator:
    return pytest.mark.parametrize(parameters, list(rows))
