# SPDX-License-Identifier: GPL-2.0-only
"""The table of hooks: how many lines the series adds to and takes out of files that the kernel owns.

Files that the series owns are not in it.  Nor are documents and tests in the sum that
counts: these are lines that a maintainer need not look after when the kernel runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from padlab.kernel import hooks

CODE, TESTS, DOCS = "code", "tests", "documents and MAINTAINERS"
PARTS = (CODE, TESTS, DOCS)


@dataclass(frozen=True)
class Hook:
    patch: str
    file: str
    added: int
    removed: int

    @property
    def part(self) -> str:
        return part_of(self.file)


def part_of(file: str) -> str:
    """What a file of the kernel is: only an option of a test is in a Kconfig.debug here."""
    if file.startswith("Documentation/") or file == "MAINTAINERS":
        return DOCS
    if file.startswith("tools/testing/") or Path(file).name == "Kconfig.debug":
        return TESTS
    return CODE


def read(patches: Path) -> list[Hook]:
    """Each file of each patch, in the order of the series."""
    table = []
    for name in hooks.read_series(patches):
        for part in hooks.parse((patches / name).read_text(errors="replace")):
            lines = [line[:1] for hunk in part.hunks for line in hunk[1:]]
            table.append(Hook(name, part.path, lines.count("+"), lines.count("-")))
    return table


def added(table: Iterable[Hook], part: str = CODE) -> int:
    return sum(hook.added for hook in table if hook.part == part)


def removed(table: Iterable[Hook], part: str = CODE) -> int:
    return sum(hook.removed for hook in table if hook.part == part)
