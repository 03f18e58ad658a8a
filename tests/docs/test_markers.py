# SPDX-License-Identifier: GPL-2.0-only
"""Tables in documents: found by their markers, replaced, and faults in the markers told by line."""

from collections.abc import Sequence

import pytest

from padlab.core.errors import LabError
from padlab.docs import markers
from padlab.docs.markers import MAIL, MARKDOWN, Style
from padlab.kernel import steps

TEXTS = {
    MARKDOWN: "Before.\n<!-- table: a x y -->\n| old |\n<!-- end -->\nAfter.\n<!-- table: b -->\n<!-- end -->\n",
    MAIL: "Before.\n# table: a x y\n  old   1.0\n# end\nAfter.\n# table: b\n# end\n",
}
styles = pytest.mark.parametrize("style", [MARKDOWN, MAIL], ids=["markdown", "mail"])


def render(words: Sequence[str]) -> str:
    return f"{'-'.join(words)}\n"


def begin(style: Style, words: str) -> str:
    return f"<!-- table: {words} -->" if style is MARKDOWN else f"# table: {words}"


@styles
def test_tables_are_replaced_and_nothing_else(style: Style) -> None:
    renewed = markers.rewrite("d", TEXTS[style], style, render)
    assert renewed == TEXTS[style].replace("| old |", "a-x-y").replace("  old   1.0", "a-x-y").replace(
        f"{begin(style, 'b')}\n", f"{begin(style, 'b')}\nb\n"
    )
    assert markers.rewrite("d", renewed, style, render) == renewed
    assert [line for _, line in markers.prose(renewed, style)] == ["Before.", "After."]


def fails(_words: Sequence[str]) -> str:
    raise LabError("a table", "there is none", "name one")


@styles
@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["one", "BEGIN", "two"], "d:2: this marker of a table has no other one; put the line "),
        (["one", "END"], "d:2: this marker"),
        (["BEGIN", "BEGIN", "END"], "d:1: this marker"),
        (["BEGIN", "END", "END"], "d:3: this marker"),
        (["one", "BEGIN", "END"], "d:2: a table: there is none; name one"),
    ],
)
def test_faults_name_file_line_and_what_to_do(style: Style, lines: list[str], says: str) -> None:
    marks = {"BEGIN": begin(style, "a"), "END": style.end}
    text = "".join(f"{marks.get(line, line)}\n" for line in lines)
    with pytest.raises(LabError, match=says):
        markers.rewrite("d", text, style, fails)


@pytest.mark.parametrize(
    ("style", "row"),
    [
        (MARKDOWN, "| a | 1 |"),
        (MAIL, "  16 GiB        2,504     2,376"),
        (MAIL, "  1 GiB   35.2 ms  14.1 ms"),
    ],
)
def test_a_row_without_markers_is_an_error(style: Style, row: str) -> None:
    markers.check_rows("d", TEXTS[style] + "  a  b\n", style)
    with pytest.raises(LabError, match=f"d:{TEXTS[style].count(chr(10)) + 1}: this row"):
        markers.check_rows("d", TEXTS[style] + row + "\n", style)


def test_markers_are_no_part_of_a_mail() -> None:
    step = steps.parse_step("a.msg", f"Subject: a\n\n{TEXTS[MAIL]}")
    assert step.body == "Before.\n  old   1.0\nAfter.\n"
