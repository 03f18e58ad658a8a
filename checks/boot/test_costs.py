# SPDX-License-Identifier: GPL-2.0-only
"""What deferred init and jobs cost: guest instructions, and locks that are taken.

None of these depends on the host's speed or load.
"""

import re
from collections.abc import Sequence
from functools import partial

import pytest

from checks import expected, guests
from checks.declare import FULL, check, each, guest, row, whole_mib
from checks.guests import KMEMLEAK_OFF, SMALL
from checks.memmap import matrix
from padlab.core import progress
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import DEBUG, FEATURES, Config
from padlab.measure import growth, hugepages
from padlab.vm import machine
from padlab.vm.boot import BootResult

MAX_COST = 1.01  # of stock's

# How often zone->lock is taken.  Lockdep's trace events record each acquisition from early boot on,
# and printk's where deferred init begins and ends; the guest counts (guest/locks.sh).
LOCK_CONFIG = DEBUG
# One CPU, so that the only helper is the thread that starts the job, and nobody else allocates meanwhile.
LOCK_MACHINE = "memory-64"
LOCK_ARGS = ("trace_event=lock:lock_acquire,printk:console", "trace_buf_size=250M")

# Stock takes it for each block of 4 MiB: about 15,500 times.  Ours for each section.
MOST_TAKEN = 600


# The struct pages of persistent memory, on one CPU.
DEVICE_MACHINE = "memory-256"
DEVICE_ARGS = ("memmap=100G!16G", 'dyndbg="func memmap_init_zone_device +p"', "loglevel=8")
DEVICE_PAGES = machine.PAGES_PER_MIB * 1024 * 100
MAX_DEVICE = 0.4  # of stock's
# With many memory blocks, of one section each.
ADDED_MACHINE = "many-blocks"
MAX_ADDED = 1 / 3
# Of growth.
SIZES = [f"memory-{gib}" for gib in growth.SIZES_GIB]
LOW = [f"low-memory-{gib}" for gib in growth.LOW_GIB]
KERNELS = len(growth.KERNELS)
OTHER_CONFIGS = (*matrix.OTHER_CONFIGS, *matrix.MORE_CONFIGS)
_DEVICE = re.compile(r"memmap_init_zone_device initialised (\d+) pages in (\d+)ms")


def _other(config: Config) -> "pytest.ParameterSet":
    mib = whole_mib(LOW[-1]) // 4  # KASAN has a byte for each eight
    needs = guest(*LOW, config=config, boots=KERNELS, exact=True, mib=mib)
    return row(f"no page costs more instructions than stock's ({config})", config, needs=needs, when=FULL)


@check(
    "a struct page of a device costs less than half of stock's",
    guest(DEVICE_MACHINE, config=FEATURES, boots=2, exact=True),
    FULL,
)
def test_device() -> Outcome:
    """A struct page of a device, in guest instructions, of which a millisecond has a million."""
    costs = {}
    for kernel in ("stock", "patched"):
        result = guests.boot(DEVICE_MACHINE, kernel, FEATURES, append=DEVICE_ARGS, exact=True)
        match = _DEVICE.search(result.dmesg.text)
        if not match or int(match[1]) != DEVICE_PAGES:
            return judge([f"{kernel} does not say how long {DEVICE_PAGES} pages took"], result.log)
        costs[kernel] = int(match[2]) * 1e6 / DEVICE_PAGES
    stock, ours = costs.values()
    progress.note(f"a struct page of a device: stock {stock:.2f}, patched {ours:.2f} instructions")
    problems = [f"stock {stock:.2f}, patched {ours:.2f} instructions"] if ours > MAX_DEVICE * stock else []
    return judge(problems, result.log)


@check(
    "memory that is added costs less than a third of stock's",
    guest(ADDED_MACHINE, boots=4, exact=True),
    FULL,
)
def test_added() -> Outcome:
    costs, log = {}, None
    for kernel in ("stock", "patched"):
        # What boot takes less if it is not put online.
        online, offline = (
            guests.boot(ADDED_MACHINE, kernel, append=(f"memhp_default_state={state}",), exact=True)
            for state in ("online", "offline")
        )
        costs[kernel], log = (online.dmesg.boot_ms or 0) - (offline.dmesg.boot_ms or 0), online.log
    stock, ours = costs.values()
    progress.note(f"memory that is added: stock {stock:.1f}, patched {ours:.1f} M instructions")
    return judge([] if 0 < ours < MAX_ADDED * stock else [f"stock {stock:.1f}, patched {ours:.1f}"], log)


