# SPDX-License-Identifier: GPL-2.0-only
"""``./lab bases``: what differs by base, and how many lines that is."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict, dataclass
from pathlib import Path

from padlab.core import paths, table
from padlab.kernel import hooks, hooktable, owned, source
from padlab.kernel.hooktable import Hook

GOAL_PERCENT = 5.0  # of the lines of owned files, what may differ stays below this
# Files of a base's folder that are neither code nor hooks: option, message or table.
_OTHER = {"configs": "options", "series": "messages", "checks": "tables"}


CODE, TESTS = PARTS = ("code", "tests")


def _part(file: str) -> str:
    return TESTS if owned.is_test(file) else CODE


@dataclass(frozen=True)
class Lines:
    """What of a file is otherwise: lines that come in, and lines that go out."""

    file: str
    added: int
    removed: int

    @property
    def differing(self) -> int:
        """A line that is changed comes in and goes out, and counts once."""
        return max(self.added, self.removed)


@dataclass(frozen=True)
class Difference:
    """A base: its source, its hooks, and what it has otherwise than base 6.12."""

    name: str
    package: str
    suite: str
    tested: str
    patches: int
    hooked: tuple[Lines, ...]  # by what a file is: code, tests, documents
    owned_lines: dict[str, int]  # of kernel code, and of tests
    owned: tuple[Lines, ...]
    without: tuple[str, ...]
    other: dict[str, dict[str, int]]  # options, messages and tables: file -> its lines

    def differing(self, *parts: str) -> int:
        """Lines of owned files, or of one part of them, that are otherwise."""
        return sum(lines.differing for lines in self.owned if _part(lines.file) in (parts or PARTS))

    def percent(self, *parts: str) -> float:
        lines = sum(self.owned_lines[part] for part in parts or PARTS)
        return 100 * self.differing(*parts) / lines if lines else 0.0

    def as_dict(self) -> dict[str, object]:
        counts = {"differing": self.differing(), "percent": round(self.percent(), 2)}
        code = {"percent_of_code": round(self.percent(CODE), 2), "goal_percent": GOAL_PERCENT}
        return {**asdict(self), **counts, **code}


def read(name: str) -> Difference:
    """What there is of the base ``name``, whichever is in use."""
    base = source.of(name)
    own = None if name == paths.DEFAULT_BASE else paths.BASES / name
    patches = own / "patches" if own else paths.ROOT / "patches"
    folder = own / "owned" if own else None
    without = owned.left_out(folder) if folder else []
    shared = {file: path for file, path in owned.shared_files().items() if file not in without}
    differing = hooktable.read(folder) if folder else []
    return Difference(
        name,
        base.package,
        base.suite,
        base.tested,
        len(hooks.read_series(patches)),
        tuple(_summed(hooktable.read(patches))),
        {part: sum(_count(path) for file, path in shared.items() if _part(file) == part) for part in PARTS},
        tuple(Lines(hook.file, hook.added, hook.removed) for hook in differing),
        tuple(without),
        _others(own) if own else {},
    )


def _summed(table: list[Hook]) -> list[Lines]:
    return [
        Lines(part, hooktable.added(table, part), hooktable.removed(table, part)) for part in hooktable.PARTS
    ]


def _others(own: Path) -> dict[str, dict[str, int]]:
    kinds = {}
    for folder, what in _OTHER.items():
        files = sorted(path for path in (own / folder).rglob("*") if path.is_file())
        if files:
            kinds[what] = {str(path.relative_to(own / folder)): _count(path) for path in files}
    return kinds


def _count(path: Path) -> int:
    return len(path.read_bytes().splitlines())


# Printing


def main(json: bool = False) -> int:
    """Print every base; the exit status is 1 if too much of the owned files differs."""
    bases = [read(name) for name in paths.bases()]
    if json:
        print(jsonlib.dumps([base.as_dict() for base in bases], indent=2))
    else:
        print("\n\n".join("\n".join(describe(base)) for base in bases))
        _print_files([base for base in bases if base.owned])
    return int(any(base.percent() >= GOAL_PERCENT for base in bases))


def describe(base: Difference) -> list[str]:
    """A base in a few lines."""
    default = ", the default" if base.name == paths.DEFAULT_BASE else ""
    where = base.suite or "the host's own suites"
    hooked = "; ".join(f"{file.file} {file.added} lines in, {file.removed} out" for file in base.hooked)
    lines = [
        f"base {base.name}{default}: {base.package} of {where}, tested with {base.tested}",
        f"  hooks        {base.patches} patches; {hooked}",
    ]
    if base.name == paths.DEFAULT_BASE:
        return [*lines, f"  owned files  {sum(base.owned_lines.values()):,} lines, written for it"]
    added, removed = (sum(getattr(file, key) for file in base.owned) for key in ("added", "removed"))
    lines.append(
        f"  owned files  {sum(base.owned_lines.values()):,} lines, of which {base.differing():,} differ "
        f"({base.percent():.1f} %, goal below {GOAL_PERCENT:g} %; without tests {base.percent(CODE):.1f} %): "
        f"{added:,} in, {removed:,} out, in {len(base.owned)} files"
    )
    if base.without:
        lines.append(f"  left out     {', '.join(base.without)}")
    for what, files in base.other.items():
        counts = ", ".join(f"{name} ({count} lines)" for name, count in files.items())
        lines.append(f"  {what:<12} {counts}")
    return lines


def _print_files(bases: list[Difference]) -> None:
    if not bases:
        return
    grid = table.grid(
        ("base", "owned file that differs", "lines in", "lines out"), {"owned file that differs"}
    )
    for base in bases:
        for file in base.owned:
            grid.add_row(base.name, table.plain(file.file), str(file.added), str(file.removed))
    print()
    table.console().print(grid)
