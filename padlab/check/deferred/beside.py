# SPDX-License-Identifier: GPL-2.0-only
"""Boot beside deferred init: initcalls run meanwhile, and nothing comes out otherwise than if boot waited.

The faulty kernel has the initcalls of checks/faults/test-initcalls.patch and test-beside.patch,
and its jobs can be made slow, so that it is certain who has to wait for them.
"""

import re
from collections.abc import Iterable

from padlab.check.base import guests
from padlab.core import progress
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import FEATURES, PERF, USERS, Config
from padlab.vm.boot import SYNC
from padlab.vm.dmesg import BOOT, DEVTMPFS, NODE_DONE, Dmesg
from padlab.vm.trace import Event

KERNEL = "faulty"
# With more memory than is initialised before the first initcall.
MACHINES = ("epyc-7551-kvm", "memory-64")
# In each section.  A thread has three of them at least.
SLOW = "deferred_init_slow=500,1000000"
# Hardly slow, so that the kernel says how many sections were begun at which priority, and an
# initcall that takes longer than all of them.
UNHURRIED = ("deferred_init_slow=1,1000000", "test_over")
LAST_TRIES = 3
# One section only, for more than 30 s; and then threads stay until boot has freed init memory.
HUNG = ("deferred_init_slow=28000,1", "deferred_init_late=200")
EVENTS = "initcall:*,padata:*"
LEAST_INITCALLS = 20
CHUNK = "padata_mt_chunk"
SECTION_PAGES = 32768
# Four, and what is missing to the boundary of the next.
MOST_SECTIONS = 5
# Who waits is told when jobs are over, within milliseconds, and does not find out when it looks
# again after 30 s.
HUNG_S = 25

# Who waits, by the name it gives: machine, how to make it, and configuration.
WAITS = {
    "memory hotplug": ("dimms", ("memhp_default_state=online_movable", SLOW), PERF),
    "alloc_contig_pages()": (guests.SMALL, ("test_contig", SLOW), PERF),
    "raid6": (guests.SMALL, (SLOW,), FEATURES),
}

# A pool of 2 GiB of 16, more than is free when drivers start.
POOL_PAGES = 1024
POOL = (f"hugepages={POOL_PAGES}", SLOW)

# Allocations that may not sleep initialise a block of the largest order at a time where pages are
# freed one by one, if they take more than either node has without; and nothing if initcalls take what
# boot has waited for, or can do without.
BLOCK_PAGES = 1024
LEAST_AHEAD = 2 * SECTION_PAGES
# Numbers that faulty kernels say.
AHEAD = r"deferred_init_ahead: at least (\d+) pages"
GROWN = r"deferred_grow: (\d+) times in atomic context, by at most \d+ pages"
GROWN_BY = r"deferred_grow: \d+ times in atomic context, by at most (\d+) pages"
GROWN_BY_INIT = r"deferred_grow: .* (\d+) by init"
REFUSED = r"failed, (\d+) refused"
ATOMIC = ("test_take=60,irq", "init_on_free=1", "deferred_init_slow=120000,1000000,3")
SLOW_AHEAD = "deferred_init_slow=4000,1000000,3"
NOT_ATOMIC = (("test_take=2,irq", SLOW_AHEAD), ("test_take=40,kmalloc", SLOW_AHEAD))

BULK = ("test_bulk", SLOW)
TAKEN = ("small", "order9", "irq")
PERCENT = 95
# Where threads of the jobs have claimed a good part of what is left.
TAKEN_SLOW, SLOW_MACHINE = ("small", "order9", "atomic"), guests.SMT
SLOWER = "deferred_init_slow=2000,1000000"

# Who asks for struct pages; some with pages at these addresses, of sections that are among the last
# of their node.
ASKED_ARGS = (
    "test_beside=0x12c345000,0x130345000,0x124345000",
    "cma=64M@0x74000000",
    "deferred_init_slow=10000,1000000",  # a tenth of that once they have asked
    "deferred_init_late=200",
)
ASKS = (
    "free_reserved_page()",
    "memblock_free_late()",
    "an allocation without locks",
    "ioremap()",
    "deferred_init_pfns()",
    "looked at pages that were not there",
    "pages that are online",
    "pages that were asked for",
    "all pages",
    "kswapd",
    "zones",
)
# By configuration: machines, and who asks for more there.
ASKED = {
    PERF: ((guests.SMT, "three-nodes"), ()),
    FEATURES: ((guests.SMT,), ("soft_offline_page()", "memory_failure()", "cma")),
    USERS: (("efi-6",), ("soft_offline_page()", "memory_failure()", "cma")),
}


