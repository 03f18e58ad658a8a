# SPDX-License-Identifier: GPL-2.0-only
"""Functions of stock that the series does something beside, and whether they are still what they were.

``checks/stock-functions.toml`` has them: file, function, a digest of the function's text,
and what in the series to look at when it changes.
"""

import re
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from padlab.core import paths, toml
from padlab.kernel.content import digest

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


class Function(Struct, frozen=True, forbid_unknown_fields=True):
    file: str
    name: str
    digest: Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$")]
    look_at: str


class Functions(Struct, frozen=True, forbid_unknown_fields=True):
    function: list[Function]


def read() -> list[Function]:
    return toml.load(paths.table("stock-functions.toml"), Functions).function


def text_of(source: str, name: str) -> str | None:
    """A function's definition without comments, or None if there is not exactly one."""
    code = _COMMENT.sub(" ", source)
    # From the name to the first brace that closes in the first column.
    pattern = rf"^(?:[A-Za-z_][^;{{}}()#]*?[\s*])?{re.escape(name)}\([^;{{}}]*\)\s*^\{{.*?^\}}"
    definitions = re.findall(pattern, code, re.MULTILINE | re.DOTALL)
    return " ".join(definitions[0].split()) if len(definitions) == 1 else None


def digest_of(stock: Path, file: str, name: str) -> str:
    path = stock / file
    text = text_of(path.read_text(errors="replace"), name) if path.exists() else None
    return digest([text])[:16] if text else ""


def changed(stock: Path, functions: list[Function]) -> list[str]:
    lines = []
    for function in functions:
        now = digest_of(stock, function.file, function.name)
        if now != function.digest:
            lines.append(
                f"stock changed {function.file}: {function.name}(): look at {function.look_at}, "
                f"then let its digest be {now or '(there is no such function)'}"
            )
    return lines
