# SPDX-License-Identifier: GPL-2.0-only
"""``./lab chart``: a struct page and a page of 1 GiB by number of threads, as a picture for the README.

It is drawn from records alone: bench.json and hugepages.json of the CPU with the most CPUs that
has both, of base 6.12.  Nothing is measured here.
"""

from __future__ import annotations

from padlab.core import paths, plot, table
from padlab.core.errors import LabError
from padlab.docs import native, records
from padlab.docs.records import Record
from padlab.measure import provenance, zeroing
from padlab.measure.structpages import OURS, USERSPACE

NAME = "chart.png"
BASE = paths.DEFAULT_BASE
_INCHES = (10.5, 4.6)
_STOCK, _PATCHED = "#a8a8a8", "#3b7dc4"


def main() -> int:
    """Draw, and say what it was drawn from."""
    slug = chosen()
    bench, huge = (records.of_cpu(BASE, slug, name) for name in ("bench.json", "hugepages.json"))
    path = paths.RECORDED / NAME
    provenance.write(path, draw(bench, huge))
    out = table.console()
    out.print(f"drawn from {provenance.CPUS}/{slug}", markup=False, soft_wrap=True)
    out.print(f"recorded in {path}", markup=False, soft_wrap=True)
    return 0


def chosen() -> str:
    """The folder of the CPU that is shown."""
    benches, huge = (records.of_all(BASE, name) for name in ("bench.json", "hugepages.json"))
    for slug in benches:
        if slug in huge:
            return slug
    raise LabError(
        "drawing the chart", "no CPU has both records", "record them with: ./lab bench, ./lab bench hugepages"
    )


def draw(bench: Record, huge: Record) -> bytes:
    """Struct pages on the left, 1 GiB on the right."""
    left = plot.Bars("A struct page, initialised and freed", "ns a page", struct_pages(bench))
    right = plot.Bars("1 GiB zeroed", "ms", gib_pages(huge))
    rounds = native.bench_rows(bench, USERSPACE)[0]["ns"]["n"]
    note = f"{records.cpu(bench)}; medians of {rounds} rounds; {bench['source']}, {bench['date']}"
    title = "Native times by number of threads: stock and patched"
    return plot.figure([left, right], title, _INCHES, note)


def struct_pages(record: Record) -> dict[str, list[plot.Bar]]:
    """By threads: stock's and ours, with the ranges of their rounds."""
    rows = native.bench_rows(record, USERSPACE)
    groups = {}
    for threads in sorted({row["threads"] for row in rows}):
        stock, ours = (records.find(rows, threads=threads, way=way) for way in ("stock", OURS))
        if stock and ours:
            bars = [_bar(stock["ns"], 1, "stock", _STOCK), _bar(ours["ns"], 1, "patched", _PATCHED)]
            groups[native.named(threads)] = bars
    return groups


def gib_pages(record: Record) -> dict[str, list[plot.Bar]]:
    """Stock, which has one thread, and ours by threads."""
    groups = {}
    for way, name, color in ((zeroing.STOCK, "stock", _STOCK), (zeroing.OURS, "patched", _PATCHED)):
        rows = [row for row in record["native"] if (row["kib"], row["way"]) == (zeroing.GIB, way)]
        for row in sorted(rows, key=lambda row: row["threads"]):
            groups[f"{name}, {native.named(row['threads'])}"] = [_bar(row["us"], 1000, name, color)]
    return groups


def _bar(summary: Record, divide: float, name: str, color: str) -> plot.Bar:
    median, low, high = (summary[key] / divide for key in ("median", "low", "high"))
    return plot.Bar(median, f"{name} {median:.3g}", color, low, high)
