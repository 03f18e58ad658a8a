# SPDX-License-Identifier: GPL-2.0-only
"""Running other programs: output kept in a log, nothing left running behind.

Every child gets a process group of its own, so that make's compilers or
QEMU's threads go away with it, whatever ends the run: its own end, a time
limit, Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from padlab.errors import LabError

TAIL_LINES = 20
TODO = "see the output below"
_KILL_GRACE_S = 3.0
_live: set[subprocess.Popen] = set()


@contextlib.contextmanager
def spawn(
    cmd: Sequence[object],
    *,
    what: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | IO | None = subprocess.DEVNULL,
    stdout: int | IO | None = subprocess.PIPE,
    stderr: int | IO | None = subprocess.STDOUT,
    text: bool = True,
) -> Iterator[subprocess.Popen]:
    """Start ``cmd`` in its own process group; the group is gone when the block ends.

    ``env`` is added to the environment.  Messages are in English (LC_ALL=C),
    since some of them are parsed.
    """
    argv = [str(arg) for arg in cmd]
    try:
        proc = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C", **(env or {})},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            text=text,
            errors="replace" if text else None,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise LabError(what, f"{argv[0]} is not installed", f"install {argv[0]}") from None
    except OSError as err:
        raise LabError(what, f"cannot start {argv[0]}: {err.strerror}", f"check {argv[0]}") from None
    _live.add(proc)
    try:
        yield proc
    finally:
        kill(proc)
        _live.discard(proc)
        for pipe in (proc.stdin, proc.stdout, proc.stderr):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()


def kill(proc: subprocess.Popen) -> None:
    """End a spawned process's whole group: ask first, then insist."""
    # The group can outlive its leader; signalling it then still reaches the rest.
    _signal_group(proc, signal.SIGTERM)
    try:
        proc.wait(_KILL_GRACE_S)
    except subprocess.TimeoutExpired:
        pass
    except KeyboardInterrupt:
        _signal_group(proc, signal.SIGKILL)
        raise
    _signal_group(proc, signal.SIGKILL)
    proc.wait()


def kill_all() -> None:
    """End every child that is still there: the last resort on the way out."""
    for proc in list(_live):
        kill(proc)


def _signal_group(proc: subprocess.Popen, signum: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(proc.pid, signum)


def stream(
    cmd: Sequence[object],
    on_line: Callable[[str], None],
    *,
    what: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    timeout: float | None = None,
    todo: str = TODO,
    ok: Sequence[int] = (0,),
    explain: Callable[[list[str]], list[str]] | None = None,
) -> int:
    """Run ``cmd``, calling ``on_line`` for each line of its output as it comes.

    An exit status not in ``ok`` raises a LabError with the last lines of the
    output, or with what ``explain`` makes of the last few thousand lines.
    """
    tail: deque[str] = deque(maxlen=5000 if explain else TAIL_LINES)
    timed_out = threading.Event()
    with contextlib.ExitStack() as stack:
        logfile = None
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            logfile = stack.enter_context(log.open("w", buffering=1, errors="replace"))
            logfile.write("$ " + " ".join(map(str, cmd)) + "\n")
        proc = stack.enter_context(spawn(cmd, what=what, cwd=cwd, env=env))

        def expire() -> None:
            timed_out.set()
            _signal_group(proc, signal.SIGKILL)

        if timeout is not None:
            timer = threading.Timer(timeout, expire)
            timer.daemon = True
            timer.start()
            stack.callback(timer.cancel)

        for line in proc.stdout or ():
            if logfile:
                logfile.write(line)
            line = line.rstrip("\n")
            tail.append(line)
            on_line(line)
        status = proc.wait()

    if timed_out.is_set():
        raise LabError(
            what,
            f"took longer than {timeout:g} s and was ended",
            todo,
            log=log,
            detail=list(tail)[-TAIL_LINES:],
        )
    if status not in ok:
        lines = list(tail)
        detail = explain(lines) if explain else lines
        raise LabError(
            what, describe_status(cmd, status), todo, log=log, detail=detail or lines[-TAIL_LINES:]
        )
    return status


def run(
    cmd: Sequence[object],
    *,
    what: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    timeout: float | None = None,
    todo: str = TODO,
    ok: Sequence[int] = (0,),
) -> str:
    """Run ``cmd`` to its end and return its output, stderr included."""
    lines: list[str] = []
    stream(cmd, lines.append, what=what, cwd=cwd, env=env, log=log, timeout=timeout, todo=todo, ok=ok)
    return "".join(line + "\n" for line in lines)


def describe_status(cmd: Sequence[object], status: int) -> str:
    """Say how ``cmd`` ended."""
    name = Path(str(cmd[0])).name
    if status < 0:
        return f"{name} was ended by {signal.Signals(-status).name}"
    return f"{name} ended with status {status}"
