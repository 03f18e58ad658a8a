# SPDX-License-Identifier: GPL-2.0-only
"""Memory that a confidential guest has to accept (checks/faults/): used after boot, and accepted in the
background.  What is used before it is accepted, or is accepted twice, is a report of the kernel.
"""

import re
from collections.abc import Iterator

import pytest

from checks import guests
from checks.declare import FULL, Needs, check, each, guest, host_mib, row
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import UNACCEPTED, UNACCEPTED_DEBUG, Config
from padlab.vm import boot as boots
from padlab.vm import machine

UNIT_MIB = 2
USED_MIB = 512
# With several CPUs, boots of one kernel differ by up to 80.
ALLOWED_MIB = 128
# Accepted and free: blocks of 4 MiB that boot used in part, of each migratetype, or gave back.
AHEAD_MIB = 64
LIMIT_S = 120
# For each 2 MiB a millisecond: CPUs that accept memory at the same time are seen to.
ARGS = ("fake_unaccepted=1G,1000000", "nogbpages", "nokaslr")
USING = f"padlab_touch={USED_MIB}"
WAITING = f"padlab_wait={LIMIT_S}"
_LINE = re.compile(
    r"node \d+: (?P<mib>\d+) MiB accepted in (?P<ms>\d+) ms, (?P<threads>\d+) threads$", re.MULTILINE
)
MANY_CPUS = "caches"
BESIDE_S = 2
# To wait for a job, and for a block of 128 MiB to go offline, which has to be accepted for that.
HOTPLUG_MS = 500
# Of the time that one CPU takes for all of it, what eight may take.
SHARE = 1 / 6
MACHINES = (("one-cpu", ""), (guests.SMALL, ""), (guests.SMT, FULL), (MANY_CPUS, FULL))
# With several nodes, how much is accepted is up to where a program runs: boots of stock differ by 400 MiB.
ONE_NODE = MACHINES[:2]


def _boot(name: str, kernel: str, config: Config, *args: str) -> boots.BootResult:
    append = (*ARGS, *args, *((guests.KMEMLEAK_OFF,) if config.watched else ()))
    return guests.boot(name, kernel, config, "accept", append=append)


def _needs(name: str, config: Config = UNACCEPTED) -> Needs:
    limit_s = 2 * guests.boot_limit_s(machine.load(name), config, "accept") + LIMIT_S
    return guest(name, config=config, kernel="faulty", mib=host_mib(name) + USED_MIB, limit_s=limit_s)


def _left_mib(result: boots.BootResult, when: str) -> int:
    return (result.guest.number(f"{when}-left") or 0) * UNIT_MIB


