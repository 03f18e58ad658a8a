# SPDX-License-Identifier: GPL-2.0-only
"""``./lab starts``: how the helpers of deferred init come to work, ours and stock's.

Both kernels start helpers as work items, so the kernel's own trace events tell
when each was queued and when it was first run, and which threads had to be made
in between.  The clock starts when a node's job queues its first helper.

How many threads are made is a fact.  Times are those of an emulated guest, whose
CPUs take turns on the host's: they order the events and are no measure of speed.
"""

from __future__ import annotations

import json as jsonlib
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from padlab import boot, record, stats, table
from padlab import machine as machines
from padlab.errors import LabError
from padlab.machine import Machine

KERNELS = ("stock", "patched")
# 4, 16 and 64 CPUs.
MACHINES = ("epyc-7551-kvm-small", "epyc-7551-kvm", "cpus-64")
EVENTS = "sched:sched_process_fork,workqueue:workqueue_queue_work,workqueue:workqueue_execute_start"

_EVENT = re.compile(
    r"PADLAB: trace\s+(?P<task>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+\S+\s+(?P<at>[\d.]+): (?P<event>\w+): "
    r"(?P<args>.*)"
)
_WORK = re.compile(r"work struct[ =](\w+)")
_HELPER = re.compile(r"function[ =]padata_mt_help")
_INIT_TASK = re.compile(r"pgdatinit\d+")


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


def starts_of(console: Iterable[str]) -> Starts:
    """Read the trace of role "trace".  Pure."""
    first: dict[str, float] = {}  # job's task -> when it queued its first helper
    queued: dict[str, str] = {}  # work item -> job's task
    starts: list[tuple[float, float]] = []  # when, and how long after the job's first
    made: list[float] = []
    for line in console:
        match = _EVENT.search(line)
        if not match:
            continue
        at, event, args = float(match["at"]), match["event"], match["args"]
        work = _WORK.search(args)
        if event == "sched_process_fork":
            made.append(at)
        elif not work or not _HELPER.search(args):
            continue
        elif event == "workqueue_queue_work" and _INIT_TASK.search(match["task"]):
            first.setdefault(match["task"], at)
            queued[work[1]] = match["task"]
        elif event == "workqueue_execute_start" and work[1] in queued:
            starts.append((at, at - first[queued[work[1]]]))
    begin, end = min(first.values(), default=0.0), max((at for at, _ in starts), default=0.0)
    return Starts(
        queued=len(queued),
        started=len(starts),
        made=sum(begin <= at <= end for at in made),
        delays_us=tuple(round(1e6 * delay, 1) for _, delay in starts),
    )


def measure(machine: Machine, kernel: str, ready: tuple) -> Starts:
    build, initrd = ready
    spec = boot.BootSpec(
        machine, kernel, build.config, append=(f"trace_event={EVENTS}", "trace_buf_size=4M"), initrd=initrd
    )
    result = boot.boot(spec, build, "trace")
    found = starts_of(result.console)
    if not found.queued and machine.cpus > 1:
        what = f"helpers of {kernel} on {machine.name}"
        raise LabError(what, "the trace has none", "see the console", log=result.log)
    return found


def main(names: Iterable[str] = (), json: bool = False) -> int:
    """Measure, show, record.  The exit status is 1 if ours made a thread."""
    targets = [machines.load(name) for name in names or MACHINES]
    found: dict[str, dict[str, Starts]] = {}
    with boot.quiet_stdout():
        ready = {kernel: boot.prepare(kernel, role="trace") for kernel in KERNELS}
        for target in targets:
            found[target.name] = {k: measure(target, k, ready[k]) for k in KERNELS}
    build = ready["patched"][0]
    data = {
        **record.provenance("./lab starts", build, "tcg"),
        "times": "of an emulated guest: they order the events and are no measure of speed",
        "machines": {name: {k: asdict(s) for k, s in of.items()} for name, of in found.items()},
    }
    if not names:
        record.write_json(record.path_of("starts.json"), data)
    if json:
        print(jsonlib.dumps(data, indent=2))
    else:
        show(targets, found)
    return 1 if any(of["patched"].made for of in found.values()) else 0


def show(targets: Iterable[Machine], found: dict[str, dict[str, Starts]]) -> None:
    console = table.console()
    names = ("CPUs", "queued", "started", "threads made", "first us", "median us", "last us")
    grid = table.grid(("machine", "kernel", *names), left={"machine", "kernel"})
    for target in targets:
        for kernel, starts in found[target.name].items():
            told = starts.summary
            times = [f"{v:,.0f}" for v in (told.low, told.median, told.high)] if told else ["-"] * 3
            counts = (target.cpus, starts.queued, starts.started, starts.made)
            grid.add_row(target.name, kernel, *map(str, counts), *times)
    console.print(grid)
    console.print(
        "us: from the first helper queued to a helper's start, by the emulated guest's clock: no measure of speed"
    )
