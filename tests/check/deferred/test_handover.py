# SPDX-License-Identifier: GPL-2.0-only
"""Kexec handover: what the console of two kernels says."""

from padlab.check.deferred import handover

DONE = "[    1.2] node 0 initialised, 3302741 pages in 788ms, 4 threads (4 took part)\n"
RESTORED = "[    0.9] test_kho: KHO restore succeeded\n"


def test_pages_are_restored_before_the_second_kernels_jobs_are_done() -> None:
    assert handover.restored_problems(DONE + RESTORED + DONE) == []


def test_what_is_restored_late_or_never_is_told() -> None:
    late = handover.restored_problems(DONE + DONE + RESTORED)
    assert late == ["it was restored when all struct pages were there"]
    assert handover.restored_problems(DONE + DONE) == ["what was preserved is not there, or nothing was"]
