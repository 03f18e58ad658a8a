# SPDX-License-Identifier: GPL-2.0-only
"""Progress of long steps, on stderr, and results, on stdout.

Several threads may have steps under way.  Each line begins with the label of the thread
that it comes from, if that has one (labelled()).  On a terminal the steps are shown below
all other output and redrawn, a line each; elsewhere each prints a line now and then.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from padlab.core.process import during

_REDRAW_S = 0.1
_LINE_EVERY_S = 30  # where lines cannot be redrawn: a log, a CI

console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
# Plain lines: they are read in CI logs as much as on a terminal.
_out = Console(highlight=False, soft_wrap=True, markup=False)
_label: ContextVar[str] = ContextVar("label", default="")


def seconds(elapsed: float) -> str:
    """A duration as people say it: 0.4 s, 12 s, 3 min 05 s."""
    if elapsed < 10:
        return f"{elapsed:.1f} s"
    if elapsed < 60:
        return f"{elapsed:.0f} s"
    minutes, rest = divmod(round(elapsed), 60)
    return f"{minutes} min {rest:02d} s"


def labelled(label: str) -> AbstractContextManager[None]:
    """What this thread prints in the with block begins with ``label``."""
    return during(_label, f"{label} ")


# Is given each line, if any: a check's process tells the one that runs all checks what it does.
listener: Callable[[str], None] | None = None


def _tell(line: str) -> None:
    if listener:
        listener(line)


def note(text: str) -> None:
    _tell(text)
    console.print(f"{_label.get()}{text}")


def result(text: str) -> None:
    with _steps.hidden():
        _out.print(text)


class _Steps:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._lines: dict[Step, str] = {}
        self._status: Status | None = None

    def show(self, step: Step, line: str) -> None:
        with self._lock:
            self._lines[step] = line
            self._draw()

    def end(self, step: Step) -> None:
        with self._lock:
            self._lines.pop(step, None)
            self._draw()

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Nothing is redrawn, and stdout is as it was: a status has both streams go through it."""
        with self._lock:
            self._erase()
            yield
            self._draw()

    def _draw(self) -> None:
        text = escape("\n".join(self._lines.values()))
        if not text:
            self._erase()
        elif self._status:
            self._status.update(text)
        else:
            self._status = console.status(text)
            self._status.start()

    def _erase(self) -> None:
        if self._status:
            self._status.stop()
            self._status = None


_steps = _Steps()


class Step:
    """In a with block: ``what`` is under way, with what update() shows behind it; then its time."""

    def __init__(self, what: str) -> None:
        self.what = f"{_label.get()}{what}"
        self.start = time.monotonic()
        self._redrawn = console.is_terminal
        self._last = self.start

    def update(self, text: str) -> None:
        _tell(f"{self.what}: {text}")
        now = time.monotonic()
        if now - self._last < (_REDRAW_S if self._redrawn else _LINE_EVERY_S):
            return
        self._last = now
        line = f"{self.what}: {text}, {seconds(round(now - self.start))}"
        if self._redrawn:
            _steps.show(self, line)
        else:
            console.print(line)

    def __enter__(self) -> Step:
        _tell(self.what)
        if self._redrawn:
            _steps.show(self, self.what)
        else:
            console.print(f"{self.what} ...")
        return self

    def __exit__(self, kind: type | None, _exc: object, _trace: object) -> None:
        _steps.end(self)
        if kind is None:
            console.print(f"{self.what}: done in {seconds(time.monotonic() - self.start)}")


step = Step
