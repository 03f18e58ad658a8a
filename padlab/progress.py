# SPDX-License-Identifier: GPL-2.0-only
"""Progress of long steps, on stderr: stdout is for results."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from rich.console import Console

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
        self._status = console.status(what) if console.is_terminal else None
        self._last = 0.0

    def update(self, text: str) -> None:
        now = time.monotonic()
        if self._status and now - self._last >= 0.1:
            self._last = now
            elapsed = seconds(round(now - self.start))
            self._status.update(f"{self.what}: {text}, {elapsed}".replace("[", r"\["))

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


@contextlib.contextmanager
def step(what: str) -> Iterator[Step]:
    """Show that ``what`` is under way, and how long it took when it is done."""
    with Step(what) as running:
        yield running
