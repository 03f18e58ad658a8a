# SPDX-License-Identifier: GPL-2.0-only
"""Trace events, as the lines of the kernel's ``trace`` file have them.

A line has task, pid, CPU, flags, time and event, then what the event says::

      kworker/4:0-57      [004] .N...     0.794980: padata_mt_chunk: job=4 start=0 end=1024

The time is seconds, or a count of the TSC with trace_clock=x86-tsc.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

_EVENT = re.compile(
    r"^\s*(?P<task>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+\S+\s+(?P<stamp>[\d.]+): "
    r"(?P<name>\w+): ?(?P<text>.*)$"
)
_FIELD = re.compile(r"(\w+)=(\S+)")
_LOST = "LOST"  # "CPU:3 [LOST 17 EVENTS]"
_INIT_TASK = re.compile(r"pgdatinit(\d+)")
_TSC_PER_MS = 1_000_000  # QEMU's TSC has 1 GHz


@dataclass(frozen=True)
class Event:
    """One event; ``text`` is what it says, and ``fields`` what of it has the form name=value."""

    task: str
    pid: int
    cpu: int
    stamp: str
    name: str
    text: str

    @property
    def seconds(self) -> float:
        return float(self.stamp)

    @property
    def ticks(self) -> int:
        """The time where the clock is the TSC."""
        return int(self.stamp)

    @cached_property
    def fields(self) -> dict[str, str]:
        return dict(_FIELD.findall(self.text))

    @property
    def init_node(self) -> int | None:
        """The node whose deferred init the task runs, if it is the thread for that."""
        match = _INIT_TASK.fullmatch(self.task)
        return int(match[1]) if match else None


@dataclass(frozen=True)
class Trace:
    """The events in order, and the lines that say that some were lost."""

    events: tuple[Event, ...] = ()
    lost: tuple[str, ...] = ()


def parse(lines: Iterable[str]) -> Trace:
    events, lost = [], []
    for line in lines:
        if match := _EVENT.match(line):
            said = match.group("stamp", "name", "text")
            events.append(Event(match["task"], int(match["pid"]), int(match["cpu"]), *said))
        elif _LOST in line:
            lost.append(line.strip())
    return Trace(tuple(events), tuple(lost))


def deferred_ms(trace: Trace) -> float | None:
    """From the first thread of deferred init woken to init woken by the last, by the TSC."""
    wakings = [event for event in trace.events if event.name == "sched_waking"]
    begins = [event.ticks for event in wakings if _INIT_TASK.fullmatch(event.fields.get("comm", ""))]
    ends = [
        event.ticks for event in wakings if event.init_node is not None and event.fields.get("pid") == "1"
    ]
    return (max(ends) - min(begins)) / _TSC_PER_MS if begins and ends else None
