# SPDX-License-Identifier: GPL-2.0-only
"""One run at a time in a clone: two would build in the same trees and disturb each other's times."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from padlab import paths, progress
from padlab.errors import LabError

_HELD = "PADLAB_LOCK_HELD"  # for runs that a run starts


@contextlib.contextmanager
def held(command: str) -> Iterator[None]:
    """Hold the clone's lock; wait for the run that has it, saying which that is."""
    place = paths.BUILD / ".lock"
    if os.environ.get(_HELD) == str(place):
        yield
        return
    try:
        paths.BUILD.mkdir(parents=True, exist_ok=True)
        lock = place.open("a+")
    except OSError as err:
        raise LabError("lock", f"cannot write to {paths.BUILD}: {err.strerror}", "check its owner") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            progress.note(f"waiting for another run in this clone to end: {lock.read().strip()}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        lock.truncate()
        lock.write(f"{command} (process {os.getpid()})\n")
        lock.flush()
        os.environ[_HELD] = str(place)
        try:
            yield
        finally:
            del os.environ[_HELD]
