# SPDX-License-Identifier: GPL-2.0-only
"""What the console says of a kernel that finds memory of the one before it."""

from checks.boot import test_handover as nextkernel

DONE = "[    1.2] node 0 initialised, 3302741 pages in 788ms, 4 threads\n"
RESTORED = "[    1.9] test_kho: KHO restore succeeded\n"


def test_the_second_kernel_restores_pages() -> None:
    assert nextkernel.problems(DONE + DONE + RESTORED) == []
    assert nextkernel.problems(DONE + DONE) == ["what was preserved is not there, or nothing was"]
    assert nextkernel.problems(DONE + RESTORED) == ["not both kernels had struct pages to initialise"]
