# SPDX-License-Identifier: GPL-2.0-only
"""``./lab predict``: deferred init on machines with more CPUs than the host, by a model.

The simulation (simulate.py) is fitted to the published thread sweeps
(calibrate.py).  The command shows how well it fits, then predicts stock's time and
ours on those machines and on larger ones.  What is assumed about the two kernels
is in data/assumptions.toml.  Nothing here is measured, and all that is printed or
drawn says so.
"""

from __future__ import annotations

import json as jsons
import time

from padlab.core import progress, table
from padlab.predict import assumptions, calibrate, prediction, records, tables


def main(only: str | None = None, json: bool = False) -> int:
    """Calibrate, predict, print; record all of it under results/ unless one machine was asked for."""
    if only:
        prediction.check_machine(only)
    start = time.monotonic()
    kernels = assumptions.load()
    with progress.step("calibrating the model on the published sweeps") as step:
        calibration = calibrate.calibrate(calibrate.published_points(), kernels.stock, step.update)
    fit, large_ones = calibration.fit, prediction.large_machines().values()
    small = [prediction.predict_published(name, fit, kernels) for name in calibrate.MACHINES]
    large = [prediction.predict_large(big, fit, kernels) for big in large_ones]
    shown = [p for p in [*small, *large] if only in (None, p.name)]
    recorded = [] if only else records.record(calibration, small, large)
    took = time.monotonic() - start

    if json:
        data = records.to_json(calibration, shown, kernels) | {"seconds": round(took, 1)}
        print(jsons.dumps(data, indent=2))
        return 0
    lines = tables.report(calibration, shown, kernels)
    if recorded:
        lines.append(f"recorded in {', '.join(str(path) for path in recorded)}")
    lines.append(f"took {progress.seconds(took)}")
    table.console().print("\n".join(lines), markup=False, soft_wrap=True)
    return 0
