# SPDX-License-Identifier: GPL-2.0-only
"""Each figure in a table of docs/results.md is in a file that its section names, or a ratio of such.

A table of figures that are not recorded has to say so in the paragraph above it.  This holds any
table to its files, whatever of them it has; test_results_figures.py holds each row to its place in one.
"""

from __future__ import annotations

import csv
import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from padlab.core import paths

DOCUMENT = paths.ROOT / "docs/results.md"
# Millions, thousands and parts of them, as a table has another unit than its file; ns of MiB.
SCALES = (1.0, 1e3, 1e-3, 1e6, 1e-6)
_FILE = re.compile(r"`(results/[^`\s]+?\.(?:json|csv))`")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w.]*\d)")


@dataclass(frozen=True)
class Row:
    """``cells`` are those after the first, which is a name."""

    line: str
    cells: tuple[str, ...]
    files: tuple[str, ...]


def rows(text: str) -> Iterator[Row]:
    """The rows of all tables with figures, with the files that their section names."""
    for section in re.split(r"^#+ .*$", text, flags=re.MULTILINE):
        files = tuple(dict.fromkeys(_FILE.findall(section)))
        above = ""
        for block in section.split("\n\n"):
            if block.startswith("|") and "not recorded" not in " ".join(above.split()):
                for line in block.splitlines()[2:]:
                    cells = tuple(cell.strip() for cell in line.strip("|").split("|")[1:])
                    if any(map(numbers, cells)):
                        yield Row(line, cells, files)
            above = block


def leaves(data: Any) -> Iterator[float]:
    if isinstance(data, dict):
        for value in data.values():
            yield from leaves(value)
    elif isinstance(data, list):
        for value in data:
            yield from leaves(value)
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield float(data)


@functools.cache
def figures(name: str) -> frozenset[float]:
    """All that a file has."""
    path: Path = paths.ROOT / name
    if path.suffix == ".json":
        return frozenset(leaves(json.loads(path.read_text())))
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    cells = (cell for row in csv.reader(lines) for cell in row)
    return frozenset(float(cell) for cell in cells if re.fullmatch(r"-?[\d.]+", cell))


def numbers(cell: str) -> list[str]:
    """The figures of a cell, which begins with one; any other is text."""
    if not cell[:1].isdigit():
        return []
    return [found.replace(",", "") for found in _NUMBER.findall(cell)]


def values(number: str, files: tuple[str, ...]) -> set[float]:
    """What is recorded, in some unit, and rounds to this."""
    decimals = len(number.partition(".")[2])
    scaled = (value * scale for name in files for value in figures(name) for scale in SCALES)
    return {value for value in scaled if f"{value:.{decimals}f}" == number}


def is_ratio(number: str, others: list[set[float]]) -> bool:
    """Of two figures of the row, as they are recorded."""
    decimals = len(number.partition(".")[2])
    return any(
        bottom and f"{top / bottom:.{decimals}f}" == number
        for tops, bottoms in permutations(others, 2)
        for top in tops
        for bottom in bottoms
    )


def unknown(row: Row) -> list[str]:
    """Figures of a row that are neither recorded nor a ratio of two of the row that are."""
    told = [(number, values(number, row.files)) for cell in row.cells for number in numbers(cell)]
    known = [found for _, found in told if found]
    return [number for number, found in told if not found and not is_ratio(number, known)]


@pytest.mark.parametrize("row", list(rows(DOCUMENT.read_text())), ids=lambda row: row.line[:60])
def test_figures_are_recorded(row: Row) -> None:
    assert row.files, f"{row.line}: its section names no file, nor says that it is not recorded"
    assert unknown(row) == [], f"{row.line} is not of {', '.join(row.files)}"


# Of the test itself

TEXT = """
## A section

| what | stock | patched | ratio |
|---|---|---|---|
| a page | 28.77 | 9.61 (9.60 to 9.62) | 0.334 |
| a boot | 8,475 | 2,411 | 0.28 |

Recorded in `results/x.json`. These are not recorded:

| what | |
|---|---|
| other | 17 |
"""


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    figures.cache_clear()
    (tmp_path / "results").mkdir()
    data = {"stock": {"page": 28.7747, "boot": 8475.28}, "patched": [9.6078, 9.6, 9.62, 2.41122], "ok": True}
    (tmp_path / "results/x.json").write_text(json.dumps(data))
    yield
    figures.cache_clear()


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("told", "instead"),
    [("28.77", "28.78"), ("9.61", "9.16"), ("0.334", "0.343"), ("2,411", "2,412"), ("9.62", "9.63")],
)
def test_a_figure_that_is_not_recorded_is_found(told: str, instead: str) -> None:
    assert [unknown(row) for row in rows(TEXT)] == [[], []]
    assert told in TEXT
    found = [number for row in rows(TEXT.replace(told, instead)) for number in unknown(row)]
    assert instead.replace(",", "") in found


def test_a_table_without_a_file_has_to_say_so() -> None:
    assert len(list(rows(TEXT))) == 2
    assert len(list(rows(TEXT.replace("These are not recorded:", "These:")))) == 3
    assert not next(rows(TEXT.replace("results/x.json", "x.json"))).files