@each(
    "name",
    (row(f"accepted as in stock, {name}", name, needs=_needs(name), when=when) for name, when in ONE_NODE),
)
def test_lazily(name: str) -> Outcome:
    """What boot leaves free and accepted is what the watermark asks for; and no more is accepted for a
    program than in stock.
    """
    ours, stock = (_boot(name, kernel, UNACCEPTED, USING) for kernel in ("faulty", "mirrored"))
    problems = [*guests.trouble(ours), *(f"stock: {line}" for line in guests.trouble(stock))]
    zones = [line.split() for line in ours.guest.values("zone")]
    ahead = [
        (int(free) - int(unaccepted) - int(promo)) // 256
        for _, zone, free, promo, unaccepted in zones
        if zone == "Normal" and int(unaccepted)
    ]
    if not ahead or max(ahead) > AHEAD_MIB:
        problems.append(f"by node, boot accepted {ahead} MiB that nobody has used")
    for when in ("boot", "touched"):
        left, theirs = _left_mib(ours, when), _left_mib(stock, when)
        if not left or left < theirs - ALLOWED_MIB:
            problems.append(f"{when}: {left} MiB are left to accept, in stock {theirs}")
        if abs(left - (ours.guest.number(f"{when}-unaccepted-kib") or 0) // 1024) > ALLOWED_MIB:
            problems.append(f"{when}: {left} MiB are left to accept, which meminfo does not say")
    return judge(problems, ours.log)


def _background() -> Iterator["pytest.ParameterSet"]:
    for using in (False, True):
        for name, when in MACHINES:
            title = f"accepted in the background, {'beside a program, ' if using else ''}{name}"
            yield row(title, name, using, UNACCEPTED, needs=_needs(name), when=when)
    title = f"accepted in the background, beside a program, {guests.SMT} (debug)"
    yield row(
        title, guests.SMT, True, UNACCEPTED_DEBUG, needs=_needs(guests.SMT, UNACCEPTED_DEBUG), when=FULL
    )


@each("name, using, config", _background())
def test_background(name: str, using: bool, config: Config) -> Outcome:
    """All of it, once, by all CPUs, which it is said of each node."""
    args = ("accept_memory=background", WAITING, *((USING,) if using else ()))
    result = _boot(name, "faulty", config, *args)
    problems = guests.trouble(result)
    left, mib = _left_mib(result, "boot"), _left_mib(result, "end")
    if mib or result.guest.number("end-unaccepted-kib"):
        problems.append(f"{mib} MiB are left to accept")
    lines = list(_LINE.finditer(result.dmesg.text))
    nodes = sum(bool(node.mib) for node in machine.load(name).nodes)
    if len(lines) != nodes:
        problems.append(f"{len(lines)} of {nodes} nodes say that their memory is accepted")
    said = sum(int(line["mib"]) for line in lines)
    if said < left - ALLOWED_MIB:
        problems.append(f"{said} MiB are said to be accepted, {left} were left after boot")
    threads = max((int(line["threads"]) for line in lines), default=0)
    most, longest, by_job = (
        result.guest.number(f"end-{what}") or 0 for what in ("most", "longest", "job-longest")
    )
    if machine.load(name).cpus > 1 and min(threads, most) < 2:
        problems.append(f"{threads} threads, and {most} CPUs accepted memory at a time")
    # An allocation accepts a whole block, and the unit behind it.
    if longest > 3 or by_job != 1:
        problems.append(f"{longest} units were accepted with interrupts off, {by_job} by a job")
    return judge(problems, result.log)


def _needs_timed(name: str = guests.SMALL) -> Needs:
    return guest(name, config=UNACCEPTED, kernel="faulty", exact=True, limit_s=LIMIT_S * 4)


def _timed(name: str, *args: str) -> boots.BootResult:
    """The guest's clock counts instructions, of all CPUs."""
    append = (*ARGS, "accept_memory=background", WAITING, *args)
    return guests.boot(
        name,
        "faulty",
        UNACCEPTED,
        "accept",
        append=append,
        exact=True,
        all_cpus=True,
        time_limit_s=LIMIT_S * 4,
    )


@check("accepted in the background, how fast", _needs_timed(guests.SMT))
def test_speed() -> Outcome:
    """After boot, and with eight CPUs in a sixth of the time that it takes one."""
    result = _timed(guests.SMT)
    problems = guests.trouble(result)
    left = result.guest.number("boot-left") or 0
    units = result.guest.number("boot-units") or 1
    if left < units * 3 / 4:
        problems.append(f"{units - left} of {units} units were accepted when init had started")
    took_ms = max((int(match["ms"]) for match in _LINE.finditer(result.dmesg.text)), default=0)
    if not 0 < took_ms < left * SHARE:
        problems.append(f"{left} units, of a millisecond each, took {took_ms} ms")
    return judge(problems, result.log)


def _beside(what: str, *args: str) -> boots.BootResult:
    return _timed(guests.SMALL, f"padlab_beside={what}", *args)


def _units(result: boots.BootResult) -> list[int]:
    """How many each CPU accepted beside something else."""
    begun, later = (result.guest.values(f"{when}-cpus")[0].split() for when in ("begun", "later"))
    return [int(b) - int(a) for a, b in zip(begun, later, strict=True)]


def _accepted_in_the_end(result: boots.BootResult) -> list[str]:
    problems = guests.trouble(result)
    if not result.guest.number("begun-left"):
        problems.append("all was accepted before")
    if left := result.guest.number("end-left"):
        problems.append(f"{left} units are left to accept")
    return problems


@check("accepted in the background, beside hogs", _needs_timed())
def test_hogs() -> Outcome:
    """Others that want all CPUs have them, and what is left to accept waits."""
    result = _beside("hogs")
    problems = _accepted_in_the_end(result)
    units = _units(result)
    cpus = len(units)
    if sum(units) > 0.02 * BESIDE_S * 1000 * cpus:
        problems.append(f"{sum(units)} units were accepted while others wanted all CPUs")
    before, after = (sum(map(int, result.guest.values(f"{when}-ticks"))) for when in ("begun", "later"))
    ticks = after - before
    if ticks < 0.97 * BESIDE_S * 100 * cpus:
        problems.append(f"{cpus} hogs had {ticks / 100} s of CPU time in {BESIDE_S} s")
    return judge(problems, result.log)


@check("accepted in the background, beside an isolated CPU", _needs_timed(), FULL)
def test_partition() -> Outcome:
    """A CPU of a cpuset partition accepts nothing; all others do."""
    result = _beside("partition")
    problems = _accepted_in_the_end(result)
    if result.guest.values("partition") != ["isolated"]:
        problems.append(f"no partition: {result.guest.values('partition')}")
    units = _units(result)
    # The block that it is at has three.
    if units[-1] > 3 or min(units[:-1]) < 100:
        problems.append(f"by CPU: {units} units, of which the last is isolated")
    return judge(problems, result.log)


@check("accepted in the background, beside memory hotplug", _needs_timed(), FULL)
def test_hotplug() -> Outcome:
    """Blocks go offline and online while jobs run."""
    result = _beside("hotplug", "movablecore=1G")
    problems = _accepted_in_the_end(result)
    took_ms = [int(ms) for ms in result.guest.values("hotplug-ms")]
    if len(took_ms) < 8 or max(took_ms) > HOTPLUG_MS:
        problems.append(f"blocks went offline and online in {took_ms} ms")
    return judge(problems, result.log)
