# SPDX-License-Identifier: GPL-2.0-only
"""The README's picture: a struct page and a page of 1 GiB by number of threads, as SVG.

It is drawn by ``./lab docs`` from records alone: bench.json and hugepages.json of the CPU with the
most CPUs that has both, of base 6.12.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.docs import native, records
from padlab.docs.records import Record
from padlab.measure import zeroing
from padlab.measure.structpages import OURS, USERSPACE

NAME = "chart.svg"
BASE = paths.DEFAULT_BASE
_COLORS = {"stock": "#a8a8a8", "patched": "#3b7dc4"}
# In pixels.
_PANEL, _LABEL, _LONGEST, _BAR, _GAP = 450, 110, 230, 15, 9
_TOP = 30


@dataclass(frozen=True)
class Bar:
    """What ``name`` takes, with the range of its rounds."""

    name: str
    value: float
    low: float
    high: float


Groups = dict[str, list[Bar]]


def chosen() -> str:
    """The folder of the CPU that is shown."""
    benches, huge = (records.of_all(BASE, name) for name in ("bench.json", "hugepages.json"))
    if both := [slug for slug in benches if slug in huge]:
        return both[0]
    todo = "record them with: ./lab bench, ./lab bench hugepages"
    raise LabError("drawing the chart", "no CPU has both records", todo)


def struct_pages(record: Record) -> Groups:
    """By threads: stock's and ours."""
    rows = native.bench_rows(record, USERSPACE)
    groups: Groups = {}
    for way, name in (("stock", "stock"), (OURS, "patched")):
        for row in (row for row in rows if row["way"] == way):
            groups.setdefault(native.named(row["threads"]), []).append(_bar(row["ns"], 1, name))
    return groups


def gib_pages(record: Record) -> Groups:
    """Stock, which has one thread, and ours by threads."""
    groups: Groups = {}
    for way, name in ((zeroing.STOCK, "stock"), (zeroing.OURS, "patched")):
        rows = [row for row in record["native"] if (row["kib"], row["way"]) == (zeroing.GIB, way)]
        for row in sorted(rows, key=lambda row: row["threads"]):
            groups.setdefault(native.named(row["threads"]), []).append(_bar(row["us"], 1000, name))
    return groups


def _bar(summary: Record, divide: float, name: str) -> Bar:
    return Bar(name, *(summary[key] / divide for key in ("median", "low", "high")))


def draw() -> str:
    """Struct pages on the left, 1 GiB on the right, and below what they were drawn from."""
    bench, huge = (records.of_cpu(BASE, chosen(), name) for name in ("bench.json", "hugepages.json"))
    panels = {
        "A struct page, initialised and freed: ns": struct_pages(bench),
        "A page of 1 GiB, zeroed: ms": gib_pages(huge),
    }
    rows = max(sum(len(bars) * _BAR + _GAP for bars in groups.values()) for groups in panels.values())
    width, height = len(panels) * _PANEL, _TOP + rows + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        # Opaque, so that the text is readable on a dark page, too.
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, (title, groups) in enumerate(panels.items()):
        lines += _panel(number * _PANEL, title, groups)
    rounds = native.bench_rows(bench, USERSPACE)[0]["ns"]["n"]
    note = f"{records.cpu(bench)}; medians of {rounds} rounds; {bench['source']}, {bench['date']}"
    lines.append(f'<text x="8" y="{height - 8}" font-size="10" fill="dimgray">{note}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _panel(x: int, title: str, groups: Groups) -> Iterator[str]:
    left, y = x + _LABEL, _TOP
    scale = _LONGEST / max(bar.high for bars in groups.values() for bar in bars)
    yield f'<text x="{left}" y="18" font-weight="bold">{title}</text>'
    for group, bars in groups.items():
        middle = y + len(bars) * _BAR / 2 + 4
        yield f'<text x="{left - 6}" y="{middle:.0f}" text-anchor="end">{group}</text>'
        for bar in bars:
            length, low, high = (value * scale for value in (bar.value, bar.low, bar.high))
            at = y + _BAR / 2
            color = _COLORS[bar.name]
            yield f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{_BAR - 2}" fill="{color}"/>'
            yield f'<path d="M{left + low:.1f} {at}H{left + high:.1f}" stroke="black"/>'
            yield f'<text x="{left + high + 5:.1f}" y="{at + 4}">{bar.name} {bar.value:.3g}</text>'
            y += _BAR
        y += _GAP
