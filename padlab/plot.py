# SPDX-License-Identifier: GPL-2.0-only
"""Plots for results/, as PNG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from padlab.predict import Band, Prediction
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


_PREDICTED_COLUMNS = 3
_PREDICTED_INCHES = (13, 8)


def predicted(machines: Sequence[Prediction], title: str) -> bytes:
    """A panel for each machine: predicted time of stock and of ours against threads."""
    # Slow to import, and not wanted by any other command.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    rows = -(-len(machines) // _PREDICTED_COLUMNS)
    figure, panels = pyplot.subplots(
        rows, _PREDICTED_COLUMNS, figsize=_PREDICTED_INCHES, layout="constrained", squeeze=False
    )
    figure.suptitle(title)
    for axes, machine in zip(panels.flat, machines, strict=False):
        _predicted_panel(axes, machine)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        # Ticks between the powers of ten too: most panels span little more than one.
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(ticker.ScalarFormatter())
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
        axes.set_xlabel("threads per node")
        axes.set_ylabel("deferred init, ms, predicted")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    for axes in panels.flat[len(machines) :]:
        axes.set_visible(False)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=_DPI, metadata={"Software": None})
    pyplot.close(figure)
    return out.getvalue()


def _predicted_panel(axes: Any, machine: Prediction) -> None:
    threads = [row.threads for row in machine.rows]
    _band(axes, threads, [row.stock for row in machine.rows], "tab:red", "stock, predicted")
    _band(axes, threads, [row.ours for row in machine.rows], "tab:blue", "ours, predicted")
    known = [(row.threads, row.published_ms) for row in machine.rows if row.published_ms is not None]
    if known:
        axes.plot(*zip(*known, strict=True), color="black", marker="x", linestyle="", label="published, 2020")
    axes.set_title(f"{machine.title.replace(': ', chr(10))}, predicted", fontsize="small")


def _band(axes: Any, threads: list[int], bands: list[Band], color: str, label: str) -> None:
    axes.plot(threads, [band.ms for band in bands], color=color, marker=".", label=label)
    axes.fill_between(
        threads, [band.low for band in bands], [band.high for band in bands], color=color, alpha=0.15
    )
