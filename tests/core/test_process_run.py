# SPDX-License-Identifier: GPL-2.0-only
"""Running programs: what is kept of a failure, and that nothing is left running."""

from __future__ import annotations

from pathlib import Path

import pytest

from padlab.core import process
from padlab.core.errors import LabError
from tests.conftest import is_gone


class TestRun:
    def test_failure_has_the_last_lines_and_the_log(self, tmp_path: Path) -> None:
        log = tmp_path / "logs/x.log"
        with pytest.raises(LabError) as error:
            process.run(["sh", "-c", "seq 1 100; echo why >&2; exit 3"], what="counting", log=log)
        assert error.value.why == "sh ended with status 3"
        assert error.value.detail[-2:] == ["100", "why"]
        assert len(error.value.detail) == process.TAIL_LINES
        assert "\n50\n" in log.read_text()

    def test_time_limit_ends_the_whole_group(self, tmp_path: Path) -> None:
        """It passes once the program has begun."""
        limit = process.Deadline(600)
        script = f"sleep 600 & echo $! > {tmp_path}/pid; echo go; wait"
        with pytest.raises(LabError, match="took longer than 0 s"):
            process.stream(["sh", "-c", script], lambda _line: limit.set(0), what="sleeping", timeout=limit)
        assert is_gone(int((tmp_path / "pid").read_text()))

    def test_a_limit_of_seconds_is_one_from_the_start(self) -> None:
        with pytest.raises(LabError, match="took longer than 0.1 s"):
            process.run(["sleep", "600"], what="sleeping", timeout=0.1)

    def test_interrupt_ends_the_whole_group(self, tmp_path: Path) -> None:
        def interrupt(_line: str) -> None:
            raise KeyboardInterrupt

        script = f"sleep 60 & echo $! > {tmp_path}/pid; echo go; wait"
        with pytest.raises(KeyboardInterrupt):
            process.stream(["sh", "-c", script], interrupt, what="sleeping")
        assert is_gone(int((tmp_path / "pid").read_text()))

    def test_missing_program(self) -> None:
        with pytest.raises(LabError, match="no-such-program is not installed"):
            process.run(["no-such-program"], what="nothing")
