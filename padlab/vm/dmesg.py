# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel says: the messages on a guest's console, and the patterns they are found by.

Text in, dataclasses out.  Boot firmware and early consoles can leave half a line before a message, so
messages are searched for anywhere in the text, each with the time stamp right before it.

Deferred init is reported by two different lines::

    [    0.631207] node 0 deferred pages initialised in 22ms                 (stock 6.12)
    [    0.631207] node 0 initialised, 3145728 pages in 22ms, 52 threads    (ours)

A node with nothing deferred has no line.  The time that both kernels' lines can be compared by is that of
their stamps: from the last message before deferred init starts, which is SMP_DONE in both, to the last node
line.  (Stock counts jiffies, which an emulated guest loses.)
"""

import re
from dataclasses import dataclass
from functools import cached_property

# PRINTK_CALLER adds a second bracket.
_STAMP = r"(?:\[\s*(?P<at>\d+\.\d{6})\](?:\[\s*[TC]\d+\])? ?)"

# The messages that the lab knows, in the order of a boot.  Each begins as it is here.
LINUX_VERSION = r"Linux version (?P<version>\S+)"
INITMEM = r"Initmem setup node"
PM_TIMER = r"ACPI: PM-Timer IO Port"
COMMAND_LINE = r"Kernel command line:"
FALLBACK_ORDER = r"Fallback order for Node"
SWIOTLB = r"software IO TLB: area num"
SLUB = r"SLUB: HWalign"
BROUGHT_UP = r"smp: Brought up (?P<nodes>\d+) nodes?, (?P<cpus>\d+) CPUs?"
SMP_DONE = r"(?:smpboot|SMP): Total of \d+ processors? activated"
NODE_DONE = (
    r"node (?P<node>\d+) (?:"
    r"deferred pages initialised in (?P<stock_ms>\d+)ms"
    r"|initialised, (?P<pages>\d+) pages in (?P<ms>\d+)ms"
    r"(?:, (?P<threads>\d+) threads?)?)"
)
DEVTMPFS = r"devtmpfs: initialized"
BLOCK_SIZE = r"x86/mm: Memory block size"
FUTEX = r"futex hash table"
RUN_INIT = r"Run \S+ as init process"
# But for one that a guest asks for, to see another kernel boot after it.
PANIC = r"Kernel panic - not syncing: (?!sysrq triggered crash)(?P<why>[^\n]*)"
TROUBLE = (
    r"(?:WARNING: |BUG: |INFO: (?:task|possible|rcu|trying|suspicious|lockdep)|Oops: |"
    r"general protection fault|kernel BUG at |unreferenced object|watchdog: BUG)[^\n]*"
)

_NODE = re.compile(f"{_STAMP}?{NODE_DONE}")
_LINE = re.compile(_STAMP + r"(?P<text>[^\n]*)")


@dataclass(frozen=True)
class NodeLine:
    node: int
    ms: int  # as the kernel says it
    at: float | None  # its time stamp, seconds
    text: str  # the message, without the time stamp
    pages: int | None = None  # stock does not say
    threads: int | None = None  # threads put to work; stock does not say


@dataclass(frozen=True)
class Dmesg:
    """The messages of one boot; None is what they do not say."""

    text: str

    @cached_property
    def nodes(self) -> tuple[NodeLine, ...]:
        return tuple(sorted(map(_node_line, _NODE.finditer(self.text)), key=lambda line: line.node))

    @cached_property
    def version(self) -> str | None:
        return self._group(LINUX_VERSION, "version")

    @cached_property
    def cpus(self) -> int | None:
        return _int(self._group(BROUGHT_UP, "cpus"))

    @cached_property
    def panic(self) -> str | None:
        return self._group(PANIC, "why")

    @cached_property
    def trouble(self) -> tuple[str, ...]:
        return tuple(match[0].strip() for match in re.finditer(TROUBLE, self.text))

    @cached_property
    def stamps(self) -> tuple[tuple[int, str], ...]:
        """Every message with its time stamp, in microseconds."""
        return tuple((round(1e6 * float(m["at"])), m["text"]) for m in _LINE.finditer(self.text))

    @cached_property
    def deferred_ms(self) -> float | None:
        """To the last node line; 0 if there is none.  In exact mode see BootResult.deferred_ms."""
        start, ends = self._stamp(SMP_DONE), [line.at for line in self.nodes if line.at is not None]
        if start is None or len(ends) < len(self.nodes):
            return None
        # Whole microseconds: stamps are exact, their difference should be.
        return round(1e6 * (max(ends, default=start) - start)) / 1000

    @cached_property
    def boot_ms(self) -> float | None:
        at = self._stamp(RUN_INIT)
        return None if at is None else round(1e6 * at) / 1000

    def _group(self, pattern: str, key: str) -> str | None:
        match = re.search(pattern, self.text)
        return match[key].strip() if match else None

    def _stamp(self, pattern: str) -> float | None:
        match = re.search(_STAMP + pattern, self.text)
        return float(match["at"]) if match else None


def parse(text: str) -> Dmesg:
    return Dmesg(text.replace("\r", ""))


def interesting(line: str) -> str:
    """A console line as shown while a guest boots: no time stamp, no control characters."""
    line = re.sub(r"^(?:\[\s*\d+\.\d+\](?:\[\s*\w+\])?)?\s*", "", line)
    return "".join(c for c in line if c.isprintable())


def _node_line(match: re.Match[str]) -> NodeLine:
    return NodeLine(
        node=int(match["node"]),
        ms=int(match["ms"] or match["stock_ms"]),
        at=float(match["at"]) if match["at"] else None,
        text=match[0][match[0].index("node") :],
        pages=_int(match["pages"]),
        threads=_int(match["threads"]),
    )


def _int(text: str | None) -> int | None:
    return int(text) if text else None
