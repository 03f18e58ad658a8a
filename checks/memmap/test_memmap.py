# SPDX-License-Identifier: GPL-2.0-only
"""The memory map after boot is stock's: in each case of matrix.py, and not in a kernel with a fault."""

from collections.abc import Iterator

import pytest

from checks.declare import FULL, check, each, guest, row
from checks.guests import SMT
from checks.memmap import matrix, memmap
from checks.memmap.case import Case
from padlab.core.outcome import Outcome


def _cases() -> Iterator["pytest.ParameterSet"]:
    short = {case.title for case in matrix.cases(False)}
    for case in (*matrix.cases(True), *matrix.USERS):
        needs = guest(case.machine, config=case.config, boots=2, mib=case.host_mib())
        when = "" if case.title in short or case in matrix.USERS else FULL
        yield row(case.title, case, needs=needs, when=when)


@check("memmap oracle, a zone that grew on demand", guest(memmap.GROWN, boots=4))
def test_grown() -> Outcome:
    return memmap.grown()


@each("case", _cases())
def test_memmap(case: Case) -> Outcome:
    return memmap.case(case)


@check("memmap oracle, no page left for the jobs", guest(SMT, boots=2, kernel="faulty"))
def test_none_left() -> Outcome:
    return memmap.none_left()


@each(
    "name",
    (
        row(f"memmap oracle{title}", name, needs=guest(SMT, boots=2))
        for name, title in {
            "": ", no fault in the faulty kernel",
            **{name: f" catches {name}" for name in memmap.FAULTS},
        }.items()
    ),
)
def test_fault(name: str) -> Outcome:
    return memmap.fault(name)
