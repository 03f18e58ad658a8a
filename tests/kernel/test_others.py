# SPDX-License-Identifier: GPL-2.0-only
"""The table of test programs, and what has to be built for each."""

from padlab.kernel import others
from padlab.kernel.others import Program


def test_a_program_is_what_its_command_ends_in() -> None:
    assert Program("./cow").built == ["cow"]
    assert Program("./gup_test -t -u").built == ["gup_test"]
    assert Program("mount -o remount /x && ./test_hugetlb_memcg").built == ["test_hugetlb_memcg"]
    assert Program("./a.sh -x", needs=("b",)).built == ["b"]


def test_lines_of_the_list_in_the_guest_have_no_tabs_within() -> None:
    for name, program in others.programs().items():
        assert "\t" not in program.run and not set(" ,\t") & set(name), name


def test_gigantic_pages_are_for_the_first_programs() -> None:
    pages = [program.gigantic for program in others.programs().values()]
    assert pages == sorted(pages, reverse=True)
