# SPDX-License-Identifier: GPL-2.0-only
"""A table as Markdown and as text for a mail.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

GAP = "  "


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first column is text, the others are figures."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        rows = ("".join(f" {cell} |" if cell else " |" for cell in cells) for cells in lines)
        return "".join(f"|{row}\n" for row in rows)

    def mail(self) -> str:
        """Indented, with figures at the right of their columns."""
        lines = [self.head, *self.rows]
        widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
        aligned = ([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])] for cells in lines)
        return "".join(f"{GAP}{GAP.join(cells)}".rstrip() + "\n" for cells in aligned)


@dataclass(frozen=True)
class Chart(Table):
    """A line for each column but the first, by what is in that; Mermaid, which has no legend."""

    title: str
    unit: str

    def markdown(self) -> str:
        columns = list(zip(*self.rows, strict=True))
        lines = [f'title "{self.title}"', f"x-axis {self.head[0]} [{', '.join(columns[0])}]"]
        lines.append(f'y-axis "{self.unit}"')
        lines += [f"line [{', '.join(cell.replace(',', '') for cell in column)}]" for column in columns[1:]]
        return "".join(f"{line}\n" for line in ("```mermaid", "xychart-beta", *lines, "```"))


def figure(value: float | None, digits: int = 2) -> str:
    """With commas; nothing for what is not known."""
    return "" if value is None else f"{value:,.{digits}f}"


def ratio(ours: float | None, stock: float | None, digits: int = 2) -> str:
    return "" if not stock or ours is None else f"{ours / stock:.{digits}f}"
