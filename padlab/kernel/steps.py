# SPDX-License-Identifier: GPL-2.0-only
"""The steps of the mailable series, and its parts: who reads series/ comes here.

``series/NN-name.msg`` describes one step: its subject, the files of linux/ and the patches
of patches/ that belong to it, and its message::

    Subject: padata: ...
    Owns: kernel/padata_mt.c
    Hook: padata-mt-engine.patch

    The problem, the approach, the figures.

An Owns line that ends in / means every file below.  ``series/00-cover.msg`` is the cover letter: a subject
and a text.  Lines before the subject that begin with # are comments.  Every owned file and every patch is in
exactly one step.  What another base says instead is in its own folder (see messages()).  Lines around a table
that ``./lab docs`` makes, "# table: NAME" and "# end", are no part of the message.

A base may cut the series into parts that are mailed one after the other: its ``parts.toml`` names them in
order, each with its cover letter and its steps, and says of which part costs are recorded after each step.
Without it, all steps are one part, in the order of the numbers.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from padlab.core import paths, toml
from padlab.core.errors import LabError
from padlab.core.paths import Base
from padlab.kernel import coreedits
from padlab.kernel.owned import owned_files
from padlab.kernel.tree import Variant

STEPS = paths.ROOT / "series"
COVER = "00-cover.msg"
PARTS = "parts.toml"
# The tree that has stock, a part of the series or all of it, one after the other.
TREE = "steps"
# Lines around a table that is made from results/.
TABLE, TABLE_END = "# table: (.+)", "# end"
_MARKERS = re.compile(rf"^(?:{TABLE}|{TABLE_END})\n?", re.MULTILINE)
_COMMENTS = re.compile(r"^#.*\n?|^\s*\n", re.MULTILINE)
_HEADERS = ("Subject", "Owns", "Hook")


@dataclass(frozen=True)
class Step:
    name: str
    subject: str
    owns: tuple[str, ...]
    edits: tuple[str, ...]
    body: str


@dataclass(frozen=True)
class Part:
    name: str  # "" if it is all of the series
    cover: str
    steps: tuple[Step, ...]
    each: bool = False  # each step has costs of its own
    costs: bool = True  # or its code is not in the configuration of which costs are recorded


class _Named(msgspec.Struct, forbid_unknown_fields=True):
    """A part as parts.toml has it."""

    name: str
    steps: list[str]
    each: bool = False
    costs: bool = True

    @property
    def cover(self) -> str:
        return f"cover-{self.name}.msg" if self.name else COVER


class _Parts(msgspec.Struct, forbid_unknown_fields=True):
    part: list[_Named]


def parse_step(name: str, text: str) -> Step:
    head, _, body = text.partition("\n\n")
    body = _MARKERS.sub("", body)
    fields: dict[str, list[str]] = {header: [] for header in _HEADERS}
    for line in head.splitlines():
        if line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if not colon or key not in fields or not value.strip():
            raise _bad(name, f"cannot read the line {line!r}", f"give {', '.join(_HEADERS)} and a value")
        fields[key].append(value.strip())
    if len(fields["Subject"]) != 1:
        raise _bad(name, "it needs one Subject", "add a Subject line")
    if not body.strip():
        raise _bad(name, "it has no message", "say what problem it solves, and how")
    owns, edited = (tuple(fields[header]) for header in _HEADERS[1:])
    return Step(name, fields["Subject"][0], owns, edited, body.strip() + "\n")


def _bad(name: str, why: str, todo: str) -> LabError:
    return LabError(f"series/{name}", why, todo)


def messages(base: Base) -> dict[str, Path]:
    """The messages by name: those of series/, or what the base has under the same name.

    One that has only comments there says that the base does not have the step.
    """
    own = base.own / "series" if base.own else None
    files = {path.name: path for folder in (STEPS, own) if folder for path in folder.glob("*.msg")}
    return {name: files[name] for name in sorted(files) if _COMMENTS.sub("", files[name].read_text())}


def read_parts(base: Base | None = None) -> list[Part]:
    """The parts in order, checked: everything is in exactly one step, and each message in one part."""
    base = base or paths.base()
    texts, owned, named = messages(base), owned_files(base), _named(base)
    parts = [
        Part(
            f"{nr}-{one.name}" if one.name else "",
            one.cover,
            _steps(one.steps, texts, owned),
            one.each,
            one.costs,
        )
        for nr, one in enumerate(named, 1)
    ]
    problems = _misplaced(texts, [name for one in named for name in (one.cover, *one.steps)], "part")
    steps = [step for part in parts for step in part.steps]
    edits = coreedits.read_series(base.patches)
    problems += _misplaced(owned, [name for step in steps for name in step.owns], "step", "linux/")
    problems += _misplaced(edits, [name for step in steps for name in step.edits], "step", "patches/")
    if problems:
        why = f"{len(problems)} files, patches or messages are not where they should be"
        todo = f"correct the Owns and Hook lines of series/*.msg, or {PARTS}"
        raise LabError("the series' steps", why, todo, detail=problems)
    return parts


def _named(base: Base) -> list[_Named]:
    """The parts that the base has, or one of all its steps."""
    path = (base.own / "series" if base.own else STEPS) / PARTS
    if path.exists():
        return toml.load(path, _Parts).part
    return [_Named("", [name for name in messages(base) if name != COVER])]


def _steps(names: list[str], texts: dict[str, Path], owned: Iterable[str]) -> tuple[Step, ...]:
    """These steps; the folders that one owns are replaced with their files."""
    steps = []
    for name in filter(texts.__contains__, names):
        step, owns = parse_step(name, texts[name].read_text()), list[str]()
        for own in step.owns:
            below = [file for file in owned if own.endswith("/") and file.startswith(own)]
            owns += below or [own]
        steps.append(replace(step, owns=tuple(owns)))
    return tuple(steps)


def _misplaced(there: Iterable[str], named: list[str], kind: str, place: str = "") -> list[str]:
    """What is in none of a kind, in several, or in one but missing."""
    count = Counter(named)
    problems = [f"{place}{name}: in no {kind}" for name in sorted(set(there) - set(count))]
    problems += [f"{place}{name}: does not exist" for name in sorted(set(count) - set(there))]
    return problems + [f"{place}{name}: in {n} {kind}s" for name, n in sorted(count.items()) if n > 1]


def read_steps() -> list[Step]:
    return [step for part in read_parts() for step in part.steps]


def cover_letter(part: Part, base: Base | None = None) -> Step:
    return parse_step(part.cover, messages(base or paths.base())[part.cover].read_text())


def variant(steps: Sequence[Step]) -> Variant:
    """What TREE is with these steps alone."""
    only = frozenset(name for step in steps for name in (*step.owns, *step.edits))
    return Variant(linked=True, only=only)
