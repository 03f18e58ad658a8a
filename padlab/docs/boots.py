# SPDX-License-Identifier: GPL-2.0-only
"""Tables of timed boots on many CPUs."""

from padlab.core import stats
from padlab.docs import records
from padlab.docs.form import Table, figure, ratio

KERNELS = ("stock", "patched")  # of a boots.json
FIGURES = {"deferred_ms": "the node's line", "boot_ms": "kernel's start to init"}


def _by_size(base: str, slug: str) -> dict[int, list[records.Record]]:
    boots = records.of_cpu(base, slug, "boots.json")["boots"]
    in_order = sorted(boots, key=lambda row: (row["gib"], KERNELS.index(row["kernel"])))
    return stats.group(in_order, lambda row: row["gib"])


def _ranged(summary: records.Record) -> str:
    return f"{summary['median']:,.0f} ({summary['low']:,.0f} to {summary['high']:,.0f})"


def timed(base: str, slug: str) -> Table:
    rows = []
    for gib, boots in _by_size(base, slug).items():
        for key, name in FIGURES.items():
            stock, ours = (boot[key] for boot in boots)
            of_stock = ratio(ours["median"], stock["median"])
            rows.append([f"{gib} GiB, {name}", _ranged(stock), _ranged(ours), of_stock])
    return Table(("ms, median (least to most)", *KERNELS, "of stock"), rows)


def mail_timed(base: str, slug: str) -> Table:
    rows = [
        [f"{gib} GiB, ms", *(figure(boot["deferred_ms"]["median"], 0) for boot in boots)]
        for gib, boots in _by_size(base, slug).items()
    ]
    return Table(("", "before", "after"), rows)


def by_threads(base: str, slug: str) -> Table:
    boots = records.of_cpu(base, slug, "boots.json")["threads"]
    rows = [[f"{boots[0]['gib']} GiB, ms", *(_ranged(boot["deferred_ms"]) for boot in boots)]]
    return Table(("threads", *(str(boot["threads"]) for boot in boots)), rows)
