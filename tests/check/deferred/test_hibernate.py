# SPDX-License-Identifier: GPL-2.0-only
"""A system that slept: what the console of the kernel that resumes says."""

from padlab.check.deferred import hibernate

DONE = "[    1.2] node 0 initialised, 3302741 pages in 788ms, 4 threads (4 took part)\n"
READS = "[    1.3] PM: Loading image data pages (12345 pages)...\n"


def test_resume_comes_after_the_last_struct_page() -> None:
    assert hibernate.resumed_problems(DONE + READS, ["whole"]) == []
    problems = hibernate.resumed_problems(READS + DONE, ["whole"])
    assert problems == ["resume did not wait for struct pages"]


def test_a_boot_that_found_no_image_has_not_resumed() -> None:
    assert hibernate.resumed_problems(DONE, ["whole"]) == ["there was no image to resume from"]


def test_memory_is_to_be_what_it_was() -> None:
    assert hibernate.resumed_problems(DONE + READS, ["broken"]) == ["memory is not what it was: ['broken']"]
    assert len(hibernate.resumed_problems(DONE + READS, [])) == 1
