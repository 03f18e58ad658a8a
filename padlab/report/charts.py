# SPDX-License-Identifier: GPL-2.0-only
"""The kinds of charts of the report, as Vega-Lite specifications by Vega-Altair.

Colours are variables of the page, which has values of them for light and for dark.  A chart
is as wide as its place on the page, so nothing here may need more than a phone has: names of
bars are above them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

STOCK, PATCHED = "var(--stock)", "var(--patched)"
CATEGORIES = tuple(f"var(--cat{nr})" for nr in range(1, 7))
COLORS = {"stock": STOCK, "patched": PATCHED, "node 0": PATCHED, "chunks": PATCHED}
# Sizes in MiB as they are called.
SIZES = (
    "datum.value >= 1024 ? datum.value / 1024 + ' GiB' :"
    " datum.value < 1 ? datum.value * 1024 + ' KiB' : datum.value + ' MiB'"
)
_INK, _MUTED, _GRID = "var(--ink)", "var(--muted)", "var(--grid)"
_BAR_PX, _NAME_PX = 22, 26
_ROW_PX = 16
_LABEL_ROOM = 1.5  # of the longest bar: the rest is for the text at its end
_FONT = "system-ui, sans-serif"

Spec = dict[str, Any]


@dataclass(frozen=True)
class Bar:
    """``group`` is the name above some bars, ``kind`` which of them it is; ``low`` and ``high`` its range."""

    group: str
    kind: str
    value: float
    text: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Point:
    series: str
    x: float
    y: float
    text: str = ""


@dataclass(frozen=True)
class Span:
    row: str
    kind: str
    begin: float
    end: float
    text: str


def _values(rows: Iterable[Any]) -> alt.Data:
    return alt.Data(values=[row if isinstance(row, dict) else vars(row) for row in rows])


def _colors(kinds: Sequence[str]) -> alt.Color:
    """Stock is grey and ours is blue in every chart; what else there is has other colours."""
    spare, colors = iter(CATEGORIES), []
    for kind in kinds:
        own = next((color for word, color in COLORS.items() if kind.startswith(word)), None)
        taken = own in colors or (kind not in COLORS and own in map(COLORS.get, kinds))
        colors.append(own if own and not taken else next(spare))
    shown = alt.Legend(title=None, orient="top", columns=2, labelLimit=300)
    return alt.Color("kind:N", scale=alt.Scale(domain=list(kinds), range=colors), legend=shown)


def _finished(chart: Any, height: int | alt.Step) -> Spec:
    text: dict[str, Any] = {
        "labelColor": _MUTED,
        "titleColor": _MUTED,
        "labelFont": _FONT,
        "titleFont": _FONT,
    }
    sizes: dict[str, Any] = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    done = (
        chart.properties(width="container", height=height, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(**text, **sizes, gridColor=_GRID, domainColor=_GRID, tickColor=_GRID)
        .configure_legend(**text, labelFontSize=12)
        .configure_text(color=_INK, font=_FONT, fontSize=12)
    )
    spec: Spec = done.to_dict()
    spec["autosize"] = {"type": "fit-x", "contains": "padding", "resize": True}
    return spec


def bars(rows: Sequence[Bar], xtitle: str) -> Spec:
    """Horizontal bars in groups, from the top down, with their figures at their ends."""
    kinds = list(dict.fromkeys(row.kind for row in rows))
    slots = ["", *kinds]
    filled: list[dict[str, Any]] = []
    for group in dict.fromkeys(row.group for row in rows):
        filled.append({"group": group, "kind": "", "value": 0, "text": group})
        filled += [vars(row) | {"high": row.high or row.value} for row in rows if row.group == group]
    longest = max(row.high or row.value for row in rows)
    x = alt.X(
        "value:Q",
        title=xtitle,
        axis=alt.Axis(tickCount=5),
        scale=alt.Scale(domain=[0, _LABEL_ROOM * longest], nice=False),
    )
    base = alt.Chart(_values(filled)).encode(
        y=alt.Y("group:N", sort=None, axis=None, scale=alt.Scale(paddingInner=0.12, paddingOuter=0)),
        yOffset=alt.YOffset("kind:N", scale=alt.Scale(domain=slots, paddingInner=0.15)),
    )
    figures = base.transform_filter("datum.kind != ''")
    tip = [
        alt.Tooltip("group:N", title=" "),
        alt.Tooltip("kind:N", title="kernel"),
        alt.Tooltip("text:N", title="value"),
    ]
    drawn = figures.mark_bar().encode(x=x, color=_colors(kinds), tooltip=tip)
    spread = (
        figures.transform_filter("isValid(datum.low)")
        .mark_rule(color=_INK, opacity=0.6)
        .encode(x="low:Q", x2="high:Q")
    )
    ends = figures.mark_text(align="left", dx=5).encode(x="high:Q", text="text:N")
    names = (
        base.transform_filter("datum.kind == ''")
        .mark_text(align="left", baseline="middle", dy=3, fontWeight="bold")
        .encode(x=alt.value(0), text="text:N")
    )
    height = len({row.group for row in rows}) * (_NAME_PX + len(kinds) * _BAR_PX)
    return _finished(alt.layer(drawn, spread, ends, names), height)


def stacked(rows: Sequence[Bar], xtitle: str) -> Spec:
    """A bar for each group, whose kinds are its parts."""
    kinds = list(dict.fromkeys(row.kind for row in rows))
    order = {kind: nr for nr, kind in enumerate(kinds)}
    data = [vars(row) | {"order": order[row.kind]} for row in rows]
    tip = [
        alt.Tooltip("group:N", title=" "),
        alt.Tooltip("kind:N", title="part"),
        alt.Tooltip("text:N", title="value"),
    ]
    chart = (
        alt.Chart(_values(data))
        .mark_bar(height=18)
        .encode(
            y=alt.Y("group:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False)),
            x=alt.X("value:Q", title=xtitle, stack="zero", axis=alt.Axis(tickCount=5)),
            color=_colors(kinds),
            order="order:Q",
            tooltip=tip,
        )
    )
    return _finished(chart, alt.Step(30))


def lines(
    points: Sequence[Point],
    xtitle: str,
    ytitle: str,
    *,
    logarithmic: bool = False,
    height: int = 260,
    labels: str = "format(datum.value, ',')",
) -> Spec:
    """Points joined by series.  ``labels`` says how a value on the x axis is called."""
    kinds = list(dict.fromkeys(point.series for point in points))
    data = [vars(point) | {"kind": point.series} for point in points]
    kind = "log" if logarithmic else "linear"
    values = sorted({point.x for point in points})
    xscale = alt.Scale(type=kind, base=2, nice=False) if logarithmic else alt.Scale(nice=False, zero=True)
    axis = alt.Axis(values=values, labelExpr=labels, labelOverlap="greedy", grid=False)
    chart = (
        alt.Chart(_values(data))
        .mark_line(point=alt.OverlayMarkDef(size=45, filled=True), strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title=xtitle, scale=xscale, axis=axis),
            y=alt.Y(
                "y:Q",
                title=ytitle,
                scale=alt.Scale(type=kind, zero=not logarithmic),
                axis=alt.Axis(tickCount=5),
            ),
            color=_colors(kinds),
            tooltip=[
                alt.Tooltip("kind:N", title=" "),
                alt.Tooltip("x:Q", title=xtitle),
                alt.Tooltip("text:N", title=ytitle),
            ],
        )
    )
    return _finished(chart, height)


def spans(rows: Sequence[Span], xtitle: str) -> Spec:
    """What went on in each row from when to when."""
    kinds = list(dict.fromkeys(row.kind for row in rows))
    chart = (
        alt.Chart(_values(rows))
        .mark_bar(height=_ROW_PX - 4, stroke="var(--page)", strokeWidth=0.5)
        .encode(
            y=alt.Y("row:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False)),
            x=alt.X("begin:Q", title=xtitle, axis=alt.Axis(tickCount=5)),
            x2="end:Q",
            color=_colors(kinds),
            tooltip=[alt.Tooltip("row:N", title="thread"), alt.Tooltip("text:N", title="span")],
        )
    )
    return _finished(chart, alt.Step(_ROW_PX))
