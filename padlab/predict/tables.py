# SPDX-License-Identifier: GPL-2.0-only
"""Predictions as text: how well the model fits, a table for each machine, and what the columns are."""

from __future__ import annotations

from collections.abc import Sequence

from padlab.predict import calibrate
from padlab.predict.assumptions import Engines
from padlab.predict.calibrate import Calibration, Fit
from padlab.predict.prediction import Band, Prediction

WORST_SHOWN = 4

LIMITS = (
    "clocks: a CPU runs faster with few cores at work, which the fit attributes to memory",
    "NUMA: memory interleaved over nodes or remote, and nodes that slow one another down",
    "memory: published sweeps cannot tell waiting for memory from waiting for zone->lock",
    "memory of today: bandwidth and time per page are those of CPUs of 2014 to 2018",
    "guests: a host that has not backed their memory yet costs ours as much as stock",
    "scheduling: helpers that share a CPU, interrupts, and runs that vary (published spread up to 26 %)",
    "boot: what comes before and after deferred init, lower zones and first sections included",
)


def report(calibration: Calibration, shown: Sequence[Prediction], kernels: Engines) -> list[str]:
    """All that ./lab predict prints of a calibration and the predictions asked for."""
    return [
        *format_fit(calibration, kernels),
        *(line for prediction in shown for line in format_prediction(prediction)),
        "",
        *explain(kernels),
        "",
        "predicted, not measured; the model cannot show:",
        *(f"  {limit}" for limit in LIMITS),
        "",
    ]


def format_fit(calibration: Calibration, kernels: Engines) -> list[str]:
    """The parameters, and how well they do."""
    values = calibration.fit.values
    bandwidths = {name.split(" ", 1)[1]: ms for name, ms in values.items() if name.startswith("bandwidth")}
    lines = [
        f"predictions of a model of deferred init, {len(values)} parameters fitted to "
        f"{len(calibration.checked)} published points of stock's (2020)",
        "",
        f"{'fitted':>20}  {'ns per page':>11}  {'node GB/s':>9}",
    ]
    for name, value in values.items():
        if name.startswith("page_ns"):
            cpu = name.split(" ", 1)[1]
            gbs = f"{bandwidths[cpu]:>9.1f}" if cpu in bandwidths else f"{'Haswell':>9}"
            lines.append(f"{cpu:>20}  {value:>11.1f}  {gbs}")
    lines += [
        f"  two threads of a core do {values['smt_gain']:.2f} times the work of one; "
        f"serial time {values['serial_ms']:.1f} ms a node; knee {values['knee']:.2f}",
        f"  assumed: a helper starts every {kernels.stock.each_us:g} us, "
        f"zone->lock held {kernels.stock.locked_ns * 1024:g} ns per 4 MiB (data/assumptions.toml)",
        "",
        f"{'error, %':>20}  {'points':>6}  {'of fit':>6}  {'left out':>8}    medians of absolute errors",
    ]
    for name in calibrate.MACHINES:
        lines.append(_error_line(name, calibration, name))
    lines += [_error_line("all", calibration, None), "", "worst when left out:"]
    for check in calibration.worst(WORST_SHOWN):
        point = check.point
        lines.append(
            f"  {point.machine}, {point.threads} threads: published {point.ms:.1f} ms, "
            f"predicted {check.left_out_ms:.1f} ms ({check.left_out_error:+.0f} %)"
        )
    lines += [
        "",
        f"in no sweep, and not fitted (CPU not named, assumed to be that of {calibrate.OUTSIDE_AS}):",
        *(_outside_line(run, calibration.fit, kernels) for run in calibrate.OUTSIDE),
        "",
        "published times are means of three runs, each a whole number of ms (1000 jiffies a second): 1 ms",
        "is 2 to 5 % of the small guests' times.  Left out: the rows of v5.7, a kernel without padata",
    ]
    return lines


def explain(kernels: Engines) -> list[str]:
    """What the columns are, and what decides them."""
    ours, stock = kernels.ours, kernels.stock
    low, high = kernels.ours_low.page_ratio, kernels.ours_high.page_ratio
    return [
        f"ours takes {ours.page_ratio:g} of stock's time per page (the range: {low:g} to {high:g}) and moves",
        f"{ours.bytes_per_page:g} bytes instead of {stock.bytes_per_page:g}, both assumed "
        "(data/assumptions.toml).  Nearly all of ours/stock follows",
        'from these two.  "but stores" is ours/stock with stock\'s stores: only threads, chunks and',
        "locking differ",
    ]


def _error_line(label: str, calibration: Calibration, name: str | None) -> str:
    points = len(calibration.of(name) if name else calibration.checked)
    fit, left_out = calibration.median_error(name, left_out=False), calibration.median_error(name)
    return f"{label:>20}  {points:>6}  {fit:>6.1f}  {left_out:>8.1f}"


def _outside_line(run: calibrate.Outside, fit: Fit, kernels: Engines) -> str:
    published = " and ".join(f"{ms:g}" for ms in run.ms)
    predicted = " and ".join(f"{ms:.0f}" for ms in calibrate.predict_outside(run, fit, kernels.stock))
    return f"  {run.description}: published {published} ms, predicted {predicted} ms"


def format_prediction(prediction: Prediction) -> list[str]:
    """A machine's table; ranges are in brackets."""
    beside = any(row.published_ms is not None for row in prediction.rows)
    ranged = any(row.stock.low != row.stock.high for row in prediction.rows)
    head = f"{'threads':>9}" + (f"  {'published':>9}" if beside else "")
    head += f"  {'stock':>8}" + (f" {'(range)':>15}" if ranged else "")
    lines = [
        "",
        f"{prediction.title}, deferred init in ms, predicted:",
        f"{head}  {'ours':>8} {'(range)':>15}  ours/stock  but stores",
    ]
    for row in prediction.rows:
        line = f"{row.threads:>9}"
        if beside:
            line += f"  {row.published_ms:>9.1f}" if row.published_ms is not None else " " * 11
        line += f"  {row.stock.ms:>8.1f}" + (f" {_range(row.stock):>15}" if ranged else "")
        line += f"  {row.ours.ms:>8.1f} {_range(row.ours):>15}"
        lines.append(f"{line}  {row.ratio:>10.2f}  {row.ratio_stock_stores:>10.2f}")
    return lines


def _range(band: Band) -> str:
    return f"({band.low:.0f} to {band.high:.0f})"
