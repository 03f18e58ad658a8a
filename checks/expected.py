# SPDX-License-Identifier: GPL-2.0-only
"""What checks expect of the base in use: checks.toml, of which each base has its own.

It says which checks are left out and why, and what cases of the matrix (matrix.py) and guests are given.
"""

import fnmatch
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from padlab.core import paths, toml

FILE = "checks.toml"


class CaseOf(Struct, frozen=True, forbid_unknown_fields=True):
    says: tuple[str, ...]
    stock_breaks: bool


class Expected(Struct, frozen=True, forbid_unknown_fields=True, rename={"left_out": "left-out"}):
    """The table.  ``left_out`` has patterns of names, each with the reason; ``cases`` are by title."""

    left_out: dict[str, Annotated[str, Meta(min_length=1)]] = {}
    cases: dict[str, CaseOf] = {}


@functools.cache
def _load(path: Path) -> Expected:
    return toml.load(path, Expected)


def table() -> Expected:
    return _load(paths.table(FILE))


def why_left_out(name: str) -> str:
    return next((why for glob, why in table().left_out.items() if fnmatch.fnmatchcase(name, glob)), "")


def left_out(names: Iterable[str]) -> list[str]:
    """A line for each reason for which some of ``names`` are left out."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        if why := why_left_out(name):
            by_reason.setdefault(why, []).append(name)
    return [
        f"left out on Linux {paths.base().name}, as {why}: {'; '.join(left)}"
        for why, left in by_reason.items()
    ]
