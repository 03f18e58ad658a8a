# SPDX-License-Identifier: GPL-2.0-only
"""``./lab bench hugepages``: how long it takes to zero and copy huge pages, and what a job costs.

What a caller does before the first byte is zeroed, and what a helper executes besides the thread function, is
counted in a guest.  The same job is run with the back end for boot and the one for tasks while its caller
sleeps, so that the instructions from one chunk to the next are the helper's.
"""

import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from padlab.core import stats, table
from padlab.core.errors import LabError
from padlab.measure import provenance, rows, zeroing
from padlab.vm import boot, machine
from padlab.vm.trace import Event, Trace

Read = TypeVar("Read")

MACHINE = "huge-pages"  # four CPUs on two nodes
MAX_COST = 50_000  # instructions of the caller before the first byte is zeroed
MAX_CHUNK = 2_000  # of a helper, more than with the back end for boot, for each chunk
MAX_END = 10_000  # for a helper to go
ROUNDS, QUICK_ROUNDS = 15, 5


@dataclass(frozen=True)
class Cost:
    """Instructions from a page fault, and from the job's start, to its first chunk."""

    fault: int
    job: int
    helpers: int

    def __str__(self) -> str:
        return (
            f"{self.job:,} instructions from the start of a job of 1 GiB to the caller's first chunk, "
            f"{self.fault:,} from the page fault, with {self.helpers} helpers woken"
        )


def parse_cost(trace: Trace) -> Cost | None:
    """Read the trace of role "hugecost".  Whatever other CPUs did meanwhile is counted, too."""
    fault = start = None
    helpers = 0
    for event in trace.events:
        if start is None:
            fault = event.ticks if event.name == "page_fault_user" else fault
            start = event.ticks if event.name == "padata_mt_job_start" else None
        elif event.name == "padata_mt_helper_start":
            helpers += 1
        # The caller's own: a helper may have begun before.
        elif event.name == "padata_mt_chunk" and fault and not event.task.startswith("kworker"):
            return Cost(event.ticks - fault, event.ticks - start, helpers)
    return None


@dataclass(frozen=True)
class Helper:
    chunk: int  # from one chunk to the next, the test's thread function included: the median
    end: int  # from its last chunk until it has left; 0 if the back end has nothing to do


@dataclass(frozen=True)
class JobCost:
    """A helper with the back end for boot, with the one for tasks, and with limits of CPU bandwidth."""

    boot: Helper
    task: Helper
    limited: Helper

    @property
    def chunk(self) -> int:
        """What the back end for tasks adds to each chunk, in the worst of both cases."""
        return max(self.task.chunk, self.limited.chunk) - self.boot.chunk

    @property
    def end(self) -> int:
        return max(self.task.end, self.limited.end) - self.boot.chunk

    def __str__(self) -> str:
        return (
            f"a helper of a task's job executes {self.task.chunk - self.boot.chunk:,} instructions "
            f"more for each chunk than one at boot, {self.limited.chunk - self.boot.chunk:,} with cpu.max "
            f"at two levels, and {self.end:,} when it leaves"
        )


def parse_helper(events: Sequence[Event]) -> Helper | None:
    woken = [event.ticks for event in events if event.name == "padata_mt_helper_start"]
    left = [event.ticks for event in events if event.name == "padata_mt_helper_end"]
    own = (event for event in events if event.task.startswith("kworker"))
    chunks = [event.ticks for event in own if event.name == "padata_mt_chunk"]
    if len(woken) != 1 or len(left) > 1 or len(chunks) < 20:
        return None
    steps = [later - earlier for earlier, later in itertools.pairwise(chunks)]
    chunk = int(statistics.median_low(steps))
    return Helper(chunk, left[0] - chunks[-1] if left else 0)


def parse_helpers(trace: Trace) -> JobCost | None:
    """Read what role "jobcost" traced: a job with the back end for boot, and two with the one for tasks."""
    jobs = stats.group(trace.events, lambda event: event.fields.get("job"))
    helpers = [helper for events in jobs.values() if (helper := parse_helper(events)) is not None]
    if len(helpers) != 3 or len(jobs) != 3:
        return None
    return JobCost(*helpers)


def boot_exactly(
    ready: boot.Ready, role: str, read: Callable[[Trace], Read | None]
) -> tuple[Read, boot.BootResult]:
    """What ``read`` makes of the jobs that a guest traces in ``role``, with instructions for a clock."""
    result = boot.boot(machine.load(MACHINE), ready, f"{role}, exact", exact=True, all_cpus=True)
    cost = read(result.guest.trace)
    if cost is None:
        why = "the trace does not have the jobs that it should"
        raise LabError(f"cost of a job ({role})", why, "see what it reported", log=result.guest_log)
    return cost, result


def too_much(cost: JobCost) -> list[str]:
    figures = (("for each chunk", cost.chunk, MAX_CHUNK), ("when it leaves", cost.end, MAX_END))
    return [
        f"a helper of a task executes {value:,} instructions more {when}, at most {most:,}"
        for when, value, most in figures
        if value > most
    ]


def main(quick: bool = False) -> int:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    native, copies = (zeroing.run(f"--rounds={rounds}", *args) for args in ((), zeroing.COPIES))
    ready = {role: boot.prepare("patched", role=role) for role in ("hugecost", "jobcost")}
    cost, exact = boot_exactly(ready["hugecost"], "hugecost", parse_cost)
    helpers, _ = boot_exactly(ready["jobcost"], "jobcost", parse_helpers)
    timed = {"native": zeroing.rows(native.timings), "native_copies": zeroing.rows(copies.timings)}
    if not quick:
        made = {**exact.accel.as_dict(), **provenance.of_native("./lab bench hugepages")}
        costs = {**vars(cost), "machine": MACHINE, "most": MAX_COST, "helper": helpers}
        provenance.record("hugepages.json", {**made, **timed, "exact": costs})
    out = table.console()
    out.print(f"us for a page that is zeroed, then copied, {rounds} rounds: {rows.LEGEND}", markup=False)
    for of_kind in timed.values():
        out.print(rows.grid(map(vars, of_kind)))
    out.print(f"exact: {cost}\nexact: {helpers}\n", markup=False)
    out.print("\n".join(native.notes), markup=False)
    return 0
