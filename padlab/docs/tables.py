# SPDX-License-Identifier: GPL-2.0-only
"""All tables by the names that documents call them by."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from padlab.core import packages, paths, progress
from padlab.core.errors import LabError
from padlab.docs import instructions, markers, native, source
from padlab.docs.form import Table

TABLES: dict[str, Callable[..., Table]] = {
    "boots": native.boots,
    "boots-by-threads": native.boots_by_threads,
    "instructions": instructions.boots,
    "instructions-per-gib": instructions.per_gib,
    "instructions-bases": instructions.bases,
    "threads-made": instructions.threads_made,
    "helpers": instructions.helpers,
    "accepting": instructions.accepting,
    "recorded": native.recorded,
    "struct-pages": native.struct_pages,
    "struct-pages-threads": native.by_threads,
    "struct-pages-chart": native.threads_chart,
    "struct-pages-uses": native.uses,
    "zeroing-1-gib": partial(native.by_cpu, "1 GiB"),
    "zeroing-chart": native.gib_chart,
    "zeroing-2-mib": partial(native.by_cpu, "2 MiB"),
    "zeroing-ways": native.ways,
    "zeroing-sizes": native.sizes,
    "zeroing-break-even": native.break_even,
    "copies": native.copies,
    "parts": source.parts,
    "core-edits": source.core_edits,
    "bench-limits": source.limits,
    # Of messages.
    "cover": instructions.cover,
    "lower-zones": instructions.lower,
    "deferred-page": instructions.deferred,
    "after-parts": instructions.parts,
    "node-line": native.mail_boots,
    "struct-page": native.mail_struct_pages,
    "zeroing": native.mail_zeroing,
    "zeroing-by-way": native.mail_ways,
}


def make(words: Sequence[str]) -> Table:
    name, *arguments = words
    function = TABLES.get(name)
    if function is None:
        raise LabError("a table", f"there is none called {name!r}", f"name one of: {', '.join(TABLES)}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        wanted = " ".join(inspect.signature(function).parameters).upper()
        why = f"{name!r} does not take {' '.join(arguments) or 'nothing'}"
        raise LabError("a table", why, f"name it as: {name} {wanted}") from None
    try:
        return function(*arguments)
    except (KeyError, TypeError, IndexError, ValueError, StopIteration) as err:
        why = f"what {' '.join(words)!r} is made from is not recorded ({type(err).__name__}: {err})"
        raise LabError("a table", why, "record it again, or name another CPU or part") from None


# Documents in which all tables are generated: one between no markers is an error.
GENERATED = ("README.md", "docs/results.md", "docs/core-edits.md")


def documents() -> list[Path]:
    folders = [paths.ROOT / "series", *sorted(paths.BASES.glob("*/series"))]
    guides = [*sorted(paths.ROOT.glob("*.md")), *sorted((paths.ROOT / "docs").glob("*.md"))]
    return [*guides, *(path for folder in folders for path in sorted(folder.glob("*.msg")))]


def renewed(path: Path) -> str:
    name, style = paths.shown(path), markers.MARKDOWN if path.suffix == ".md" else markers.MAIL

    def render(words: Sequence[str]) -> str:
        table = make(words)
        return table.markdown() if style is markers.MARKDOWN else table.mail()

    text = markers.rewrite(name, path.read_text(), style, render)
    if style is markers.MAIL or name in GENERATED:
        markers.check_rows(name, text, style)
    return text


def renew(check: bool = False) -> list[str]:
    """The names of those that change.  With ``check`` none is rewritten, and any is an error."""
    packages.ensure("quilt")
    stale = {path: text for path in documents() if (text := renewed(path)) != path.read_text()}
    names = [paths.shown(path) for path in stale]
    if check and names:
        why = f"{', '.join(names)} not up to date"
        raise LabError("documents", why, "make them again with: ./lab docs")
    for path, text in stale.items():
        path.write_text(text)
    return names


def main(check: bool = False) -> int:
    for name in renew(check):
        progress.result(f"rewrote {name}")
    progress.result("all is up to date")
    return 0
