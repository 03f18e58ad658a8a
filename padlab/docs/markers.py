# SPDX-License-Identifier: GPL-2.0-only
"""Where generated tables are in a document, and how they are replaced.  Pure: text in, text out.

In Markdown a table is between two comments, in a message of the series between two lines
that steps.parse_step() takes out::

    <!-- table: NAME ARGUMENTS -->          # table: NAME ARGUMENTS
    <!-- end -->                            # end
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from padlab.core.errors import LabError
from padlab.kernel import steps


@dataclass(frozen=True)
class Style:
    """How the markers of a kind of document look, and what a row of a table does."""

    begin: re.Pattern[str]
    end: str
    row: re.Pattern[str]


MARKDOWN = Style(re.compile(r"<!-- table: (.+) -->"), "<!-- end -->", re.compile(r"\|"))
# A row of a message is indented, and ends with a figure in a column of its own.
MAIL = Style(re.compile(steps.TABLE), steps.TABLE_END, re.compile(r"  \S.*  +[\d.,]+( [mun]s)?$"))


@dataclass(frozen=True)
class Block:
    """A table in a document, which begins and ends at these lines, counted from 0."""

    words: tuple[str, ...]
    begin: int
    end: int


def _wrong(name: str, line: int, why: str, todo: str) -> LabError:
    return LabError(f"{name}:{line + 1}", why, todo)


def blocks(name: str, text: str, style: Style) -> Iterator[Block]:
    begin: int | None = None
    words: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines()):
        if match := style.begin.fullmatch(line):
            if begin is not None:
                raise _endless(name, begin, style)
            begin, words = number, tuple(match[1].split())
        elif line == style.end:
            if begin is None:
                todo = "put the line that names the table above its first row"
                raise _wrong(name, number, "this ends a table that has no beginning", todo)
            yield Block(words, begin, number)
            begin = None
    if begin is not None:
        raise _endless(name, begin, style)


def _endless(name: str, line: int, style: Style) -> LabError:
    return _wrong(name, line, "this table has no end", f"put the line {style.end!r} below its last row")


def rewrite(name: str, text: str, style: Style, render: Callable[[tuple[str, ...]], str]) -> str:
    """The document with each table as ``render`` gives it, by the words of its marker."""
    lines = text.splitlines(keepends=True)
    for block in reversed(list(blocks(name, text, style))):
        try:
            table = render(block.words)
        except LabError as err:
            raise _wrong(name, block.begin, f"{err.what}: {err.why}", err.todo) from None
        lines[block.begin + 1 : block.end] = [table]
    return "".join(lines)


def prose(name: str, text: str, style: Style) -> list[tuple[int, str]]:
    """The lines outside of all tables, each with its number, counted from 1."""
    inside = {number for block in blocks(name, text, style) for number in range(block.begin, block.end + 1)}
    return [(nr + 1, line) for nr, line in enumerate(text.splitlines()) if nr not in inside]


def check_rows(name: str, text: str, style: Style) -> None:
    """An error if a row of a table is outside of all markers: nothing would keep it up to date."""
    for number, line in prose(name, text, style):
        if style.row.match(line):
            todo = f"put it between the line that names a table and {style.end!r}"
            raise _wrong(name, number - 1, "this row of a table is not between markers", todo)
