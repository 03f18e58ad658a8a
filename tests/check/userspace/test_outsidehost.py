# SPDX-License-Identifier: GPL-2.0-only
"""What memblock's and the VMAs' own tests say of themselves, with stock's code and ours."""

from __future__ import annotations

from padlab.check.userspace import outsidehost
from padlab.check.userspace.outsidehost import Ran

MEMBLOCK = """
	Running memblock_add tests...
ok 1 : memblock_initialization: memblock_initialization_check: passed
ok 2 : memblock_add: memblock_add_simple_check: passed
"""


def test_output_is_counted() -> None:
    assert outsidehost.parse(MEMBLOCK, 0) == Ran(2, 0, 0)
    assert outsidehost.parse(MEMBLOCK, -6) == Ran(2, 1, -6)
    assert outsidehost.parse("15 tests run, 14 passed, 1 failed.\n", 1) == Ran(14, 1, 1)


def test_what_is_worse_with_ours_is_a_problem() -> None:
    assert not outsidehost.problems(Ran(2, 0, 0), Ran(2, 0, 0))
    assert not outsidehost.problems(Ran(2, 1, 1), Ran(2, 1, 1))
    assert outsidehost.problems(Ran(2, 0, 0), Ran(1, 0, 0))
    assert outsidehost.problems(Ran(2, 0, 0), Ran(2, 1, -6))
    assert outsidehost.problems(Ran(0, 1, 1), Ran(0, 1, 1)) == ["no test passed with stock's code"]
