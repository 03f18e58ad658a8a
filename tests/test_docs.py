# SPDX-License-Identifier: GPL-2.0-only
"""The documents: short where they should be, complete, and true of the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from padlab import cli
from padlab.core import paths

README = paths.ROOT / "README.md"
GUIDES = [README, paths.ROOT / "CONTRIBUTING.md", *sorted((paths.ROOT / "docs").glob("*.md"))]
SOURCES = [path for path in paths.ROOT.iterdir() if path != paths.SHARED and not path.name.startswith(".")]
DOCUMENTS = sorted({*paths.ROOT.glob("*.md"), *(found for top in SOURCES for found in top.rglob("*.md"))})
# A path in code that begins with one of these is one of the repository.
FOLDERS = {"linux", "patches", "series", "padlab", "tests", "results", ".ci"} | {
    path.name for path in SOURCES if path.is_dir()
}
README_LINES = 100

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(rf"(?<![\w./-])((?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*\[\]-]*)")


def name_of(path: Path) -> str:
    return str(path.relative_to(paths.ROOT))


def links(text: str) -> Iterator[str]:
    """Targets of links and pictures that are not on the web."""
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
        for found in _PATH.findall(part):
            yield found.rstrip(".")


def test_the_guides_are_found() -> None:
    assert set(GUIDES) <= set(DOCUMENTS) and len(GUIDES) >= 6
    assert all((paths.ROOT / folder).is_dir() for folder in FOLDERS)


def test_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= README_LINES


@pytest.mark.parametrize("command", list(cli.cli.commands))
def test_names_every_command(command: str) -> None:
    assert any(re.search(rf"\./lab {command}\b", path.read_text()) for path in GUIDES)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    for target in links(path.read_text()):
        name, _, anchor = target.partition("#")
        there = path.parent / name if name else path
        assert there.exists(), f"{name_of(path)} links to {target}"
        if anchor:
            assert anchor in anchors(there.read_text()), f"{name_of(path)} links to {target}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_names_no_file_that_is_not_there(path: Path) -> None:
    for found in code_paths(path.read_text()):
        assert list(paths.ROOT.glob(found)), f"{name_of(path)} names {found}"


class TestReaders:
    """The tests above see what they should."""

    def test_links(self) -> None:
        assert list(links("[a](b.md#c) ![d](e.png) [web](https://f) [x](#y)")) == ["b.md#c", "e.png", "#y"]

    def test_anchors(self) -> None:
        assert anchors("# Predicted, not measured\n```\n# a comment\n```\n") == {"predicted-not-measured"}

    def test_code_paths(self) -> None:
        text = "`linux/mm/x.c`, linux/y `build/linux/z` `tests/a*.py` `mm/b.c`\n```\n$EDITOR linux/c.\n```\n"
        assert set(code_paths(text)) == {"linux/mm/x.c", "tests/a*.py", "linux/c"}