def initcalls(name: str, kernel: str = "patched", limit_s: float | None = None) -> Outcome:
    """Initcalls run while jobs do, and boot says for how long it waited in the end."""
    append = (f"trace_event={EVENTS}", "trace_buf_size=1M")
    result = guests.boot(name, kernel, role="trace", append=append, limit=limit_s)
    events = result.guest.trace.events
    meanwhile = initcalls_meanwhile(events)
    progress.note(f"{name}: {meanwhile} initcalls ended while struct pages were initialised")
    problems = guests.trouble(result)
    if meanwhile < LEAST_INITCALLS:
        problems.append(f"{meanwhile} initcalls ended while struct pages were initialised")
    problems += told_problems(result.dmesg, "boot waited")
    if (most := largest_chunk(events)) > MOST_SECTIONS:
        problems.append(f"a chunk has {most:g} sections, with which one thread may be late")
    return judge(problems, result.log)


def largest_chunk(events: tuple[Event, ...]) -> float:
    """Sections of the largest chunk that a node's own thread had.  Pure."""
    chunks = [event.fields for event in events if event.init_node is not None and event.name == CHUNK]
    return max((int(chunk["end"]) - int(chunk["start"]) for chunk in chunks), default=0) / SECTION_PAGES


def initcalls_meanwhile(events: tuple[Event, ...]) -> int:
    """Initcalls that ended while a job of deferred init was under way.  Pure."""
    chunks = [event.seconds for event in events if event.init_node is not None]
    if not chunks:
        return 0
    ends = [event.seconds for event in events if event.name == "initcall_finish"]
    return sum(min(chunks) < at < max(chunks) for at in ends)


def told_problems(dmesg: Dmesg, said: str) -> list[str]:
    """What is wrong with the time from the end of all jobs to the message of who waited.  Pure."""
    done = [us for us, text in dmesg.stamps if re.search(NODE_DONE, text)]
    told = [us for us, text in dmesg.stamps if text.startswith(said)]
    if not (done and told):
        return [f"the kernel does not say that jobs are over, or: {said}"]
    late = (told[-1] - done[-1]) / 1e6
    return [f"nobody said that jobs are over: {said}, {late:.0f} s later"] * (late > HUNG_S)


def waits(who: str, kernel: str = KERNEL, limit_s: float | None = None) -> Outcome:
    """Who needs all memory waits for it, and boot says so; nobody does if boot has waited before."""
    name, append, config = WAITS[who]
    result = guests.boot(name, kernel, config, append=append, limit=limit_s)
    problems = guests.trouble(result)
    told = result.dmesg.waits
    longest = max((name for name in told if name != BOOT), key=lambda name: told[name], default="")
    if not (waited_for_all(result.dmesg.text, who) and BOOT in told and longest == who and told[who]):
        problems.append(f"{who} did not wait until jobs were over, longest of all: {told}")
    low, other, _ = nices(result.dmesg.text)
    if low >= other:
        problems.append(f"{low} sections were begun at the lowest priority while {who} waited, {other} not")
    before = guests.boot(name, kernel, config, append=(*append, SYNC), limit=limit_s)
    problems += guests.trouble(before)
    if before.dmesg.waits:
        problems.append(f"with {SYNC}, something waited: {before.dmesg.waits}")
    if not waited_first(before.dmesg.text):
        problems.append(f"with {SYNC}, boot did not wait")
    if nices(before.dmesg.text)[0]:
        problems.append(f"with {SYNC}, jobs are at a low priority")
    return judge(problems, result.log)


def waited_for_all(console: str, who: str) -> bool:
    """Whether a faulty kernel says that who needed all pages went on when jobs were over.  Pure."""
    said = f"deferred_init_wait: {who}, jobs are"
    return f"{said} over" in console and f"{said} not over" not in console


