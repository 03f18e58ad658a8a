# SPDX-License-Identifier: GPL-2.0-only
"""Where a boot's threads ran, from its trace events, and whether that was right.

Input is the guest's report of role "trace": its CPUs (with node and core), its
nodes (with distances and memory), and the events of system "padata".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from padlab.vm.channel import Guest
from padlab.vm.trace import Event

_EVENTS = "padata_mt_"


@dataclass(frozen=True)
class Cpu:
    node: int
    core: frozenset[int]  # the CPUs of its core, itself included


@dataclass(frozen=True)
class Node:
    distances: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]  # of its zones, in pfns


@dataclass(frozen=True)
class Chunk:
    start: int
    end: int
    cpu: int
    pid: int


@dataclass
class Job:
    """As the event says it that tells its start, and where the caller was."""

    job: int
    start: int
    size: int
    align: int
    min_chunk: int
    threads: int
    cpu: int
    pid: int
    node: int | None  # whose struct pages it initialises; None: some other job
    helpers: list[int] = field(default_factory=list, init=False)  # CPUs, in order of placement
    chunks: list[Chunk] = field(default_factory=list, init=False)
    ended: bool = field(default=False, init=False)


@dataclass
class Trace:
    cpus: dict[int, Cpu] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)


def cpulist(text: str) -> frozenset[int]:
    """The kernel's list format: "0-3,8" and the like."""
    cpus: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


def parse(guest: Guest) -> Trace:
    trace = Trace(lost=list(guest.trace.lost))
    spans: dict[int, list[tuple[int, int]]] = {}
    for value in guest.values("cpu"):
        nr, _, node, _, core = value.split()
        trace.cpus[int(nr)] = Cpu(int(node), cpulist(core))
    for value in guest.values("span"):
        nid, start, end = map(int, value.split())
        spans.setdefault(nid, []).append((start, end))
    for value in guest.values("distance"):
        nid, *away = map(int, value.split())
        trace.nodes[nid] = Node(tuple(away), tuple(spans.get(nid, ())))
    for event in guest.trace.events:
        if event.name.startswith(_EVENTS):
            _event(trace, event)
    return trace


def _event(trace: Trace, event: Event) -> None:
    args = {key: int(value) for key, value in event.fields.items()}
    nr = args["job"]
    what = event.name.removeprefix(_EVENTS)
    if what == "job_start":
        trace.jobs[nr] = Job(**args, cpu=event.cpu, pid=event.pid, node=event.init_node)
    elif nr not in trace.jobs:
        trace.lost.append(f"start of job {nr}")
    elif what == "helper_start":
        trace.jobs[nr].helpers.append(args["cpu"])
    elif what == "chunk":
        trace.jobs[nr].chunks.append(Chunk(args["start"], args["end"], event.cpu, event.pid))
    elif what == "job_end":
        trace.jobs[nr].ended = True


def problems(trace: Trace) -> list[str]:
    wrong = [f"events were lost: {what}" for what in trace.lost]
    if not trace.cpus or not trace.nodes:
        return [*wrong, "the guest did not tell its CPUs and nodes"]
    return wrong + [f"job {nr}: {p}" for nr, job in trace.jobs.items() for p in job_problems(job, trace)]


def told_problems(trace: Trace, pages: Mapping[int, int]) -> list[str]:
    """Nodes whose lines in the log have more ``pages`` than their jobs."""
    sizes = {job.node: job.size for job in trace.jobs.values()}
    return [
        f"node {node} is said to have {told} deferred pages, its job has {sizes.get(node, 0)} pfns"
        for node, told in pages.items()
        if told > sizes.get(node, 0)
    ]


