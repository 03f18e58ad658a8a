# SPDX-License-Identifier: GPL-2.0-only
"""What the console says of a kernel that finds memory of the one before it."""

from padlab.check.deferred import nextkernel

DONE = "[    1.2] node 0 initialised, 3302741 pages in 788ms, 4 threads (4 took part)\n"
RESTORED = "[    0.9] test_kho: KHO restore succeeded\n"
READS = "[    1.3] PM: Loading image data pages (12345 pages)...\n"


def test_pages_are_restored_before_the_second_kernels_jobs_are_done() -> None:
    assert nextkernel.restored_problems(DONE + RESTORED + DONE) == []
    late = nextkernel.restored_problems(DONE + DONE + RESTORED)
    assert late == ["it was restored when all struct pages were there"]
    assert nextkernel.restored_problems(DONE + DONE) == ["what was preserved is not there, or nothing was"]


def test_resume_comes_after_the_last_struct_page() -> None:
    assert nextkernel.resumed_problems(DONE + READS, ["whole"]) == []
    problems = nextkernel.resumed_problems(READS + DONE, ["whole"])
    assert problems == ["resume did not wait for struct pages"]
    assert nextkernel.resumed_problems(DONE, ["whole"]) == ["there was no image to resume from"]
    assert nextkernel.resumed_problems(DONE + READS, ["broken"]) == ["memory is not what it was: ['broken']"]
    assert len(nextkernel.resumed_problems(DONE + READS, [])) == 1
