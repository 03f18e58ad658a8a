# SPDX-License-Identifier: GPL-2.0-only
"""What shows that a host was busy."""

from padlab.core import host
from padlab.core.host import CpuTime


class TestBusy:
    QUIET = CpuTime(100, 0, 50, 1000)

    def why(self, after: CpuTime, *reference: float) -> list[str]:
        return host.why_busy(self.QUIET, after, reference, cpus=2)

    def test_quiet(self) -> None:
        assert self.why(CpuTime(119, 0.1, 69, 1010), 1.0, 1.05, 1.0) == []

    def test_steal(self) -> None:
        assert self.why(CpuTime(110, 1, 60, 1010)) == ["5% of its CPU time stolen"]

    def test_others(self) -> None:
        assert self.why(CpuTime(115, 0, 60, 1010)) == ["other programs used 50% of a CPU"]

    def test_reference(self) -> None:
        assert self.why(CpuTime(110, 0, 60, 1010), 1, 1, 1.5) == [
            "a reference loop took up to 1.50 of its usual time"
        ]

    def test_stat(self) -> None:
        assert host.parse_stat("cpu  10 20 30 1000 5 6 7 8 0 0\ncpu0 1\n") == (73, 8)
