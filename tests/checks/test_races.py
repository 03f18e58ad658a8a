# SPDX-License-Identifier: GPL-2.0-only
"""Reports of KCSAN, and which of them count."""

import re
from pathlib import Path

import pytest

from checks.selftests import races
from padlab.core import paths

OURS = {"padata_mt_start_helpers", "padata_mt_helper_fn", "padata_mt_task_reset_candidates"}

BOTH = """\
[    1.234567] ==================================================================
[    1.234568] BUG: KCSAN: data-race in padata_mt_helper_fn / padata_mt_start_helpers
[    1.234569]
[    1.234570] write to 0xffff88813a2b6c40 of 1 bytes by task 57 on cpu 4:
[    1.234571]  padata_mt_helper_fn+0x1a2/0x2b0
[    1.234572]  process_scheduled_works+0x3d5/0x8a0
[    1.234573]  worker_thread+0x2b1/0x5c0
[    1.234574]
[    1.234575] read to 0xffff88813a2b6c40 of 1 bytes by task 41 on cpu 0:
[    1.234576]  padata_mt_start_helpers.isra.0+0x55/0x190
[    1.234577]  deferred_init_memmap+0x112/0x3f0
[    1.234578]
[    1.234579] value changed: 0x01 -> 0x00
[    1.234584] ==================================================================
[    1.300000] node 0 initialised, 458752 pages in 60ms, 4 threads
"""
UNKNOWN = """\
==================================================================
BUG: KCSAN: data-race in __bitmap_and+0x40/0x90

race at unknown origin, with read to 0xffffffff82a0b0c0 of 8 bytes by task 88 on cpu 1:
 __bitmap_and+0x40/0x90
 padata_mt_task_reset_candidates+0x2a/0x70 [padata]
 padata_mt_task_claim+0x81/0x120

value changed: 0x000000000000000f -> 0x0000000000000007

Reported by Kernel Concurrency Sanitizer on:
==================================================================
"""
STOCK = """\
==================================================================
BUG: KCSAN: data-race in tick_nohz_idle_stop_tick / tick_nohz_handler

write to 0xffffffff82a0b0c0 of 4 bytes by interrupt on cpu 1:
 tick_nohz_handler+0x40/0x90
 __hrtimer_run_queues+0x1a2/0x2b0
 padata_mt_helper_fn+0x1a2/0x2b0

read (reordered) to 0xffffffff82a0b0c0 of 4 bytes by task 0 on cpu 0:
 tick_nohz_idle_stop_tick+0x40/0x90
 do_idle+0x2a/0x70
  |
  +-> reordered to: do_idle+0x33/0x70

==================================================================
"""


def test_both_accesses_are_found() -> None:
    (report,) = races.parse(BOTH)
    assert report.title == "padata_mt_helper_fn / padata_mt_start_helpers"
    assert [stack[0] for stack in report.stacks] == ["padata_mt_helper_fn", "padata_mt_start_helpers.isra.0"]
    assert "initialised" not in report.text and "value changed" in report.text


def test_reports_of_a_console() -> None:
    assert len(races.parse(BOTH + STOCK + "[    2.0] something else\n" + UNKNOWN)) == 3
    assert races.parse("[    1.0] kcsan: enabled early\n") == []
    (cut,) = races.parse(BOTH[: BOTH.index("[    1.234572]")])
    assert cut.stacks == (("padata_mt_helper_fn",),)


@pytest.mark.parametrize(("console", "counts"), [(BOTH, True), (UNKNOWN, True), (STOCK, False)])
def test_ours_count_if_they_make_the_access_or_have_it_made(console: str, counts: bool) -> None:
    (report,) = races.parse(console)
    assert races.counts(report, OURS, []) == counts


def test_what_is_accounted_for_does_not_count() -> None:
    (report,) = races.parse(UNKNOWN)
    accounted = races.Known("padata_mt_task_reset_candidates", "__bitmap_and", "why")
    other = races.Known("padata_mt_task_reset_candidates", "cpumask_first", "why")
    assert not races.counts(report, OURS, [other, accounted])
    assert races.counts(report, OURS, [other])


def test_symbols() -> None:
    nm = "\npadata_mt.o:\n0000000000000010 t padata_mt_finish.isra.0\n                 U kfree\n0000 T padata_mt_fail\n00 d v\n"
    assert races.symbols(nm) == {"padata_mt_finish", "padata_mt_fail"}


def test_what_is_known_is_of_functions_that_are_ours() -> None:
    sources = "".join(path.read_text() for path in Path(paths.LINUX).rglob("*.c"))
    for row in races.known().values():
        assert re.search(rf"^\S.*\b{row.ours}\(", sources, re.MULTILINE), row.ours
        assert len(row.why) > 20
