# SPDX-License-Identifier: GPL-2.0-only
"""The table of test programs, and what has to be built for each."""

from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import others
from padlab.kernel.others import Program


def test_a_program_is_what_its_command_ends_in() -> None:
    assert Program("./cow").built == ["cow"]
    assert Program("./gup_test -t -u").built == ["gup_test"]
    assert Program("mount -o remount /x && ./test_hugetlb_memcg").built == ["test_hugetlb_memcg"]
    assert Program("./a.sh -x", needs=("b",)).built == ["b"]


def test_each_is_in_its_suite() -> None:
    programs = others.programs()
    assert programs["mm/cow"].built == ["cow"]
    suites = {"mm", "cgroup", "memory-hotplug", "sched", *(["iommu"] if paths.base().own else [])}
    assert {others.suite_of(name) for name in programs} == suites


def test_lines_of_the_list_in_the_guest_have_no_tabs_within() -> None:
    for name, program in others.programs().items():
        assert "\t" not in program.run and not set(" ,\t") & set(name), name


def test_gigantic_pages_are_for_the_first_programs() -> None:
    pages = [program.gigantic for program in others.programs().values()]
    assert pages == sorted(pages, reverse=True)


@pytest.mark.usefixtures("default_base")
def test_a_wrong_table_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "programs.toml"
    table.write_text('"mm/cow" = { run = "./cow", limits = 3 }\n')
    with pytest.raises(LabError, match="limits"):
        others.programs(table)
