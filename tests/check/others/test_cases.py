# SPDX-License-Identifier: GPL-2.0-only
"""Cases of programs that print TAP, or their own lines, and two kernels compared by them."""

from __future__ import annotations

import pytest

from padlab.check.others import cases
from padlab.check.others.cases import EXIT, FAIL, MISSING, PASS, SKIP, XFAIL, Case

COW = """
TAP version 13
# [INFO] detected THP size: 2048 KiB
1..4
# [RUN] Basic COW after fork() ... with base page
ok 1 No leak from parent into child
# [RUN] Basic COW after fork() ... with swapped out base page
ok 2 # SKIP MADV_PAGEOUT did not work, is swap enabled?
# [RUN] vmsplice() + unmap in child ... with hugetlb (2048 kB)
not ok 3 No leak from parent into child
ok 4 - more # XFAIL known
# Totals: pass:1 fail:1 xfail:1 xpass:0 skip:1 error:0
"""

UFFD = """
Testing UFFDIO_API (with syscall)... done
Testing zeropage on hugetlb... skipped [reason: not supported]
Testing move on anon... failed [reason: uffdio move]
Userfaults unit tests: pass=1, skip=1, fail=1 (total=3)
"""

KHUGEPAGED = """
Save THP and khugepaged settings... [32mOK[0m
Run test: collapse_full (khugepaged:anon)
Allocate huge page... [32mOK[0m
Collapse multiple fully populated PTE table... [31mFail[0m

Run test: collapse_empty (khugepaged:anon)
Do not collapse empty PTE table... [32mOK[0m
"""


def parse(text: str, status: int = 0) -> dict[str, Case]:
    return cases.parse(text.strip().splitlines(), status)


def test_tap_has_the_cases_and_what_each_is_about() -> None:
    assert parse(COW, 1) == {
        EXIT: Case(FAIL),
        "1 Basic COW after fork() ... with base page: No leak from parent into child": Case(PASS),
        "2 Basic COW after fork() ... with swapped out base page:": Case(
            SKIP, "MADV_PAGEOUT did not work, is swap enabled?"
        ),
        "3 vmsplice() + unmap in child ... with hugetlb (2048 kB): No leak from parent into child": Case(
            FAIL
        ),
        "4 vmsplice() + unmap in child ... with hugetlb (2048 kB): more": Case(XFAIL),
    }
    assert list(parse("ok 171 : memblock_add: passed"))[1:] == ["171 memblock_add: passed"]


def test_programs_with_lines_of_their_own() -> None:
    assert {name: case.outcome for name, case in parse(UFFD).items()} == {
        EXIT: PASS,
        "UFFDIO_API (with syscall)": PASS,
        "zeropage on hugetlb": SKIP,
        "move on anon": FAIL,
    }
    assert parse(UFFD)["zeropage on hugetlb"].reason == "not supported"
    assert {name: case.outcome for name, case in parse(KHUGEPAGED).items()} == {
        EXIT: PASS,
        "collapse_full (khugepaged:anon)": FAIL,
        "collapse_empty (khugepaged:anon)": PASS,
    }


LATE = Case(FAIL, "it did not end in its time")


@pytest.mark.parametrize(
    ("status", "case"),
    [(0, Case(PASS)), (4, Case(SKIP)), (1, Case(FAIL)), (139, Case(FAIL)), (124, LATE), (143, LATE)],
)
def test_the_exit_status_is_a_case(status: int, case: Case) -> None:
    assert parse("", status) == {EXIT: case}
    # One that a child repeats counts by its worst.
    assert parse("ok 1 a\nnot ok 1 a\nok 1 a")["1 a"].outcome == FAIL


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("ok 1 remap to {} in {} ns", [("0x1f", 12), ("0xa0", 7)]),
        ("ok 100 Extra pages {} ({:.1f}%), extra thread faults {}.", [(1, 0, 55), (0, 2, 7)]),
    ],
)
def test_what_varies_is_not_in_a_name(line: str, values: list[tuple[object, ...]]) -> None:
    first, second = (parse(line.format(*value)).keys() for value in values)
    assert first == second


def compared(stock: list[str], patched: list[str]) -> cases.Compared:
    """One case, by its outcomes in the tries."""
    tries = [[{"a": Case(outcome)} for outcome in outcomes] for outcomes in (stock, patched)]
    (only,) = cases.compare(*tries)
    return only


@pytest.mark.parametrize(
    ("stock", "patched", "differs"),
    [
        ([PASS], [PASS], False),
        ([FAIL], [FAIL], False),
        ([PASS], [FAIL], True),
        ([PASS], [SKIP], True),
        ([SKIP], [FAIL], True),
        ([FAIL], [PASS], False),
        ([PASS, PASS], [FAIL, PASS], False),
        ([FAIL, PASS, FAIL], [FAIL, FAIL, FAIL], True),
        ([FAIL, FAIL, FAIL], [FAIL, FAIL, FAIL], False),
    ],
)
def test_a_case_differs_if_its_best_is_worse(stock: list[str], patched: list[str], differs: bool) -> None:
    assert compared(stock, patched).differs == differs


def test_a_case_that_is_not_there_is_worse_than_one_that_fails() -> None:
    (missing,) = cases.compare([{"a": Case(FAIL)}], [{}])
    assert missing.differs and missing.patched == (MISSING,)
    (new,) = cases.compare([{}], [{"a": Case(FAIL)}])
    assert not new.differs
    assert str(missing) == "a: fail on stock; missing on patched"


def test_both_goes_by_the_best() -> None:
    assert compared([FAIL, PASS], [PASS]).both(PASS)
    assert compared([FAIL], [FAIL]).both(FAIL)
    assert not compared([SKIP], [PASS]).both(PASS)


def test_reports_are_compared_without_their_numbers() -> None:
    stock = ["WARNING: CPU: 1 PID: 20 at mm/memory.c:100 zap+0x10/0x20"]
    same = "WARNING: CPU: 3 PID: 7 at mm/memory.c:102 zap+0x14/0x20"
    new = "WARNING: CPU: 1 PID: 20 at mm/folio_zero.c:10 zero+0x1/0x2"
    assert cases.new_reports(stock, [same]) == []
    assert cases.new_reports(stock, [same, new, new]) == [new]
    bad = "BUG: Bad page state in process init  pfn:{}"
    assert cases.new_reports([bad.format("11b240")], [bad.format("1a2c0f")]) == []
