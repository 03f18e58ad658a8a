# SPDX-License-Identifier: GPL-2.0-only
"""The model beside what many real cores took: struct pages by threads, timed natively.

The CPU is fitted to the times of stock's engine; ours is predicted, with what is assumed of
AMD's CPUs and of Intel's.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields

from rich.table import Table

from padlab.core import paths, table
from padlab.predict.assumptions import Engines
from padlab.predict.simulate import SECTION, Engine, Hardware, Range, Shape, simulate

RECORD = paths.RECORDED / "cpus/intel-family-6-model-207-16cpus/bench.json"
_NS, _BANDWIDTH, _KNEE = (12.0, 4.0, 80.0), (100.0, 15.0, 300.0), (3.0, 1.0, 12.0)


@dataclass(frozen=True)
class Row:
    """ns per page with so many threads."""

    threads: int
    stock: float
    stock_fitted: float
    ours: float
    ours_by_amd: float
    ours_by_intel: float


def rows(kernels: Engines) -> list[Row]:
    bench = json.loads(RECORD.read_text())["benches"][0]
    measured = {
        way: {row["threads"]: row["ns"]["median"] for row in bench["rows"] if row["way"] == way}
        for way in ("stock", "movnti")
    }
    pages, cores = bench["pages"], max(measured["stock"])
    shape = Shape(Range(0, pages // SECTION * SECTION), cores, 1)

    def ns(threads: int, kind: Hardware, engine: Engine) -> float:
        return simulate(shape, threads, kind, engine).ms * 1e6 / shape.range.pages

    def hardware(values: Sequence[float]) -> Hardware:
        return Hardware(values[0], values[1], 1.0, 0.0, values[2])

    def errors(values: Sequence[float]) -> list[float]:
        return [math.log(ns(n, hardware(values), kernels.stock) / t) for n, t in measured["stock"].items()]

    kind = hardware(_fit(errors))
    engines = (kernels.ours, kernels.on("xeon").ours)
    return [
        Row(n, t, ns(n, kind, kernels.stock), measured["movnti"][n], *(ns(n, kind, on) for on in engines))
        for n, t in measured["stock"].items()
    ]


def to_csv(found: Sequence[Row]) -> str:
    lines = ["# command: ./lab predict", "# predicted: by a model, not measured, but for stock and ours"]
    lines.append(f"# measured: {RECORD.relative_to(paths.ROOT)}, ns per page")
    lines.append(",".join(field.name for field in fields(Row)))
    lines += [",".join(f"{value:.4g}" for value in astuple(row)) for row in found]
    return "\n".join(lines) + "\n"


def grid(found: Sequence[Row]) -> Table:
    names = ("16 cores, threads", "stock, ns a page", "fitted", "ours", "by AMD's stores", "by Intel's")
    result = table.grid(names, left=set())
    for row in found:
        result.add_row(str(row.threads), *(f"{value:.2f}" for value in astuple(row)[1:]))
    return result


def _fit(errors: Callable[[Sequence[float]], list[float]]) -> list[float]:
    # Slow to import.
    from scipy import optimize

    start, low, high = zip(_NS, _BANDWIDTH, _KNEE, strict=True)
    found = optimize.least_squares(errors, start, bounds=(low, high), x_scale=start, diff_step=1e-3)
    return [float(value) for value in found.x]
