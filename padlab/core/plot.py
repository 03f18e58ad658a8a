# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of bars for results/, as PNG.  Equal data give an equal file."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_DPI = 120
_NOTE_POINTS = 9
_BAR = 0.36  # height; groups are 1 apart
_BAR_ROOM = 1.9  # of the longest bar: the rest is for the text at its end


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


def figure(panels: Sequence[Bars], title: str, inches: tuple[float, float], note: str = "") -> bytes:
    """The panels beside each other, and ``note`` in small print below them.

    The background is opaque, so that the text is readable on a dark page, too.
    """
    # Slow to import, and not wanted by any other command.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    whole, grid = pyplot.subplots(1, len(panels), figsize=inches, layout="constrained", squeeze=False)
    whole.suptitle(title)
    for axes, panel in zip(grid.flat, panels, strict=True):
        _draw(axes, panel)
    if note:
        whole.supxlabel(note, x=0.01, ha="left", fontsize=_NOTE_POINTS, color="dimgray", wrap=True)
    out = io.BytesIO()
    # The default has matplotlib's version in it.
    whole.savefig(out, format="png", dpi=_DPI, facecolor="white", metadata={"Software": None})
    pyplot.close(whole)
    return out.getvalue()


def _draw(axes: Any, panel: Bars) -> None:
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
