# SPDX-License-Identifier: GPL-2.0-only
"""Tables of timed boots on many CPUs, and of what the model predicts."""

from __future__ import annotations

import csv
import statistics

from padlab.core import paths
from padlab.docs import records
from padlab.docs.form import Table, figure, ratio
from padlab.docs.records import Record
from padlab.predict import prediction
from padlab.vm import machine

# Of a boots.json: the kernel, and when boot waits.
WAYS = (("stock", ""), ("patched", "boot waits at once"), ("patched", "boot continues"))
FIGURES = {"deferred_ms": "the node's line", "boot_ms": "kernel's start to init"}


def timed(base: str, slug: str) -> Table:
    """The node's line and boot to init, of stock and of both ways of ours."""
    rows = []
    for gib, boots in _by_size(base, slug).items():
        for key, name in FIGURES.items():
            stock, *others = (_ranged(row, key) for row in boots)
            ratios = [ratio(records.median(row, key), records.median(boots[0], key)) for row in boots[1:]]
            pairs = zip(others, ratios, strict=True)
            rows.append([f"{gib} GiB, {name}", stock, *(cell for pair in pairs for cell in pair)])
    heads = (cell for _, way in WAYS[1:] for cell in (f"patched, {way}", "of stock"))
    return Table(("ms, median (least to most)", "stock", *heads), rows)


def _by_size(base: str, slug: str) -> dict[int, list[Record]]:
    """The rows of each amount of memory, in the order of WAYS."""
    boots = records.of_cpu(base, slug, "boots.json")["boots"]
    return {
        gib: [row for kernel, way in WAYS for row in boots
              if (row["gib"], row["kernel"], row["boot"]) == (gib, kernel, way)]
        for gib in sorted({row["gib"] for row in boots})
    }  # fmt: skip


def _ranged(row: Record, key: str) -> str:
    summary = row[key]
    return f"{summary['median']:,.0f} ({summary['low']:,.0f} to {summary['high']:,.0f})"


def mail_timed(base: str, slug: str) -> Table:
    """For a message: the time of the node's line."""
    rows = [
        [f"{gib} GiB, ms", *(figure(records.median(row, "deferred_ms"), 0) for row in boots)]
        for gib, boots in _by_size(base, slug).items()
    ]
    return Table(("", "before", "boot waits", "boot continues"), rows)


def by_threads(base: str, slug: str) -> Table:
    """Deferred init of ours by threads."""
    boots = records.of_cpu(base, slug, "boots.json")["threads"]
    return Table(
        ("threads", *(str(row["threads"]) for row in boots)),
        [[f"{boots[0]['gib']} GiB, ms", *(_ranged(row, "deferred_ms") for row in boots)]],
    )


# Predicted


def predicted(*machines: str) -> Table:
    """With all CPUs of each of these machines."""
    rows = [_predicted(name) for name in machines]
    head = ("predicted deferred init, ms", "threads a node", "stock", "ours", "ratio", "published, 2020")
    return Table(head, rows)


def _predicted(name: str) -> list[str]:
    large = prediction.large_machines().get(name)
    target = large or machine.load(name)
    rows = _csv("predict-large.csv" if large else "predict-published.csv")
    row = max((row for row in rows if row["machine"] == name), key=lambda row: int(row["threads"]))
    cells = [_band(row, kernel) for kernel in ("stock", "ours")]
    value = ratio(float(row["predicted_ours_ms"]), float(row["predicted_stock_ms"]))
    size = target.mib // 1024
    memory = f"{size // 1024} TiB" if size >= 1024 else f"{size} GiB"
    title = f"{memory}, {machine.plural(len(target.nodes), 'node')}" + ("" if large else f" (`{name}`)")
    return [title, row["threads"], *cells, value, row["published_ms"].removesuffix(".0")]


def errors() -> Table:
    """How far the model is off for the published points, each predicted by a fit without it."""
    by_machine: dict[str, list[float]] = {}
    for row in _csv("predict-published.csv"):
        published, left_out = float(row["published_ms"]), float(row["predicted_left_out_ms"])
        by_machine.setdefault(row["machine"], []).append(100 * abs(left_out / published - 1))
    every = [error for of_machine in by_machine.values() for error in of_machine]
    rows = [(f"`{name}`", of_machine) for name, of_machine in by_machine.items()]
    return Table(
        ("error of points left out, %", "points", "median", "most"),
        [
            [name, str(len(some)), f"{statistics.median(some):.1f}", f"{max(some):.0f}"]
            for name, some in [*rows, ("all", every)]
        ],
    )


def _band(row: dict[str, str], kernel: str) -> str:
    middle, low, high = (float(row[f"predicted_{kernel}_{what}"]) for what in ("ms", "low", "high"))
    return f"{middle:,.0f} ({low:,.0f} to {high:,.0f})" if low != high else f"{middle:,.0f}"


def _csv(name: str) -> list[dict[str, str]]:
    lines = (paths.RECORDED / name).read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))
