# SPDX-License-Identifier: GPL-2.0-only
"""Tables of the source itself: parts of the series with their lines, core edits, limits of the benches."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab.core.paths import Base
from padlab.docs import records
from padlab.docs.form import Table, figure
from padlab.kernel import coreedits, owned, steps
from padlab.measure import structpages, zeroing

PARTED = "7.3"  # the base whose series is mailed in parts
# What lines of core edits are: documents and tests need not be looked after when the kernel runs.
CODE, TESTS, DOCS = "code", "tests", "documents and MAINTAINERS"
COSTS = ("a deferred page", "boot to init, a GiB")


@dataclass(frozen=True)
class Edit:
    """How many lines a patch adds to and takes out of a file that the kernel owns."""

    patch: str
    file: str
    added: int
    removed: int

    @property
    def part(self) -> str:
        """Only an option of a test is in a Kconfig.debug here."""
        if self.file.startswith("Documentation/") or self.file == "MAINTAINERS":
            return DOCS
        tests = self.file.startswith("tools/testing/") or Path(self.file).name == "Kconfig.debug"
        return TESTS if tests else CODE


def read_edits(patches: Path) -> list[Edit]:
    table = []
    for name in coreedits.read_series(patches):
        for part in coreedits.parse((patches / name).read_text(errors="replace")):
            lines = [line[:1] for hunk in part.hunks for line in hunk[1:]]
            table.append(Edit(name, part.path, lines.count("+"), lines.count("-")))
    return table


def count(table: Iterable[Edit], part: str) -> tuple[int, int]:
    of_part = [edit for edit in table if edit.part == part]
    return sum(edit.added for edit in of_part), sum(edit.removed for edit in of_part)


def parts() -> Table:
    """Each part, or each step of it: what it is, the lines that it adds, and what a boot costs with it."""
    figures = records.read(PARTED, "parts.json")["figures"]
    rows = [["", "stock", "", "", "", "", *_costs(figures["stock"])]]
    base = Base.named(PARTED)
    for part in steps.read_parts(base):
        number, _, name = part.name.partition("-")
        if not part.each:
            subject = steps.cover_letter(part, base).subject.partition(": ")[2]
            rows.append(
                [number, f"{name}: {subject}", *_lines(base, part.steps), *_costs(figures[part.name])]
            )
            continue
        for step in part.steps:
            key = step.name.removesuffix(".msg")
            place = f"{number}.{int(key.partition('-')[0])}"
            rows.append([place, step.subject, *_lines(base, [step]), *_costs(figures[key])])
    lines_head = ("lines of code", "removed", "tests", "documents")
    return Table(("part", "what", *lines_head, *(f"{name}, instructions" for name in COSTS)), rows)


def _lines(base: Base, of: Sequence[steps.Step]) -> list[str]:
    """Lines of code that steps add and remove, and those of tests and of documents."""
    names = [name for step in of for name in step.edits]
    edited_by = [edit for edit in read_edits(base.patches) if edit.patch in names]
    owned_by = _owned_lines(base, of)
    code, tests, documents = (count(edited_by, kind)[0] + owned_by[kind] for kind in (CODE, TESTS, DOCS))
    return [f"{lines:,}" for lines in (code, count(edited_by, CODE)[1], tests, documents)]


def _costs(figures: dict[str, float]) -> list[str]:
    return [figure(figures[name], 0 if "GiB" in name else 2) for name in COSTS]


def _owned_lines(base: Base, done: Sequence[steps.Step]) -> Counter[str]:
    lines: Counter[str] = Counter()
    files = owned.owned_files(base)
    for name in (name for step in done for name in step.owns):
        kind = DOCS if name.startswith("Documentation/") else TESTS if owned.is_test(name) else CODE
        lines[kind] += len(files[name].read_bytes().splitlines())
    return lines


def core_edits(base: str) -> Table:
    folder = Base.named(base).patches
    table, patches = read_edits(folder), coreedits.read_series(folder)
    rows = []
    for patch in [*patches, ""]:
        of_patch = [edit for edit in table if patch in ("", edit.patch)]
        cells = []
        for part in (CODE, TESTS, DOCS):
            added, removed = count(of_patch, part)
            cells.append(f"+{added} -{removed}" if added or removed else "")
        files = str(len({edit.file for edit in of_patch}))
        rows.append([f"`{patch}`" if patch else "**all**", files, *cells])
    return Table(("patch", "files", "code", "tests", "documents"), rows)


def limits() -> Table:
    at_most = [
        ("a struct page, of the machine's limit", structpages.MAX_OF_LIMIT),
        ("a struct page, of stock's time", structpages.MAX_OF_STOCK),
        ("a struct page that is not freed in a whole block, of stock's time", structpages.MAX_USE_OF_STOCK),
        ("1 GiB zeroed by one thread, of the best way of one thread", zeroing.MAX_OF_BEST),
        ("the same of stock's time, with CLZERO", zeroing.MAX_OF_STOCK_CLZERO),
        ("the same of stock's time, on Sapphire or Emerald Rapids", zeroing.MAX_OF_STOCK_INTEL),
        ("the same of stock's time, on any other CPU", zeroing.MAX_OF_STOCK),
        ("1 GiB zeroed by two threads, of one's time", zeroing.MAX_OF_ONE),
        ("or, where two bare threads gain less: of these", zeroing.MAX_OF_SPLIT),
        ("1 GiB zeroed by more threads, of as many bare ones", zeroing.MAX_OF_BARE),
        (
            "1 GiB copied by one thread, of stock's time on Sapphire or Emerald Rapids",
            zeroing.MAX_OF_STOCK_COPY_INTEL,
        ),
        ("the same on any other CPU", zeroing.MAX_OF_STOCK_COPY),
        ("a folio zeroed and used, of stock's time", zeroing.MAX_USE),
        ("1 GiB, and a folio zeroed and used, of stock's time on 7.3", zeroing.MAX_OF_EXTENTS),
    ]
    return Table(("what", "at most"), [[name, f"{most:.2f}"] for name, most in at_most])
