# SPDX-License-Identifier: GPL-2.0-only
"""The report's figures of threads: published sweeps, predictions, and which thread had which chunk."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from padlab.core import paths
from padlab.report import charts, recorded
from padlab.report.charts import Point, Span
from padlab.report.figure import Chart, Figure, Part, Rows, by_cpu, gathered

BASE = paths.DEFAULT_BASE
PREDICTED = {
    "published_ms": "published",
    "predicted_stock_ms": "stock, predicted",
    "predicted_ours_ms": "patched, predicted",
}
BOOT = "epyc-7551-kvm"


def all_figures() -> list[Figure]:
    return [published(), large(), deferred_init(), huge_page(), starts()]


def _predicted(name: str, columns: dict[str, str], ytitle: str = "ms of deferred init") -> Part:
    table = recorded.table(BASE, name, "predict")
    made, rows = [], []
    for machine in dict.fromkeys(row["machine"] for row in table.data):
        points = []
        for row in (row for row in table.data if row["machine"] == machine):
            for column, shown in columns.items():
                if row[column]:
                    points.append(Point(shown, float(row["threads"]), float(row[column]), row[column]))
            rows.append((machine, row["threads"], *(row[column] for column in columns)))
        spec = charts.lines(points, "threads", ytitle, logarithmic=True, height=220)
        made.append(Chart(spec, re.sub(r"^(\d+)tib$", r"\1 TiB", machine)))
    return Part(tuple(made), tuple(rows), (table,))


def published() -> Figure:
    return gathered(
        "published",
        "The published sweeps, and what is predicted for them",
        "Published: times of the engine of 2020, measured by its author on six machines. Stock and patched"
        " are predicted by a model that is calibrated on these; nothing here was measured with this series.",
        ("machine", "threads", *PREDICTED.values()),
        [partial(_predicted, "predict-published.csv", PREDICTED)],
        predicted=True,
    )


def large() -> Figure:
    columns = {name: shown for name, shown in PREDICTED.items() if name != "published_ms"}
    return gathered(
        "large",
        "Machines of 1 to 24 TiB",
        "Predicted by the same model, not measured.",
        ("machine", "threads", *columns.values()),
        [partial(_predicted, "predict-large.csv", columns)],
        predicted=True,
    )


def _timeline(name: str, words: str) -> Part:
    found = recorded.read(BASE, f"timeline-{name}.json", words)
    spans, rows = [], []
    for row in found.data["rows"]:
        thread, node = row["thread"], row["node"]
        kind = thread if thread == "initcalls" else "chunks" if node is None else f"node {node}"
        for begin, end, cpu in row["spans"]:
            where = "" if cpu is None else f", CPU {cpu}"
            spans.append(Span(thread, kind, begin, end, f"{begin:.1f} to {end:.1f} ms{where}"))
        cpus = sorted({cpu for _, _, cpu in row["spans"] if cpu is not None})
        first, last = row["spans"][0][0], row["spans"][-1][1]
        rows.append(
            (thread, ", ".join(map(str, cpus)), str(len(row["spans"])), f"{first:.1f}", f"{last:.1f}")
        )
    spec = charts.spans(spans, "ms since the job began")
    return Part((Chart(spec, found.data["title"]),), tuple(rows), (found,))


_COLUMNS = ("thread", "CPUs", "chunks", "from, ms", "to, ms")


def deferred_init() -> Figure:
    return gathered(
        "timeline",
        "A deferred init, chunk by chunk",
        "Which thread had which chunk when, from trace events of one boot; the initcalls that boot goes on"
        " with are the first row. Emulated CPUs share those of the host: what is beside what, not how fast.",
        _COLUMNS,
        [partial(_timeline, BOOT, f"timeline --machine {BOOT}")],
    )


def huge_page() -> Figure:
    return gathered(
        "job",
        "A job that zeroes a huge page, chunk by chunk",
        "A page of 1 GiB that a task touches: the task itself, and helpers on other CPUs.",
        _COLUMNS,
        [partial(_timeline, "huge-page", "timeline --huge-page")],
    )


def starts() -> Figure:
    def part(base: str) -> Part:
        def drawn(host: str, data: Any) -> tuple[list[Chart], Rows]:
            bars, rows = [], []
            for machine, kernels in data["machines"].items():
                for kernel, of in kernels.items():
                    name, made = f"{machine}, {of['queued']} helpers", str(of["made"])
                    bars.append(charts.Bar(name, kernel, of["made"], made))
                    rows.append((base, machine, str(of["queued"]), kernel, made))
            return [Chart(charts.bars(bars, "threads made"), f"Linux {base}, {host}")], rows

        return by_cpu(base, "starts.json", "starts", drawn)

    return gathered(
        "starts",
        "Helpers exist already",
        "Threads that have to be made while the helpers of deferred init start.",
        ("Linux", "machine", "helpers", "kernel", "threads made"),
        [partial(part, base) for base in paths.bases()],
    )
