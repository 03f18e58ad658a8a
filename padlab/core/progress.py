# SPDX-License-Identifier: GPL-2.0-only
"""Progress of long steps, on stderr, and results, on stdout.

One step may be within another.  On a terminal those under way are shown below all other output and redrawn, a
line each; elsewhere each prints a line now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.status import Status

_REDRAW_S = 0.1
_LINE_EVERY_S = 30  # where lines cannot be redrawn: a log, a CI

console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
# Plain lines: they are read in CI logs as much as on a terminal.
_out = Console(highlight=False, soft_wrap=True, markup=False)
# Is given each line, if any: a check's process tells the one that runs all checks what it does.
listener: Callable[[str], None] | None = None


def seconds(elapsed: float) -> str:
    """A duration as people say it: 0.4 s, 12 s, 3 min 05 s."""
    if elapsed < 10:
        return f"{elapsed:.1f} s"
    if elapsed < 60:
        return f"{elapsed:.0f} s"
    minutes, rest = divmod(round(elapsed), 60)
    return f"{minutes} min {rest:02d} s"


def _tell(line: str) -> None:
    if listener:
        listener(line)


def note(text: str) -> None:
    _tell(text)
    console.print(text)


def result(text: str) -> None:
    _erase()  # stdout is as it was: a status has both streams go through it
    _out.print(text)
    _draw()


_lines: dict[Step, str] = {}  # of the steps under way
_status: Status | None = None


def _draw() -> None:
    global _status
    text = escape("\n".join(_lines.values()))
    if not text:
        _erase()
    elif _status:
        _status.update(text)
    else:
        _status = console.status(text)
        _status.start()


def _erase() -> None:
    global _status
    if _status:
        _status.stop()
        _status = None


class Step:
    """In a with block: ``what`` is under way, with what update() shows behind it; then its time."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.start = time.monotonic()
        self._redrawn = console.is_terminal
        self._last = self.start

    def update(self, text: str) -> None:
        _tell(f"{self.what}: {text}")
        now = time.monotonic()
        if now - self._last < (_REDRAW_S if self._redrawn else _LINE_EVERY_S):
            return
        self._last = now
        self._show(f"{self.what}: {text}, {seconds(round(now - self.start))}")

    def _show(self, line: str) -> None:
        if self._redrawn:
            _lines[self] = line
            _draw()
        else:
            console.print(line)

    def __enter__(self) -> Step:
        _tell(self.what)
        self._show(self.what if self._redrawn else f"{self.what} ...")
        return self

    def __exit__(self, kind: type | None, _exc: object, _trace: object) -> None:
        _lines.pop(self, None)
        _draw()
        if kind is None:
            console.print(f"{self.what}: done in {seconds(time.monotonic() - self.start)}")


step = Step
