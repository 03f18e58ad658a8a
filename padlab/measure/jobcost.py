# SPDX-License-Identifier: GPL-2.0-only
"""What a helper of a task's job executes besides the thread function, in exact mode.

The native bench of huge pages runs the job engine with the back end for jobs at boot.
Faults use the one for tasks (kernel/padata_mt_task.c): for each chunk, a helper asks
whether it may go on, and charges the task for the one before; it also lowers its priority
when it comes, and so on.  Both run the same job here, whose caller sleeps meanwhile, so
that the instructions from one chunk to the next are the helper's.
"""

import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from padlab.core import stats
from padlab.core.errors import LabError
from padlab.kernel import build as builds
from padlab.vm import boot, initramfs, machine
from padlab.vm.trace import Event, Trace

Cost = TypeVar("Cost")

MACHINE = "huge-pages"  # four CPUs on two nodes
MAX_CHUNK = 2_000  # instructions more than with the back end for boot, for each chunk
MAX_END = 10_000  # for a helper to go


@dataclass(frozen=True)
class Helper:
    chunk: int  # from one chunk to the next, the test's thread function included: the median
    end: int  # from its last chunk until it has left; 0 if the back end has nothing to do


@dataclass(frozen=True)
class JobCost:
    """A helper with the back end for boot, with the one for tasks, and with limits of CPU bandwidth."""

    boot: Helper
    task: Helper
    limited: Helper

    @property
    def chunk(self) -> int:
        """What the back end for tasks adds to each chunk, in the worst of both cases."""
        return max(self.task.chunk, self.limited.chunk) - self.boot.chunk

    @property
    def end(self) -> int:
        """What it adds when a helper leaves."""
        return max(self.task.end, self.limited.end) - self.boot.chunk

    def __str__(self) -> str:
        return (
            f"a helper of a task's job executes {self.task.chunk - self.boot.chunk:,} instructions "
            f"more for each chunk than one at boot, {self.limited.chunk - self.boot.chunk:,} with cpu.max "
            f"at two levels, and {self.end:,} when it leaves"
        )


def parse_helper(events: Sequence[Event]) -> Helper | None:
    """Read the events of one job, whose caller had one chunk."""
    woken = [event.ticks for event in events if event.name == "padata_mt_helper_start"]
    left = [event.ticks for event in events if event.name == "padata_mt_helper_end"]
    chunks = [
        event.ticks
        for event in events
        if event.name == "padata_mt_chunk" and event.task.startswith("kworker")
    ]
    if len(woken) != 1 or len(left) > 1 or len(chunks) < 20:
        return None
    steps = [later - earlier for earlier, later in itertools.pairwise(chunks)]
    chunk = int(statistics.median_low(steps))
    return Helper(chunk, left[0] - chunks[-1] if left else 0)


def parse(trace: Trace) -> JobCost | None:
    """Read what role "jobcost" traced: a job with the back end for boot, and two with the one for tasks."""
    jobs = stats.group(trace.events, lambda event: event.fields.get("job"))
    helpers = [helper for events in jobs.values() if (helper := parse_helper(events)) is not None]
    if len(helpers) != 3 or len(jobs) != 3:
        return None
    return JobCost(*helpers)


def boot_exactly(
    build: builds.Build, role: str, read: Callable[[Trace], Cost | None]
) -> tuple[Cost, boot.BootResult]:
    """What ``read`` makes of the jobs that a guest traces in ``role``, with instructions for a clock."""
    target, initrd = machine.load(MACHINE), initramfs.ensure(build, role)
    spec = boot.BootSpec(target, build.kernel, build.config, exact=True, all_cpus=True, initrd=initrd)
    result = boot.boot(spec, build, f"{role}, exact")
    cost = read(result.guest.trace)
    if cost is None:
        why = "the trace does not have the jobs that it should"
        raise LabError(f"cost of a job ({role})", why, "see what it reported", log=result.guest_log)
    return cost, result


def measure(build: builds.Build) -> tuple[JobCost, boot.BootResult]:
    return boot_exactly(build, "jobcost", parse)


def too_much(cost: JobCost) -> list[str]:
    """Where the back end for tasks adds more than it may."""
    figures = (("for each chunk", cost.chunk, MAX_CHUNK), ("when it leaves", cost.end, MAX_END))
    return [
        f"a helper of a task executes {value:,} instructions more {when}, at most {most:,}"
        for when, value, most in figures
        if value > most
    ]
