# SPDX-License-Identifier: GPL-2.0-only
"""One run at a time in a clone: two would build in the same trees and disturb each other's times.

Whatever a run starts has the lock's name in its environment.  A run that it
starts knows by it that it need not wait; and what a run that was killed has
left behind is found and ended before it gets in the way of the next one.
"""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from padlab.core import paths, progress
from padlab.core.errors import LabError

_HELD = "PADLAB_LOCK_HELD"
_WAIT_S = 5.0


@contextlib.contextmanager
def held(command: str) -> Iterator[None]:
    """Hold the clone's lock; wait for the run that has it, saying which that is."""
    place = paths.SHARED / ".lock"
    if os.environ.get(_HELD) == str(place):
        yield
        return
    try:
        paths.SHARED.mkdir(parents=True, exist_ok=True)
        lock = place.open("a+")
    except OSError as err:
        raise LabError("lock", f"cannot write to {paths.SHARED}: {err.strerror}", "check its owner") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            progress.note(f"waiting for another run in this clone to end: {lock.read().strip()}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        _end_leftovers(place)
        lock.seek(0)
        lock.truncate()
        lock.write(f"{command} (process {os.getpid()})\n")
        lock.flush()
        os.environ[_HELD] = str(place)
        try:
            yield
        finally:
            del os.environ[_HELD]


@contextlib.contextmanager
def alone(place: Path) -> Iterator[None]:
    """Hold the lock file ``place``: one thread of one process at a time, in a clone or among clones."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _end_leftovers(place: Path) -> None:
    """End what still runs for a run that is gone: nobody else holds the lock now."""
    mark = f"{_HELD}={place}"
    if left := _marked(mark):
        progress.note(f"ending {len(left)} processes that a killed run left behind")
        kill_marked(mark)


def kill_marked(mark: str) -> None:
    """All processes that were started with ``mark`` in their environment, this one apart."""
    deadline = time.monotonic() + _WAIT_S
    while (left := _marked(mark)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _marked(mark: str) -> list[int]:
    marked = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    marked.append(int(entry.name))
    return marked
