# SPDX-License-Identifier: GPL-2.0-only
"""``./lab bench``: struct page init at native speed on real memory, stock's way beside ours.

Two programs run the code that is in the kernel, on memory much larger than
caches: see structpages.py and uml.py.

In each, the ways take turns, so that whatever else the host does hits all of
them.  What counts is the ratio of medians within one run.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from padlab.core import table
from padlab.measure import provenance, structpages, uml
from padlab.measure.structpages import OURS, QUICK_MIB, USE_OURS, USES, Measured, Row

COMMAND = "./lab bench"
ROUNDS = 15
QUICK_ROUNDS = 5


def main(quick: bool = False) -> int:
    """Build and run both; print, and record unless it was quick."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    program = uml.build()
    sizes = [f"--mib={QUICK_MIB}"] if quick else []
    runs = [uml.run(program, rounds), structpages.run(f"--rounds={rounds}", *sizes)]
    if not quick:
        provenance.record("bench.json", as_dict(runs))
    show(runs)
    return 0


def as_dict(runs: Sequence[Measured]) -> dict[str, Any]:
    return {
        **provenance.of_native(COMMAND),
        "benches": [
            {
                "bench": measured.bench,
                "pages": measured.pages,
                "notes": list(measured.notes),
                "rows": [asdict(row) for row in structpages.rows(measured)],
                "uses": [asdict(row) for row in structpages.use_rows(measured)],
            }
            for measured in runs
        ],
    }


def show(runs: Sequence[Measured]) -> None:
    """The tables, and what is wrong with them."""
    out = table.console()
    out.print("struct pages initialised and freed, ns per page (median, least and most)")
    names = ("bench", "threads", "way", "n", "median", "min", "max", "of stock", "of limit")
    grid = table.grid(names, left={"bench", "way"})
    warnings = []
    for measured in runs:
        for row in structpages.rows(measured):
            figures = [f"{value:.2f}" for value in (row.ns.median, row.ns.low, row.ns.high)]
            way = f"{row.way}, ours" if row.way == OURS else row.way
            ratios = (table.ratio(row.ratio), table.ratio(row.of_limit))
            grid.add_row(row.bench, str(row.threads), way, str(row.ns.n), *figures, *ratios)
            warnings += _warnings(row)
    out.print(grid)
    _show_uses(runs)
    for line in warnings:
        out.print(f"[yellow]warning:[/] {table.plain(line)}")
    for measured in runs:
        out.print(f"{measured.bench}: {'; '.join(measured.notes)}", markup=False)


def _show_uses(runs: Sequence[Measured]) -> None:
    out = table.console()
    out.print("\nstruct pages that are used again at once: initialised and used, one thread, ns per page")
    grid = table.grid(("use", "way", "median", "min", "max", "of stock"), left={"use", "way"})
    for row in (row for measured in runs for row in structpages.use_rows(measured)):
        figures = [f"{value:.2f}" for value in (row.ns.median, row.ns.low, row.ns.high)]
        way = "plain, ours" if row.way == USE_OURS else row.way
        grid.add_row(USES[row.use], way, *figures, table.ratio(row.ratio))
    out.print(grid)


def _warnings(row: Row) -> list[str]:
    warnings = []
    name = f"{row.bench}, {row.threads} threads, {row.way}"
    if row.ratio and row.ratio.noise:
        warnings.append(f"{name}: the ratio means nothing: {row.ratio.noise}")
    if row.alone:
        warnings.append(f"{name}: in {row.alone} rounds not all threads took part: the host is busy")
    return warnings
