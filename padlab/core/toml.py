# SPDX-License-Identifier: GPL-2.0-only
"""TOML files checked against a type: msgspec does it, here its errors become a LabError.

The type says all that there is to check: a msgspec.Struct that forbids unknown fields, with ranges as
Annotated[..., Meta(ge=..., le=...)].  An error names the file, the key, and what is expected there.
"""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from padlab.core import paths
from padlab.core.errors import LabError

T = TypeVar("T")

_ANY = "[...]"  # in msgspec's paths: some entry of a dictionary


def load(path: Path, kind: type[T], over: Path | None = None) -> T:
    """Read the file ``path`` as a ``kind``; what ``over`` says, if it is given, is laid over it."""
    name, data = _read(path)
    if over:
        other, more = _read(over)
        data = laid_over(data, more, other)
        name += f", and {other} over it"
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as err:
        what, _, at = str(err).partition(" - at `$")
        at = at.removesuffix("`")
        where = _bad_entry(at, str(err), data, kind) if _ANY in at else at
        place = f"{where.lstrip('.')}: " if where else ""
        raise LabError(name, f"{place}{what[0].lower()}{what[1:]}", "correct that place") from None


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    name = str(path.relative_to(paths.ROOT)) if path.is_relative_to(paths.ROOT) else path.name
    try:
        return name, tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as err:
        raise LabError(name, f"cannot be read: {err.strerror}", "restore the file") from None
    except ValueError as err:
        raise LabError(name, f"is not valid TOML: {err}", "correct that place") from None


def laid_over(data: dict[str, Any], over: dict[str, Any], name: str, where: str = "") -> dict[str, Any]:
    """``data`` with the keys of ``over``, the file ``name``: tables key by key, false for one left out."""
    laid = dict(data)
    for key, value in over.items():
        below, at = data.get(key), f"{where}{key}"
        if value is False and not isinstance(below, bool):
            if not isinstance(below, dict):
                raise LabError(name, f"{at}: there is no such table to leave out", "remove that line")
            del laid[key]
        elif isinstance(value, dict) and isinstance(below, dict):
            laid[key] = laid_over(below, value, name, f"{at}.")
        elif value == below:
            raise LabError(name, f"{at} is what it is without it", "remove that line")
        else:
            laid[key] = value
    return laid


def _bad_entry(path: str, message: str, data: dict[str, Any], kind: Any) -> str:
    """Where the fault is among tables with names of their own: msgspec does not say in which."""
    before, _, after = path.partition(_ANY)
    table: Any = data
    for step in filter(None, before.split(".")):
        table = table[step]
    for key, value in dict(table).items():
        table.clear()
        table[key] = value
        try:
            msgspec.convert(data, kind)
        except msgspec.ValidationError as err:
            if str(err) == message:
                break
    return f"{before}.{key}{after}"
