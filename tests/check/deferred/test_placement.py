# SPDX-License-Identifier: GPL-2.0-only
"""Placement is judged right on good traces, and each kind of fault is seen."""

from __future__ import annotations

import pytest

from padlab.check.deferred import placement
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

HEAD = "trace "


def event(cpu: int, pid: int, text: str, task: str = "kworker/0:1") -> str:
    return f"{HEAD}     {task}-{pid}      [{cpu:03d}] .....     0.500123: padata_mt_{text}"


def good() -> list[str]:
    """Job 1 on node 0: caller on CPU 1, helpers on the free core, then on siblings."""
    return [
        event(
            1,
            40,
            "job_start: job=1 start=65536 size=196608 align=32768 min_chunk=32768 threads=4",
            "pgdatinit0",
        ),
        event(1, 40, "helper_start: job=1 cpu=2", "pgdatinit0"),
        event(1, 40, "helper_start: job=1 cpu=0", "pgdatinit0"),
        event(1, 40, "helper_start: job=1 cpu=3", "pgdatinit0"),
        event(1, 40, "chunk: job=1 start=65536 end=98304", "pgdatinit0"),
        event(2, 50, "chunk: job=1 start=98304 end=163840", "kworker/2:0"),
        event(0, 51, "chunk: job=1 start=163840 end=229376"),
        event(1, 40, "chunk: job=1 start=229376 end=262144", "pgdatinit0"),
        event(1, 40, "job_end: job=1 ran=3", "pgdatinit0"),
    ]


def read(lines: list[str]) -> placement.Trace:
    return placement.parse(channel.parse("".join(f"{line}\n" for line in lines)))


def judge(lines: list[str]) -> list[str]:
    return placement.problems(read([*TOPOLOGY.splitlines(), *lines]))


def changed(old: str, new: str) -> list[str]:
    lines = good()
    assert any(old in line for line in lines)
    return [line.replace(old, new) for line in lines]


def test_parse() -> None:
    trace = read([*TOPOLOGY.splitlines(), *good(), "some other line"])
    job = trace.jobs[1]
    assert (job.start, job.size, job.threads, job.cpu, job.pid) == (65536, 196608, 4, 1, 40)
    assert job.helpers == [2, 0, 3]
    assert job.chunks[1] == placement.Chunk(98304, 163840, 2, 50)
    assert job.ran == 3
    assert trace.cpus[6].core == {6, 7}
    assert trace.nodes[2].distances == (40, 30, 10)


def test_good_trace() -> None:
    assert judge(good()) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("helper_start: job=1 cpu=3", "helper_start: job=1 cpu=4", "helper on CPU 4, not one of 0,1,2,3"),
        ("helper_start: job=1 cpu=2", "helper_start: job=1 cpu=0", "helper on CPU 0, whose core was taken"),
        ("helper_start: job=1 cpu=3", "helper_start: job=1 cpu=2", "second thread on CPU 2"),
        ("helper_start: job=1 cpu=3", "helper_start: job=1 cpu=1", "second thread on CPU 1"),
        ("threads=4", "threads=5", "3 helpers for 5 threads"),
        ("ran=3", "ran=4", "says that 4 threads took part, 3 did"),
        ("end=98304", "end=65537", "nobody got 65537 to 98304"),
        ("start=163840 end=229376", "start=131072 end=229376", "handed out twice: 131072 to 163840"),
        ("end=262144", "end=262143", "nobody got 262143 to 262144"),
        ("end=262144", "end=294912", "went on to 294912, past 262144"),
        ("start=65536 size", "start=2097000 size", "are not node 0's"),
        ("job_end", "job_other", "never ended"),
        ("min_chunk=32768", "min_chunk=32769", "is shorter than 32769"),
        ("align=32768", "align=32767", "not a multiple of 32767"),
    ],
)
def test_fault_is_seen(old: str, new: str, problem: str) -> None:
    found = judge(changed(old, new))
    assert any(problem in line for line in found), found


def test_threads_that_meet_within_a_section_are_seen() -> None:
    for align in ("align=0", "align=1"):
        lines = [line.replace("98304", "98305").replace("align=32768", align) for line in good()]
        assert "job 1: chunk begins at 98305, within a section of 32768" in judge(lines)


def test_a_job_has_all_of_a_zone_but_its_first_section() -> None:
    lines = [line.replace("65536", "32768").replace("size=196608", "size=229376") for line in good()]
    assert "job 1: begins at 32768, less than a section behind 4096" in judge(lines)
    lines = [line.replace("262144", "229377").replace("size=196608", "size=163841") for line in good()]
    assert "job 1: ends at 229377, the zone at 262144" in judge(lines)


def test_helpers_of_jobs_after_boot_are_seen() -> None:
    lines = good()
    lines.insert(-1, event(2, 50, "helper_end: job=1 ns=12345", "kworker/2:0"))
    (problem,) = placement.problems(read([*TOPOLOGY.splitlines(), *lines]))
    assert "1 of its helpers were those of jobs after boot" in problem


def test_chunk_on_a_cpu_without_helper() -> None:
    lines = [line.replace("[002]", "[005]") for line in good()]
    assert any("ran on CPU 5, not one of 0,2,3" in line for line in judge(lines))


def test_more_threads_than_allowed() -> None:
    lines = good()
    lines[4] = event(3, 60, "chunk: job=1 start=65536 end=98304")
    lines[0] = lines[0].replace("threads=4", "threads=3")
    assert any("4 threads took part, 3 were allowed" in line for line in judge(lines))


def test_other_jobs_run_where_they_like_but_whole() -> None:
    lines = [
        event(5, 1, "job_start: job=7 start=0 size=2 align=1 min_chunk=1 threads=2", "swapper/0"),
        event(5, 1, "helper_start: job=7 cpu=0", "swapper/0"),
        event(5, 1, "chunk: job=7 start=0 end=2", "swapper/0"),
        event(5, 1, "job_end: job=7 ran=1", "swapper/0"),
    ]
    assert judge(lines) == []
    del lines[2]
    assert any("job 7: nobody got 0 to 2" in line for line in judge(lines))


def test_node_without_cpus_is_done_by_the_nearest() -> None:
    def on(caller: int) -> list[str]:
        return [
            event(
                caller,
                40,
                "job_start: job=2 start=2129920 size=1015808 align=32768 min_chunk=32768 threads=1",
                "pgdatinit2",
            ),
            event(caller, 40, "chunk: job=2 start=2129920 end=3145728", "pgdatinit2"),
            event(caller, 40, "job_end: job=2 ran=1", "pgdatinit2"),
        ]

    assert judge(on(5)) == []
    assert any("called on CPU 0, not one of node 2's: 4,5,6,7" in line for line in judge(on(0)))


def test_lost_events_are_no_proof() -> None:
    assert any("lost" in line for line in judge([f"{HEAD}CPU:3 [LOST 17 EVENTS]"]))
    assert any("start of job 1" in line for line in judge(good()[1:]))
    assert placement.problems(read(good())) == ["the guest did not tell its CPUs and nodes"]
