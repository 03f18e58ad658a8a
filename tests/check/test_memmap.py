# SPDX-License-Identifier: GPL-2.0-only
"""What the memory map's cases ask for beside the oracle."""

from __future__ import annotations

from padlab.check import memmap

SAYS = "[    0.1] Memory: {}K/4193784K available (18432K kernel code, 0K cma-reserved)\n"


def test_available_memory_may_differ_by_what_the_kernels_are() -> None:
    assert memmap.available_problems(SAYS.format(3128996), SAYS.format(3128996 - 60000)) == []


def test_a_section_more_or_less_is_seen() -> None:
    for kib in (3128996 - 131072, 3128996 + 131072):
        (problem,) = memmap.available_problems(SAYS.format(3128996), SAYS.format(kib))
        assert problem == f"{kib} KiB were available when boot went on, 3128996 in stock"


def test_silence_is_a_problem() -> None:
    assert memmap.available_problems(SAYS.format(1), "Linux version 6.12") != []