def waited_first(console: str) -> bool:
    """Whether all jobs were done before drivers were started.  Pure."""
    ends = [match.start() for match in re.finditer(NODE_DONE, console)]
    drivers = re.search(DEVTMPFS, console)
    return bool(ends and drivers) and max(ends) < (drivers.start() if drivers else 0)


def nices(console: str) -> tuple[int, int, int]:
    """Sections begun at the lowest priority, and at another, and the last one's nice value.  Pure."""
    match = re.search(r"deferred_init_slow: (\d+) sections at nice 19, (\d+) not, the last at (\d+)", console)
    return (int(match[1]), int(match[2]), int(match[3])) if match else (0, 0, 0)


def pool(kernel: str = KERNEL, limit_s: float | None = None) -> Outcome:
    """A pool of huge pages is filled while jobs are at work, and nobody waits for all of them."""
    result = guests.boot(guests.SMALL, kernel, append=POOL, limit=limit_s)
    return judge(guests.trouble(result) + pool_problems(result.dmesg), result.log)


def pool_problems(console: Dmesg) -> list[str]:
    filled = re.search(rf"registered 2.00 MiB page size, pre-allocated {POOL_PAGES} pages", console.text)
    done = re.search(NODE_DONE, console.text)
    if not (filled and done):
        return ["the pool is not full, or jobs are not over"]
    problems = ["the pool was filled when jobs were over"] * (filled.start() > done.start())
    if set(console.waits) - {BOOT}:
        problems.append(f"others than boot waited for all pages: {console.waits}")
    return problems


def atomic(kernel: str = KERNEL, limit_s: float | None = None) -> Outcome:
    """Zones grow with interrupts off seldom, and little at a time."""
    result = guests.boot(guests.SMT, kernel, append=ATOMIC, limit=limit_s)
    problems = guests.trouble(result) + taken_problems(result.dmesg.text, "irq")
    times, most = number(GROWN, result.dmesg.text), number(GROWN_BY, result.dmesg.text)
    if not 0 < most <= BLOCK_PAGES:
        problems.append(f"zones grew {times} times in atomic context, by {most} pages at a time")
    for append in NOT_ATOMIC:
        result = guests.boot(guests.SMT, kernel, append=append, limit=limit_s)
        kind = append[0].partition(",")[2]
        problems += guests.trouble(result) + taken_problems(result.dmesg.text, kind)
        if (ahead := number(AHEAD, result.dmesg.text)) < LEAST_AHEAD:
            problems.append(f"{append[0]}: initcalls begin when {ahead} pages of a node are there")
        # Where the thread of initcalls allocates, others may have to grow a zone meanwhile.
        # A kernel that does not say by whom is not the one that was built.
        pattern, missing = (GROWN_BY_INIT, 1) if kind == "kmalloc" else (GROWN, 0)
        times = number(pattern, result.dmesg.text, missing)
        if times:
            problems.append(f"{append[0]}: zones grew {times} times in atomic context")
    return judge(problems, result.log)


def number(pattern: str, console: str, missing: int = 0) -> int:
    match = re.search(pattern, console)
    return int(match[1]) if match else missing


def bulk(kernel: str = KERNEL, limit_s: float | None = None) -> Outcome:
    """Several pages in one call, from a zone below its watermark, initialise no more than one page does."""
    result = guests.boot(guests.SMALL, kernel, append=BULK, limit=limit_s)
    problems = said_problems(result.dmesg.text, ("alloc_pages_bulk()",))
    return judge(guests.trouble(result) + problems, result.log)


def asked() -> dict[str, tuple[Config, str]]:
    title = "struct pages asked for beside deferred init, "
    return {
        title + name + (config is not PERF) * f" ({config})": (config, name)
        for config, (names, _) in ASKED.items()
        for name in names
    }


def asked_for(config: Config, name: str, kernel: str = KERNEL, limit_s: float | None = None) -> Outcome:
    """Who asks for struct pages gets them, and who looks at what is online finds it initialised."""
    result = guests.boot(name, kernel, config, append=ASKED_ARGS, limit=limit_s)
    who = (*ASKS, *ASKED[config][1])
    problems = guests.trouble(result) + asked_problems(result.dmesg.text, who, result.spec.machine.cpus)
    problems += told_problems(result.dmesg, "test_beside: all pages")
    low, other, last = nices(result.dmesg.text)
    if not (low and other and last == 0):
        problems.append(f"{low} sections were begun at the lowest priority, {other} not, the last at {last}")
    return judge(problems, result.log)


