# SPDX-License-Identifier: GPL-2.0-only
"""``./lab docs``: make the tables of documents and messages, or say which are old."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from padlab.core import packages, paths, progress
from padlab.core.errors import LabError
from padlab.docs import markers, tables

# Documents in which all tables are generated: one between no markers is an error.
GENERATED = ("README.md", "docs/results.md", "docs/hooks.md", "docs/pfn-users.md")


def documents() -> list[Path]:
    """All that may have such tables: of all bases."""
    folders = [paths.ROOT / "series", *sorted(paths.BASES.glob("*/series"))]
    guides = [*sorted(paths.ROOT.glob("*.md")), *sorted((paths.ROOT / "docs").glob("*.md"))]
    return [*guides, *(path for folder in folders for path in sorted(folder.glob("*.msg")))]


def renewed(path: Path) -> str:
    """What the document is with its tables up to date."""
    name, style = paths.shown(path), markers.MARKDOWN if path.suffix == ".md" else markers.MAIL

    def render(words: Sequence[str]) -> str:
        table = tables.make(words)
        return table.markdown() if style is markers.MARKDOWN else table.mail()

    text = markers.rewrite(name, path.read_text(), style, render)
    if style is markers.MAIL or name in GENERATED:
        markers.check_rows(name, text, style)
    return text


def stale() -> Iterator[tuple[Path, str]]:
    """The documents that are not up to date, and what each should be."""
    for path in documents():
        if (text := renewed(path)) != path.read_text():
            yield path, text


def renew() -> list[str]:
    """Write the documents that are not up to date; return their names."""
    packages.ensure("quilt")
    renewed = dict(stale())
    for path, text in renewed.items():
        path.write_text(text)
    return list(map(paths.shown, renewed))


def main(check: bool = False) -> int:
    """Rewrite, or with ``check`` only say what would change, which is then an error."""
    if check:
        packages.ensure("quilt")
        if names := ", ".join(paths.shown(path) for path, _ in stale()):
            todo = "make them again with: ./lab docs"
            raise LabError("documents", f"{names} not up to date", todo)
    for name in renew():
        progress.result(f"rewrote {name}")
    progress.result("all is up to date")
    return 0
