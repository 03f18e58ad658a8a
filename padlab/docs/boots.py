# SPDX-License-Identifier: GPL-2.0-only
"""Tables of timed boots on many CPUs, and of what the model predicts."""

import csv
import statistics

from padlab.core import paths, stats
from padlab.docs import records
from padlab.docs.form import Table, figure, ratio
from padlab.predict import prediction
from padlab.vm import machine

KERNELS = ("stock", "patched")  # of a boots.json
FIGURES = {"deferred_ms": "the node's line", "boot_ms": "kernel's start to init"}


def timed(base: str, slug: str) -> Table:
    rows = []
    for gib, boots in _by_size(base, slug).items():
        for key, name in FIGURES.items():
            stock, ours = (records.median(boot, key) for boot in boots)
            ranges = (_ranged(boot, key) for boot in boots)
            rows.append([f"{gib} GiB, {name}", *ranges, ratio(ours, stock)])
    return Table(("ms, median (least to most)", *KERNELS, "of stock"), rows)


def _by_size(base: str, slug: str) -> dict[int, list[records.Record]]:
    boots = records.of_cpu(base, slug, "boots.json")["boots"]
    in_order = sorted(boots, key=lambda row: (row["gib"], KERNELS.index(row["kernel"])))
    return stats.group(in_order, lambda row: row["gib"])


def _ranged(row: records.Record, key: str) -> str:
    summary = row[key]
    return f"{summary['median']:,.0f} ({summary['low']:,.0f} to {summary['high']:,.0f})"


def mail_timed(base: str, slug: str) -> Table:
    rows = [
        [f"{gib} GiB, ms", *(figure(records.median(boot, "deferred_ms"), 0) for boot in boots)]
        for gib, boots in _by_size(base, slug).items()
    ]
    return Table(("", "before", "after"), rows)


def by_threads(base: str, slug: str) -> Table:
    """Deferred init of ours by threads."""
    boots = records.of_cpu(base, slug, "boots.json")["threads"]
    rows = [[f"{boots[0]['gib']} GiB, ms", *(_ranged(boot, "deferred_ms") for boot in boots)]]
    return Table(("threads", *(str(boot["threads"]) for boot in boots)), rows)


def predicted(*machines: str) -> Table:
    """With all CPUs of each of these machines."""
    head = ("predicted deferred init, ms", "threads a node", "stock", "ours", "ratio", "published, 2020")
    return Table(head, [_predicted(name) for name in machines])


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
    by_machine: dict[str, list[float]] = {}
    for row in _csv("predict-published.csv"):
        off = float(row["predicted_left_out_ms"]) / float(row["published_ms"]) - 1
        by_machine.setdefault(f"`{row['machine']}`", []).append(100 * abs(off))
    by_machine["all"] = [error for errors in by_machine.values() for error in errors]
    rows = [
        [name, str(len(errors)), f"{statistics.median(errors):.1f}", f"{max(errors):.0f}"]
        for name, errors in by_machine.items()
    ]
    return Table(("error of points left out, %", "points", "median", "most"), rows)


def cores() -> Table:
    """16 real cores beside what the model says of them."""
    names = ("stock", "ours", "ours_by_amd", "ours_by_intel")
    head = ("ns per struct page, threads", "stock", "ours", "predicted by AMD's stores", "by Intel's")
    rows = [
        [row["threads"], *(figure(float(row[name])) for name in names)] for row in _csv("predict-cores.csv")
    ]
    return Table(head, rows)


def _band(row: dict[str, str], kernel: str) -> str:
    middle, low, high = (float(row[f"predicted_{kernel}_{what}"]) for what in ("ms", "low", "high"))
    return f"{middle:,.0f} ({low:,.0f} to {high:,.0f})" if low != high else f"{middle:,.0f}"


def _csv(name: str) -> list[dict[str, str]]:
    lines = (paths.RECORDED / name).read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))
