# SPDX-License-Identifier: GPL-2.0-only
"""Recording results under results/, each with what made it.

Only these commands record, and always under the same name for the same
measurement, so that git shows what a change did to the figures:

    results/compare-MACHINE.json         ./lab compare --machine MACHINE, timed
    results/compare-MACHINE-exact.json   the same, exact mode
    results/sweep-MACHINE.csv, .png      ./lab sweep --machine MACHINE
    results/growth.json                  ./lab growth: exact mode, several sizes
    results/starts.json                  ./lab starts
    results/bench.json, .csv             ./lab bench: native, all rounds in the CSV
    results/hugepages.json               ./lab bench hugepages
    results/predict-published.csv, .png  ./lab predict: the published machines
    results/predict-large.csv, .png      the same: machines of 1 to 24 TiB

Every file names its command and, unless it is a prediction, the Debian source
version of the kernels, the accelerator, QEMU's version and the host's CPU.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from padlab import accel as accels
from padlab import paths
from padlab.build import Build
from padlab.errors import LabError


def path_of(name: str) -> Path:
    return paths.RESULTS / name


def provenance(command: str, build: Build, accel: str) -> dict[str, str]:
    """What made a result."""
    return {
        "command": command,
        "source": f"linux-source-6.12 {build.source_version}",
        "config": build.config,
        "accelerator": accel,
        "qemu": accels.qemu_version(),
        "host": host(),
    }


def host() -> str:
    return f"{_cpu_model()}, {os.cpu_count()} CPUs"


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    write(path, json.dumps(data, indent=2) + "\n")


def write(path: Path, data: str | bytes) -> None:
    """Replace ``path`` whole: an interrupted run leaves the old file."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, str):
            data = data.encode()
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as err:
        raise LabError(f"recording {path.name}", f"{err.strerror}", f"check {path.parent}") from None


def _cpu_model() -> str:
    match = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return match[1] if match else "unknown"
