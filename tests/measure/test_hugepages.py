# SPDX-License-Identifier: GPL-2.0-only
"""./lab bench hugepages: what its programs print, and what it comes to."""

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
