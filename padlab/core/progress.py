# SPDX-License-Identifier: GPL-2.0-only
"""Progress of long steps, on stderr, and results, on stdout.

On a terminal the steps under way, of which one may be within another, are shown below all other output and
redrawn, a line each; elsewhere each prints a line now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

_LINE_EVERY_S = 30  # where lines cannot be redrawn: a log, a CI

console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
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
    print(text, flush=True)


class Step:
    """In a with block: ``what`` is under way, with what update() shows behind it; then its time."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.start = self._last = time.monotonic()
        self._line = Spinner("dots", Text(what))
        self._live = Live(self._line, console=console, transient=True, redirect_stdout=False)

    def update(self, text: str) -> None:
        _tell(f"{self.what}: {text}")
        now = time.monotonic()
        line = f"{self.what}: {text}, {seconds(round(now - self.start))}"
        if console.is_terminal:
            self._line.update(text=Text(line))
        elif now - self._last >= _LINE_EVERY_S:
            self._last = now
            console.print(line)

    def __enter__(self) -> Step:
        _tell(self.what)
        if console.is_terminal:
            self._live.start()
        else:
            console.print(f"{self.what} ...")
        return self

    def __exit__(self, kind: type | None, _exc: object, _trace: object) -> None:
        self._live.stop()
        if kind is None:
            console.print(f"{self.what}: done in {seconds(time.monotonic() - self.start)}")


step = Step
