# SPDX-License-Identifier: GPL-2.0-only
"""How helpers start, from trace events."""

from padlab.measure import starts
from padlab.vm import trace

OURS = """\
        kthreadd-2       [001] .....     0.700000: sched_process_fork: comm=kthreadd pid=2 child_comm=pgdatinit0 child_pid=65
      pgdatinit0-65      [000] d..1.     0.794880: workqueue_queue_work: work struct=00000000ddbcc04c function=padata_mt_helper_fn workqueue=padata_mt req_cpu=4 cpu=4
      pgdatinit0-65      [000] d..1.     0.794890: workqueue_queue_work: work struct=00000000ddbcc050 function=padata_mt_helper_fn workqueue=padata_mt req_cpu=5 cpu=5
      pgdatinit0-65      [000] d..1.     0.794891: workqueue_queue_work: work struct=00000000ddbcc060 function=other workqueue=events req_cpu=5 cpu=5
     kworker/4:0-57      [004] .N...     0.794980: workqueue_execute_start: work struct 00000000ddbcc04c: function padata_mt_helper_fn
     kworker/1:0-57      [001] .N...     0.795980: workqueue_execute_start: work struct 00000000ddbcc060: function other
            init-1       [000] d..1.     0.850000: workqueue_queue_work: work struct=00000000ddbcc070 function=padata_mt_helper_fn workqueue=padata_mt req_cpu=5 cpu=5
     kworker/5:0-58      [005] .N...     0.860000: workqueue_execute_start: work struct 00000000ddbcc070: function padata_mt_helper_fn
        kthreadd-2       [001] .....     0.900000: sched_process_fork: comm=kthreadd pid=2 child_comm=later child_pid=99
"""


def test_helpers_that_start() -> None:
    helpers = starts.starts_of(trace.parse(OURS.splitlines()))
    assert helpers == starts.Starts(queued=2, started=1, made=0)
    assert starts.starts_of(trace.parse([])) == starts.Starts(0, 0, 0)


def test_threads_made_in_between_count() -> None:
    text = OURS.replace("0.700000", "0.794900").replace("padata_mt_helper_fn", "padata_mt_helper")
    assert starts.starts_of(trace.parse(text.splitlines())).made == 1
