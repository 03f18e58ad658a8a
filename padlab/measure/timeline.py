# SPDX-License-Identifier: GPL-2.0-only
"""``./lab timeline``: which thread had which chunk when, of one boot or of one huge page.

The trace events of a boot tell when a thread took which chunk and when each initcall began and
ended, by the TSC.  A thread has a row, and the initcalls have one above.  So has a page of 1 GiB that
a task touches.  If the guest is emulated its CPUs share those of the host, so the picture shows what
goes on beside what, not how fast.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from padlab.core import plot, table
from padlab.core.errors import LabError
from padlab.measure import provenance
from padlab.vm import boot, dmesg
from padlab.vm import machine as machines
from padlab.vm.boot import BootResult
from padlab.vm.machine import Machine
from padlab.vm.trace import Event

EVENTS = "initcall:*,padata:*"
APPEND = (f"trace_event={EVENTS}", "trace_buf_size=1M", "trace_clock=x86-tsc")
HUGE_MACHINE, HUGE_NAME = "huge-pages", "huge-page"
# Before the first chunk and after the last, of the time between.
_MARGIN = 0.15

_WHAT = "a timeline"
_INITCALLS = "#444444"
_NODES = ("#3b7dc4", "#d98032", "#4f9d69", "#a463b0")
_ROW_INCHES, _LEAST_INCHES, _MOST_INCHES, _WIDE_INCHES = 0.12, 3.2, 14.0, 11.0


@dataclass(frozen=True)
class Span:
    """Something that went on from ``begin`` to ``end``: ms since the first job began."""

    begin: float
    end: float
    cpu: int | None = field(default=None, compare=False)  # where it began


@dataclass(frozen=True)
class Timeline:
    initcalls: tuple[Span, ...]
    chunks: dict[int, dict[str, tuple[Span, ...]]]  # node (0 of a huge page) -> thread -> its chunks
    jobs: Span  # from the first job's begin to the last one's end

    @property
    def meanwhile(self) -> int:
        """Initcalls that ended while a job was under way."""
        return sum(self.jobs.begin < one.end < self.jobs.end for one in self.initcalls)

    @property
    def threads(self) -> int:
        """With chunks."""
        return sum(map(len, self.chunks.values()))


def timeline(events: Iterable[Event], mhz: float, huge: bool = False) -> Timeline:
    """Read a trace whose clock is a TSC of ``mhz``: jobs of deferred init, or of huge pages.  Pure."""
    events = list(events)
    nodes = {
        event.fields["job"]: event.init_node or 0
        for event in events
        if event.name == "padata_mt_job_start" and (huge or event.init_node is not None)
    }
    ours = [event for event in events if event.fields.get("job") in nodes]
    if not ours:
        whose = "a huge page" if huge else "deferred init"
        raise LabError(_WHAT, f"the trace has no job of {whose}", "see what the guest reported")
    start = ours[0].ticks

    def ms(event: Event) -> float:
        return (event.ticks - start) / (1000 * mhz)

    ends = {event.fields["job"]: ms(event) for event in ours if event.name == "padata_mt_job_end"}
    chunks: dict[int, dict[str, tuple[Span, ...]]] = {node: {} for node in sorted(set(nodes.values()))}
    for job, node in nodes.items():
        begins: dict[str, list[Event]] = {}
        for event in ours:
            if event.name == "padata_mt_chunk" and event.fields["job"] == job:
                begins.setdefault(event.task, []).append(event)
        for task, of in begins.items():
            # A thread goes on to its next chunk, and with its last one to the job's end at most.
            until = [*map(ms, of[1:]), ends[job]]
            done = tuple(Span(ms(event), end, event.cpu) for event, end in zip(of, until, strict=True))
            chunks[node][task] = (*chunks[node].get(task, ()), *done)
    return Timeline(
        _initcalls(events, ms),
        chunks,
        Span(0.0, max(ends.values())),
    )


def _initcalls(events: Iterable[Event], ms: Callable[[Event], float]) -> tuple[Span, ...]:
    """One begins when the one before has ended, but for the levels' announcements between."""
    spans: list[Span] = []
    begin: float | None = None
    for event in events:
        if event.name == "initcall_start":
            begin = ms(event)
        elif event.name == "initcall_finish" and begin is not None:
            spans.append(Span(begin, ms(event)))
            begin = None
    return tuple(spans)


