# SPDX-License-Identifier: GPL-2.0-only
"""The documents: short where they should be, complete, and true of the repository."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from padlab import cli
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.docs import markers, tables

README = paths.ROOT / "README.md"
GUIDES = [README, paths.ROOT / "CONTRIBUTING.md", *sorted((paths.ROOT / "docs").glob("*.md"))]
SOURCES = [path for path in paths.ROOT.iterdir() if path != paths.SHARED and not path.name.startswith(".")]
DOCUMENTS = sorted({*paths.ROOT.glob("*.md"), *(path for top in SOURCES for path in top.rglob("*.md"))})
# A path in code that begins with one of these is one of the repository.
FOLDERS = {"linux", "patches", "series", "padlab", "tests", "results", ".ci"} | {
    path.name for path in SOURCES if path.is_dir()
}
README_LINES = 120
# Lines that may be around the tables of a document.
PROSE_LINES = {
    "docs/results.md": 150,
    "docs/measuring.md": 120,
    "docs/testing.md": 200,
    "docs/design.md": 220,
}
# What is measured has one of these units, or is a share; sizes, limits of time and versions are none.
_UNITS = r"ns|us|ms|%|[GM]i?B/s|times|fold|(?:million )?instructions|instructions a page"
_MEASURED = re.compile(rf"(?<![\w.])\d[\d.,]*(?: to \d[\d.,]*)? ?(?:{_UNITS})(?!\w)|(?<![\w.-])[01]\.\d\d+\b")

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(rf"(?<![\w./-])((?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*\[\]-]*)")


def name_of(path: Path) -> str:
    return str(path.relative_to(paths.ROOT))


def links(text: str) -> Iterator[str]:
    for target in _LINK.findall(_FENCE.sub("", text)):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(text: str) -> set[str]:
    """What a link can name after "#": headings as they are rendered into identifiers."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def code_paths(text: str) -> Iterator[str]:
    """Paths of the repository in code spans and blocks; "*" stands for any name."""
    code = _FENCE.findall(text) + _SPAN.findall(_FENCE.sub("", text))
    for part in code:
        for name in _PATH.findall(part):
            yield name.rstrip(".")


def measured(name: str, text: str) -> list[str]:
    """Figures in prose: not in tables that are generated, in code, in headings or in targets of links."""
    without_code = _FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    prose = markers.prose(without_code, markers.MARKDOWN)
    return [
        f"{name}:{number}: {figure[0]}"
        for number, line in prose
        if not line.startswith("#")
        for figure in _MEASURED.finditer(_LINK.sub("", _SPAN.sub("", line)))
    ]


def test_the_guides_are_found() -> None:
    assert set(GUIDES) <= set(DOCUMENTS) and len(GUIDES) >= 6
    assert all((paths.ROOT / folder).is_dir() for folder in FOLDERS)


def test_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= README_LINES


@pytest.mark.parametrize("name", PROSE_LINES)
def test_documents_are_short(name: str) -> None:
    lines = markers.prose((paths.ROOT / name).read_text(), markers.MARKDOWN)
    assert len(lines) <= PROSE_LINES[name]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("path", tables.documents(), ids=name_of)
def test_tables_are_up_to_date(path: Path) -> None:
    assert tables.renewed(path) == path.read_text(), "make its tables again with: ./lab docs"


@pytest.mark.parametrize("path", [README, *sorted((paths.ROOT / "docs").glob("*.md"))], ids=name_of)
def test_prose_has_no_measured_figures(path: Path) -> None:
    figures = measured(name_of(path), path.read_text())
    assert not figures, "put them into a table that ./lab docs makes, or say it without"


@pytest.mark.parametrize("command", list(cli.cli.commands))
def test_names_every_command(command: str) -> None:
    assert any(re.search(rf"\./lab {command}\b", path.read_text()) for path in GUIDES)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_names_only_what_is_there(path: Path) -> None:
    text = path.read_text()
    for target in links(text):
        name, _, anchor = target.partition("#")
        there = path.parent / name if name else path
        assert there.exists() and (not anchor or anchor in anchors(there.read_text())), target
    for name in code_paths(text):
        assert list(paths.ROOT.glob(name)), name


class TestReaders:
    def test_links(self) -> None:
        assert list(links("[a](b.md#c) ![d](e.png) [web](https://f) [x](#y)")) == ["b.md#c", "e.png", "#y"]

    def test_code_paths(self) -> None:
        text = "`linux/mm/x.c`, linux/y `build/linux/z` `tests/a*.py` `mm/b.c`\n```\n$EDITOR linux/c.\n```\n"
        assert set(code_paths(text)) == {"linux/mm/x.c", "tests/a*.py", "linux/c"}

    @pytest.mark.parametrize(
        "text",
        [
            "It took 3.5 ms.", "12 ns a page", "gains 30 %", "0.95 of it", "2.4 times", "17.3 to 42.2 GB/s",
            "11,600 instructions", "1 GiB in 20.7ms",
        ],
    )  # fmt: skip
    def test_figures(self, text: str) -> None:
        assert len(measured("d", f"Before.\n{text}\n")) == 1


def test_a_document_whose_table_is_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables.packages, "ensure", lambda *_groups: None)
    monkeypatch.setattr(tables, "documents", lambda: [tmp_path / "a.md"])
    document = tmp_path / "a.md"
    document.write_text("<!-- table: bench-limits -->\n<!-- end -->\n")
    with pytest.raises(LabError, match=".*a.md not up to date; make them again with: ./lab docs"):
        tables.main(check=True)
    assert document.read_text().count("|") == 0
    assert tables.main() == 0 and tables.main(check=True) == 0
    assert "| a struct page, of the machine's limit | 1.10 |" in document.read_text()
