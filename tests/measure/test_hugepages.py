# SPDX-License-Identifier: GPL-2.0-only
"""./lab bench hugepages: what guests trace of jobs, what it comes to, and what may not pass."""

from dataclasses import replace

import pytest

from padlab.measure import hugepages
from padlab.measure.hugepages import Cost, Helper, JobCost
from padlab.vm import trace

TRACE = """\
       hugepages-64      [000] d....    733756014: page_fault_user: address=0x7fc3c0003008 ip=0x401af8 error_code=0x6
       hugepages-64      [000] .....    733760039: padata_mt_job_start: job=4 start=0 size=262144 align=128 min_chunk=128 threads=5
       hugepages-64      [000] .....    733761005: padata_mt_helper_start: job=4 cpu=1
       hugepages-64      [000] .....    733762469: padata_mt_helper_start: job=4 cpu=2
     kworker/1:0-24      [001] d..1.    733764000: padata_mt_chunk: job=4 start=0 end=1024
       hugepages-64      [000] .....    733765510: padata_mt_chunk: job=4 start=1024 end=2048
"""


def test_cost_is_up_to_the_callers_chunk() -> None:
    assert hugepages.parse_cost(trace.parse(TRACE.splitlines())) == Cost(9496, 5471, 2)
    assert hugepages.parse_cost(trace.parse(TRACE.splitlines()[:1])) is None


def job(nr: int, chunk: int, end: int | None = None) -> list[str]:
    """The events of a job of 32 chunks, one of which is the caller's."""

    def event(task: str, at: int, name: str, text: str = "") -> str:
        return f" {task}-62 [001] .....  {at}: padata_mt_{name}: job={nr}{text}"

    lines = [event("init", 1000, "job_start"), event("init", 1100, "helper_start", " cpu=0")]
    lines.append(event("init", 1200, "chunk", " start=0 end=1"))
    ticks = 10_000
    for at in range(1, 32):
        lines.append(event("kworker/0:1", ticks, "chunk", f" start={at} end={at + 1}"))
        # A tick of the clock in the middle of one.
        ticks += chunk + 5000 * (at == 7)
    if end is not None:
        lines.append(event("kworker/0:1", ticks - chunk + end, "helper_end", " ns=1"))
    return lines


THREE = [*job(5, 1790), *job(7, 2440, 3088), *job(9, 2623, 3430)]
COST = JobCost(Helper(1790, 0), Helper(2440, 3088), Helper(2623, 3430))


def test_three_jobs() -> None:
    cost = hugepages.parse_helpers(trace.parse(THREE))
    assert cost == COST
    assert cost is not None and (cost.chunk, cost.end) == (833, 1640)


@pytest.mark.parametrize(
    "lines",
    [THREE[:-40], job(5, 1790), [line for line in THREE if "helper_start" not in line], THREE + job(11, 1)],
)
def test_nothing_passes_for_a_measurement(lines: list[str]) -> None:
    assert hugepages.parse_helpers(trace.parse(lines)) is None


def test_what_costs_too_much() -> None:
    assert hugepages.too_much(COST) == []
    slow = replace(COST, task=Helper(3791, 11_791))
    assert hugepages.too_much(slow) == [
        "a helper of a task executes 2,001 instructions more for each chunk, at most 2,000",
        "a helper of a task executes 10,001 instructions more when it leaves, at most 10,000",
    ]
