# SPDX-License-Identifier: GPL-2.0-only
"""Which checks to run: those that patterns name."""

import difflib
import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from padlab.check.base import expected
from padlab.check.base.runner import Check
from padlab.core import paths
from padlab.core.errors import LabError

T = TypeVar("T")

NEAR = 3  # names in a message


def matches(glob: str, name: str) -> bool:
    """Whether ``glob`` matches all of ``name``; a plain word, some of it.  Case does not count."""
    glob, name = glob.lower(), name.lower()
    return fnmatch.fnmatchcase(name, glob) if any(char in glob for char in "*?[") else glob in name


def choose(
    checks: Sequence[Check], globs: Sequence[str], everything: Iterable[str], singles: Sequence[Check] = ()
) -> list[Check]:
    """Those of ``checks``, else of ``singles``, that any glob names; ``everything``: all names there are."""
    if not globs:
        return list(checks)
    chosen: set[str] = set()
    for glob in globs:
        names = _matching(glob, (check.name for check in checks))
        names = names or _matching(glob, (check.name for check in singles))
        if not names:
            raise _unknown(glob, list(everything))
        chosen.update(names)
    return [check for check in (*checks, *singles) if check.name in chosen]


def having(checks: Sequence[Check], words: str) -> list[Check]:
    """Those whose names have ``words``, which and, or, not and parentheses join, as pytest's -k has them."""
    chosen = [check for check in checks if _has(words, check.name)]
    if not chosen:
        first = next(iter(re.findall(r"[^\s()]+", words)), "")
        raise _no_such(first, [check.name for check in checks], "test -k", "check")
    return chosen


def _has(words: str, name: str) -> bool:
    def value(match: re.Match[str]) -> str:
        word = match[0].lower()
        return word if word in ("and", "or", "not") else str(word in name.lower())

    try:
        # All that is left are True, False, the three operators and parentheses.
        return bool(eval(re.sub(r"[^\s()]+", value, words), {"__builtins__": {}}))
    except (SyntaxError, TypeError) as err:  # as a call, if a parenthesis follows a word
        todo = "join words by and, or, not and parentheses"
        raise LabError(f"test -k {words}", "that is no expression", todo) from err


def named(globs: Sequence[str], items: Mapping[str, T], command: str, kind: str) -> list[T]:
    """Those of ``items`` that any of ``globs`` names, all without any, for ``./lab COMMAND``."""
    for glob in globs:
        if not _matching(glob, items):
            raise _no_such(glob, list(items), command, kind)
    return [items[name] for name in items if not globs or any(matches(glob, name) for glob in globs)]


def _matching(glob: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if matches(glob, name)]


def _unknown(glob: str, names: Sequence[str]) -> LabError:
    what = f"test {glob}"
    others = _matching(glob, names)
    if not others:
        return _no_such(glob, names, "test", "check")
    if all(map(expected.why_left_out, others)):
        return LabError(what, expected.left_out(others[:NEAR])[0], f"see {paths.command('test --list')}")
    return LabError(what, f"not in this set of checks: {_quoted(others)}", "run: ./lab test --full")


def _no_such(glob: str, names: Sequence[str], command: str, kind: str) -> LabError:
    parts = dict.fromkeys(part for name in names for part in (name, *re.findall(r"[\w=.-]+", name)))
    near = difflib.get_close_matches(glob.strip("*?"), parts, NEAR)
    like = f", nearest are {_quoted(near)}" if near else ""
    return LabError(f"{command} {glob}", f"no {kind} has that name{like}", f"see ./lab {command} --list")


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:NEAR])
