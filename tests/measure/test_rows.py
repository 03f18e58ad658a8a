# SPDX-License-Identifier: GPL-2.0-only
"""Rows of figures as they are printed."""

from dataclasses import dataclass

import pytest

from padlab.core import stats, table
from padlab.measure import rows


@dataclass(frozen=True)
class Row:
    threads: int
    way: str
    us: stats.Summary
    of_stock: stats.Ratio | None


def test_ranges_that_overlap_leave_it_open(capsys: pytest.CaptureFixture[str]) -> None:
    stock = stats.summarize([1000, 1000, 1000])
    lines = [Row(1, "stock", stock, None)]
    for slowest in (1050, 990):
        ours = stats.summarize([900, 950, slowest])
        lines.append(Row(2, "ours", ours, stats.ratio(stock, ours)))
    table.console().print(rows.grid(map(vars, lines), 1, us="us a page", ours="movnti"))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["threads", "way", "us", "a", "page", "of", "stock"],
        ["1", "stock", "1,000.0", "(1,000.0", "to", "1,000.0)"],
        ["2", "movnti", "950.0", "(900.0", "to", "1,050.0)", "0.95~"],
        ["2", "movnti", "950.0", "(900.0", "to", "990.0)", "0.95"],
    ]
