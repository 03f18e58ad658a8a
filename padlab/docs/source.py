# SPDX-License-Identifier: GPL-2.0-only
"""Tables of the source itself: parts of the series with their lines, hooks, and limits of the benches."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from padlab.core import paths
from padlab.docs import records
from padlab.docs.form import Table, figure
from padlab.kernel import hooks, hooktable, owned, steps
from padlab.kernel.hooktable import CODE, DOCS, Hook
from padlab.measure import firstuse, structpages, zeroing

PARTED = "7.3"  # the base whose series is mailed in parts
COSTS = ("a deferred page", "boot to init, a GiB")


@contextmanager
def _base(name: str) -> Iterator[None]:
    """With the paths of another base, which what is called here looks up each time."""
    before = paths.BASE
    paths.use_base(name)
    try:
        yield
    finally:
        paths.use_base(before)


def parts() -> Table:
    """Each part: what it is, the lines that it adds, and what a boot costs with it and those before."""
    figures = records.read(PARTED, "parts.json")["figures"]
    rows = [["", "stock", "", "", "", *_costs(figures["stock"])]]
    with _base(PARTED):
        done: list[steps.Step] = []
        before = (0, 0)
        for part in steps.read_parts():
            done += part.steps
            after = _owned_lines(done)
            hooked = [hook for step in part.steps for hook in _hooks(step)]
            code = after[0] - before[0] + hooktable.added(hooked, CODE)
            tests = after[1] - before[1] + hooktable.added(hooked, hooktable.TESTS)
            number, _, name = part.name.partition("-")
            lines = (f"{code:,}", f"{hooktable.removed(hooked, CODE):,}", f"{tests:,}")
            subject = steps.cover_letter(part).subject.partition(": ")[2]
            rows.append([number, f"{name}: {subject}", *lines, *_costs(figures[part.name])])
            before = after
    lines_head = ("lines of code", "removed", "lines of tests")
    return Table(("part", "what", *lines_head, *(f"{name}, instructions" for name in COSTS)), rows)


def _costs(figures: dict[str, float]) -> list[str]:
    return [figure(figures[name], 0 if "GiB" in name else 2) for name in COSTS]


def _owned_lines(done: Sequence[steps.Step]) -> tuple[int, int]:
    """Lines of the owned files after these steps: of kernel code, and of tests."""
    code = tests = 0
    for name, path in steps.contents(done).items():
        lines = len(path.read_bytes().splitlines())
        code, tests = (code, tests + lines) if owned.is_test(name) else (code + lines, tests)
    return code, tests


def _hooks(step: steps.Step) -> list[Hook]:
    return [hook for hook in hooktable.read(paths.PATCHES) if hook.patch in step.hooks]


def hooked(base: str) -> Table:
    """What each patch does to files that the kernel owns."""
    with _base(base):
        table = hooktable.read(paths.PATCHES)
        patches = hooks.read_series(paths.PATCHES)
    rows = []
    for patch in [*patches, ""]:
        of_patch = [hook for hook in table if patch in ("", hook.patch)]
        cells = []
        for part in (CODE, hooktable.TESTS, DOCS):
            added, removed = hooktable.added(of_patch, part), hooktable.removed(of_patch, part)
            cells.append(f"+{added} -{removed}" if added or removed else "")
        files = str(len({hook.file for hook in of_patch}))
        rows.append([f"`{patch}`" if patch else "**all**", files, *cells])
    return Table(("patch", "files", "code", "tests", "documents"), rows)


def limits() -> Table:
    """What ``./lab bench --check`` allows, of the same run."""
    at_most = [
        ("a struct page, of the machine's limit", structpages.MAX_OF_LIMIT),
        ("a struct page, of stock's time", structpages.MAX_OF_STOCK),
        ("a struct page that is not freed in a whole block, of stock's time", structpages.MAX_USE_OF_STOCK),
        ("1 GiB zeroed by one thread, of the best way of one thread", zeroing.MAX_OF_BEST),
        ("the same of stock's time, with CLZERO", zeroing.MAX_OF_STOCK_CLZERO),
        ("the same of stock's time, on an Intel CPU", zeroing.MAX_OF_STOCK_INTEL),
        ("the same of stock's time, on any other CPU", zeroing.MAX_OF_STOCK),
        ("1 GiB zeroed by two threads, of one's time", zeroing.MAX_OF_ONE),
        ("or, where two bare threads gain less: of these", zeroing.MAX_OF_SPLIT),
        ("a folio zeroed and used, of stock's time", firstuse.MAX_RATIO),
        ("1 GiB, and a folio zeroed and used, of stock's time on 7.3", zeroing.MAX_OF_EXTENTS),
    ]
    return Table(("what", "at most"), [[name, f"{most:.2f}"] for name, most in at_most])
