# SPDX-License-Identifier: GPL-2.0-only
"""What memblock's own tests say of themselves, with stock's code and ours."""

from checks.engine import memblock

SAID = """
	Running memblock_add tests...
ok 1 : memblock_initialization: memblock_initialization_check: passed
ok 2 : memblock_add: memblock_add_simple_check: passed
"""


def test_what_is_worse_with_ours_is_a_problem() -> None:
    assert memblock.passed(SAID) == 2
    assert not memblock.problems((2, 0), (2, 0))
    assert not memblock.problems((2, 1), (2, 1))
    assert memblock.problems((2, 0), (1, 0))
    assert memblock.problems((2, 0), (2, -6))
    assert memblock.problems((0, 1), (0, 1)) == ["no test passed with stock's code"]
