# SPDX-License-Identifier: GPL-2.0-only
"""What checks did, as JSON: for scripts, and under results/ for runs of ``--full``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from padlab.check.report import Report
from padlab.measure import provenance

FULL = "full.json"
FULL_COMMAND = "./lab test --full"


def as_dict(report: Report) -> dict[str, Any]:
    """One check; times are in seconds."""
    outcome = report.outcome
    return {
        "name": report.name,
        "passed": outcome.passed,
        "failed": [failure.partition("\n")[0] for failure in outcome.failures],
        "skipped": list(outcome.skips),
        "seconds": round(report.elapsed, 1),
        "limit": round(report.limit_s),
        "parts": [
            {"name": part.name, "seconds": round(part.elapsed, 1), "limit": round(part.limit_s)}
            for part in outcome.took
        ],
    }


def write(path: Path, reports: Sequence[Report]) -> None:
    path.write_text(json.dumps([as_dict(report) for report in reports], indent=2) + "\n")


def write_full(
    made_by: Mapping[str, str], passed: Mapping[str, Mapping[str, Any]], missing: Sequence[str]
) -> None:
    """Checks that have passed, run at once or in parts, each with its date, commit and host.

    ``made_by`` is what provenance.py says of the last of these runs; ``missing`` have not passed yet
    with the files as they are now.
    """
    checks = list(passed.values())
    provenance.write_json(
        provenance.path_of(FULL),
        {
            **made_by,
            "seconds": round(sum(check["seconds"] for check in checks)),
            "passed": sum(check["passed"] for check in checks),
            "skipped": sum(len(check["skipped"]) for check in checks),
            "missing": list(missing),
            "checks": checks,
        },
    )
