# SPDX-License-Identifier: GPL-2.0-only
"""Deferred init in a guest: nothing to report, threads where they belong, and as many as asked for."""

from collections.abc import Iterator
from itertools import product

import pytest

from checks import guests
from checks.boot import placement
from checks.declare import FULL, each, guest, row
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import DEBUG, RT, Config
from padlab.measure import starts
from padlab.vm import machine

MACHINES = (guests.SMALL, guests.SMT, "three-nodes", "node-without-cpus", "far-node")
START_MACHINES = (guests.SMALL, "epyc-7551-kvm")


# Threads that a value of the parameter gives on nodes of four CPUs, which belong to two cores on arm64.
# If it is bad, the kernel warns, and there are as many as without it.
DEFAULT_THREADS = 4
GOOD = {"1": 1, "50%": 2, "63%": 3, "1%": 1, "100": 4}
BAD = ("0", "1000%", "abc")
GOOD_ON_ARM64 = {"75%": 3, "100": 4}


def _parameter(value: str, threads: int | None, name: str = guests.SMALL) -> "pytest.ParameterSet":
    title = f"deferred_init_threads={value}" + ("" if name == guests.SMALL else f", {name}")
    return row(title, value, threads, name, needs=guest(name, config=machine.load(name).config))


@each("name", (row(f"placement, {name}", name, needs=guest(name)) for name in MACHINES))
def test_placement(name: str) -> Outcome:
    result = guests.boot(name, "patched", role="trace", append=("trace_event=padata:*",))
    trace = placement.parse(result.guest)
    problems = guests.trouble(result) + placement.problems(trace)
    problems += placement.told_problems(trace, {node.node: node.pages or 0 for node in result.dmesg.nodes})
    if not any(job.node is not None for job in trace.jobs.values()):
        problems.append("the trace has no job of deferred init")
    return judge(problems, result.log)


@each(
    "name", (row(f"helpers start by a wake-up, {name}", name, needs=guest(name)) for name in START_MACHINES)
)
def test_helpers_are_woken(name: str) -> Outcome:
    """No thread has to be made for a helper: that is a fact also where times mean nothing."""
    helpers, result = starts.measure(machine.load(name), guests.ready("patched", "trace"))
    problems = [] if helpers.started else ["no helper started"]
    if helpers.made:
        problems.append(f"{helpers.made} threads were made while {helpers.started} helpers started")
    return judge(problems, result.log)


@each(
    "value, threads, name",
    [
        *(_parameter(value, threads) for value, threads in GOOD.items()),
        *(_parameter(value, None) for value in BAD),
        *(_parameter(value, threads, guests.ARM64) for value, threads in GOOD_ON_ARM64.items()),
    ],
)
def test_parameter(value: str, threads: int | None, name: str) -> Outcome:
    config, append = machine.load(name).config, (f"deferred_init_threads={value}",)
    result = guests.boot(name, "patched", config, append=append)
    warned = f"deferred_init_threads: '{value}' is not a number of threads" in result.dmesg.text
    problems = guests.trouble(result)
    if warned != (threads is None):
        problems.append("the kernel warned" if warned else "the kernel did not warn")
    for node in result.dmesg.nodes:
        if node.threads != (threads or DEFAULT_THREADS):
            problems.append(f"node {node.node} had {node.threads} threads: {node.text}")
    if not result.dmesg.nodes:
        problems.append("the kernel printed no line for the node")
    return judge(problems, result.log)


def _debug_boots() -> "Iterator[pytest.ParameterSet]":
    for name, config in product(MACHINES, (DEBUG, RT)):
        when = "" if (name, config) == (guests.SMT, DEBUG) else FULL
        yield row(f"boot, {name} ({config})", name, config, needs=guest(name, config=config), when=when)


@each("name, config", _debug_boots())
def test_nothing_is_reported(name: str, config: Config) -> Outcome:
    result = guests.boot(name, "patched", config)
    return judge(guests.trouble(result), result.log)
