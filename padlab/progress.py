# SPDX-License-Identifier: GPL-2.0-only
"""Progress of long steps, on stderr: stdout is for results."""

from __future__ import annotations

import time

from rich.console import Console
from rich.markup import escape

_REDRAW_S = 0.1
_LINE_EVERY_S = 30  # where lines cannot be redrawn: a log, a CI

console = Console(stderr=True, highlight=False, soft_wrap=True)


def seconds(elapsed: float) -> str:
    """A duration as people say it: 0.4 s, 12 s, 3 min 05 s."""
    if elapsed < 10:
        return f"{elapsed:.1f} s"
    if elapsed < 60:
        return f"{elapsed:.0f} s"
    minutes, rest = divmod(round(elapsed), 60)
    return f"{minutes} min {rest:02d} s"


def note(text: str) -> None:
    """One line for the user, not a result."""
    console.print(text, markup=False)


class Step:
    """A running step; ``update`` changes what is shown behind its name."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.start = time.monotonic()
        self._status = console.status(escape(what)) if console.is_terminal else None
        self._last = self.start

    def update(self, text: str) -> None:
        now = time.monotonic()
        if now - self._last < (_REDRAW_S if self._status else _LINE_EVERY_S):
            return
        self._last = now
        line = f"{self.what}: {text}, {seconds(round(now - self.start))}"
        if self._status:
            self._status.update(escape(line))
        else:
            note(line)

    def __enter__(self) -> Step:
        if self._status:
            self._status.start()
        else:
            note(f"{self.what} ...")
        return self

    def __exit__(self, kind: type | None, _exc: object, _trace: object) -> None:
        if self._status:
            self._status.stop()
        if kind is None:
            note(f"{self.what}: done in {seconds(time.monotonic() - self.start)}")


def step(what: str) -> Step:
    """Show, in a with block, that ``what`` is under way, and how long it took when it is done."""
    return Step(what)
