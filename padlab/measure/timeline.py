# SPDX-License-Identifier: GPL-2.0-only
"""``./lab timeline``: a picture of one boot, its initcalls beside the chunks of deferred init.

The trace events of a boot tell when a thread took which chunk and when each initcall began and
ended, by the TSC.  A thread has a row, and the initcalls have one above.  If the guest is emulated
its CPUs share those of the host, so the picture shows what goes on beside what, not how fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from padlab.core import plot, table
from padlab.core.errors import LabError
from padlab.measure import provenance
from padlab.vm import boot, dmesg
from padlab.vm.boot import BootResult
from padlab.vm.machine import Machine
from padlab.vm.trace import Event

EVENTS = "initcall:*,padata:*"
APPEND = (f"trace_event={EVENTS}", "trace_buf_size=1M", "trace_clock=x86-tsc")
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


@dataclass(frozen=True)
class Timeline:
    initcalls: tuple[Span, ...]
    chunks: dict[int, dict[str, tuple[Span, ...]]]  # node -> thread -> its chunks
    jobs: Span  # from the first job's begin to the last one's end

    @property
    def meanwhile(self) -> int:
        """Initcalls that ended while a job was under way."""
        return sum(self.jobs.begin < one.end < self.jobs.end for one in self.initcalls)

    @property
    def threads(self) -> int:
        """With chunks."""
        return sum(map(len, self.chunks.values()))


def timeline(events: Iterable[Event], mhz: float) -> Timeline:
    """Read a trace whose clock is a TSC of ``mhz``.  Pure."""
    events = list(events)
    nodes = {
        event.fields["job"]: event.init_node
        for event in events
        if event.name == "padata_mt_job_start" and event.init_node is not None
    }
    ours = [event for event in events if event.fields.get("job") in nodes]
    if not ours:
        raise LabError(_WHAT, "the trace has no job of deferred init", "see what the guest reported")
    start = ours[0].ticks

    def ms(event: Event) -> float:
        return (event.ticks - start) / (1000 * mhz)

    ends = {event.fields["job"]: ms(event) for event in ours if event.name == "padata_mt_job_end"}
    chunks: dict[int, dict[str, tuple[Span, ...]]] = {node: {} for node in sorted(set(nodes.values()))}
    for job, node in nodes.items():
        begins: dict[str, list[float]] = {}
        for event in ours:
            if event.name == "padata_mt_chunk" and event.fields["job"] == job:
                begins.setdefault(event.task, []).append(ms(event))
        for task, of in begins.items():
            # A thread goes on to its next chunk, and with its last one to the job's end at most.
            chunks[node][task] = tuple(map(Span, of, [*of[1:], ends[job]]))
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


def measure(machine: Machine, threads: str | None) -> tuple[Timeline, BootResult]:
    build, initrd = boot.prepare("patched", role="trace")
    spec = boot.BootSpec(machine, "patched", build.config, threads, append=APPEND, initrd=initrd)
    result = boot.boot(spec, build, "trace")
    match = re.search(dmesg.TSC, result.dmesg.text)
    if match is None:
        raise LabError(
            _WHAT, "the kernel does not say how fast its TSC is", "see the console", log=result.log
        )
    if lost := result.guest.trace.lost:
        raise LabError(_WHAT, f"events were lost: {lost[0]}", "see what the guest said", log=result.guest_log)
    return timeline(result.guest.trace.events, float(match["mhz"])), result


def main(machine: Machine, threads: str | None = None) -> int:
    """Boot, draw, record."""
    with boot.quiet_stdout():
        found, result = measure(machine, threads)
    path = provenance.path_of(f"timeline-{machine.name}.png")
    option = f" --threads {threads}" if threads else ""
    command = f"./lab timeline --machine {machine.name}{option}"
    made = provenance.provenance(command, result.build, result.accel)
    provenance.write(path, picture(found, machine, made))
    out = table.console()
    out.print(
        f"{machine.name}: {found.meanwhile} of {len(found.initcalls)} initcalls ended while struct pages"
        f" were initialised, by {found.threads} threads, {found.jobs.end:,.0f} ms"
    )
    out.print(f"recorded in {path}", markup=False, soft_wrap=True)
    return 0


def picture(found: Timeline, machine: Machine, made: dict[str, str]) -> bytes:
    margin = _MARGIN * found.jobs.end
    rows = [plot.Row("initcalls", _INITCALLS, [(one.begin, one.end) for one in found.initcalls])]
    for nr, (node, of) in enumerate(found.chunks.items()):
        color = _NODES[nr % len(_NODES)]
        for task, chunks in of.items():
            spans = [(one.begin, one.end) for one in chunks]
            rows.append(plot.Row(f"node {node}, {task}", color, spans))
    title = f"{machine.name}: {found.meanwhile} initcalls end while struct pages are initialised"
    note = (
        f"{made['command']}, {made['source']}, {made['config']} config; {made['accelerator']},"
        f" QEMU {made['qemu']}, on {made['host']}\nA bar is an initcall, or a thread's chunk."
        " Emulated CPUs share those of the host: what goes on beside what, not how fast."
    )
    high = min(max(_LEAST_INCHES, 1.6 + _ROW_INCHES * len(rows)), _MOST_INCHES)
    what = plot.Timeline("ms since the first job began", rows, (-margin, found.jobs.end + margin))
    return plot.figure([what], title, 1, (_WIDE_INCHES, high), note)
