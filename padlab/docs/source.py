# SPDX-License-Identifier: GPL-2.0-only
"""Tables of the source itself: parts of the series with their lines, core edits, limits of the benches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab.core import stats
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
    base = Base.named(PARTED)
    rows = [["", "stock", "", "", "", "", *_costs(figures["stock"])]]

    def add(place: str, what: str, of: Sequence[steps.Step], name: str) -> None:
        rows.append([place, what, *_lines(base, of), *_costs(figures.get(name, {}))])

    for part in steps.read_parts(base):
        number, _, name = part.name.partition("-")
        for nr, step in enumerate(part.steps if part.each else (), 1):
            add(f"{number}.{nr}", step.subject, [step], step.name.removesuffix(".msg"))
        if not part.each:
            subject = steps.cover_letter(part, base).subject.partition(": ")[2]
            add(number, f"{name}: {subject}", part.steps, part.name)
    lines_head = ("lines of code", "removed", "tests", "documents")
    return Table(("part", "what", *lines_head, *(f"{name}, instructions" for name in COSTS)), rows)


def _lines(base: Base, of: Sequence[steps.Step]) -> list[str]:
    """Lines of code that steps add and remove, and those of tests and of documents."""
    names = [name for step in of for name in step.edits]
    edits = [edit for edit in read_edits(base.patches) if edit.patch in names]
    added = {kind: count(edits, kind)[0] for kind in (CODE, TESTS, DOCS)}
    files = owned.owned_files(base)
    for name in (name for step in of for name in step.owns):
        kind = DOCS if name.startswith("Documentation/") else TESTS if owned.is_test(name) else CODE
        added[kind] += len(files[name].read_bytes().splitlines())
    return [f"{lines:,}" for lines in (added[CODE], count(edits, CODE)[1], added[TESTS], added[DOCS])]


def _costs(figures: dict[str, float]) -> list[str]:
    return [figure(figures.get(name), 0 if "GiB" in name else 2) for name in COSTS]


def core_edits(base: str) -> Table:
    folder = Base.named(base).patches
    table = read_edits(folder)
    by_patch = stats.group(table, lambda edit: f"`{edit.patch}`")
    rows = []
    for name, edits in {**by_patch, "**all**": table}.items():
        counts = (count(edits, kind) for kind in (CODE, TESTS, DOCS))
        cells = (f"+{added} -{removed}" if added or removed else "" for added, removed in counts)
        rows.append([name, str(len({edit.file for edit in edits})), *cells])
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
