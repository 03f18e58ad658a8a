# SPDX-License-Identifier: GPL-2.0-only
"""The checks of boot beside deferred init, of which ``./lab test`` and ``./lab mutants`` have all."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from padlab.check.base import expected
from padlab.check.base.guests import SMALL, SMT
from padlab.check.deferred import beside, handover, hibernate, sizes
from padlab.core.outcome import Outcome
from padlab.kernel.kconfig import PERF, Config


@dataclass(frozen=True)
class Beside:
    """One of them.  ``run`` may be given a kernel and a limit in seconds."""

    title: str
    run: Callable[..., Outcome]
    machine: str
    config: Config = PERF
    boots_each: int = 1
    faulty: bool = True  # whether it boots the faulty kernel


def checks() -> Iterator[Beside]:
    """As ``./lab test`` has them, in its order."""
    for name in beside.MACHINES:
        run = partial(beside.initcalls, name)
        yield Beside(f"initcalls beside deferred init, {name}", run, name, faulty=False)
    for who, (name, _) in beside.WAITS.items():
        yield Beside(f"{who}: waits for deferred init", partial(beside.waits, who), name, boots_each=2)
    yield Beside("boot says what it waits for", beside.hung, SMALL, boots_each=2)
    yield Beside("the last sections beside boot", beside.last_sections, SMALL, boots_each=beside.LAST_TRIES)
    yield Beside("a pool of huge pages beside deferred init", beside.pool, SMALL)
    yield Beside("interrupts are off for a block at most", beside.atomic, SMT, boots_each=3)
    yield Beside("a bulk allocation beside deferred init", beside.bulk, SMALL)
    for name in sizes.MACHINES:
        yield Beside(f"sizes beside deferred init, {name}", partial(sizes.same, name), name, boots_each=3)
    for title, (config, name) in beside.asked().items():
        yield Beside(title, partial(beside.asked_for, config, name), name, config)
    yield Beside(hibernate.TITLE, hibernate.resumes, hibernate.MACHINE, hibernate.CONFIG, boots_each=2)
    if expected.table().handover:
        yield Beside(handover.TITLE, handover.restores, handover.MACHINE, handover.CONFIG, boots_each=2)
    for title, (name, kind, slow) in beside.pressures().items():
        yield Beside(title, partial(beside.pressure, name, kind, slow), name, boots_each=2)
