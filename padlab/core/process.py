# SPDX-License-Identifier: GPL-2.0-only
"""Running other programs: output kept in a log, nothing left running behind.

Every child gets a process group of its own, so that make's compilers or
QEMU's threads go away with it, whatever ends the run: its own end, a time
limit, Ctrl-C.
"""

import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

from padlab.core.errors import LabError

TAIL_LINES = 20
ANY = range(-64, 256)  # exit statuses, and signals as negative ones
TODO = "see the output below"
_KILL_GRACE_S = 3.0


# Children of all threads; after kill_all(), there are to be no others.
_live: set[subprocess.Popen[str]] = set()
_ended = False

# Is told when something begins that is no part of what this process is to do, and when it ends.
on_apart: Callable[[bool], None] | None = None


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """The time that the with block takes does not count against the limit of a check: a build, say."""
    if on_apart:
        on_apart(True)
    try:
        yield
    finally:
        if on_apart:
            on_apart(False)


@contextlib.contextmanager
def spawn(
    cmd: Sequence[object],
    *,
    what: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdout: int | IO[str] = subprocess.PIPE,
) -> Iterator[subprocess.Popen[str]]:
    """Start ``cmd`` in its own process group; the group is gone when the block ends.

    ``env`` is added to the environment.  Messages are in English (LC_ALL=C), since some of them are parsed.
    """
    argv = [str(arg) for arg in cmd]
    with contextlib.ExitStack() as stack:
        with _signals_deferred():
            try:
                proc = subprocess.Popen(
                    argv,
                    cwd=cwd,
                    env={**os.environ, "LC_ALL": "C", **(env or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    start_new_session=True,
                )
            except FileNotFoundError:
                raise LabError(what, f"{argv[0]} is not installed", f"install {argv[0]}") from None
            except OSError as err:
                raise LabError(what, f"cannot start {argv[0]}: {err.strerror}", f"check {argv[0]}") from None
            _live.add(proc)
            stack.callback(_end, proc)
        if _ended:
            raise LabError(what, f"{argv[0]} was started after the end", "run it again")
        yield proc


@contextlib.contextmanager
def _signals_deferred() -> Iterator[None]:
    """Signals that have a handler of ours wait until the end of the with block.

    One that comes between a child's start and its being known here would leave the
    child behind.  Only the main thread handles signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {}
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if callable(handler := signal.getsignal(signum)):
            handlers[signum] = handler
            signal.signal(signum, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
        if came:
            signal.raise_signal(came[0])


def _end(proc: subprocess.Popen[str]) -> None:
    kill(proc)
    _live.discard(proc)
    if proc.stdout:
        with contextlib.suppress(OSError):
            proc.stdout.close()


def kill(proc: subprocess.Popen[str]) -> None:
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


def interrupt_on_signals() -> None:
    """A closed terminal or a CI's time limit ends children just as Ctrl-C does."""

    def interrupt(_signum: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    for signum in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is not signal.SIG_IGN:  # nohup
            signal.signal(signum, interrupt)


def kill_all() -> None:
    """End every child that is still there: the last resort on the way out."""
    global _ended
    _ended = True  # first: a child that is missing in the list sees it
    live = list(_live)
    for proc in live:
        _signal_group(proc, signal.SIGTERM)
    for proc in live:
        kill(proc)


def _signal_group(proc: subprocess.Popen[str], signum: int) -> None:
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

    lines = list(tail)
    detail = lines[-TAIL_LINES:]
    if timed_out.is_set():
        why = f"took longer than {timeout:g} s and was ended"
    elif status in ok:
        return status
    else:
        why = describe_status(cmd, status)
        detail = (explain(lines) if explain else []) or detail
    raise LabError(what, why, todo, log=log, detail=detail)


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
    lines: list[str] = []
    stream(cmd, lines.append, what=what, cwd=cwd, env=env, log=log, timeout=timeout, todo=todo, ok=ok)
    return "".join(line + "\n" for line in lines)


def describe_status(cmd: Sequence[object], status: int) -> str:
    name = Path(str(cmd[0])).name
    if status < 0:
        return f"{name} was ended by {signal.Signals(-status).name}"
    return f"{name} ended with status {status}"
