# SPDX-License-Identifier: GPL-2.0-only
"""The outcome of a check: how many cases passed, and what is to be said of the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    passed: int = 0
    failures: tuple[str, ...] = ()
    skips: tuple[str, ...] = ()
    log: Path | None = None

    def __add__(self, other: Outcome) -> Outcome:
        failures, skips = self.failures + other.failures, self.skips + other.skips
        return Outcome(self.passed + other.passed, failures, skips, self.log or other.log)

    def named(self, name: str) -> Outcome:
        """The same, with ``name`` before what is said of each case; without the log."""
        failures, skips = (
            tuple(f"{name}: {line}" for line in lines) for lines in (self.failures, self.skips)
        )
        return Outcome(self.passed, failures, skips)


def judge(problems: Iterable[str], log: Path | None = None) -> Outcome:
    """One case: however many problems there are, they have one cause more often than not."""
    lines = tuple(problems)
    return Outcome(0, ("\n".join(lines),), (), log) if lines else Outcome(1)
