# SPDX-License-Identifier: GPL-2.0-only
"""Predictions as data, and their files under results/."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from padlab.measure import provenance, published
from padlab.predict import calibrate
from padlab.predict.assumptions import Engines
from padlab.predict.calibrate import Calibration
from padlab.predict.prediction import Prediction
from padlab.predict.simulate import Engine
from padlab.predict.tables import LIMITS

COMMAND = "./lab predict"


def record(calibration: Calibration, small: list[Prediction], large: list[Prediction]) -> list[Path]:
    """The published machines, and the large ones."""
    made = []
    for name, predictions in (("published", small), ("large", large)):
        path = provenance.path_of(f"predict-{name}.csv")
        provenance.write(path, to_csv(calibration, predictions))
        made.append(path)
    return made


def to_csv(calibration: Calibration, predictions: Sequence[Prediction]) -> str:
    """The rows as data, below comment lines that say what made them."""
    out = io.StringIO()
    left_out, fitted = calibration.median_error(), calibration.median_error(left_out=False)
    notes = {
        "command": COMMAND,
        "predicted": "by a model, not measured; all times in ms",
        "calibrated": f"on {len(calibration.checked)} published points ({published.TABLE.name})",
        "error": f"median {fitted:.1f} % of the fit, {left_out:.1f} % of points left out",
    }
    notes |= {f"fitted {name}": f"{value:.3f}" for name, value in calibration.fit.values.items()}
    notes |= {"cannot show": "; ".join(LIMITS)}
    for key, value in notes.items():
        out.write(f"# {key}: {value}\n")
    checks = {(check.point.machine, check.point.threads): check for check in calibration.checked}
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["machine", "threads", "published_ms", "predicted_left_out_ms"]
        + [f"predicted_{kernel}_{what}" for kernel in ("stock", "ours") for what in ("ms", "low", "high")]
        + ["predicted_ours_stock_stores_ms"]
    )
    for prediction in predictions:
        for row in prediction.rows:
            check = checks.get((prediction.name, row.threads))
            expected = [f"{row.published_ms:.1f}", f"{check.left_out_ms:.1f}"] if check else ["", ""]
            figures = [v for band in (row.stock, row.ours) for v in (band.ms, band.low, band.high)]
            figures.append(row.ours_stock_stores_ms)
            writer.writerow([prediction.name, row.threads, *expected, *(f"{value:.1f}" for value in figures)])
    return out.getvalue()


def to_json(calibration: Calibration, shown: Sequence[Prediction], kernels: Engines) -> dict[str, Any]:
    """All of it, for programs."""

    def engine(kernel: Engine) -> dict[str, Any]:
        data = dataclasses.asdict(kernel)
        return data | {"chunk_end": kernel.chunk_end.__name__}

    return {
        "command": COMMAND,
        "predicted": True,
        "cannot_show": list(LIMITS),
        "parameters": calibration.fit.values,
        "engines": {kernel.name: engine(kernel) for kernel in (kernels.stock, kernels.ours)},
        "median_error_percent": {
            "fit": calibration.median_error(left_out=False),
            "left_out": calibration.median_error(),
        },
        "points": [
            dataclasses.asdict(check.point)
            | {"fitted_ms": check.fitted_ms, "left_out_ms": check.left_out_ms}
            | {"fit_error_percent": check.fit_error, "left_out_error_percent": check.left_out_error}
            for check in calibration.checked
        ],
        "in_no_sweep": [
            dataclasses.asdict(run)
            | {"predicted_ms": calibrate.predict_outside(run, calibration.fit, kernels.stock)}
            for run in calibrate.OUTSIDE
        ],
        "predictions": [dataclasses.asdict(prediction) for prediction in shown],
    }
