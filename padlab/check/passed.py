# SPDX-License-Identifier: GPL-2.0-only
"""Checks that have passed in this clone as it is now: a long run can be ended, and go on later.

They count until a file changes that a commit would have.  Results do not: commands record
some between two runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from padlab.check import record
from padlab.check.report import Report
from padlab.core import git, paths
from padlab.core.once import once
from padlab.kernel.content import digest, fingerprint

STATE = paths.BUILD / "test-passed.json"

Known = dict[str, dict[str, Any]]  # by the check's name, as in record.py


@once
def state(root: Path = paths.ROOT) -> str:
    """Of the clone when this is first asked for: another one when a file has changed.

    "" in a copy that is no clone, of which nothing is kept.
    """
    names = [name for name in git.files(root) if not name.startswith(f"{paths.RESULTS.name}/")]
    return digest(f"{name} {fingerprint(root / name)}" for name in names) if names else ""


def known() -> Known:
    """Those that have passed since a file last changed."""
    try:
        kept = json.loads(STATE.read_text())
    except (OSError, ValueError):
        return {}
    found: Known = kept["passed"] if state() and kept.get("state") == state() else {}
    return found


def keep(reports: Iterable[Report]) -> None:
    """Add those of ``reports`` that passed, and take out those that did not."""
    if not state():
        return
    passed = known()
    for report in reports:
        if report.outcome.failures:
            passed.pop(report.name, None)
        else:
            passed[report.name] = record.as_dict(report)
    STATE.parent.mkdir(parents=True, exist_ok=True)
    STATE.write_text(json.dumps({"state": state(), "passed": passed}, indent=1) + "\n")


def all_of(names: Sequence[str]) -> list[dict[str, Any]] | None:
    """What is known of ``names``, if all of them have passed."""
    passed = known()
    return [passed[name] for name in names] if passed.keys() >= set(names) else None
