# SPDX-License-Identifier: GPL-2.0-only
"""Placement is judged right on good traces, and each kind of fault is seen."""

import pytest

from checks.boot import placement
from padlab.vm import channel

# Node 0: CPUs 0-3, cores {0,1} {2,3}; node 1: CPUs 4-7, cores {4,5} {6,7};
# node 2 has memory only and is nearer to node 1.
TOPOLOGY = """
cpu 0 node 0 core 0-1
cpu 1 node 0 core 0-1
cpu 2 node 0 core 2-3
cpu 3 node 0 core 2-3
cpu 4 node 1 core 4-5
cpu 5 node 1 core 4-5
cpu 6 node 1 core 6,7
cpu 7 node 1 core 6,7
distance 0 10 20 40
distance 1 20 10 30
distance 2 40 30 10
span 0 1 4096
span 0 4096 262144
span 1 1048576 2097152
span 2 2097152 3145728
"""
# Job 1 on node 0: caller on CPU 1, helpers on the free core, then on siblings.
GOOD = """
pgdatinit0-40 [001] job_start: job=1 start=65536 size=196608 align=32768 min_chunk=32768 threads=4
pgdatinit0-40 [001] helper_start: job=1 cpu=2
pgdatinit0-40 [001] helper_start: job=1 cpu=0
pgdatinit0-40 [001] helper_start: job=1 cpu=3
pgdatinit0-40 [001] chunk: job=1 start=65536 end=98304
kworker/2:0-50 [002] chunk: job=1 start=98304 end=163840
kworker/0:1-51 [000] chunk: job=1 start=163840 end=229376
pgdatinit0-40 [001] chunk: job=1 start=229376 end=262144
pgdatinit0-40 [001] job_end: job=1 threads=4
"""
OTHER = """
swapper/0-1 [005] job_start: job=7 start=0 size=2 align=1 min_chunk=1 threads=2
swapper/0-1 [005] helper_start: job=7 cpu=0
swapper/0-1 [005] chunk: job=7 start=0 end=2
swapper/0-1 [005] job_end: job=7 threads=2
"""
WITHOUT_CPUS = """
pgdatinit2-40 [005] job_start: job=2 start=2129920 size=1015808 align=32768 min_chunk=32768 threads=1
pgdatinit2-40 [005] chunk: job=2 start=2129920 end=3145728
pgdatinit2-40 [005] job_end: job=2 threads=1
"""


def read(events: str, topology: str = TOPOLOGY) -> placement.Trace:
    lines = []
    for line in filter(None, events.splitlines()):
        task, cpu, text = line.split(" ", 2)
        lines.append(f"trace      {task}      {cpu} .....     0.500123: padata_mt_{text}\n")
    return placement.parse(channel.Guest(topology + "".join(lines)))


def judge(events: str) -> list[str]:
    return placement.problems(read(events))


@pytest.mark.parametrize("events", [GOOD, OTHER, WITHOUT_CPUS])
def test_good_traces(events: str) -> None:
    """Other jobs than those of deferred init run where they like."""
    assert judge(events) == []


CHANGES = [
    ("helper_start: job=1 cpu=3", "helper_start: job=1 cpu=4", "helper on CPU 4, not one of 0,1,2,3"),
    ("helper_start: job=1 cpu=2", "helper_start: job=1 cpu=0", "helper on CPU 0, whose core was taken"),
    ("helper_start: job=1 cpu=3", "helper_start: job=1 cpu=2", "second thread on CPU 2"),
    ("helper_start: job=1 cpu=3", "helper_start: job=1 cpu=1", "second thread on CPU 1"),
    ("min_chunk=32768 threads=4", "min_chunk=32768 threads=5", "3 helpers for 5 threads"),
    (
        "min_chunk=32768 threads=4",
        "min_chunk=32768 threads=3",
        "3 threads, where 4 CPUs could have a section each",
    ),
    ("end=98304", "end=65537", "nobody got 65537 to 98304"),
    ("start=163840 end=229376", "start=131072 end=229376", "handed out twice: 131072 to 163840"),
    ("end=262144", "end=262143", "nobody got 262143 to 262144"),
    ("end=262144", "end=294912", "went on to 294912, past 262144"),
    ("start=65536 size", "start=2097000 size", "is not node 0's"),
    ("job_end", "job_other", "never ended"),
    ("min_chunk=32768", "min_chunk=32769", "is shorter than 32769"),
    ("align=32768", "align=32767", "not a multiple of 32767"),
    ("[002]", "[005]", "ran on CPU 5, not one of 0,2,3"),
    # Threads that meet within a section.
    ("98304 align=32768", "98305 align=0", "chunk begins at 98305, within a section of 32768"),
    ("98304 align=32768", "98305 align=1", "chunk begins at 98305, within a section of 32768"),
    # A job has all of a zone but its first section.
    ("65536 196608", "32768 229376", "begins at 32768, less than a section behind 4096"),
    ("262144 196608", "229377 163841", "ends at 229377, the zone's last section at 262144"),
]


@pytest.mark.parametrize(("old", "new", "problem"), CHANGES)
def test_fault_is_seen(old: str, new: str, problem: str) -> None:
    events = GOOD
    pairs = zip(old.split(), new.split(), strict=True) if old[0].isdigit() else [(old, new)]
    for before, after in pairs:
        assert before in events
        events = events.replace(before, after)
    assert any(problem in line for line in judge(events)), judge(events)


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        (
            GOOD.replace("pgdatinit0-40 [001] chunk: job=1 start=65536", "x-60 [003] chunk: job=1 start=65536")
            .replace("threads=4", "threads=3"),
            "4 threads took part, 3 were allowed",
        ),
        (OTHER.replace("chunk: job=7", "other: job=7"), "job 7: nobody got 0 to 2"),
        (WITHOUT_CPUS.replace("[005]", "[000]"), "called on CPU 0, not one of node 2's: 4,5,6,7"),
        (GOOD[GOOD.index("\npgdatinit0-40 [001] helper") :], "start of job 1"),
    ],
)  # fmt: skip
def test_other_faults_are_seen(events: str, problem: str) -> None:
    assert any(problem in line for line in judge(events)), judge(events)


def test_lost_events_are_no_proof() -> None:
    lost = placement.parse(channel.Guest(TOPOLOGY + "trace CPU:3 [LOST 17 EVENTS]\n"))
    assert any("lost" in line for line in placement.problems(lost))
    assert placement.problems(read(GOOD, "")) == ["the guest did not tell its CPUs and nodes"]


def test_no_more_pages_are_told_than_a_job_has() -> None:
    trace = placement.Trace(jobs={1: placement.Job(1, 65536, 196608, 32768, 32768, 4, 0, 7, node=0)})
    assert placement.told_problems(trace, {0: 196608}) == []
    assert placement.told_problems(trace, {0: 196609, 1: 5}) == [
        "node 0 is said to have 196609 deferred pages, its job has 196608 pfns",
        "node 1 is said to have 5 deferred pages, its job has 0 pfns",
    ]
