# SPDX-License-Identifier: GPL-2.0-only
"""Boot beside deferred init: what is read from traces, consoles and settings."""

import pytest

from padlab.check.deferred import beside
from padlab.vm import dmesg, trace

TRACE = """\
       pgdatinit0-40      [001] .....     1.100000: padata_mt_job_start: job=1 start=0 size=9 align=1 min_chunk=1 threads=2
        swapper/0-1       [000] .....     1.050000: initcall_finish: func=early+0x0/0x10 ret=0
        swapper/0-1       [000] .....     1.110000: initcall_start: func=one+0x0/0x10
        swapper/0-1       [000] .....     1.120000: initcall_finish: func=one+0x0/0x10 ret=0
      kworker/1:0-33      [001] .....     1.130000: padata_mt_chunk: job=1 start=0 end=4
        swapper/0-1       [000] .....     1.140000: initcall_finish: func=two+0x0/0x10 ret=0
       pgdatinit0-40      [001] .....     1.200000: padata_mt_job_end: job=1 ran=2 error=0
        swapper/0-1       [000] .....     1.250000: initcall_finish: func=late+0x0/0x10 ret=0
"""


def test_what_ran_while_a_job_was_under_way() -> None:
    events = trace.parse(TRACE.splitlines()).events
    assert beside.initcalls_meanwhile(events) == 2
    assert beside.initcalls_meanwhile(tuple(event for event in events if event.init_node is None)) == 0
    # The worker's chunk may be of another job.
    assert beside.largest_chunk(events) == 0
    text = TRACE.replace("kworker/1:0-33", " pgdatinit0-40").replace("end=4", "end=65536")
    assert beside.largest_chunk(trace.parse(text.splitlines()).events) == 2


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("boot waited 3ms for struct pages", {"boot": 3}),
        (
            "memory hotplug waited 12ms for struct pages\r\n"
            "[    1.000000] resume waited 3ms for struct pages\r\n"
            "[    1.000000] boot waited 0ms for struct pages",
            {"memory hotplug": 12, "resume": 3, "boot": 0},
        ),
        ("node 0 initialised, 12 pages in 3ms, 4 threads (4 took part)", {}),
    ],
)
def test_what_boot_waited_for_is_on_the_console(text: str, waits: dict[str, int]) -> None:
    assert dmesg.parse(f"[    1.000000] {text}\r\n").waits == waits


def taken(taken: int, failed: int, more: str = "") -> str:
    return f"test_take: {taken} of 100 pages, small, {failed} failed, 3 refused\n{more}"


def test_an_initcall_that_got_all_it_wanted_is_well() -> None:
    assert beside.taken_problems(taken(100, 0), "small") == []
    assert beside.taken_problems(taken(100, 0), "order9")  # another kind of allocation
    assert beside.number(beside.REFUSED, taken(100, 0)) == 3


@pytest.mark.parametrize(
    "console", [taken(99, 0), taken(100, 1), taken(100, 0, "Out of memory: Killed process 1"), ""]
)
def test_one_that_got_less_or_had_something_killed_is_not(console: str) -> None:
    assert beside.taken_problems(console, "small")


NODE = "node 0 initialised, 12 pages in 3ms, 4 threads (4 took part)\n"
CONSOLE = "".join(f"test_beside: {who}: right (1)\n" for who in ("cma", "zones"))
FREE = "test_beside: free memory changed by {} pages\n"


WELL = CONSOLE + FREE.format(6 * beside.SECTION_PAGES)  # what threads are at


@pytest.mark.parametrize(
    ("console", "asks", "problems"),
    [
        (WELL, ("cma", "zones"), []),
        (WELL, ("cma", "kswapd"), ["kswapd was not tried"]),
        (WELL.replace("zones: right", "zones: WRONG"), ("cma",), ["test_beside: zones: WRONG (1)"]),
        (CONSOLE, (), ["free memory was not looked at"]),
        (CONSOLE + FREE.format(196609), (), ["test_beside: free memory changed by 196609 pages"]),
    ],
)
def test_all_who_ask_for_pages_have_to_get_them(
    console: str, asks: tuple[str, ...], problems: list[str]
) -> None:
    assert beside.asked_problems(console, asks, 4) == problems


POOL = "HugeTLB: registered 2.00 MiB page size, pre-allocated 1024 pages\n"
WAITED = "a driver waited 3ms for struct pages\nboot waited 9ms for struct pages\n"


@pytest.mark.parametrize(
    ("lines", "problems"),
    [("{pool}{node}", 0), ("{node}{pool}", 1), ("{node}", 1), ("{pool}{node}{waited}", 1)],
)
def test_pools_are_filled_while_jobs_are_at_work(lines: str, problems: int) -> None:
    console = lines.format(pool=POOL, node=NODE, waited=WAITED)
    stamped = "".join(f"[    1.000000] {line}\r\n" for line in console.splitlines())
    assert len(beside.pool_problems(dmesg.parse(stamped))) == problems


def test_how_zones_grew_with_interrupts_off() -> None:
    said = "deferred_grow: 7 times in atomic context, by at most 1024 pages, in 9 us, 3 by init"
    assert beside.number(beside.GROWN, said) == 7
    assert beside.number(beside.GROWN_BY, said) == 1024
    assert beside.number(beside.GROWN_BY_INIT, said) == 3
    assert beside.number(beside.AHEAD, "deferred_init_ahead: at least 98304 pages of each node") == 98304
    assert beside.number(beside.AHEAD, "") == 0


def test_priorities_of_sections() -> None:
    assert beside.nices("deferred_init_slow: 8 sections at nice 19, 13 not, the last at 0") == (8, 13, 0)
    assert beside.nices("") == (0, 0, 0)


DRIVERS = "devtmpfs: initialized\n"


@pytest.mark.parametrize(
    ("console", "waited"),
    [(NODE + DRIVERS, True), (DRIVERS + NODE, False), (NODE + DRIVERS + NODE, False), (DRIVERS, False)],
)
def test_boot_that_waits_starts_no_driver_before(console: str, waited: bool) -> None:
    assert beside.waited_first(console) is waited


@pytest.mark.parametrize(
    ("told", "problems"),
    [
        ("    3.100000] boot waited 900ms", 0),
        ("   33.100000] boot waited 30900ms", 1),
        ("    3.100000] init", 1),
    ],
)
def test_who_waits_is_told_when_jobs_are_over(told: str, problems: int) -> None:
    """However long they took."""
    parsed = dmesg.parse(f"[    1.000000] {NODE}[    3.000000] {NODE}[{told}\n")
    assert len(beside.told_problems(parsed, "boot waited")) == problems


def test_who_needs_all_pages_goes_on_when_jobs_are_over() -> None:
    said = "deferred_init_wait: memory hotplug, jobs are {}over\n"
    assert beside.waited_for_all(said.format(""), "memory hotplug")
    assert not beside.waited_for_all(said.format(""), "boot")
    assert not beside.waited_for_all(said.format("") + said.format("not "), "memory hotplug")
