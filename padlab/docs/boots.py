# SPDX-License-Identifier: GPL-2.0-only
"""Tables of timed boots on many CPUs, and of what the model predicts."""

from __future__ import annotations

import csv
from collections.abc import Iterable

from padlab.core import paths
from padlab.docs import records
from padlab.docs.form import Table, figure, ratio
from padlab.docs.records import Record

# Machines of the published sweeps that are shown, and of those that nobody has published.
PUBLISHED = ("xeon-8167m", "xeon-2699", "epyc-7551-kvm")
LARGE = ("1tib", "4tib", "12tib", "24tib")


def timed(base: str, slug: str) -> Table:
    """The node's line and boot to init, of stock and of both ways of ours."""
    rows = []
    boots = records.of_cpu(base, slug, "boots.json")["boots"]
    for gib in sorted({row["gib"] for row in boots}):
        of_size = [row for row in boots if row["gib"] == gib]
        stock = next(row for row in of_size if row["kernel"] == "stock")
        for row in sorted(
            of_size, key=lambda row: (row["kernel"] != "stock", row["boot"] == "boot continues")
        ):
            ours = row is not stock
            name = f"{gib} GiB, {row['kernel']}{', ' * ours}{row['boot']}"
            deferred = records.median(row, "deferred_ms")
            of_stock = ratio(deferred, records.median(stock, "deferred_ms")) if ours else ""
            rows.append([name, _ranged(row, "deferred_ms"), of_stock, _ranged(row, "boot_ms")])
    return Table(
        ("ms, median (least to most)", "the node's line", "of stock", "kernel's start to init"), rows
    )


def _ranged(row: Record, key: str) -> str:
    summary = row[key]
    return f"{summary['median']:,.0f} ({summary['low']:,.0f} to {summary['high']:,.0f})"


def mail_timed(base: str, slug: str) -> Table:
    """For a message: the time of the node's line."""
    boots = records.of_cpu(base, slug, "boots.json")["boots"]
    columns = (("stock", ""), ("patched", "boot waits at once"), ("patched", "boot continues"))
    rows = []
    for gib in sorted({row["gib"] for row in boots}):
        of = [records.find(boots, gib=gib, kernel=kernel, boot=boot) for kernel, boot in columns]
        rows.append([f"{gib} GiB, ms", *(figure(records.median(row, "deferred_ms"), 0) for row in of)])
    return Table(("", "before", "boot waits", "boot continues"), rows)


def by_threads(base: str, slug: str) -> Table:
    """Deferred init of ours by threads."""
    found = records.of_cpu(base, slug, "boots.json")["threads"]
    return Table(
        ("threads", *(str(row["threads"]) for row in found)),
        [[f"{found[0]['gib']} GiB, ms", *(_ranged(row, "deferred_ms") for row in found)]],
    )


# Predicted


def predicted() -> Table:
    """With all CPUs of each machine."""
    rows = [_predicted(name, "predict-published.csv") for name in PUBLISHED]
    rows += [_predicted(name, "predict-large.csv") for name in LARGE]
    head = ("predicted deferred init, ms", "threads a node", "stock", "ours", "ratio", "published, 2020")
    return Table(head, rows)


def _predicted(machine: str, name: str) -> list[str]:
    rows = [row for row in _csv(name) if row["machine"] == machine]
    row = max(rows, key=lambda row: int(row["threads"]))
    cells = [_band(row, kernel) for kernel in ("stock", "ours")]
    value = ratio(float(row["predicted_ours_ms"]), float(row["predicted_stock_ms"]))
    published = row["published_ms"]
    size = SIZES.get(machine) or machine.replace("tib", " TiB")
    return [size, row["threads"], *cells, value, published and f"{float(published):.0f}"]


SIZES = {
    "xeon-8167m": "768 GiB, two nodes (`xeon-8167m`)",
    "xeon-2699": "256 GiB, two nodes (`xeon-2699`)",
    "epyc-7551-kvm": "64 GiB VM (`epyc-7551-kvm`)",
}


def _band(row: dict[str, str], kernel: str) -> str:
    middle, low, high = (float(row[f"predicted_{kernel}_{what}"]) for what in ("ms", "low", "high"))
    return f"{middle:,.0f} ({low:,.0f} to {high:,.0f})" if low != high else f"{middle:,.0f}"


def _csv(name: str) -> Iterable[dict[str, str]]:
    lines = (paths.RECORDED / name).read_text().splitlines()
    return csv.DictReader(line for line in lines if not line.startswith("#"))
