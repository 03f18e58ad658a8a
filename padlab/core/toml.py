# SPDX-License-Identifier: GPL-2.0-only
"""TOML files checked against a type: msgspec does it, here its errors become a LabError.

The type says all that there is to check: a msgspec.Struct that forbids unknown
fields, with ranges as Annotated[..., Meta(ge=..., le=...)].  An error names the
file, the key, what was found there and what to write instead.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from padlab.core import paths
from padlab.core.errors import LabError

T = TypeVar("T")

_AT = re.compile(r" - at `\$(?P<path>.*)`$")
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+|\.\.\.)\]")
_MISSING = re.compile(r"missing required field `(.*?)`")
_UNKNOWN = re.compile(r"unknown field `(.*?)`")
_SHOWN = 60  # characters of a value that was found


def load(path: Path, kind: type[T], over: Path | None = None) -> T:
    """Read the file ``path`` as a ``kind``; what ``over`` says, if it is given, is laid over it."""
    name, data = _name(path), _parsed(_name(path), _read(path))
    if over:
        data = laid_over(data, _parsed(_name(over), _read(over)), _name(over))
        name += f", and {_name(over)} over it"
    return _converted(name, data, kind)


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


def _name(path: Path) -> str:
    return str(path.relative_to(paths.ROOT)) if path.is_relative_to(paths.ROOT) else path.name


def _read(path: Path) -> str:
    name = _name(path)
    try:
        return path.read_text(encoding="utf-8")
    except OSError as err:
        raise LabError(name, f"cannot be read: {err.strerror}", "restore the file") from None
    except UnicodeDecodeError as err:
        raise LabError(name, f"cannot be read: {err}", "write it in UTF-8") from None


def parse(name: str, text: str, kind: type[T]) -> T:
    """Read the text of the file called ``name`` as a ``kind``."""
    return _converted(name, _parsed(name, text), kind)


def _parsed(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        raise LabError(name, f"is not valid TOML: {err}", "correct that place") from None


def _converted(name: str, data: dict[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as err:
        raise _explain(name, str(err), data, kind) from None


def _explain(name: str, message: str, data: object, kind: Any) -> LabError:
    """Say in one line what msgspec found."""
    where, value, wanted = _locate(message, data, kind)
    prefix = f"{where}: " if where else ""
    if match := _UNKNOWN.search(message):
        todo = f"remove it, or use one of {', '.join(sorted(_fields(wanted)))}"
        return LabError(name, f"{prefix}unknown key '{match[1]}'", todo)
    if match := _MISSING.search(message):
        todo = f"add it, as {describe(_fields(wanted)[match[1]])}"
        return LabError(name, f"{prefix}key '{match[1]}' is missing", todo)
    return LabError(name, f"{where or 'it'} is {_show(value)}", f"use {describe(wanted)}")


def _locate(message: str, data: object, kind: Any) -> tuple[str, Any, inspect.Type]:
    """The key that ``message`` is about, its value, and its type."""
    match = _AT.search(message)
    where, value, wanted = "", data, _plain(inspect.type_info(kind))
    for step in _STEP.finditer(match["path"] if match else ""):
        key: Any
        if isinstance(wanted, inspect.DictType):
            key, wanted = _bad_entry(value, wanted), wanted.value_type
        elif step["field"]:
            key, wanted = step["field"], _fields(wanted)[step["field"]]
        else:
            key = int(step["index"])
            wanted = _item(wanted, key)
        where += f"[{key}]" if isinstance(key, int) else f".{key}"
        wanted, value = _plain(wanted), value[key]  # type: ignore[index]
    return where.lstrip("."), value, wanted


def _bad_entry(table: Any, kind: inspect.DictType) -> str:
    """The first of a table's tables that is not as it has to be; msgspec does not name it."""
    assert isinstance(kind.value_type, inspect.StructType)
    for key, value in table.items():
        try:
            msgspec.convert(value, kind.value_type.cls)
        except msgspec.ValidationError:
            return str(key)
    raise AssertionError("msgspec found a fault in a table whose entries are good")


def _fields(struct: inspect.Type) -> dict[str, inspect.Type]:
    assert isinstance(struct, inspect.StructType)
    return {field.encode_name: field.type for field in struct.fields}


def _item(sequence: inspect.Type, index: int) -> inspect.Type:
    if isinstance(sequence, inspect.TupleType):
        return sequence.item_types[index]
    assert isinstance(sequence, inspect.ListType | inspect.VarTupleType)
    return sequence.item_type


def _plain(kind: inspect.Type) -> inspect.Type:
    """Without "or None", which is what a key that may be left out is."""
    if isinstance(kind, inspect.UnionType):
        return next(option for option in kind.types if not isinstance(option, inspect.NoneType))
    return kind


def _show(value: object) -> str:
    """A value as TOML has it; a long one by its length."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    if len(text) <= _SHOWN:
        return text
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'a table'} of {len(value)}"
    return text[:_SHOWN] + "..."


def describe(kind: inspect.Type) -> str:
    """What to write where a value of this type is wanted."""
    kind = _plain(kind)
    match kind:
        case inspect.Metadata():
            return str((kind.extra_json_schema or {}).get("description", "")) or describe(kind.type)
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "a whole number" + _range(kind)
        case inspect.FloatType():
            return "a number" + _range(kind)
        case inspect.LiteralType():
            return " or ".join(json.dumps(value) for value in kind.values)
        case inspect.TupleType():
            return f"a list of {len(kind.item_types)}: {', '.join(map(describe, kind.item_types))}"
        case inspect.ListType() | inspect.VarTupleType():
            return f"a list{_length(kind)}, each {describe(kind.item_type)}"
        case inspect.StructType():
            return f"a table with {', '.join(_fields(kind))}"
        case inspect.DictType():
            return f"tables, each {describe(kind.value_type)}"
        case _:
            return "a string"


def _range(kind: inspect.IntType | inspect.FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f" from {kind.ge} to {kind.le}"
    if kind.ge is not None:
        return f" of {kind.ge} or more"
    return f" above {kind.gt}" if kind.gt is not None else ""


def _length(kind: inspect.ListType | inspect.VarTupleType) -> str:
    if kind.max_length is None:
        return ""
    return f" of {kind.min_length or 0} to {kind.max_length}"
