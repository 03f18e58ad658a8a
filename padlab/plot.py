# SPDX-License-Identifier: GPL-2.0-only
"""Plots for results/, as PNG."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from padlab.sweep import Row, Sweep

_SIZE_INCHES = (10, 4.2)
_DPI = 120


def sweep(done: Sweep) -> bytes:
    """Time against threads: deferred init and boot, ours, stock's and the published."""
    # Slow to import, and not wanted by any other command.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=_SIZE_INCHES, layout="constrained")
    title = f"{done.machine.name}: {done.machine.summary()}"
    if done.emulated:
        title += "\nemulated: shape of the table only"
    figure.suptitle(title)
    _panel(panels[0], done, "deferred init", "deferred")
    _panel(panels[1], done, "boot to init", "boot")
    out = io.BytesIO()
    # Without the default Software entry, equal data give an equal file.
    figure.savefig(out, format="png", dpi=_DPI, metadata={"Software": None})
    pyplot.close(figure)
    return out.getvalue()


def _panel(axes: Any, done: Sweep, title: str, name: str) -> None:
    stock = [row for row in done.rows if row.point.percent is None]
    rows = [row for row in done.rows if row.point.percent is not None]
    axes.errorbar(
        [row.point.threads for row in rows],
        [getattr(row, name).mean for row in rows],
        yerr=[getattr(row, name).stdev for row in rows],
        marker="o",
        capsize=3,
        label="patched",
    )
    for row in stock:
        summary = getattr(row, name)
        axes.axhline(
            summary.mean, color="tab:red", linestyle="--", label=f"stock ({row.point.threads} threads)"
        )
    _published(axes, rows, name)
    axes.set_title(title)
    axes.set_xlabel("threads per node")
    axes.set_ylabel("ms")
    axes.set_ylim(bottom=0)
    axes.legend()


def _published(axes: Any, rows: list[Row], name: str) -> None:
    known = [row.published for row in rows if row.published]
    if known:
        axes.errorbar(
            [row.threads for row in known],
            [getattr(row, f"{name}_ms") for row in known],
            yerr=[getattr(row, f"{name}_stdev") for row in known],
            color="tab:gray",
            marker=".",
            capsize=3,
            label="published, 2020",
        )
