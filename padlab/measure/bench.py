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

from padlab.core import host, table
from padlab.measure import provenance, structpages, uml, zeroing
from padlab.measure.verdict import MAX_OF_BEST, Best, Gate, Judged, Verdict, overall

ROUNDS = 15
QUICK_ROUNDS = 5
# Exit status of --check: 2 is for a bad command line.
STATUS = {Verdict.PASSED: 0, Verdict.FAILED: 1, Verdict.OPEN: 3}


def main(quick: bool = False) -> int:
    """Build and run both; print, and record unless it was quick."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    program = uml.build()
    sizes = [f"--mib={structpages.QUICK_MIB}"] if quick else []
    runs = [uml.run(program, rounds), structpages.run(f"--rounds={rounds}", *sizes)]
    if not quick:
        provenance.record("bench.json", as_dict(runs))
    show(runs)
    return 0


def as_dict(runs: Sequence[structpages.Measured]) -> dict[str, Any]:
    return {
        **provenance.of_native("./lab bench"),
        "benches": benches(runs),
    }


def benches(runs: Sequence[structpages.Measured]) -> list[dict[str, Any]]:
    return [
        {
            "bench": measured.bench,
            "pages": measured.pages,
            "notes": list(measured.notes),
            "rows": [asdict(row) for row in structpages.rows(measured)],
            "uses": [asdict(row) for row in structpages.use_rows(measured)],
        }
        for measured in runs
    ]


def show(runs: Sequence[structpages.Measured]) -> None:
    out = table.console()
    out.print("struct pages initialised and freed, ns per page (median, least and most)")
    names = ("bench", "threads", "way", "n", "median", "min", "max", "of stock", "of limit")
    grid = table.grid(names, left={"bench", "way"})
    warnings = []
    for measured in runs:
        for row in structpages.rows(measured):
            figures = [f"{value:.2f}" for value in (row.ns.median, row.ns.low, row.ns.high)]
            way = f"{row.way}, ours" if row.way == structpages.OURS else row.way
            ratios = (table.ratio(row.ratio), table.ratio(row.of_limit))
            grid.add_row(row.bench, str(row.threads), way, str(row.ns.n), *figures, *ratios)
            name = f"{row.bench}, {row.threads} threads, {row.way}"
            if row.ratio and row.ratio.noise:
                warnings.append(f"{name}: the ratio means nothing: {row.ratio.noise}")
            if row.alone:
                warnings.append(f"{name}: in {row.alone} rounds not all threads took part: the host is busy")
    out.print(grid)
    _show_uses(runs)
    for line in warnings:
        out.print(f"[yellow]warning:[/] {table.plain(line)}")
    for measured in runs:
        out.print(f"{measured.bench}: {'; '.join(measured.notes)}", markup=False)


def _show_uses(runs: Sequence[structpages.Measured]) -> None:
    out = table.console()
    out.print("\nstruct pages that are used again at once: initialised and used, one thread, ns per page")
    grid = table.grid(("use", "way", "median", "min", "max", "of stock"), left={"use", "way"})
    for row in (row for measured in runs for row in structpages.use_rows(measured)):
        figures = [f"{value:.2f}" for value in (row.ns.median, row.ns.low, row.ns.high)]
        grid.add_row(structpages.USES[row.use], row.way, *figures, table.ratio(row.ratio))
    out.print(grid)


def gates(what: str | None) -> list[Gate[Any]]:
    """Those of struct pages ("memmap"), those of "hugepages", or all."""
    extents = zeroing.stock_zeroes_extents()
    of: dict[str, list[Gate[Any]]] = {
        "memmap": [structpages.time_gate()],
        "hugepages": [
            zeroing.time_gate(extents),
            zeroing.sizes_gate(),
            zeroing.first_use_gate(extents),
            zeroing.copy_gate(),
            zeroing.first_use_gate(copies=True),
        ],
    }
    return [gate for name, group in of.items() if what in (None, name) for gate in group]


def check(what: str | None = None, quick: bool = False) -> int:
    """Measure, print and judge; nothing is recorded.  ``quick``: each gate has one run."""
    judged = [gate.judge(quick) for gate in gates(what)]
    verdict = overall(of_gate.verdict for of_gate in judged)
    show_judged(judged, verdict)
    return STATUS[verdict]


def show_bests(bests: Sequence[Best]) -> None:
    """Where another way of this CPU is better than what ours has chosen, which is no failure."""
    out = table.console()
    others = [found for found in bests if not found.is_ours]
    ours = f"{len(bests) - len(others)} of {len(bests)}"
    out.print(f"at most {MAX_OF_BEST} of the best way that this CPU has: {ours}")
    if others:
        grid = table.grid(("", "best", "ours, of its time", "from", "to"), left={"", "best"})
        for found in others:
            figures = [f"{value:.3f}" for value in (found.ratio.value, found.ratio.low, found.ratio.high)]
            grid.add_row(table.plain(found.name), found.way, *figures)
        out.print(grid)


def show_judged(judged: Sequence[Judged], verdict: Verdict) -> None:
    """All limits, and last what is not as it should be."""
    out = table.console()
    out.print(f"{host.cpu()}", markup=False)
    for of_gate in judged:
        grid = table.grid(("", "of its time", "from", "to", "at most", "verdict"), left={"", "verdict"})
        for limit in of_gate.limits:
            ratio = limit.ratio
            figures = [f"{value:.3f}" for value in (ratio.value, ratio.low, ratio.high)]
            grid.add_row(table.plain(limit.name), *figures, f"{limit.most:.2f}", limit.verdict)
        out.print(f"\n{of_gate.gate}, {of_gate.runs} runs")
        if of_gate.limits:
            out.print(grid)
        if of_gate.bests:
            show_bests(of_gate.bests)
    out.print()
    for of_gate in judged:
        busy = f", the host is too busy: {'; '.join(of_gate.busy)}" if of_gate.busy else ""
        why = busy if of_gate.verdict is Verdict.OPEN else ""
        out.print(f"{of_gate.gate}: {of_gate.verdict}{why}", markup=False)
    out.print(verdict)
