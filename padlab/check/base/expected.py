# SPDX-License-Identifier: GPL-2.0-only
"""What the checks have to expect of the base in use, where that is other than of base 6.12.

The one place for it is checks/checks.toml in the base's folder: which checks are left out and
why, and what else cases of the matrix (matrix.py) and guests are given.
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
    """The table.  ``left_out`` has patterns of names, each with the reason; ``cases`` are by title.

    ``handover``: whether the kernel has a test of kexec handover.
    """

    kunit_preempts: bool = False
    handover: bool = False
    left_out: dict[str, Annotated[str, Meta(min_length=1)]] = {}
    cases: dict[str, CaseOf] = {}


def table() -> Expected:
    return _read(paths.over(FILE))


@functools.cache
def _read(path: Path | None) -> Expected:
    return toml.load(path, Expected) if path else Expected()


def why_left_out(name: str) -> str:
    """Why the base has no check or goal of that name; "" if it has."""
    return next((why for glob, why in table().left_out.items() if fnmatch.fnmatchcase(name, glob)), "")


def left_out(names: Iterable[str]) -> list[str]:
    """A line for each reason for which some of ``names`` are left out."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        if why := why_left_out(name):
            by_reason.setdefault(why, []).append(name)
    return [f"left out on Linux {paths.BASE}, as {why}: {'; '.join(left)}" for why, left in by_reason.items()]
