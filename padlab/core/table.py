# SPDX-License-Identifier: GPL-2.0-only
"""Results on stdout."""

from collections.abc import Collection, Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from padlab.core import stats

# Results piped to a file or another program are not cut to 80 columns.
_PIPED_WIDTH = 160

plain = escape  # text from elsewhere, in which brackets are brackets


def console() -> Console:
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=_PIPED_WIDTH)


def grid(names: Iterable[str], left: Collection[str]) -> Table:
    """Columns without lines, of figures but for those named in ``left``."""
    columns = Table(box=None, padding=(0, 2), pad_edge=False)
    for name in names:
        columns.add_column(name, justify="left" if name in left else "right")
    return columns


def ratio(value: stats.Ratio | None) -> str:
    return "" if value is None or value.value is None else f"{value.value:.2f}"


# After a ratio that says nothing of which one is faster.
OPEN = "~"


def marked(value: stats.Ratio | None) -> str:
    """A ratio, with a mark where noise leaves open which side of 1 it is on."""
    return ratio(value) + (OPEN if value and value.noise else "")
