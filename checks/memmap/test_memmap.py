# SPDX-License-Identifier: GPL-2.0-only
"""The memory map after boot is stock's: in each case of matrix.py, and not in a kernel with a fault."""

from collections.abc import Iterator

import pytest

from checks.declare import FULL, check, each, guest, row
from checks.guests import SMT
from checks.memmap import matrix, memmap, oracle
from checks.memmap.case import Case
from padlab.core.outcome import Outcome, judge

# What a broken build does wrong, and what the oracle has to say of it: one of some, of each tuple.
# A block that is freed twice counts twice.  It lies inside another free block, or somebody has
# allocated it before the oracle looks, and then there are pages in use inside of one.
FAULTS = {
    "skip-section": (("uninitialised 65536",),),  # one section on each of two nodes
    "free-twice": (("broken rule: managed 2 ",), ("rule: overlap ", "rule: free_ref ")),
    "wrong-type": (("types=22",),),
}
GROWN = "one-cpu"  # where what boot allocates is the same memory every time


@check("memmap oracle, a zone that grew on demand", guest(GROWN, boots=4))
def test_grown() -> Outcome:
    """Before SMP, something wants more than the node's first section: the zone has to grow."""
    ours, plain = (memmap.boot(GROWN, "patched", args) for args in (matrix.GROWING, ()))
    stock = memmap.boot(GROWN, "stock", matrix.GROWING)
    problems = oracle.compare(memmap.report(stock), memmap.report(ours))
    left, all_pages = (sum(node.pages or 0 for node in result.dmesg.nodes) for result in (ours, plain))
    if left >= all_pages:
        problems.append(f"the zone did not grow: {left} pages were left to initialise, {all_pages} else")
    return judge(problems)


def _cases() -> Iterator["pytest.ParameterSet"]:
    short = {case.title for case in matrix.cases(False)}
    for case in (*matrix.cases(True), *matrix.USERS):
        needs = guest(case.machine, config=case.config, boots=2, mib=case.host_mib())
        when = "" if case.title in short or case in matrix.USERS else FULL
        yield row(case.title, case, needs=needs, when=when)


@each("case", _cases())
def test_memmap(case: Case) -> Outcome:
    return memmap.case(case)


@check("memmap oracle, no page left for the jobs", guest(SMT, boots=2, kernel="faulty"))
def test_none_left() -> Outcome:
    """All struct pages are initialised by allocations, before the jobs are ready."""
    result = memmap.boot(SMT, "faulty", ("deferred_init_fault=grown",))
    problems = oracle.compare(memmap.report(memmap.boot(SMT, "stock")), memmap.report(result))
    left = [node.pages for node in result.dmesg.nodes if node.pages]
    return judge(problems + [f"{pages} pages were left for a job" for pages in left], result.log)


_NO_FAULT = {"": ", no fault in the faulty kernel"}


@each(
    "name",
    (
        row(f"memmap oracle{title}", name, needs=guest(SMT, boots=2))
        for name, title in (_NO_FAULT | {name: f" catches {name}" for name in FAULTS}).items()
    ),
)
def test_fault(name: str) -> Outcome:
    """The oracle is silent without a fault, and names the one that there is."""
    append = (f"deferred_init_fault={name}",) if name else ()
    faulty = memmap.boot(SMT, "faulty", append)
    differences = oracle.compare(memmap.report(memmap.boot(SMT, "stock")), memmap.report(faulty))
    if not name:
        return judge(differences)
    said = "\n".join(differences) or "nothing"
    missing = [some for some in FAULTS[name] if not any(text in said for text in some)]
    return judge([f"the oracle does not say {' or '.join(some)} but {said}" for some in missing])
