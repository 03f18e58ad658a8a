# SPDX-License-Identifier: GPL-2.0-only
"""Data races that KCSAN reports: none of them may be ours.

The kernel has many that nobody minds, and with KCSAN's strictest rules it tells of those, too, in stock as in
patched.  So a report counts if one of our functions makes one of the two accesses, or calls the function that
does, unless checks/races.toml says why that race is none.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from padlab.core import paths, process, toml
from padlab.core.errors import LabError
from padlab.kernel import build as builds
from padlab.kernel.kconfig import KCSAN
from padlab.kernel.owned import is_test, owned_files

CONFIG = KCSAN
# So many calls of an access belong to it: a function of ours may have it made.
FRAMES = 2

_TITLE = re.compile(r"BUG: KCSAN: (?P<kind>.+?) in (?P<where>.+)$")
_ACCESS = re.compile(r"(?:assert no \w+|read|write|read-write)\b.* to 0x[0-9a-f]+ of .* on cpu \d+:$")
_FRAME = re.compile(r"^ (?P<name>[\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[\w+\])?$")
_RULE = re.compile(r"^=+$")
_STAMP = re.compile(r"^\[\s*\d+\.\d+\](?:\[\s*[TC]\d+\])? ?")
_SUFFIX = re.compile(r"\.(?:constprop|isra|part|cold)(?:\.\d+)?.*$")


@dataclass(frozen=True)
class Report:
    """One report: its first line, and of each access the functions, from the innermost on."""

    title: str
    stacks: tuple[tuple[str, ...], ...]
    text: str

    def functions(self) -> set[str]:
        """Those that make the accesses, and those that call them for it."""
        return {plain(name) for stack in self.stacks for name in stack[:FRAMES]}


class Known(Struct, forbid_unknown_fields=True):
    ours: str
    other: str
    why: str


def plain(symbol: str) -> str:
    """The name of a function without what the compiler adds to that of a copy."""
    return _SUFFIX.sub("", symbol)


def parse(console: str) -> list[Report]:
    """All reports, whole ones: between two rules."""
    lines = [_STAMP.sub("", line) for line in console.splitlines()]
    reports = []
    for at, match in enumerate(map(_TITLE.search, lines)):
        if match:
            report = list(itertools.takewhile(lambda line: not _RULE.match(line), lines[at:]))
            reports.append(Report(match["where"], tuple(_stacks(report)), "\n".join(report)))
    return reports


def _stacks(lines: Iterable[str]) -> Iterator[tuple[str, ...]]:
    stack: list[str] | None = None
    for line in lines:
        if _ACCESS.search(line):
            stack = []
        elif stack is not None and (match := _FRAME.match(line)):
            stack.append(match["name"])
        elif stack:
            yield tuple(stack)
            stack = None
    if stack:
        yield tuple(stack)


def known() -> dict[str, Known]:
    return toml.load(paths.table("races.toml"), dict[str, Known])


def counts(report: Report, ours: set[str], table: Iterable[Known]) -> bool:
    functions = report.functions()
    if not functions & ours:
        return False
    return not any({row.ours, row.other} <= functions for row in table)


def symbols(nm: str) -> set[str]:
    rows = (line.split() for line in nm.splitlines())
    return {plain(row[-1]) for row in rows if len(row) >= 2 and row[-2] in "tTwW"}


def our_functions(build: builds.Build) -> set[str]:
    """Of all our files, tests included: theirs are to be right, too."""
    files = [name for name in owned_files() if name.endswith(".c") and not name.startswith("tools/")]
    objects = {name: build.obj / Path(name).with_suffix(".o") for name in files}
    compiled = [path for path in objects.values() if path.exists()]
    sure = {path for name, path in objects.items() if not is_test(name)}
    if missing := sorted(path.name for path in sure.difference(compiled)):
        raise LabError("KCSAN", f"{', '.join(missing)} of ours is not in {build.obj}", "build it again")
    return symbols(
        process.run(["nm", *compiled], what="reading our symbols", log=paths.base().logs / "races.log")
    )
