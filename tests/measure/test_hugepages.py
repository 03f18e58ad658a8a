# SPDX-License-Identifier: GPL-2.0-only
"""./lab bench hugepages: what its programs print, and what it comes to."""

from padlab.check.guest import lockstat
from padlab.core import stats, table
from padlab.measure import hugepages
from padlab.measure.hugepages import Cost
from padlab.vm import trace

TRACE = """\
       hugepages-64      [000] d....    733756014: page_fault_user: address=0x7fc3c0003008 ip=0x401af8 error_code=0x6
       hugepages-64      [000] .....    733760039: padata_mt_job_start: job=4 start=0 size=262144 align=128 min_chunk=128 threads=5
       hugepages-64      [000] .....    733761005: padata_mt_helper_start: job=4 cpu=1
       hugepages-64      [000] .....    733762469: padata_mt_helper_start: job=4 cpu=2
     kworker/1:0-24      [001] d..1.    733764000: padata_mt_chunk: job=4 start=0 end=1024
       hugepages-64      [000] .....    733765510: padata_mt_chunk: job=4 start=1024 end=2048
"""


def test_cost_is_up_to_the_callers_chunk() -> None:
    assert hugepages.parse_cost(trace.parse(TRACE.splitlines())) == Cost(9496, 5471, 2)
    assert hugepages.parse_cost(trace.parse(TRACE.splitlines()[:1])) is None


def test_pairs_of_rounds_leave_it_open_around_1() -> None:
    assert table.marked(stats.paired([100, 100, 100], [90, 95, 105])) == "0.95~"
    assert table.marked(stats.paired([100, 100, 100], [90, 95, 99])) == "0.95"
    assert table.marked(None) == ""


class TestPageTableLocks:
    def test_waits_by_name(self) -> None:
        lines = [
            "  hugepages-64  [000] d..2.  1.733756: lock_contended: 00000000c5e93755 ptlock_ptr(ptdesc)",
            "  hugepages-65  [001] d..2.  1.733757: lock_contended: 000000001f ptlock_ptr(ptdesc)#2/1",
            "  hugepages-65  [001] d..2.  1.733758: lock_contended: 000000002f ptlock_ptr(ptdesc)",
            "  hugepages-65  [001] d..2.  1.733759: lock_acquired: 000000002f ptlock_ptr(ptdesc)",
        ]
        assert lockstat.waits(trace.parse(lines)) == {"ptlock_ptr(ptdesc)": 2, "ptlock_ptr(ptdesc)#2/1": 1}

    def test_judged(self) -> None:
        assert lockstat.split_problems({"a": 3}, {"b": 100}) == []
        assert "proves nothing" in lockstat.split_problems({}, {"b": 2})[0]
        assert "20 times" in lockstat.split_problems({"a": 20}, {"b": 100})[0]
