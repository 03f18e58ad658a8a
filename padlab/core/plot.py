# SPDX-License-Identifier: GPL-2.0-only
"""Plots for results/, as PNG: panels of points or of bars.  Equal data give an equal file."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_DPI = 120
_NOTE_POINTS = 9
_BAR = 0.36  # height; groups are 1 apart
_LEAST_SHARE = 1500  # of a timeline: what is shorter could not be seen
_MOST_NAMES = 60  # of a timeline's rows
_BAR_ROOM = 1.9  # of the longest bar: the rest is for the text at its end


@dataclass(frozen=True)
class Series:
    """Points of one kind.  ``errors`` are bars at them; ``low`` and ``high`` bound a band around them."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    color: str
    marker: str = "o"
    line: bool = True
    errors: Sequence[float] | None = None
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class Level:
    """A horizontal line: what is the same for every x."""

    label: str
    y: float
    color: str


@dataclass(frozen=True)
class Panel:
    title: str
    xlabel: str
    ylabel: str
    series: Sequence[Series]
    levels: Sequence[Level] = ()
    logarithmic: bool = False


@dataclass(frozen=True)
class Bar:
    """A horizontal bar with ``text`` at its end; ``low`` and ``high`` are drawn as its range."""

    value: float
    text: str
    color: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Bars:
    """A panel of bars in groups, from the top down."""

    title: str
    xlabel: str
    groups: Mapping[str, Sequence[Bar]]


@dataclass(frozen=True)
class Row:
    """Of a timeline: what went on there, from when to when."""

    name: str
    color: str
    spans: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Timeline:
    """A panel of rows, from the top down; ``between`` are the ends of the axis of time."""

    xlabel: str
    rows: Sequence[Row]
    between: tuple[float, float]


def figure(
    panels: Sequence[Panel | Bars | Timeline],
    title: str,
    columns: int,
    inches: tuple[float, float],
    note: str = "",
) -> bytes:
    """All panels, ``columns`` in a row, and ``note`` in small print below them.

    The background is opaque, so that the text is readable on a dark page, too.
    """
    # Slow to import, and not wanted by any other command.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = -(-len(panels) // columns)
    whole, grid = pyplot.subplots(rows, columns, figsize=inches, layout="constrained", squeeze=False)
    whole.suptitle(title)
    for axes, panel in zip(grid.flat, panels, strict=False):
        if isinstance(panel, Bars):
            _draw_bars(axes, panel)
        elif isinstance(panel, Timeline):
            _draw_timeline(axes, panel)
        else:
            _draw(axes, panel)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    if note:
        whole.supxlabel(note, x=0.01, ha="left", fontsize=_NOTE_POINTS, color="dimgray", wrap=True)
    out = io.BytesIO()
    # The default has matplotlib's version in it.
    whole.savefig(out, format="png", dpi=_DPI, facecolor="white", metadata={"Software": None})
    pyplot.close(whole)
    return out.getvalue()


def _draw(axes: Any, panel: Panel) -> None:
    for series in panel.series:
        axes.errorbar(
            series.x,
            series.y,
            yerr=series.errors,
            marker=series.marker,
            linestyle="-" if series.line else "",
            capsize=3,
            color=series.color,
            label=series.label,
        )
        if series.low is not None and series.high is not None:
            axes.fill_between(series.x, series.low, series.high, color=series.color, alpha=0.15)
    for level in panel.levels:
        axes.axhline(level.y, color=level.color, linestyle="--", label=level.label)
    axes.set_title(panel.title, fontsize="small" if panel.logarithmic else None)
    axes.set_xlabel(panel.xlabel)
    axes.set_ylabel(panel.ylabel)
    if panel.logarithmic:
        _log_scales(axes)
    else:
        axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")


def _draw_bars(axes: Any, panel: Bars) -> None:
    longest = max(bar.value for bars in panel.groups.values() for bar in bars)
    for row, bars in enumerate(panel.groups.values()):
        for nr, bar in enumerate(bars):
            y = row + _BAR * (nr - (len(bars) - 1) / 2)
            axes.barh(y, bar.value, height=0.92 * _BAR, color=bar.color)
            end = bar.value
            if bar.low is not None and bar.high is not None:
                spread = [[bar.value - bar.low], [bar.high - bar.value]]
                axes.errorbar(bar.value, y, xerr=spread, color="black", capsize=2, linewidth=0.8)
                end = bar.high
            axes.text(end + 0.02 * longest, y, bar.text, va="center")
    axes.set_yticks(range(len(panel.groups)), panel.groups)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, _BAR_ROOM * longest)
    axes.set_title(panel.title, loc="left", fontsize="medium", fontweight="bold")
    axes.set_xlabel(panel.xlabel)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_timeline(axes: Any, panel: Timeline) -> None:
    least = (panel.between[1] - panel.between[0]) / _LEAST_SHARE
    for nr, row in enumerate(panel.rows):
        bars = [(begin, max(end - begin, least)) for begin, end in row.spans]
        # A line between two bars; bars that are hardly more than a line have none.
        edges = ["white" if width > 4 * least else row.color for _, width in bars]
        axes.broken_barh(bars, (nr - 0.4, 0.8), facecolors=row.color, edgecolors=edges, linewidth=0.4)
    step = -(-len(panel.rows) // _MOST_NAMES)
    named = range(0, len(panel.rows), step)
    axes.set_yticks(named, [panel.rows[nr].name for nr in named], fontsize="x-small")
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.set_xlim(*panel.between)
    axes.set_xlabel(panel.xlabel)
    axes.spines[["top", "right"]].set_visible(False)


def _log_scales(axes: Any) -> None:
    from matplotlib import ticker

    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    # Ticks between the powers of ten too: most panels span little more than one.
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(ticker.ScalarFormatter())
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.grid(alpha=0.3)
