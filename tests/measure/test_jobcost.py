# SPDX-License-Identifier: GPL-2.0-only
"""What the back end for tasks costs a helper: the trace, and what may not pass."""

from dataclasses import replace

import pytest

from padlab.measure import jobcost
from padlab.measure.jobcost import Helper, JobCost
from padlab.vm import trace


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
    cost = jobcost.parse(trace.parse(THREE))
    assert cost == COST
    assert cost is not None and (cost.chunk, cost.end) == (833, 1640)


@pytest.mark.parametrize(
    "lines",
    [THREE[:-40], job(5, 1790), [line for line in THREE if "helper_start" not in line], THREE + job(11, 1)],
)
def test_nothing_passes_for_a_measurement(lines: list[str]) -> None:
    assert jobcost.parse(trace.parse(lines)) is None


def test_what_costs_too_much() -> None:
    assert jobcost.too_much(COST) == []
    slow = replace(COST, task=Helper(3791, 11_791))
    assert jobcost.too_much(slow) == [
        "a helper of a task executes 2,001 instructions more for each chunk, at most 2,000",
        "a helper of a task executes 10,001 instructions more when it leaves, at most 10,000",
    ]