def asked_problems(console: str, asks: Iterable[str], cpus: int) -> list[str]:
    """What is wrong with what is asked for, and with what there was free meanwhile.  Pure."""
    problems = said_problems(console, asks)
    match = re.search(r"test_beside: free memory changed by (\d+) pages", console)
    # What a thread has freed of its section counts twice; two threads are the test's.
    if match is None or int(match[1]) > (cpus + 2) * SECTION_PAGES:
        problems.append(match[0] if match else "free memory was not looked at")
    return problems


def said_problems(console: str, asks: Iterable[str]) -> list[str]:
    problems = [match[0] for match in re.finditer(r"test_beside: .*: WRONG.*", console)]
    return problems + [f"{who} was not tried" for who in asks if f"test_beside: {who}: " not in console]


def last_sections(kernel: str = KERNEL, limit_s: float | None = None) -> Outcome:
    """Nobody waits for jobs that are done before boot is, and all but their last sections are unhurried.

    A thread that has just found more sections left than threads may still be the one that begins
    the last: one of a few boots will do.
    """
    for _ in range(LAST_TRIES):
        result = guests.boot(guests.SMALL, kernel, append=UNHURRIED, limit=limit_s)
        trouble, problems = guests.trouble(result), []
        low, other, last = nices(result.dmesg.text)
        if low <= other or not other or last:
            problems.append(f"{low} sections begun at the lowest priority, {other} not, the last at {last}")
        problems += said_problems(result.dmesg.text, ("jobs are over",))
        if set(result.dmesg.waits) != {BOOT}:
            problems.append(f"not boot alone waited: {result.dmesg.waits}")
        if trouble or not problems:
            break
    return judge([*trouble, *problems], result.log)


def hung(kernel: str = KERNEL, limit_s: float | None = None) -> Outcome:
    """A job that gets nowhere: boot says what it waits for, and comes up when it goes on."""
    result = guests.boot(guests.SMALL, kernel, append=HUNG, limit=limit_s)
    problems = guests.trouble(result)
    said = "boot waits for struct pages of node 0 to be initialised"
    if said not in result.dmesg.text:
        problems.append(f"the kernel does not say: {said}")
    waited = result.dmesg.text.find("boot waited")
    if not 0 <= waited < result.dmesg.text.find("deferred_init_late: a thread leaves"):
        problems.append("no thread of the jobs was there when boot had gone on")
    return judge(problems, result.log)


def pressure(
    name: str, kind: str, slow: tuple[str, ...], kernel: str = KERNEL, limit_s: float | None = None
) -> Outcome:
    """An initcall takes nearly all memory, as it could if boot had waited."""
    problems = []
    for append in (slow, (SYNC,)):
        result = guests.boot(name, kernel, append=(f"test_take={PERCENT},{kind}", *append), limit=limit_s)
        problems += guests.trouble(result) + taken_problems(result.dmesg.text, kind)
        # What an interrupt did not get, and the initcall got later.
        if kind == "atomic" and append == slow and not number(REFUSED, result.dmesg.text):
            problems.append("no interrupt found all that is left claimed by threads that sleep")
    return judge(problems, result.log)


def pressures() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    title = f"{PERCENT} % of memory taken beside"
    fast = {f"{title} deferred init, {kind}": (guests.SMALL, kind, ()) for kind in TAKEN}
    slow = {f"{title} slow jobs, {kind}": (SLOW_MACHINE, kind, (SLOWER,)) for kind in TAKEN_SLOW}
    return {**fast, **slow}


def taken_problems(console: str, kind: str) -> list[str]:
    match = re.search(rf"test_take: (\d+) of (\d+) pages, {kind}, (\d+) failed", console)
    if match is None:
        return ["the initcall does not say what it took"]
    problems = [] if int(match[1]) >= int(match[2]) and match[3] == "0" else [match[0]]
    return problems + [f"the console says: {bad}" for bad in ("Out of memory", "oom-kill") if bad in console]
