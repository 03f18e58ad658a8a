# SPDX-License-Identifier: GPL-2.0-only
"""Rows of figures as they are printed."""

from collections.abc import Iterable, Mapping

from rich.table import Table

from padlab.core import stats, table

LEGEND = f"medians (least to most); {table.OPEN}: which is faster is open, as ranges overlap or are not known"


def spread(of: stats.Summary | stats.Paired, digits: int = 3) -> str:
    median = of.median if isinstance(of, stats.Summary) else of.value
    return f"{median:,.{digits}f} ({of.low:,.{digits}f} to {of.high:,.{digits}f})"


def grid(rows: Iterable[Mapping[str, object]], digits: int = 0, **called: str) -> Table:
    """A column for each key, with words at the left; ``called`` has other names for keys and words."""

    def cell(value: object) -> str:
        if isinstance(value, stats.Summary):
            return spread(value, digits)
        if isinstance(value, stats.Paired):
            return spread(value)
        if value is None or isinstance(value, stats.Ratio):
            return table.marked(value)
        return table.plain(called.get(value, value)) if isinstance(value, str) else f"{value:,}"

    lines = list(rows)
    names = {key: called.get(key, key.replace("_", " ")) for key in lines[0]}
    left = {names[key] for key, value in lines[0].items() if isinstance(value, str)}
    columns = table.grid(names.values(), left)
    for line in lines:
        columns.add_row(*map(cell, line.values()))
    return columns
