# SPDX-License-Identifier: GPL-2.0-only
"""Our native programs: run with progress, and what they say.

In each round they say how long a loop took that always does the same: its spread shows how busy the host is.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab.core import process, progress
from padlab.core.errors import LabError

_PROGRESS = re.compile(
    r"work: \d+ rounds, \d+ bytes|memory: \d+ MiB of \d+|warming up: .*|(run )?\d+ of \d+(, store \w+)?"
)
_REFERENCE = re.compile(r"round \d+ reference (\d+) ns")
_OK = re.compile(r"ok(?:: (.*))?")


@dataclass(frozen=True)
class Said:
    """What a program said: its lines, the reference loop's times in ns, and how it ended."""

    lines: tuple[str, ...]
    reference: tuple[int, ...]
    failure: str = ""  # what it says is wrong
    ended: bool = False  # it came to its end, good or bad
    end: str = ""  # what it says then

    def problems(self, status: int) -> list[str]:
        if self.failure:
            return [self.failure]
        if not self.ended:
            return [f"it ended with status {status} and no result"]
        return [f"it says ok and ended with status {status}"] if status else []


def said(output: Iterable[str], prefix: str) -> Said:
    lines: list[str] = []
    reference: list[int] = []
    ended, end = False, ""
    for text in (line.removeprefix(prefix).rstrip() for line in output if line.startswith(prefix)):
        if text.startswith("FAILED: "):
            return Said(tuple(lines), tuple(reference), text.removeprefix("FAILED: "), True)
        if match := _REFERENCE.fullmatch(text):
            reference.append(int(match[1]))
        elif match := _OK.fullmatch(text):
            ended, end = True, match[1] or ""
        elif not _PROGRESS.fullmatch(text):
            lines.append(text)
    return Said(tuple(lines), tuple(reference), ended=ended, end=end)


Key = tuple[str, int, str]  # what is done, on how many threads, in which way
Times = Mapping[Key, Sequence[int]]  # in ns, round by round


@dataclass(frozen=True)
class Timing:
    what: str
    threads: int
    way: str
    ns: int
    more: int = 0  # of struct pages, threads that took part; of huge pages, CPU time in ns

    @property
    def key(self) -> Key:
        return self.what, self.threads, self.way


@dataclass(frozen=True)
class Measured:
    timings: tuple[Timing, ...] = ()
    notes: tuple[str, ...] = ()
    reference: tuple[int, ...] = ()
    pages: int = 0  # struct pages
    bench: str = "userspace"


def times_of(runs: Iterable[Measured]) -> Times:
    times: dict[Key, list[int]] = {}
    for timing in (timing for measured in runs for timing in measured.timings):
        times.setdefault(timing.key, []).append(timing.ns)
    return times


def run(
    program: Path, *args: str, what: str, log: Path, says: str = "", limit_s: float | None = None
) -> Said:
    """What a program said; an error if it does not come to a good end.  ``says``: the name it says it has."""
    lines: list[str] = []
    with progress.step(what) as step:

        def show(line: str) -> None:
            lines.append(line)
            step.update(line.partition(": ")[2])

        command = [program, *args]
        status = process.stream(command, show, what=program.name, log=log, timeout=limit_s, ok=process.ANY)
    report = said(lines, f"{says or program.name}: ")
    if bad := report.problems(status):
        raise LabError(program.name, bad[0], "see its log", log=log)
    return report
