# SPDX-License-Identifier: GPL-2.0-only
"""What shows that a host was busy, or has no room."""

from pathlib import Path

import pytest

from padlab.core import host
from padlab.core.errors import LabError
from padlab.core.host import CpuTime

BEFORE = CpuTime(100, 0, 50, 1000)


@pytest.mark.parametrize(
    ("after", "reference", "why"),
    [
        (CpuTime(119, 0.1, 69, 1010), (1.0, 1.05, 1.0), []),
        (CpuTime(110, 1, 60, 1010), (), ["5% of its CPU time stolen"]),
        (CpuTime(115, 0, 60, 1010), (), ["other programs used 50% of a CPU"]),
        (CpuTime(110, 0, 60, 1010), (1, 1, 1.5), ["a reference loop took up to 1.50 of its usual time"]),
    ],
)
def test_what_shows_that_a_host_is_busy(after: CpuTime, reference: tuple[float, ...], why: list[str]) -> None:
    assert host.why_busy(BEFORE, after, reference, cpus=2) == why


def test_stat() -> None:
    assert host.parse_stat("cpu  10 20 30 1000 5 6 7 8 0 0\ncpu0 1\n") == (73, 8)


def test_no_room(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no room on disk"):
        host.check_room(tmp_path / "not/there/yet", 1 << 60, "unpacking")
