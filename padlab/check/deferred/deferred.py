# SPDX-License-Identifier: GPL-2.0-only
"""Deferred init in a guest: nothing to report, threads where they belong, and as many as asked for."""

from dataclasses import dataclass

from padlab.check.base import guests
from padlab.check.deferred import placement
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import DEBUG, Config
from padlab.measure import starts
from padlab.vm import machine

MACHINES = (guests.SMALL, guests.SMT, "three-nodes", "node-without-cpus", "far-node")
START_MACHINES = (guests.SMALL, "epyc-7551-kvm")


@dataclass(frozen=True)
class Parameter:
    """A value of the kernel parameter, and the threads that it gives on a node; none: it is bad."""

    value: str
    threads: int | None
    machine: str = guests.SMALL

    @property
    def title(self) -> str:
        where = "" if self.machine == guests.SMALL else f", {self.machine}"
        return f"deferred_init_threads={self.value}{where}"

    @property
    def config(self) -> Config:
        return machine.load(self.machine).config


# On nodes of four CPUs, which belong to two cores on arm64: one for each if not asked.
DEFAULT_THREADS = 4
PARAMETERS = (
    Parameter("1", 1),
    Parameter("50%", 2),
    Parameter("63%", 3),
    Parameter("1%", 1),
    Parameter("100", 4),
    Parameter("0", None),
    Parameter("1000%", None),
    Parameter("abc", None),
    Parameter("75%", 3, guests.ARM64),
    Parameter("100", 4, guests.ARM64),
)


def debug_boot(name: str, config: Config = DEBUG) -> Outcome:
    result = guests.boot(name, "patched", config)
    return judge(guests.trouble(result), result.log)


def placed(name: str, kernel: str = "patched", limit_s: float | None = None) -> Outcome:
    append = ("trace_event=padata:*",)
    result = guests.boot(name, kernel, role="trace", append=append, limit=limit_s)
    trace = placement.parse(result.guest)
    problems = guests.trouble(result) + placement.problems(trace)
    problems += placement.told_problems(trace, {node.node: node.pages or 0 for node in result.dmesg.nodes})
    if not any(job.node is not None for job in trace.jobs.values()):
        problems.append("the trace has no job of deferred init")
    return judge(problems, result.log)


def woken(name: str) -> Outcome:
    """No thread has to be made for a helper: that is a fact also where times mean nothing."""
    helpers, result = starts.measure(machine.load(name), guests.ready("patched", "trace"))
    problems = [] if helpers.started else ["no helper started"]
    if helpers.made:
        problems.append(f"{helpers.made} threads were made while {helpers.started} helpers started")
    return judge(problems, result.log)


def parameter(asked: Parameter, kernel: str = "patched", limit_s: float | None = None) -> Outcome:
    append = (f"deferred_init_threads={asked.value}",)
    result = guests.boot(asked.machine, kernel, asked.config, append=append, limit=limit_s)
    warned = f"deferred_init_threads: '{asked.value}' is not a number of threads" in result.dmesg.text
    problems = guests.trouble(result)
    if warned != (asked.threads is None):
        problems.append("the kernel warned" if warned else "the kernel did not warn")
    for node in result.dmesg.nodes:
        if node.threads != (asked.threads or DEFAULT_THREADS):
            problems.append(f"node {node.node} had {node.threads} threads: {node.text}")
    if not result.dmesg.nodes:
        problems.append("the kernel printed no line for the node")
    return judge(problems, result.log)
