# SPDX-License-Identifier: GPL-2.0-only
"""Our native programs: run within a time limit that follows from their work, with progress.

They say at first how much they are going to do, then in each round how long a loop
took that always does the same: its spread shows how busy the host is.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from padlab.core import process, progress
from padlab.core.errors import LabError

# Until a program says what it is going to do.
START_S = 60.0
# What a slow machine does at least, in all its threads together.
SLOWEST_BYTES_PER_S = 1e9

_WORK = re.compile(r"work: (\d+) rounds, (\d+) bytes$")
_REFERENCE = re.compile(r"^round \d+ reference (\d+) ns$")


@dataclass(frozen=True)
class Said:
    """What a program said: its lines, the reference loop's times in ns, and how it ended."""

    lines: tuple[str, ...]
    reference: tuple[int, ...]
    failure: str = ""  # what it says is wrong
    ended: bool = False  # it came to its end, good or bad

    def problems(self, status: int) -> list[str]:
        """What is wrong with a run that ended with ``status``."""
        if self.failure:
            return [self.failure]
        if not self.ended:
            return [f"it ended with status {status} and no result"]
        return [f"it says ok and ended with status {status}"] if status else []


def said(output: Iterable[str], prefix: str) -> Said:
    """Read a program's output; lines without its prefix are passed over."""
    lines: list[str] = []
    reference: list[int] = []
    ended = False
    for line in output:
        if not line.startswith(prefix):
            continue
        text = line.removeprefix(prefix).rstrip()
        if text.startswith("FAILED: "):
            return Said(tuple(lines), tuple(reference), text.removeprefix("FAILED: "), True)
        if match := _REFERENCE.match(text):
            reference.append(int(match[1]))
        elif text == "ok":
            ended = True
        elif not _WORK.match(text):
            lines.append(text)
    return Said(tuple(lines), tuple(reference), ended=ended)


def limit_s(line: str) -> float | None:
    """The time limit of a program that has said ``line``, if that tells its work."""
    match = _WORK.search(line)
    return START_S + int(match[2]) / SLOWEST_BYTES_PER_S if match else None


def need(program: str, missing: Iterable[str], log: Path) -> None:
    """A verdict needs all timings."""
    if missing := sorted(missing):
        raise LabError(program, f"it did not time {', '.join(missing)}", "see its log", log=log)


def run(program: Path, *args: str, what: str, log: Path, says: str = "") -> Said:
    """What a program said; an error if it does not come to a good end.  ``says``: the name it says it has."""
    lines: list[str] = []
    limit = process.Deadline(START_S)
    with progress.step(what) as step:

        def show(line: str) -> None:
            lines.append(line)
            if (seconds := limit_s(line)) is not None:
                limit.seconds = seconds
            step.update(line.partition(": ")[2])

        todo = "a program that takes so long hangs, or the machine is very slow: see its log"
        status = process.stream(
            [program, *args], show, what=program.name, log=log, timeout=limit, todo=todo, ok=process.ANY
        )
    report = said(lines, f"{says or program.name}: ")
    if bad := report.problems(status):
        raise LabError(program.name, bad[0], "see its log", log=log)
    return report
