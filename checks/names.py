# SPDX-License-Identifier: GPL-2.0-only
"""Choosing by name, and which names are near to one that is unknown."""

import difflib
import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from padlab.core.errors import LabError

T = TypeVar("T")

NEAR = 3  # names in a message


def matches(glob: str, name: str) -> bool:
    """Whether ``glob`` matches all of ``name``; a plain word, some of it.  Case does not count."""
    glob, name = glob.lower(), name.lower()
    return fnmatch.fnmatchcase(name, glob) if any(char in glob for char in "*?[") else glob in name


def choose(globs: Sequence[str], items: Mapping[str, T], command: str, kind: str) -> list[T]:
    """Those of ``items`` that any of ``globs`` names, all without any, for ``./lab COMMAND``."""
    for glob in globs:
        if not any(matches(glob, name) for name in items):
            raise unknown(glob, items, command, kind)
    return [items[name] for name in items if not globs or any(matches(glob, name) for glob in globs)]


def unknown(wanted: str, names: Iterable[str], command: str, kind: str) -> LabError:
    parts = {part.lower(): part for name in names for part in (name, *re.findall(r"[\w=.-]+", name))}
    near = [parts[part] for part in difflib.get_close_matches(wanted.strip("*?").lower(), parts, NEAR)]
    like = f"; nearest: {', '.join(map(repr, near))}" if near else ""
    todo = f"see ./lab {command.partition(' ')[0]} --list"
    return LabError(f"{command} {wanted}", f"no {kind} has that name{like}", todo)