def measure(machine: Machine, threads: str | None, huge: bool) -> tuple[Timeline, BootResult]:
    build, initrd = boot.prepare("patched", role="hugejob" if huge else "trace")
    append = () if huge else APPEND
    spec = boot.BootSpec(machine, "patched", build.config, threads, append=append, initrd=initrd)
    result = boot.boot(spec, build, "trace")
    match = re.search(dmesg.TSC, result.dmesg.text)
    if match is None:
        raise LabError(
            _WHAT, "the kernel does not say how fast its TSC is", "see the console", log=result.log
        )
    if lost := result.guest.trace.lost:
        raise LabError(_WHAT, f"events were lost: {lost[0]}", "see what the guest said", log=result.guest_log)
    return timeline(result.guest.trace.events, float(match["mhz"]), huge), result


def main(machine: Machine, threads: str | None = None, huge: bool = False) -> int:
    """Boot, draw, record."""
    machine = machines.load(HUGE_MACHINE) if huge else machine
    with boot.quiet_stdout():
        found, result = measure(machine, threads, huge)
    options = f" --threads {threads}" if threads else ""
    words = "--huge-page" if huge else f"--machine {machine.name}{options}"
    made = provenance.provenance(f"./lab timeline {words}", result.build, result.accel)
    name = f"timeline-{HUGE_NAME if huge else machine.name}"
    out = table.console()
    if huge:
        title = f"a page of 1 GiB is zeroed by {found.threads} threads, {found.jobs.end:,.0f} ms"
    else:
        title = (
            f"{machine.name}: {found.meanwhile} of {len(found.initcalls)} initcalls ended while struct pages"
            f" were initialised, by {found.threads} threads, {found.jobs.end:,.0f} ms"
        )
    out.print(title)
    for path, data in (
        (provenance.path_of(f"{name}.png"), picture(found, title, made)),
        (provenance.path_of(f"{name}.json"), as_json(found, title, made, huge)),
    ):
        provenance.write(path, data)
        out.print(f"recorded in {path}", markup=False, soft_wrap=True)
    return 0


def as_json(found: Timeline, title: str, made: dict[str, str], huge: bool = False) -> str:
    """A line for each thread: its chunks, in ms.  Those of a huge page are of no node."""

    def spans(of: Iterable[Span]) -> list[list[float | int | None]]:
        return [[round(one.begin, 3), round(one.end, 3), one.cpu] for one in of]

    rows: list[dict[str, Any]] = [{"thread": "initcalls", "node": None, "spans": spans(found.initcalls)}]
    for node, of in found.chunks.items():
        for task, chunks in of.items():
            rows.append({"thread": task, "node": None if huge else node, "spans": spans(chunks)})
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows if row["spans"])
    head = json.dumps({**made, "title": title, "unit": "ms, and the CPU"}, indent=1).removesuffix("\n}")
    return f'{head},\n "rows": [\n{lines}\n ]\n}}\n'


def picture(found: Timeline, title: str, made: dict[str, str]) -> bytes:
    margin = _MARGIN * found.jobs.end
    rows = [plot.Row("initcalls", _INITCALLS, [(one.begin, one.end) for one in found.initcalls])]
    rows = [row for row in rows if row.spans]
    for nr, (node, of) in enumerate(found.chunks.items()):
        color = _NODES[nr % len(_NODES)]
        for task, chunks in of.items():
            spans = [(one.begin, one.end) for one in chunks]
            rows.append(plot.Row(f"node {node}, {task}", color, spans))
    note = (
        f"{made['command']}, {made['source']}, {made['config']} config; {made['accelerator']},"
        f" QEMU {made['qemu']}, on {made['host']}\nA bar is an initcall, or a thread's chunk."
        " Emulated CPUs share those of the host: what goes on beside what, not how fast."
    )
    high = min(max(_LEAST_INCHES, 1.6 + _ROW_INCHES * len(rows)), _MOST_INCHES)
    what = plot.Timeline("ms since the first job began", rows, (-margin, found.jobs.end + margin))
    return plot.figure([what], title, 1, (_WIDE_INCHES, high), note)