def job_problems(job: Job, trace: Trace) -> list[str]:
    wrong = _coverage(job) + _threads(job)
    if job.node is None:
        return wrong  # where other jobs run is their own affair
    node = trace.nodes[job.node]
    mask = mask_of(node, trace)
    if job.cpu not in mask:
        wrong.append(f"called on CPU {job.cpu}, not one of node {job.node}'s: {_list(mask)}")
    own = sum(cpu.node == job.node for cpu in trace.cpus.values())
    if job.threads < (most := min(own, job.size // job.min_chunk)):
        wrong.append(f"{job.threads} threads, where {most} CPUs could have a section each")
    wrong += _zone(job, node)
    return wrong + _sections(job) + _mask(job, mask) + _order(job, mask, trace)


def mask_of(node: Node, trace: Trace) -> frozenset[int]:
    """The CPUs that may work for a node: its own, or those of the nearest that has some."""
    by_node: dict[int, set[int]] = {}
    for nr, cpu in trace.cpus.items():
        by_node.setdefault(cpu.node, set()).add(nr)
    nearest = min(by_node, key=lambda nr: (node.distances[nr], nr))
    return frozenset(by_node[nearest])


def _coverage(job: Job) -> list[str]:
    """Every unit exactly once, cut where the job allows it."""
    wrong = []
    pos, end = job.start, job.start + job.size
    for chunk in sorted(job.chunks, key=lambda c: (c.start, c.end)):
        if chunk.start != pos:
            what = "nobody got" if chunk.start > pos else "handed out twice:"
            wrong.append(f"{what} {min(pos, chunk.start)} to {max(pos, chunk.start)}")
        if chunk.end != end and job.align and chunk.end % job.align:
            wrong.append(f"chunk ends at {chunk.end}, which is not a multiple of {job.align}")
        if chunk.end - chunk.start < min(job.min_chunk, job.size):
            wrong.append(f"chunk {chunk.start} to {chunk.end} is shorter than {job.min_chunk}")
        pos = max(pos, chunk.end)
    if pos != end:
        wrong.append(f"nobody got {pos} to {end}" if pos < end else f"went on to {pos}, past {end}")
    return wrong


def _zone(job: Job, node: Node) -> list[str]:
    """All sections of a zone but the first, which is there before the CPUs are up."""
    spans = [span for span in node.spans if span[0] <= job.start < span[1]]
    if not spans:
        return [f"pfn {job.start} is not node {job.node}'s"]
    first, last = spans[0]
    end, all_of_it = job.start + job.size, -(-last // job.min_chunk) * job.min_chunk
    wrong = [f"ends at {end}, the zone's last section at {all_of_it}"] if end != all_of_it else []
    if job.start - first < job.min_chunk:
        wrong.append(f"begins at {job.start}, less than a section behind {first}")
    return wrong


def _sections(job: Job) -> list[str]:
    """The smallest chunk is a section, and no two threads may meet within one."""
    return [
        f"chunk begins at {chunk.start}, within a section of {job.min_chunk}"
        for chunk in job.chunks
        if chunk.start != job.start and chunk.start % job.min_chunk
    ]


def _threads(job: Job) -> list[str]:
    wrong = []
    if len(job.helpers) != job.threads - 1:
        wrong.append(f"{len(job.helpers)} helpers for {job.threads} threads")
    # The caller may migrate within its node, so count threads and not CPUs.
    pids = {chunk.pid for chunk in job.chunks}
    if len(pids) > job.threads:
        wrong.append(f"{len(pids)} threads took part, {job.threads} were allowed")
    if not job.ended:
        wrong.append("never ended")
    return wrong


def _mask(job: Job, mask: frozenset[int]) -> list[str]:
    wrong = [f"helper on CPU {cpu}, not one of {_list(mask)}" for cpu in job.helpers if cpu not in mask]
    for chunk in job.chunks:
        allowed = mask if chunk.pid == job.pid else frozenset(job.helpers)
        if chunk.cpu not in allowed:
            wrong.append(f"chunk {chunk.start} ran on CPU {chunk.cpu}, not one of {_list(allowed)}")
    return wrong


def _order(job: Job, mask: frozenset[int], trace: Trace) -> list[str]:
    """One CPU per core before any SMT sibling; the caller's core counts as taken."""
    wrong = []
    free = set(mask) - trace.cpus[job.cpu].core
    used = {job.cpu}
    for cpu in job.helpers:
        if cpu not in trace.cpus:
            continue
        if cpu in used and used < mask | {job.cpu}:
            wrong.append(f"second thread on CPU {cpu} while others had none")
        elif free and cpu not in free:
            wrong.append(f"helper on CPU {cpu}, whose core was taken; free were {_list(free)}")
        free -= trace.cpus[cpu].core
        used.add(cpu)
    return wrong


def _list(cpus: Iterable[int]) -> str:
    return ",".join(map(str, sorted(cpus)))
