# SPDX-License-Identifier: GPL-2.0-only
"""``./lab starts``: how the helpers of deferred init come to work, ours and stock's.

Both kernels start helpers as work items, so the kernel's own trace events tell
when each was queued and when it was first run, and which threads had to be made
in between.  The clock starts when a node's job queues its first helper.

How many threads are made is a fact.  Times are those of an emulated guest, whose
CPUs take turns on the host's: they order the events and are no measure of speed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from padlab.core import stats, table
from padlab.core.errors import LabError
from padlab.measure import provenance
from padlab.vm import boot
from padlab.vm.boot import BootResult
from padlab.vm.machine import Machine, load
from padlab.vm.trace import Trace

KERNELS = ("stock", "patched")
# 4, 16 and 64 CPUs.
MACHINES = ("epyc-7551-kvm-small", "epyc-7551-kvm", "cpus-64")
EVENTS = "sched:sched_process_fork,workqueue:workqueue_queue_work,workqueue:workqueue_execute_start"

_WORK = re.compile(r"work struct[ =](\w+)")
_HELPER = re.compile(r"function[ =]padata_mt_helper")


@dataclass(frozen=True)
class Starts:
    """The helpers of one boot's deferred init."""

    queued: int
    started: int  # some are too late, or cancelled
    made: int  # threads made from the first helper queued to the last one started
    delays_us: tuple[float, ...]  # from the job's first helper queued to each start

    @property
    def summary(self) -> stats.Summary | None:
        return stats.summarize(self.delays_us) if self.delays_us else None


def starts_of(trace: Trace) -> Starts:
    """Read the trace of role "trace".  Pure."""
    first: dict[str, float] = {}  # job's task -> when it queued its first helper
    queued: dict[str, str] = {}  # work item -> job's task
    starts: list[tuple[float, float]] = []  # when, and how long after the job's first
    forks: list[float] = []
    for event in trace.events:
        at = event.seconds
        work = _WORK.search(event.text)
        if event.name == "sched_process_fork":
            forks.append(at)
        elif not work or not _HELPER.search(event.text):
            continue
        elif event.name == "workqueue_queue_work" and event.init_node is not None:
            first.setdefault(event.task, at)
            queued[work[1]] = event.task
        elif event.name == "workqueue_execute_start" and work[1] in queued:
            starts.append((at, at - first[queued[work[1]]]))
    begin, end = min(first.values(), default=0.0), max((at for at, _ in starts), default=0.0)
    return Starts(
        queued=len(queued),
        started=len(starts),
        made=sum(begin <= at <= end for at in forks),
        delays_us=tuple(round(1e6 * delay, 1) for _, delay in starts),
    )


def measure(machine: Machine, kernel: str, ready: boot.Ready) -> tuple[Starts, BootResult]:
    build, initrd = ready
    append = (f"trace_event={EVENTS}", "trace_buf_size=4M")
    # Boot waits, so that no thread is made for anything else meanwhile.
    spec = boot.BootSpec(machine, kernel, build.config, sync=True, append=append, initrd=initrd)
    result = boot.boot(spec, build, "trace")
    starts = starts_of(result.guest.trace)
    if not starts.queued and machine.cpus > 1:
        what = f"helpers of {kernel} on {machine.name}"
        raise LabError(what, "the trace has none", "see what the guest reported", log=result.guest_log)
    return starts, result


def main(machines: Sequence[Machine] = (), json: bool = False) -> int:
    """Measure, show, record.  The exit status is 1 if ours made a thread."""
    targets = machines or [load(name) for name in MACHINES]
    all_starts: dict[str, dict[str, Starts]] = {}
    with boot.quiet_stdout():
        ready = {kernel: boot.prepare(kernel, role="trace") for kernel in KERNELS}
        for target in targets:
            of: dict[str, Starts] = {}
            for kernel in KERNELS:
                of[kernel], result = measure(target, kernel, ready[kernel])
            all_starts[target.name] = of
    data = {
        **provenance.provenance("./lab starts", result.build, result.accel),
        "times": "of an emulated guest: they order the events and are no measure of speed",
        "machines": {name: {k: asdict(s) for k, s in of.items()} for name, of in all_starts.items()},
    }
    tell = provenance.tell if machines else partial(provenance.record, "starts.json")
    tell(data, json, partial(show, targets, all_starts))
    return 1 if any(of["patched"].made for of in all_starts.values()) else 0


def show(targets: Iterable[Machine], all_starts: dict[str, dict[str, Starts]]) -> None:
    console = table.console()
    names = ("CPUs", "queued", "started", "threads made", "first us", "median us", "last us")
    grid = table.grid(("machine", "kernel", *names), left={"machine", "kernel"})
    for target in targets:
        for kernel, starts in all_starts[target.name].items():
            told = starts.summary
            times = [f"{v:,.0f}" for v in (told.low, told.median, told.high)] if told else ["-"] * 3
            counts = (target.cpus, starts.queued, starts.started, starts.made)
            grid.add_row(target.name, kernel, *map(str, counts), *times)
    console.print(grid)
    console.print(
        "us: from the first helper queued to a helper's start (emulated guest's clock: no measure of speed)"
    )
