# SPDX-License-Identifier: GPL-2.0-only
"""The report's figures of native programs: struct pages and huge pages, by CPU."""

from __future__ import annotations

from functools import partial
from typing import Any

from padlab.core import paths
from padlab.measure import structpages
from padlab.report import charts
from padlab.report.charts import Bar, Point
from padlab.report.figure import Chart, Figure, Part, Rows, by_cpu, gathered

HUGE = ("hugepages.json", "bench hugepages")
BENCHES = {"UML": "User-mode Linux", "userspace": "userspace"}
# Ways of results/…/hugepages.json that are shown: way and threads -> name.
WAYS = {("stock", 1): "stock", ("ours", 1): "patched, 1 thread", ("ours", 2): "patched, 2 threads"}
_SIZE_KIB = {1024: "1 MiB", 2048: "2 MiB", 32768: "32 MiB", 1048576: "1 GiB"}


def all_figures() -> list[Figure]:
    return [struct_pages(), huge_pages(), huge_page_sizes()]


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def struct_pages() -> Figure:
    def bars_of(data: Any) -> list[Bar]:
        rows = {
            (row["bench"], row["threads"], row["way"]): row["ns"]
            for b in data["benches"]
            for row in b["rows"]
        }
        bars = []
        for bench, threads, way in rows:
            if way != "stock":
                continue
            group = f"{BENCHES[bench]}, {_threads(threads)}"
            stock, ours = rows[bench, threads, "stock"], rows[bench, threads, structpages.OURS]
            limit = rows[bench, threads, "limit"]["median"]
            ratio = ours["median"] / stock["median"]
            bars += [
                Bar(group, "stock", stock["median"], f"{stock['median']:.2f}", stock["low"], stock["high"]),
                Bar(
                    group,
                    "patched",
                    ours["median"],
                    f"{ours['median']:.2f} ({ratio:.2f})",
                    ours["low"],
                    ours["high"],
                ),
                Bar(group, "the machine's limit", limit, f"{limit:.2f}"),
            ]
        return bars

    def part(base: str) -> Part:
        def drawn(host: str, data: Any) -> tuple[list[Chart], Rows]:
            bars = bars_of(data)
            chart = Chart(charts.bars(bars, "ns for a struct page (of stock)"), f"{host}, Linux {base}")
            return [chart], [(base, host, bar.group, bar.kind, bar.text) for bar in bars]

        return by_cpu(base, "bench.json", "bench", drawn)

    return gathered(
        "native",
        "A struct page at native speed, by CPU",
        "The kernel's own code on real memory: median, least and most of the rounds. The machine's limit is"
        " what bare streaming stores of 64 bytes take in the same run.",
        ("Linux", "host", "bench", "kind", "ns (of stock)"),
        [partial(part, base) for base in paths.bases()],
    )


def _native(data: Any) -> dict[tuple[int, str, int], float]:
    return {(row["kib"], row["way"], row["threads"]): row["us"]["median"] for row in data["native"]}


def _size(kib: int) -> str:
    return _SIZE_KIB.get(kib) or (f"{kib >> 10} MiB" if kib >= 1024 else f"{kib} KiB")


def huge_pages() -> Figure:
    def part(base: str) -> Part:
        def drawn(host: str, data: Any) -> tuple[list[Chart], Rows]:
            us, bars, rows = _native(data), [], []
            for kib, shown in ((2048, "2 MiB"), (1048576, "1 GiB")):
                stock = us[kib, "stock", 1]
                for (way, threads), name in WAYS.items():
                    value = us.get((kib, way, threads))
                    if value is None:
                        continue
                    text = f"{value:,.0f} us" + ("" if way == "stock" else f" ({value / stock:.2f})")
                    bars.append(Bar(shown, name, value / stock, text))
                    rows.append((base, host, shown, name, text))
            return [Chart(charts.bars(bars, "of stock's time"), f"{host}, Linux {base}")], rows

        return by_cpu(base, *HUGE, drawn)

    return gathered(
        "huge",
        "A huge page is zeroed in a fraction of the time",
        "Native times of the zeroing code, stock's loop beside ours with one thread and with a helper.",
        ("Linux", "host", "page", "way", "time (of stock)"),
        [partial(part, base) for base in paths.bases()],
    )


def huge_page_sizes() -> Figure:
    def part(base: str) -> Part:
        def drawn(host: str, data: Any) -> tuple[list[Chart], Rows]:
            us, points, rows = _native(data), [], []
            for (way, threads), name in WAYS.items():
                for kib in sorted(size for size, *of in us if tuple(of) == (way, threads)):
                    gbs = kib * 1024 / us[kib, way, threads] / 1000
                    points.append(Point(name, kib / 1024, gbs, f"{gbs:.1f}"))
                    rows.append((base, host, _size(kib), name, f"{gbs:.1f}"))
            spec = charts.lines(points, "size of the page", "GB/s", logarithmic=True, labels=charts.SIZES)
            return [Chart(spec, f"{host}, Linux {base}")], rows

        return by_cpu(base, *HUGE, drawn)

    return gathered(
        "sizes",
        "Huge pages by size, threads and CPU",
        "How fast a page of each size is zeroed. Smaller ones stay in the cache, faster than memory.",
        ("Linux", "host", "page", "way", "GB/s"),
        [partial(part, base) for base in paths.bases()],
    )
