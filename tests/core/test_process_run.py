# SPDX-License-Identifier: GPL-2.0-only
"""Running programs: what is kept of a failure, and that nothing is left running."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from padlab.core import process
from padlab.core.errors import LabError


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
        start = time.monotonic()
        script = f"sleep 60 & echo $! > {tmp_path}/pid; wait"
        with pytest.raises(LabError, match="took longer than 0.5 s"):
            process.run(["sh", "-c", script], what="sleeping", timeout=0.5)
        assert time.monotonic() - start < 10
        assert _gone(int((tmp_path / "pid").read_text()))

    def test_interrupt_ends_the_whole_group(self, tmp_path: Path) -> None:
        def interrupt(_line: str) -> None:
            raise KeyboardInterrupt

        script = f"sleep 60 & echo $! > {tmp_path}/pid; echo go; wait"
        with pytest.raises(KeyboardInterrupt):
            process.stream(["sh", "-c", script], interrupt, what="sleeping")
        assert _gone(int((tmp_path / "pid").read_text()))

    def test_missing_program(self) -> None:
        with pytest.raises(LabError, match="no-such-program is not installed"):
            process.run(["no-such-program"], what="nothing")

    def test_accepted_status(self) -> None:
        assert process.run(["sh", "-c", "echo differs; exit 1"], what="diff", ok=(0, 1)) == "differs\n"


def _gone(pid: int) -> bool:
    """No process, or a zombie that nobody has collected yet."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.1)
    return False
