# SPDX-License-Identifier: GPL-2.0-only
"""What a guest's console says: kernel messages and the guest's PADLAB lines.

Text in, dataclasses out.  The console is shared by the kernel and by init,
which can write into the middle of each other's lines, so messages are searched
for anywhere in the text, each with the time stamp right before it.

Deferred init is told by two different lines::

    [    0.631207] node 0 deferred pages initialised in 22ms                    (stock 6.12)
    [    0.631207] node 0 initialised, 3145728 pages in 22ms, 4 threads         (ours)
    [    0.631207] node 0 initialised, 3145728 pages in 22ms, 52 threads (47 took part)

A node with nothing deferred has no line.  The time that both kernels' lines can
be compared by is that of their stamps: from the last message before deferred
init starts, which is "smpboot: Total of N processors activated" in both, to the
last node line.  (Stock counts jiffies, which an emulated guest loses.)

In exact mode, the guest also tells when the threads of deferred init were woken and
when the last woke the boot's own, by the TSC.  That is what counts then: until
later in the boot, the clock of the stamps is corrected by timer ticks, and can be
off by 8 ms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

# PRINTK_CALLER adds a second bracket.
_STAMP = r"(?:\[\s*(?P<at>\d+\.\d{6})\](?:\[\s*[TC]\d+\])? ?)"

_NODE = re.compile(
    _STAMP + r"?node (?P<node>\d+) (?:"
    r"deferred pages initialised in (?P<stock_ms>\d+)ms"
    r"|initialised, (?P<pages>\d+) pages in (?P<ms>\d+)ms"
    r"(?:, (?P<threads>\d+) threads?(?: \((?P<ran>\d+) took part\))?)?)"
)
_SMP_DONE = re.compile(_STAMP + r"smpboot: Total of (?P<cpus>\d+) processors? activated")
_BROUGHT_UP = re.compile(r"smp: Brought up (?P<nodes>\d+) nodes?, (?P<cpus>\d+) CPUs?")
_MEMORY = re.compile(
    _STAMP + r"?Memory: (?P<free>\d+)K/(?P<present>\d+)K available \(.*?(?P<reserved>\d+)K reserved"
)
_INIT = re.compile(_STAMP + r"Run \S+ as init process")
_VERSION = re.compile(r"Linux version (?P<version>\S+)")
_PANIC = re.compile(r"Kernel panic - not syncing: (?P<why>[^\n]*)")
_TROUBLE = re.compile(
    r"(?:WARNING: |BUG: |INFO: (?:task|possible|rcu|trying|suspicious|lockdep)|Oops: |"
    r"general protection fault|kernel BUG at |unreferenced object|watchdog: BUG)[^\n]*"
)
_TSC_BEGIN = re.compile(r"(\d+): sched_waking: comm=pgdatinit\d+ ")
_TSC_END = re.compile(r"pgdatinit\d+-\d+ .* (\d+): sched_waking: comm=\S+ pid=1 ")
_PADLAB = re.compile(r"PADLAB: (?P<key>\S+)(?: (?P<value>[^\n]*))?")


@dataclass(frozen=True)
class NodeLine:
    """One node's line on its deferred init."""

    node: int
    ms: int  # as the kernel says it
    at: float | None  # its time stamp, seconds
    text: str  # the message, without the time stamp
    pages: int | None = None  # stock does not say
    threads: int | None = None  # threads put to work
    ran: int | None = None  # threads that took part; stock does not say


@dataclass(frozen=True)
class MemoryLine:
    """The kernel's sum after deferred init, in pages."""

    free: int
    present: int  # all RAM in the kernel's map
    reserved: int  # of it, never given to the page allocator


@dataclass(frozen=True)
class Zone:
    """One populated zone, in pages, as /proc/zoneinfo had it when the boot was over."""

    node: int
    name: str
    spanned: int
    present: int
    managed: int


