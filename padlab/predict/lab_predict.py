# SPDX-License-Identifier: GPL-2.0-only
"""``./lab predict``: deferred init on machines with more CPUs than the host, by a model.

The simulation (simulate.py) is fitted to the published thread sweeps
(calibrate.py).  The command says how well it fits, then predicts stock's time and
ours on those machines and on larger ones.  What is assumed about the two kernels
is in data/assumptions.toml.  Nothing here is measured, and all that is printed or
recorded says so.
"""

import csv
import io
from collections.abc import Iterator, Sequence

from padlab.core import progress, table
from padlab.measure import provenance, published
from padlab.predict import assumptions, calibrate, cores, prediction

LIMITS = (
    "clocks: a CPU runs faster with few cores at work, which the fit attributes to memory",
    "NUMA: memory interleaved over nodes or remote, and nodes that slow one another down",
    "memory: published sweeps cannot tell waiting for memory from waiting for zone->lock",
    "memory of today: bandwidth and time per page are those of CPUs of 2014 to 2018",
    "guests: a host that has not backed their memory yet costs ours as much as stock",
    "scheduling: helpers that share a CPU, interrupts, and runs that vary (published spread up to 26 %)",
    "boot: what comes before and after deferred init, lower zones and first sections included",
)


def main() -> int:
    kernels = assumptions.load()
    with progress.step("calibrating the model on the published sweeps") as step:
        calibration = calibrate.calibrate(calibrate.published_points(), kernels.stock, step.update)
    fit, large = calibration.fit, prediction.large_machines().values()
    predictions = {
        "published": [prediction.predict_published(name, fit, kernels) for name in calibrate.MACHINES],
        "large": [prediction.predict_large(machine, fit, kernels) for machine in large],
    }
    for name, made in predictions.items():
        provenance.write(provenance.path_of(f"predict-{name}.csv"), to_csv(calibration, made))
    checked = cores.rows(kernels)
    provenance.write(provenance.path_of("predict-cores.csv"), cores.to_csv(checked))
    show(calibration, [made for group in predictions.values() for made in group])
    table.console().print(cores.grid(checked))
    return 0


def notes(calibration: calibrate.Calibration) -> dict[str, str]:
    left_out, fitted = calibration.median_error(), calibration.median_error(left_out=False)
    return {
        "command": "./lab predict",
        "predicted": "by a model, not measured; all times in ms",
        "calibrated": f"on {len(calibration.checked)} published points ({published.TABLE.name})",
        "error": f"median {fitted:.1f} % of the fit, {left_out:.1f} % of points left out",
        **{f"fitted {name}": f"{value:.3f}" for name, value in calibration.fit.items()},
        "cannot show": "; ".join(LIMITS),
    }


def to_csv(calibration: calibrate.Calibration, predictions: Sequence[prediction.Prediction]) -> str:
    """The rows as data, below comment lines that say what made them."""
    out = io.StringIO()
    for key, text in notes(calibration).items():
        out.write(f"# {key}: {text}\n")
    checks = {(check.point.machine, check.point.threads): check for check in calibration.checked}
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["machine", "threads", "published_ms", "predicted_left_out_ms"]
        + [f"predicted_{kernel}_{what}" for kernel in ("stock", "ours") for what in ("ms", "low", "high")]
        + ["predicted_ours_stock_stores_ms"]
    )
    for made in predictions:
        for row in made.rows:
            check = checks.get((made.name, row.threads))
            expected = [f"{row.published_ms:.1f}", f"{check.left_out_ms:.1f}"] if check else ["", ""]
            figures = [v for band in (row.stock, row.ours) for v in (band.ms, band.low, band.high)]
            figures.append(row.ours_stock_stores_ms)
            writer.writerow([made.name, row.threads, *expected, *(f"{value:.1f}" for value in figures)])
    return out.getvalue()


def show(calibration: calibrate.Calibration, predictions: Sequence[prediction.Prediction]) -> None:
    """One table; "but stores" is ours with stock's stores: only threads, chunks and locking differ."""
    names = (
        "machine",
        "threads",
        "published",
        "stock",
        "(range)",
        "ours",
        "(range)",
        "of stock",
        "but stores",
    )
    grid = table.grid(names, left={"machine"})
    for made in predictions:
        for row in made.rows:
            of_stock = (ms / row.stock.ms for ms in (row.ours.ms, row.ours_stock_stores_ms))
            known = "" if row.published_ms is None else f"{row.published_ms:.1f}"
            bands = (*_cells(row.stock), *_cells(row.ours))
            grid.add_row(made.name, str(row.threads), known, *bands, *(f"{ratio:.2f}" for ratio in of_stock))
    out = table.console()
    out.print(grid)
    out.print("\n".join(f"{key}: {text}" for key, text in notes(calibration).items()), markup=False)


def _cells(band: prediction.Band) -> Iterator[str]:
    yield f"{band.ms:.1f}"
    yield f"{band.low:.0f} to {band.high:.0f}" if band.low != band.high else ""
