# SPDX-License-Identifier: GPL-2.0-only
"""Mutants: small faults of the kernel side, each of which some check has to notice.

``checks/mutants/`` has a table for each file, or for a few that go together; another base than 6.12 has what
differs in its own folder (toml.load()).  A mutant replaces a text that is there exactly once.  Which checks
are to notice it, its table says, or the mutant itself (detectors.py).  ``./lab mutants`` tries them.

Some are bugs of the engine that ``./lab test`` seeds as well, each by a check of its own: they say which
build in userspace finds them, and in which words (fuzz.py).
"""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from padlab.core import paths, toml
from padlab.core.errors import LabError
from padlab.kernel.content import digest

FOLDER = "mutants"  # of checks/

_Checks = Annotated[tuple[str, ...], Meta(min_length=1)]


class Mutant(Struct, frozen=True, forbid_unknown_fields=True):
    """What to replace in which file of the kernel tree, and the checks that are to notice.

    ``equivalent`` says why none can, if that is so.  ``build`` and ``says`` are for
    ``./lab test``: a build of the engine in userspace, and what it has to say.
    """

    why: str
    old: str
    new: str
    # What is not given is the table's.
    file: str = ""
    checks: _Checks = ()
    equivalent: str = ""
    build: Literal["asan", "tsan", ""] = ""
    says: str = ""
    id: str = ""  # TABLE/NAME

    @property
    def table(self) -> str:
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        return self.id.partition("/")[2]

    @property
    def key(self) -> str:
        return digest([self.file, self.old, self.new])


class _Table(Struct, forbid_unknown_fields=True):
    file: str
    checks: _Checks
    mutants: dict[str, Mutant]


def load(path: Path, over: Path | None = None) -> list[Mutant]:
    table = toml.load(path, _Table, over)
    return [
        structs.replace(
            mutant,
            id=f"{path.stem}/{name}",
            file=mutant.file or table.file,
            checks=mutant.checks or table.checks,
        )
        for name, mutant in table.mutants.items()
    ]


def of_table(name: str) -> list[Mutant]:
    """Those of the table ``name``, as the base in use has it, which may be the only one to have it."""
    file = f"{FOLDER}/{name}.toml"
    shared, over = paths.CHECKS / file, paths.over(file)
    return load(shared, over) if shared.exists() or not over else load(over)


def all_of() -> list[Mutant]:
    folders = filter(None, (paths.CHECKS / FOLDER, paths.over(FOLDER)))
    names = {path.stem for folder in folders for path in folder.glob("*.toml")}
    return [mutant for name in sorted(names) for mutant in of_table(name)]


def seeded(mutant: Mutant, source: str) -> str:
    why = ""
    if (count := source.count(mutant.old)) != 1:
        why = f"its old text is {count} times in {mutant.file}, not once"
    elif mutant.old == mutant.new:
        why = "its new text is the old one"
    if why:
        table = paths.shown(paths.table(f"{FOLDER}/{mutant.table}.toml"))
        raise LabError(f"mutant {mutant.id}", why, f"correct it in {table}")
    return source.replace(mutant.old, mutant.new)