@dataclass(frozen=True)
class Dmesg:
    """What the console of one boot says; None is what it does not say."""

    text: str

    @cached_property
    def nodes(self) -> tuple[NodeLine, ...]:
        """The node lines in node order."""
        return tuple(sorted(map(_node_line, _NODE.finditer(self.text)), key=lambda line: line.node))

    @cached_property
    def version(self) -> str | None:
        return _group(_VERSION, self.text, "version")

    @cached_property
    def cpus(self) -> int | None:
        """CPUs that were brought up."""
        value = _group(_BROUGHT_UP, self.text, "cpus")
        return None if value is None else int(value)

    @cached_property
    def memory(self) -> MemoryLine | None:
        match = _MEMORY.search(self.text)
        if match is None:
            return None
        return MemoryLine(*(int(match[key]) // 4 for key in ("free", "present", "reserved")))

    @cached_property
    def panic(self) -> str | None:
        return _group(_PANIC, self.text, "why")

    @cached_property
    def trouble(self) -> tuple[str, ...]:
        """Warnings, lockdep reports, hung tasks and the like."""
        return tuple(match[0].strip() for match in _TROUBLE.finditer(self.text))

    @cached_property
    def padlab(self) -> tuple[tuple[str, str], ...]:
        """The guest's own lines, as (key, value)."""
        return tuple((m["key"], (m["value"] or "").strip()) for m in _PADLAB.finditer(self.text))

    @cached_property
    def zones(self) -> tuple[Zone, ...]:
        return tuple(
            zone for key, value in self.padlab if key == "zone" and (zone := _zone(value)) is not None
        )

    @cached_property
    def total_pages(self) -> int | None:
        """MemTotal in pages: what the kernel believes the page allocator was given."""
        value = self.say("memtotal-kib")
        return int(value) // 4 if value and value.isdigit() else None

    @cached_property
    def done(self) -> int | None:
        """The exit status of what ran in the guest, if it came to its end."""
        value = self.say("done")
        return int(value) if value and value.isdigit() else None

    @cached_property
    def deferred_start(self) -> float | None:
        """Stamp of the last message before deferred init, seconds."""
        return _stamp(_SMP_DONE, self.text)

    @cached_property
    def deferred_ms(self) -> float | None:
        """From there to the last node line.  0 if no node deferred anything."""
        if self.tsc_ms is not None:
            return self.tsc_ms
        start, ends = self.deferred_start, [line.at for line in self.nodes if line.at is not None]
        if start is None or len(ends) < len(self.nodes):
            return None
        # Whole microseconds: stamps are exact, their difference should be.
        return round(1e6 * (max(ends, default=start) - start)) / 1000

    @cached_property
    def tsc_ms(self) -> float | None:
        """From the first thread of deferred init woken to init woken by the last.  The TSC has 1 GHz."""
        lines = [value for key, value in self.padlab if key == "tsc"]
        begins, ends = (
            [int(match[1]) for line in lines if (match := pattern.search(line))]
            for pattern in (_TSC_BEGIN, _TSC_END)
        )
        return (max(ends) - min(begins)) / 1e6 if begins and ends else None

    @cached_property
    def boot_ms(self) -> float | None:
        """From the kernel's start to that of init."""
        at = _stamp(_INIT, self.text)
        return None if at is None else round(1e6 * at) / 1000

    def say(self, key: str) -> str | None:
        """The last value of the guest's line ``key``."""
        return dict(self.padlab).get(key)


def parse(text: str) -> Dmesg:
    """Read a console log, as it comes off the serial port."""
    return Dmesg(text.replace("\r", ""))


def interesting(line: str) -> str:
    """A console line as shown while a guest boots: no time stamp, no control characters."""
    line = re.sub(r"^(?:\[\s*\d+\.\d+\](?:\[\s*\w+\])?)?\s*", "", line)
    return "".join(c for c in line if c.isprintable())


def _node_line(match: re.Match[str]) -> NodeLine:
    threads = _int(match["threads"])
    return NodeLine(
        node=int(match["node"]),
        ms=int(match["ms"] or match["stock_ms"]),
        at=float(match["at"]) if match["at"] else None,
        text=match[0][match[0].index("node") :],
        pages=_int(match["pages"]),
        threads=threads,
        ran=_int(match["ran"]) or threads,
    )


def _int(text: str | None) -> int | None:
    return int(text) if text else None


def _zone(value: str) -> Zone | None:
    match = re.fullmatch(r"(\d+) (\S+) spanned (\d+) present (\d+) managed (\d+)", value)
    if match is None:
        return None
    return Zone(int(match[1]), match[2], int(match[3]), int(match[4]), int(match[5]))


def _group(pattern: re.Pattern[str], text: str, key: str) -> str | None:
    match = pattern.search(text)
    return match[key].strip() if match else None


def _stamp(pattern: re.Pattern[str], text: str) -> float | None:
    match = pattern.search(text)
    return float(match["at"]) if match else None
