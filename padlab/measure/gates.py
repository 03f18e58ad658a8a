# SPDX-License-Identifier: GPL-2.0-only
"""``./lab bench --check``: whether ours is as fast as it has to be on this CPU, natively."""

from collections.abc import Sequence
from typing import Any

from padlab.core import host, table
from padlab.measure import structpages, zeroing
from padlab.measure.verdict import Gate, Judged, Verdict, overall

# Exit status: 2 is for a bad command line.
STATUS = {Verdict.PASSED: 0, Verdict.FAILED: 1, Verdict.OPEN: 3}


def gates(what: str | None) -> list[Gate[Any]]:
    """Those of struct pages ("memmap"), those of "hugepages", or all."""
    extents = zeroing.stock_zeroes_extents()
    of: dict[str, list[Gate[Any]]] = {
        "memmap": [structpages.time_gate()],
        "hugepages": [zeroing.time_gate(extents), zeroing.first_use_gate(extents)],
    }
    return [gate for name, group in of.items() if what in (None, name) for gate in group]


def main(what: str | None = None, quick: bool = False) -> int:
    """Measure, print and judge; nothing is recorded.  ``quick``: each gate has one run."""
    judged = [gate.judge(quick) for gate in gates(what)]
    verdict = overall(of_gate.verdict for of_gate in judged)
    show(judged, verdict)
    return STATUS[verdict]


def show(judged: Sequence[Judged], verdict: Verdict) -> None:
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
        out.print(grid)
    out.print()
    for of_gate in judged:
        busy = f", the host is too busy: {'; '.join(of_gate.busy)}" if of_gate.busy else ""
        why = busy if of_gate.verdict is Verdict.OPEN else ""
        out.print(f"{of_gate.gate}: {of_gate.verdict}{why}", markup=False)
    out.print(verdict)
