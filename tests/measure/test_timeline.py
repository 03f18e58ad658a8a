# SPDX-License-Identifier: GPL-2.0-only
"""A boot's initcalls beside the chunks of deferred init, from trace events."""

from __future__ import annotations

import json

import pytest

from padlab.core.errors import LabError
from padlab.measure import timeline
from padlab.measure.timeline import Span
from padlab.vm import trace

TRACE = """\
       swapper/0-1       [000] .....     900000: initcall_start: func=before+0x0/0x30
       swapper/0-1       [000] .....     950000: initcall_finish: func=before+0x0/0x30 ret=0
       swapper/0-1       [000] .....     960000: padata_mt_job_start: job=1 start=0 size=2 align=1 min_chunk=1 threads=2
       swapper/0-1       [000] .....     960000: padata_mt_chunk: job=1 start=0 end=2
       swapper/0-1       [000] .....     970000: padata_mt_job_end: job=1 ran=1 error=0
      pgdatinit0-65      [000] .....    1000000: padata_mt_job_start: job=2 start=0 size=64 align=8 min_chunk=8 threads=2
      pgdatinit0-65      [000] .....    1010000: padata_mt_chunk: job=2 start=0 end=32
     kworker/1:0-57      [001] .....    1020000: padata_mt_chunk: job=2 start=32 end=56
       swapper/0-1       [000] .....    1030000: initcall_level: level=core
       swapper/0-1       [000] .....    1030000: initcall_start: func=beside+0x0/0x30
       swapper/0-1       [000] .....    1050000: initcall_finish: func=beside+0x0/0x30 ret=0
      pgdatinit0-65      [002] .....    1060000: padata_mt_chunk: job=2 start=56 end=64
       swapper/0-1       [000] .....    1070000: initcall_start: func=longer+0x0/0x30
      pgdatinit0-65      [002] .....    1100000: padata_mt_job_end: job=2 ran=2 error=0
       swapper/0-1       [000] .....    1200000: initcall_finish: func=longer+0x0/0x30 ret=0
"""


def read(text: str) -> timeline.Timeline:
    return timeline.timeline(trace.parse(text.splitlines()).events, 1.0)


def test_initcalls_and_chunks() -> None:
    found = read(TRACE)
    assert found.jobs == Span(0, 100)
    assert found.initcalls == (Span(-100, -50), Span(30, 50), Span(70, 200))
    assert found.meanwhile == 1
    # A thread is the same on whatever CPU it is.
    assert found.chunks == {0: {"pgdatinit0": (Span(10, 60), Span(60, 100)), "kworker/1:0": (Span(20, 100),)}}
    assert found.threads == 2


def test_a_chunk_has_its_cpu() -> None:
    chunks = read(TRACE).chunks[0]
    assert [one.cpu for one in (*chunks["pgdatinit0"], *chunks["kworker/1:0"])] == [0, 2, 1]


def test_of_huge_pages() -> None:
    found = timeline.timeline(trace.parse(TRACE.splitlines()).events, 1.0, huge=True)
    assert "swapper/0" in found.chunks[0]


def test_json_has_each_chunk() -> None:
    data = json.loads(timeline.as_json(read(TRACE), "a title", {"command": "./lab timeline"}))
    assert data["command"] == "./lab timeline"
    assert data["rows"] == [
        {"thread": "initcalls", "node": None, "spans": [[-100, -50, None], [30, 50, None], [70, 200, None]]},
        {"thread": "pgdatinit0", "node": 0, "spans": [[10, 60, 0], [60, 100, 2]]},
        {"thread": "kworker/1:0", "node": 0, "spans": [[20, 100, 1]]},
    ]


def test_nodes_in_order() -> None:
    other = (
        TRACE.replace("pgdatinit0", "pgdatinit1").replace("job=2", "job=3").replace("kworker/1", "kworker/2")
    )
    assert list(read(other + TRACE).chunks) == [0, 1]


def test_no_job() -> None:
    with pytest.raises(LabError, match="no job of deferred init"):
        read("\n".join(line for line in TRACE.splitlines() if "pgdatinit0" not in line))


def test_the_picture_repeats() -> None:
    made = {
        "command": "./lab timeline",
        "source": "s",
        "config": "perf",
        "accelerator": "tcg",
        "qemu": "1",
        "host": "h",
    }
    two = [timeline.picture(read(TRACE), "a title", made) for _ in range(2)]
    assert two[0] == two[1]
    assert two[0].startswith(b"\x89PNG")