@check("one thread costs no more instructions than stock", guest(SMALL, boots=3, exact=True))
def test_one_thread() -> Outcome:
    """Deferred init with one thread against stock, in guest instructions; and twice the same."""
    once = partial(guests.boot, SMALL, exact=True)
    stock = once("stock")
    ours, again = (once("patched", threads="1") for _ in range(2))
    costs = [result.deferred_ms for result in (stock, ours, again)]
    of_stock, of_ours, of_again = (cost or 0 for cost in costs)
    if not (of_stock and of_ours and of_again):
        return judge(["no time for deferred init on the console"], ours.log)
    progress.note(f"deferred init: stock {of_stock} ms, patched {of_ours} ms of a million instructions")
    problems = []
    if of_ours > of_stock * MAX_COST:
        problems.append(f"stock takes {of_stock} million instructions, patched {of_ours}")
    if of_ours != of_again:
        problems.append(f"two runs differ: {of_ours} and {of_again}")
    return judge(problems, ours.log)


@check("what grows with memory", guest(*SIZES, *LOW, boots=KERNELS, exact=True))
def test_growth() -> Outcome:
    """The goals of ``./lab record growth``, each a test."""
    boots = {kernel: growth.measure(guests.ready(kernel, "boot")) for kernel in growth.KERNELS}
    return _reached(growth.goals(boots))


@each("config", map(_other, OTHER_CONFIGS))
def test_no_page_costs_more(config: Config) -> Outcome:
    """Also where struct pages are others, or seen one by one."""
    ready = {kernel: guests.ready(kernel, "boot", config) for kernel in growth.KERNELS}
    return _reached(growth.of_pages(ready))


def _reached(all_goals: Sequence[growth.Goal]) -> Outcome:
    skips = expected.left_out(goal.name for goal in all_goals)
    goals = [goal for goal in all_goals if not expected.why_left_out(goal.name)]
    bad = (goal for goal in goals if not goal.ok)
    failures = tuple(f"{goal.name}: {goal.patched:.4g} {goal.unit}, at most {goal.limit:.4g}" for goal in bad)
    for goal in goals:
        progress.note(f"{goal.name}: stock {goal.stock:.4g}, patched {goal.patched:.4g} {goal.unit}")
    return Outcome(len(goals) - len(failures), failures, tuple(skips))


@check(
    "a job of 1 GiB costs its caller little, and a helper for each chunk",
    guest(hugepages.MACHINE, boots=2, exact=True, mib=whole_mib(hugepages.MACHINE)),
)
def test_job() -> Outcome:
    """What a caller does before the first byte of 1 GiB is zeroed, and a helper for each chunk."""
    of_fault, of_helper = (guests.ready("patched", role) for role in ("hugecost", "jobcost"))
    cost, result = hugepages.boot_exactly(of_fault, "hugecost", hugepages.parse_cost)
    helpers, helpers_result = hugepages.boot_exactly(of_helper, "jobcost", hugepages.parse_helpers)
    progress.note(str(cost))
    progress.note(str(helpers))
    problems = []
    if cost.fault > hugepages.MAX_COST:
        problems.append(f"{cost.fault:,} instructions, at most {hugepages.MAX_COST:,}")
    if not cost.helpers:
        problems.append("no helper was woken")
    return judge(problems, result.log) + judge(hugepages.too_much(helpers), helpers_result.log)


@check("zone->lock, 64 GiB", guest(LOCK_MACHINE, config=LOCK_CONFIG, boots=2))
def test_zone_lock() -> Outcome:
    results = {
        kernel: guests.boot(LOCK_MACHINE, kernel, LOCK_CONFIG, "locks", append=(*LOCK_ARGS, KMEMLEAK_OFF))
        for kernel in ("stock", "patched")
    }
    stock, patched = (taken(result) for result in results.values())
    progress.note(f"zone->lock taken during deferred init: stock {stock} times, patched {patched}")
    trouble = [problem for result in results.values() for problem in guests.trouble(result)]
    return judge(trouble + taken_problems(stock, patched), results["patched"].log)


def taken(result: BootResult) -> int:
    count = result.guest.number("zone-lock")
    if count is None:
        why = "the trace does not have deferred init from its start to its end"
        todo = f"give trace_buf_size= more (now {LOCK_ARGS[-1]})"
        raise LabError("zone->lock", why, todo, log=result.guest_log)
    return count


def taken_problems(stock: int, patched: int) -> list[str]:
    wrong = []
    if patched > MOST_TAKEN:
        wrong.append(f"zone->lock was taken {patched} times, more than {MOST_TAKEN}; stock {stock}")
    if not 0 < patched <= stock:
        wrong.append(f"zone->lock was taken {patched} times, stock {stock}: that is not its whole count")
    return wrong
