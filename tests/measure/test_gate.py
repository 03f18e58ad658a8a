# SPDX-License-Identifier: GPL-2.0-only
"""When a gate measures again: only while the host is busy, and it says so."""

from __future__ import annotations

import pytest

from padlab.core import host
from padlab.core.host import CpuTime
from padlab.measure import gate
from padlab.measure.gate import Try


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "PAUSE_S", 0)


def busy(monkeypatch: pytest.MonkeyPatch, *why: str) -> None:
    monkeypatch.setattr(host, "why_busy", lambda *args: list(why))


def tries(*problems: list[str]) -> list[Try]:
    return [Try(found, ()) for found in problems]


class TestTries:
    def test_what_is_fast_passes_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        busy(monkeypatch, "all of it")
        left = tries([], ["never measured"])
        assert gate.until_met(lambda: left.pop(0)) == []
        assert len(left) == 1

    def test_a_quiet_host_gives_no_second_try(self, monkeypatch: pytest.MonkeyPatch) -> None:
        busy(monkeypatch)
        left = tries(["slow"], [])
        found = gate.until_met(lambda: left.pop(0))
        assert len(left) == 1
        assert found[0].startswith("slow (") and "CPUs" in found[0]

    def test_a_busy_host_does_and_it_is_reported(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        busy(monkeypatch, "5% of its CPU time stolen")
        left = tries(["slow"], ["slow"], [])
        assert gate.until_met(lambda: left.pop(0)) == []
        err = capsys.readouterr().err
        assert "try 1 of 5 on a busy host (5% of its CPU time stolen): slow" in err

    def test_it_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        busy(monkeypatch, "load")
        measured: list[int] = []

        def measure() -> Try:
            measured.append(1)
            return Try(["slow"], ())

        assert "busy: load" in gate.until_met(measure)[0]
        assert len(measured) == gate.TRIES


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
