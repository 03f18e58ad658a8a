# SPDX-License-Identifier: GPL-2.0-only
"""Running programs: what is kept of a failure, and that nothing is left running, of several threads, too."""

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from padlab.core import paths, process
from padlab.core.errors import LabError
from tests.conftest import is_gone

ALL = """
import threading
from padlab.core import process
from padlab.core.errors import LabError

def sleep():
    with process.spawn(["sleep", "30"], what="sleeping") as proc:
        started.wait(10)
        print(proc.wait())

started = threading.Barrier(2)
thread = threading.Thread(target=sleep)
thread.start()
started.wait(10)
process.kill_all()
thread.join(10)
try:
    process.run(["true"], what="nothing")
except LabError as err:
    print(err.why)
"""


def test_the_last_resort_ends_those_of_every_thread() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALL], cwd=paths.ROOT, capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.splitlines() == ["-15", "true was started after the end"]


def test_a_signal_between_a_childs_start_and_its_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the child, too: the signal waits until the child is known."""
    started: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def interrupted(*args: Any, **options: Any) -> subprocess.Popen[str]:
        started.append(popen(*args, **options))
        signal.raise_signal(signal.SIGINT)
        return started[0]

    monkeypatch.setattr(process.subprocess, "Popen", interrupted)
    # Whoever runs the tests in the background has them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), process.spawn(["sleep", "60"], what="sleeping"):
            pytest.fail("the block ran")
    finally:
        signal.signal(signal.SIGINT, before)
    assert started[0].poll() == -signal.SIGTERM


class TestRun:
    def test_failure_has_the_last_lines_and_the_log(self, tmp_path: Path) -> None:
        log = tmp_path / "logs/x.log"
        with pytest.raises(LabError) as error:
            process.run(["sh", "-c", "seq 1 100; echo why >&2; exit 3"], what="counting", log=log)
        assert error.value.why == "sh ended with status 3"
        assert error.value.detail[-2:] == ["100", "why"]
        assert len(error.value.detail) == process.TAIL_LINES
        assert "\n50\n" in log.read_text()

    def test_time_limit_ends_the_whole_group(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It passes once the program has begun."""
        timers: list[threading.Timer] = []
        monkeypatch.setattr(threading.Timer, "start", lambda timer: timers.append(timer))
        script = f"sleep 600 & echo $! > {tmp_path}/pid; echo go; wait"
        with pytest.raises(LabError, match="took longer than 9 s"):
            process.stream(
                ["sh", "-c", script], lambda _line: timers[0].function(), what="sleeping", timeout=9
            )
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
