# SPDX-License-Identifier: GPL-2.0-only
"""Lines that never ran: found, explained, and shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from padlab.check import coverage
from padlab.check.coverage import Reason
from padlab.check.gcov import File
from padlab.core import paths
from padlab.kernel import hooks
from padlab.kernel.owned import owned_files

SOURCE = (
    "int f(void)\n{\n\tif (bad())\n\t\treturn -EINVAL;\n\treturn 0;\n}\n\nint g(void)\n{\n\treturn 1;\n}\n"
)
FUNCTIONS = {3: "f", 4: "f", 5: "f", 8: "g", 10: "g"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "mm").mkdir()
    (tmp_path / "mm/a.c").write_text(SOURCE)
    return tmp_path


def judged(tree: Path, *known: Reason) -> coverage.Coverage:
    return coverage.judged({"mm/a.c": File({3: 4, 4: 0, 5: 4, 8: 0, 10: 0}, FUNCTIONS)}, known, tree)


def test_lines_that_never_ran(tree: Path) -> None:
    found = judged(tree)
    assert [line.number for line in found.unexplained()] == [4, 8, 10]
    assert str(found.unrun[0]) == "mm/a.c:4: return -EINVAL;"
    assert found.of("mm/a.c") == (5, 2)


def test_a_line_with_a_reason(tree: Path) -> None:
    found = judged(tree, Reason("mm/a.c", "nothing is bad", lines=("return -EINVAL;",)))
    assert [line.number for line in found.unexplained()] == [8, 10]
    assert found.unrun[0].why == "nothing is bad"


def test_a_function_with_a_reason(tree: Path) -> None:
    found = judged(tree, Reason("mm/a.c", "nobody calls it", function="g"))
    assert [line.number for line in found.unexplained()] == [4]


def test_a_line_of_a_function_with_a_reason(tree: Path) -> None:
    """The same text in another function has none."""
    every = [(line.text, line.function, line.number) for line in judged(tree).unrun]
    text, function, number = every[0]
    found = judged(tree, Reason("mm/a.c", "why", lines=(text,), function=function))
    assert [line.number for line in found.unexplained()] == [nr for *_, nr in every if nr != number]
    found = judged(tree, Reason("mm/a.c", "why", lines=(text,), function="another"))
    assert len(found.unexplained()) == len(every)


@pytest.mark.parametrize("function", ["f", ""])
def test_a_reason_of_another_file_or_line_is_none(tree: Path, function: str) -> None:
    other = Reason("mm/b.c", "why", lines=("return -EINVAL;",), function="g")
    again = Reason("mm/a.c", "why", lines=("return -EINVA;",), function=function and "h")
    assert len(judged(tree, other, again).unexplained()) == 3


def test_what_is_recorded(tree: Path) -> None:
    record = coverage.as_dict(judged(tree, Reason("mm/a.c", "why", function="g")), {"command": "c"})
    assert record["files"] == {"mm/a.c": {"lines": 5, "ran": 2}}
    assert [line["why"] for line in record["never ran"]] == [None, "why", "why"]


def test_each_reason_is_for_something_that_is_there() -> None:
    hooked = hooks.touched(paths.PATCHES)
    files = owned_files()
    for name, one in coverage.reasons().items():
        assert one.lines or one.function, name
        assert len(one.why) > 20, name
        if one.file not in files:
            assert one.file in hooked, name
            continue  # only the tree has it
        source = files[one.file].read_text()
        lines = {line.strip() for line in source.splitlines()}
        assert set(one.lines) <= lines, name
        assert f"{one.function}(" in source, name


def test_what_is_booted() -> None:
    every = coverage.all_guests()
    names = [guest.name for guest in every]
    assert len(names) == len(set(names)) > 25
