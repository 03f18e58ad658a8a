# SPDX-License-Identifier: GPL-2.0-only
"""A simulation of deferred struct page init: one node, its threads, chunk by chunk.

Not a measurement and not an emulation: nothing of the kernel runs.  Threads take
chunks of the node's sections by the claim rule of their engine, stock's or ours,
and work on them at a rate that depends on which other threads are at work:

- alone on its core, with the memory to itself, a thread needs ``page_ns`` a page;
- two threads of one core get ``smt_gain`` times as much done as one;
- all threads of the node share its memory, which moves ``bandwidth`` bytes per
  ns, and zone->lock, which one of them at a time holds.  The closer they
  come to a limit, the longer all of them wait: see slowdown().

The caller begins at once, helpers come one after another, and the node is done
when its last chunk is.  Nodes work at the same time and do not affect one another.
"""

import functools
import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from padlab.core import toml

SECTION = 32768  # pages, 128 MiB: both engines align chunks to it, and claim no less
BLOCK = 1024  # pages, 4 MiB: the most that the buddy allocator takes at once

_STOCK_CHUNKS_PER_THREAD = 4
_OUR_SHARES_PER_THREAD = 2

PAGES_PER_GIB = 262144
_LOW_GIB = 3  # RAM below 4 GiB, in lower zones: never deferred
_HIGH_PFN = 4 * PAGES_PER_GIB  # where the rest begins

# The end of the chunk that begins at a position, of (start, end, position, threads).
ChunkEnd = Callable[[int, int, int, int], int]


