# SPDX-License-Identifier: GPL-2.0-only
"""``./lab record starts``: how the helpers of deferred init come to work, ours and stock's.

Both start them as work items.  Trace events tell when each was queued and first run, and which threads
were made in between.  Times only order the events: an emulated guest's are no measure of speed.
"""

import re
from dataclasses import dataclass
from itertools import product

from padlab.core import table
from padlab.core.errors import LabError
from padlab.measure import provenance, rows
from padlab.vm import boot
from padlab.vm.machine import SMALL, Machine, load
from padlab.vm.trace import Trace

KERNELS = ("stock", "patched")
# 4, 16 and 64 CPUs.
MACHINES = (SMALL, "epyc-7551-kvm", "cpus-64")
EVENTS = "sched:sched_process_fork,workqueue:workqueue_queue_work,workqueue:workqueue_execute_start"

_WORK = re.compile(r"work struct[ =](\w+)")
_HELPER = re.compile(r"function[ =]padata_mt_helper")


@dataclass(frozen=True)
class Starts:
    queued: int
    started: int  # some are too late, or cancelled
    made: int  # threads made from the first helper queued to the last one started


def starts_of(trace: Trace) -> Starts:
    queued: dict[str, float] = {}  # work items, and when a job queued them first
    starts: list[float] = []
    for event in trace.events:
        work = _WORK.search(event.text) if _HELPER.search(event.text) else None
        if work and event.name == "workqueue_queue_work" and event.init_node is not None:
            queued.setdefault(work[1], event.seconds)
        elif work and event.name == "workqueue_execute_start" and work[1] in queued:
            starts.append(event.seconds)
    begin, end = min(queued.values(), default=0.0), max(starts, default=0.0)
    forks = (event.seconds for event in trace.events if event.name == "sched_process_fork")
    return Starts(len(queued), len(starts), made=sum(begin <= at <= end for at in forks))


def measure(machine: Machine, ready: boot.Ready) -> tuple[Starts, boot.BootResult]:
    append = (f"trace_event={EVENTS}", "trace_buf_size=4M")
    result = boot.boot(machine, ready, "trace", append=append)
    starts = starts_of(result.guest.trace)
    if not starts.queued and machine.cpus > 1:
        what = f"helpers of {result.spec.kernel} on {machine.name}"
        raise LabError(what, "the trace has none", "see what the guest reported", log=result.guest_log)
    return starts, result


def main() -> int:
    """Measure, show, record.  The exit status is 1 if ours made a thread."""
    made: dict[str, dict[str, Starts]] = {name: {} for name in MACHINES}
    ready = {kernel: boot.prepare(kernel, role="trace") for kernel in KERNELS}
    for name, kernel in product(MACHINES, KERNELS):
        made[name][kernel], result = measure(load(name), ready[kernel])
    facts = provenance.provenance("./lab record starts", result.build, result.accel)
    provenance.record("starts.json", {**facts, "machines": made})
    lines = (
        {"machine": name, "CPUs": load(name).cpus, "kernel": kernel, **vars(starts)}
        for name, of in made.items()
        for kernel, starts in of.items()
    )
    table.console().print(rows.grid(lines, made="threads made"))
    return 1 if any(of["patched"].made for of in made.values()) else 0
