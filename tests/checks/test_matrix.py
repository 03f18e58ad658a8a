# SPDX-License-Identifier: GPL-2.0-only
"""The matrix of boots, and the count of zone->lock: what is asked of a console."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from checks.boot import test_costs as costs
from checks.memmap import matrix
from checks.memmap.case import Case, lacks
from padlab.core.errors import LabError
from padlab.vm import channel, dmesg, machine

NODE = "[    0.6] node 0 initialised, 1000 pages in 22ms, 4 threads\n"
ZEROED = "[    0.1] mem auto-init: stack:off, heap alloc:off, heap free:on\n"


def result(console: str, guest: str = "") -> SimpleNamespace:
    return SimpleNamespace(
        dmesg=dmesg.parse(console), guest=channel.Guest(guest), guest_log=Path("/guest.log")
    )


def case(**fields: object) -> Case:
    return replace(Case("x", "tiny"), **fields)


@pytest.mark.parametrize("full", [False, True])
def test_cases_are_possible_and_have_names_of_their_own(full: bool) -> None:
    table = matrix.cases(full)
    assert len({case.title for case in table}) == len(table)
    different = {(case.machine, case.config, case.append, case.mirrored, case.says) for case in table}
    assert len(different) == len(table)
    for case in table:
        machine.load(case.machine)


def test_full_is_short_and_more() -> None:
    short, full = matrix.cases(False), matrix.cases(True)
    assert set(short) < set(full)
    assert not {case.config for case in short} & set(matrix.MORE_CONFIGS)
    assert {"memory-768", "xeon-8167m"} <= {case.machine for case in full}
    small = [name for name in machine.names() if machine.load(name).small]
    booted = {(case.machine, case.append) for case in full}
    assert {(name, line.append) for name in small for line in matrix.COMMAND_LINES} <= booted


ZEROES = case(says=("heap free:on",), never=("page_owner is",))
SEEN = case(seen_per_page=2)
BLOCKS = case(says=(r"^blocks +\d+ online *$",))
DIMMS = next(case for case in matrix.HOTPLUG if "online_kernel" in case.append[0])
NEW = "[    1.1] memmap_online: pfn=1400 pages=327 offline=327 one_reference=327 on_no_list=327 in_zone=327\n"
ZONES = "blocks  24 online \noracle zone 0 Normal present=1\noracle zone 1 Normal present=2\n"
NOT_SAID = "the console does not say: "


@pytest.mark.parametrize(
    ("wanted", "console", "guest", "problem"),
    [
        (case(), NODE, "", None),
        (ZEROES, ZEROED + NODE, "", None),
        (ZEROES, NODE, "", f"{NOT_SAID}heap free:on"),
        (ZEROES, ZEROED + NODE + "page_owner is disabled", "", "the console says: page_owner is"),
        # Pages that are seen one by one are counted.
        (SEEN, NODE, "events 2000\n", None),
        (SEEN, NODE, "events 1999\n", "1999 trace events, less than 2 for each of 1000"),
        (SEEN, NODE, "", "0 trace events"),
        (SEEN, "", "events 2000\n", "2000 trace events"),
        # The guest's report is looked at like the console.
        (BLOCKS, NODE, "kernel 6.12\nblocks 16 online \n", None),
        (BLOCKS, NODE, "blocks 8 offline 8 online \n", NOT_SAID),
        # Pages of DIMMs are looked at while they are new.
        (DIMMS, NEW + NEW, ZONES, None),
        (DIMMS, NEW + NEW.replace("offline=327", "offline=0"), ZONES, "the console says: "),
        (DIMMS, NEW + NEW.replace("in_zone=327", "in_zone=32"), ZONES, "the console says: "),
        (DIMMS, "", ZONES, NOT_SAID),
    ],
)
def test_what_a_case_asks_for(wanted: Case, console: str, guest: str, problem: str | None) -> None:
    lines = lacks(wanted, result(console, guest))
    assert len(lines) == (problem is not None) and all(line.startswith(problem or "") for line in lines)


def test_zone_lock_is_counted_by_the_guest() -> None:
    assert costs.taken(result("", "zone-lock 486\n")) == 486
    for guest in ("", "zone-lock \n"):
        with pytest.raises(LabError, match="from its start to its end"):
            costs.taken(result("", guest))


def test_zone_lock() -> None:
    assert costs.taken_problems(16496, 486) == []
    assert "601 times, more than 600; stock 16496" in costs.taken_problems(16496, 601)[0]
    for stock, patched in ((100, 101), (100, 0)):
        assert "not its whole count" in costs.taken_problems(stock, patched)[0]