@dataclass(frozen=True)
class Range:
    """The deferred pfns of a node, treated as one free range that starts on a section."""

    start: int
    end: int

    @property
    def pages(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class Shape:
    """A node: its deferred pages and its CPUs, one or two to a core."""

    range: Range
    cores: int
    threads_per_core: int = 2

    @property
    def cpus(self) -> int:
        return self.cores * self.threads_per_core


@dataclass(frozen=True)
class Hardware:
    """What a node can do.  Times are stock's; an engine says what it makes of them."""

    page_ns: float  # a thread with core and memory to itself
    bandwidth: float  # bytes per ns, that is GB/s, of the node's memory
    smt_gain: float  # throughput of two threads of a core, over one's
    serial_ms: float  # of the node, outside its threads
    knee: float  # how sharply threads meet a limit: see slowdown()


_Positive = Annotated[float, Meta(gt=0)]
_Figure = Annotated[float, Meta(ge=0)]


class Engine(Struct, frozen=True, forbid_unknown_fields=True):
    """What a kernel does to a page, and how it hands pages out: data/assumptions.toml says what each is."""

    chunks: Literal["fixed", "guided"]
    page_ratio: _Positive
    page_ratio_range: tuple[_Positive, _Positive]
    bytes_per_page: _Figure
    lock_ns: _Figure
    pages_per_lock: _Positive
    insert_ns: _Figure
    first_us: _Figure
    each_us: _Figure
    claim_ns: _Figure
    serial_ratio: _Positive

    @property
    def chunk_end(self) -> ChunkEnd:
        return stock_chunk_end if self.chunks == "fixed" else our_chunk_end


def stock_chunk_end(start: int, end: int, pos: int, threads: int) -> int:
    """6.12's kernel/padata.c: chunks of one size, which end on multiples of it.

    One thread gets its range whole.  A job that ends inside a section is rounded up for the division only.
    """
    if threads == 1:
        return end
    size = _round_up(end, SECTION) - start
    chunk = _round_up(max(size // (threads * _STOCK_CHUNKS_PER_THREAD), SECTION), SECTION)
    return min(_round_up(pos + 1, chunk), end)


def our_chunk_end(start: int, end: int, pos: int, threads: int) -> int:
    """padata_mt_chunk_end(): a share of what is left, a section at least, up to a boundary."""
    del start
    shares = _OUR_SHARES_PER_THREAD * threads if threads > 1 else 1
    to = _round_up(pos + max((end - pos) // shares, SECTION), SECTION)
    return end if end - to < SECTION else to


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def deferred_range(gib: float, first_node: bool) -> Range:
    """The deferred pages of a node.

    The first node has the lower zones: 3 GiB, and the rest of its memory from 4
    GiB on.  One section of the last zone is initialised early.  The memmap
    itself, one page in 64, comes from the node's top and is never freed.
    """
    pages = int(gib * PAGES_PER_GIB)
    low = min(pages, _LOW_GIB * PAGES_PER_GIB) if first_node else 0
    start = _HIGH_PFN + (0 if first_node else _round_up(pages, SECTION))
    end = start + pages - low - pages // 64
    return Range(start + SECTION, max(end, start + SECTION))


@functools.lru_cache(maxsize=256)
def chunks(chunk_end: ChunkEnd, pfns: Range, threads: int) -> tuple[tuple[int, int], ...]:
    """A range's chunks in the order they are claimed, which is the same whoever claims them."""
    claimed = []
    pos = pfns.start
    while pos < pfns.end:
        to = chunk_end(pfns.start, pfns.end, pos, threads)
        claimed.append((pos, to))
        pos = to
    return tuple(claimed)


def simulate(shape: Shape, threads: int, hardware: Hardware, engine: Engine) -> float:
    """How long it takes, in ms."""
    if not 1 <= threads <= shape.cpus or not 1 <= shape.threads_per_core <= 2:
        raise ValueError(f"{threads} threads on {shape.cores} cores of {shape.threads_per_core}")
    serial_ms = hardware.serial_ms * engine.serial_ratio
    if not shape.range.pages:
        return serial_ms
    return _Team(shape, threads, hardware, engine).run() / 1e6 + serial_ms


def slowdown(weight: float, hardware: Hardware, engine: Engine) -> float:
    """How much longer a page takes while threads of ``weight`` cores are at work.

    With u the share of a limit that they would use if it did not hold them up, the slowdown is (1 +
    u^knee)^(1/knee): about 1 while u is small and about u once it is large, so that no limit is ever
    exceeded.  The larger ``knee``, the fewer threads wait before the limit is met.  But memory requests come
    unevenly, and wait for one another before that.
    """
    rate = weight / (hardware.page_ns * engine.page_ratio)
    memory = rate * engine.bytes_per_page / hardware.bandwidth
    lock = rate * (engine.lock_ns / engine.pages_per_lock + engine.insert_ns / BLOCK)
    total: float = 1.0 + memory**hardware.knee + lock**hardware.knee
    return math.pow(total, 1.0 / hardware.knee)


class _Team:
    """The threads of a node at work.

    Time is kept twice: in ns, and as ``clock``, the pages that a thread with a core to itself would have done
    by now.  Between two events each thread advances in proportion to its weight, 1 or smt_gain / 2, whatever
    all are slowed down by.  So what happens next is at the top of a heap of clock values.  An entry whose
    thread has changed weight since is stale.
    """

    def __init__(self, shape: Shape, threads: int, hardware: Hardware, engine: Engine) -> None:
        self.cores = shape.cores
        # Neither engine starts more threads than there are sections.
        self.threads = max(1, min(threads, shape.range.pages // SECTION))
        self.hardware = hardware
        self.engine = engine
        self.page_ns = hardware.page_ns * engine.page_ratio
        self.chunks = chunks(engine.chunk_end, shape.range, self.threads)
        self.claimed = 0
        self.clock = 0.0
        self.weight: dict[int, float] = {}  # of threads at work
        self.ns_per_clock = 0.0  # of as long as no weight changes
        self.due: dict[int, float] = {}  # clock at which a thread's chunk is done
        self.heap: list[tuple[float, int]] = []

    def run(self) -> float:
        """Until no thread is at work; the time in ns."""
        now = 0.0
        started = 0
        while True:
            arrives = self._arrival(started)
            due = self._next_due()
            done = now + (due - self.clock) * self.ns_per_clock if self.weight else math.inf
            if arrives == done == math.inf:
                return now
            if arrives <= done:
                self.clock += (arrives - now) / self.ns_per_clock if self.weight else 0.0
                now = arrives
                self._start(started)
                started += 1
            else:
                self.clock, now = due, done
                self._chunk_done()

    def _arrival(self, thread: int) -> float:
        """One that comes when nothing is left finds the job closed."""
        if thread == self.threads or self.claimed == len(self.chunks):
            return math.inf
        return 1000 * (self.engine.first_us + (thread - 1) * self.engine.each_us) if thread else 0.0

    def _next_due(self) -> float:
        while self.heap and self.due.get(self.heap[0][1]) != self.heap[0][0]:
            heapq.heappop(self.heap)
        return self.heap[0][0] if self.heap else math.inf

    def _start(self, thread: int) -> None:
        self.weight[thread] = 1.0
        self._share_core(thread)
        self._claim(thread)

    def _chunk_done(self) -> None:
        thread = heapq.heappop(self.heap)[1]
        if self.claimed < len(self.chunks):
            self._claim(thread)
        else:
            del self.due[thread], self.weight[thread]
            self._share_core(thread)

    def _claim(self, thread: int) -> None:
        start, end = self.chunks[self.claimed]
        self.claimed += 1
        self._push(thread, end - start + self.engine.claim_ns / self.page_ns)

    def _push(self, thread: int, work: float) -> None:
        self.due[thread] = self.clock + work / self.weight[thread]
        heapq.heappush(self.heap, (self.due[thread], thread))

    def _share_core(self, thread: int) -> None:
        """Weigh the threads of a core anew.  There is one to a core before any has two."""
        core = thread % self.cores
        peers = [t for t in (core, core + self.cores) if t in self.weight]
        weight = self.hardware.smt_gain / 2 if len(peers) == 2 else 1.0
        for peer in peers:
            old, self.weight[peer] = self.weight[peer], weight
            if old != weight and peer in self.due:
                self._push(peer, (self.due[peer] - self.clock) * old)
        self.ns_per_clock = self.page_ns * slowdown(sum(self.weight.values()), self.hardware, self.engine)


ASSUMPTIONS = Path(__file__).parent / "data" / "assumptions.toml"


class Stores(Struct, frozen=True, forbid_unknown_fields=True):
    page_ratio: float
    page_ratio_range: tuple[float, float]
    bytes_per_page: float


class Engines(Struct, frozen=True, forbid_unknown_fields=True):
    """``ours`` is that on AMD's CPUs; see on()."""

    stock: Engine
    ours: Engine
    intel: Stores

    def on(self, machine: str) -> "Engines":
        if not machine.startswith("xeon"):
            return self
        return structs.replace(self, ours=structs.replace(self.ours, **structs.asdict(self.intel)))

    @property
    def ours_span(self) -> list[Engine]:
        return [structs.replace(self.ours, page_ratio=ratio) for ratio in self.ours.page_ratio_range]


def load_engines(path: Path = ASSUMPTIONS) -> Engines:
    return toml.load(path, Engines)
