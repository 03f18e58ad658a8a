# SPDX-License-Identifier: GPL-2.0-only
"""Trace events are read from the lines of a trace file, whatever else is in it."""

import pytest

from padlab.vm import trace

LINES = """\
# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
      kworker/4:0-57      [004] .N...     0.794980: padata_mt_chunk: job=4 start=0 end=1024
CPU:3 [LOST 17 EVENTS]
       pgdatinit12-65     [000] d..1.     0.794880: workqueue_queue_work: work struct=0000c function=padata_mt_help
 my - odd-name-12-1234    [103] .....   102.794981: padata_mt_helper_start: job=4 cpu=1
            <idle>-0      [001] d.s2. 733756014: console: [    0.6] node 0 initialised, 5 pages
--
 garbage [000] without a time: and so on
"""


def test_events() -> None:
    parsed = trace.parse(LINES.splitlines())
    chunk, queue, helper, console = parsed.events
    assert (chunk.task, chunk.pid, chunk.cpu, chunk.name) == ("kworker/4:0", 57, 4, "padata_mt_chunk")
    assert chunk.fields == {"job": "4", "start": "0", "end": "1024"}
    assert chunk.seconds == 0.79498
    assert queue.init_node == 12 and chunk.init_node is None
    assert queue.text.startswith("work struct=0000c ")
    assert (helper.task, helper.pid, helper.cpu) == ("my - odd-name-12", 1234, 103)
    assert (console.task, console.ticks) == ("<idle>", 733756014)
    assert console.text == "[    0.6] node 0 initialised, 5 pages"
    assert parsed.lost == ("CPU:3 [LOST 17 EVENTS]",)


def test_nothing() -> None:
    assert trace.parse([]) == trace.Trace()
    assert trace.deferred_ms(trace.Trace()) is None


TSC = """\
            init-1       [000] d..1. 300000000: sched_waking: comm=pgdatinit0 pid=31 prio=120 target_cpu=000
            init-1       [000] d..1. 300500000: sched_waking: comm=pgdatinit1 pid=32 prio=120 target_cpu=000
      pgdatinit1-32      [000] d..1. 332000000: sched_waking: comm=kthreadd pid=2 prio=120 target_cpu=000
      pgdatinit0-31      [000] d..1. 332500000: sched_waking: comm=init pid=1 prio=120 target_cpu=000
      pgdatinit1-32      [000] d..1. 399000000: sched_waking: comm=kthreadd pid=2 prio=120 target_cpu=000
"""


def test_deferred_init_is_from_its_first_thread_woken_to_init_woken_by_the_last() -> None:
    assert trace.deferred_ms(trace.parse(TSC.splitlines())) == pytest.approx(32.5)
    # Threads that woke nobody tell no time.
    text = TSC.replace("comm=init pid=1 ", "comm=init pid=9 ")
    assert trace.deferred_ms(trace.parse(text.splitlines())) is None
