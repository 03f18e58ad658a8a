# SPDX-License-Identifier: GPL-2.0-only
"""Where generated tables are in a document, and how they are replaced.  Pure: text in, text out.

In Markdown a table is between two comments, in a message of the series between two lines
that steps.parse_step() takes out::

    <!-- table: NAME ARGUMENTS -->          # table: NAME ARGUMENTS
    <!-- end -->                            # end
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from padlab.core.errors import LabError
from padlab.kernel import steps


@dataclass(frozen=True)
class Style:
    """How the markers of a kind of document look, and what a row of a table does."""

    begin: str
    end: str
    row: str

    def blocks(self, text: str) -> list[re.Match[str]]:
        """Tables with their markers: the words, and the rows."""
        row = rf"(?!{self.begin.partition('(')[0]}).*\n"
        return list(re.finditer(rf"^{self.begin}\n((?:{row})*?){self.end}$", text, re.MULTILINE))


MARKDOWN = Style("<!-- table: (.+) -->", "<!-- end -->", r"\|")
# A row of a message is indented, and ends with a figure in a column of its own.
MAIL = Style(steps.TABLE, steps.TABLE_END, r"  \S.*  +[\d.,]+( [mun]s)?$")


def rewrite(name: str, text: str, style: Style, render: Callable[[list[str]], str]) -> str:
    for number, line in prose(text, style):
        if re.fullmatch(style.begin, line) or line == style.end:
            todo = f"put the line that names a table above its first row, and {style.end!r} below the last"
            raise LabError(f"{name}:{number}", "this marker of a table has no other one", todo)
    for block in reversed(style.blocks(text)):
        try:
            table = render(block[1].split())
        except LabError as err:
            number = text.count("\n", 0, block.start()) + 1
            raise LabError(f"{name}:{number}", f"{err.what}: {err.why}", err.todo) from None
        text = text[: block.start(2)] + table + text[block.end(2) :]
    return text


def prose(text: str, style: Style) -> list[tuple[int, str]]:
    """The lines outside of all tables, each with its number, counted from 1."""
    for block in style.blocks(text):
        text = text.replace(block[0], "\0\n" * block[0].count("\n") + "\0")
    return [(nr, line) for nr, line in enumerate(text.splitlines(), 1) if line != "\0"]


def check_rows(name: str, text: str, style: Style) -> None:
    """An error if a row of a table is outside of all markers: nothing would keep it up to date."""
    for number, line in prose(text, style):
        if re.match(style.row, line):
            todo = f"put it between the line that names a table and {style.end!r}"
            raise LabError(f"{name}:{number}", "this row of a table is not between markers", todo)
