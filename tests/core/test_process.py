# SPDX-License-Identifier: GPL-2.0-only
"""Children of several threads: ended apart from each other, and all of them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from padlab.core import paths, process
from padlab.core.errors import LabError


def test_a_scope_ends_its_own_children_and_starts_no_other() -> None:
    mine, other = process.Scope(), process.Scope()
    started = threading.Barrier(3)

    def sleep(scope: process.Scope) -> int:
        with scope.entered(), process.spawn(["sleep", "30"], what="sleeping") as proc:
            started.wait(10)
            return proc.wait()

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.submit(sleep, mine), pool.submit(sleep, other)
        started.wait(10)
        mine.end()
        assert one.result(10) == -15
        assert not two.done()
        other.end()
        assert two.result(10) == -15
    with mine.entered(), pytest.raises(LabError, match="true was started after the end"):
        process.run(["true"], what="nothing")
    assert process.run(["echo", "yes"], what="something") == "yes\n"


ALL = """
import threading
from padlab.core import process
from padlab.core.errors import LabError

def sleep():
    with process.Scope().entered(), process.spawn(["sleep", "30"], what="sleeping") as proc:
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
