# SPDX-License-Identifier: GPL-2.0-only
"""Checks that have passed in this clone as it is now: a long run can be ended, and go on later.

They count until a file changes that a commit would have, those of the lab itself until any
does, the others as long as no more than documents and the lab's tests change.  Results
do not count: commands record some between two runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from padlab.check import lab, record
from padlab.check.report import Report
from padlab.core import git, paths
from padlab.core.once import once
from padlab.kernel.content import digest, fingerprint

STATE = paths.BUILD / "test-passed.json"

Known = dict[str, dict[str, Any]]  # by the check's name, as in record.py


# Of what neither a kernel nor a guest knows: documents, and what the lab's tests read.
_LAB = re.compile(r"docs/|CONTRIBUTING\.md$|tests/(?:mutants/|data/|.*\.py$)")


@dataclass(frozen=True)
class State:
    """Digests of the clone's files; "" in a copy that is no clone, of which nothing is kept."""

    everything: str
    kernels: str  # but documents and the lab's tests


@once
def state(root: Path = paths.ROOT) -> State:
    """When this is first asked for: another one when a file has changed."""
    names = [name for name in git.files(root) if not name.startswith(f"{paths.RESULTS.name}/")]
    lines = {name: f"{name} {fingerprint(root / name)}" for name in names}
    if not lines:
        return State("", "")
    kernels = [line for name, line in lines.items() if not _LAB.match(name)]
    return State(digest(lines.values()), digest(kernels))


def known() -> Known:
    """Those that have passed since a file last changed."""
    try:
        kept = json.loads(STATE.read_text())
    except (OSError, ValueError):
        return {}
    now, then = state(), kept.get("state")
    if not now.everything or not isinstance(then, dict) or then.get("kernels") != now.kernels:
        return {}
    found: Known = kept["passed"]
    if then.get("everything") == now.everything:
        return found
    return {name: one for name, one in found.items() if name not in (*lab.LINT, *lab.PARTS)}


def keep(reports: Iterable[Report]) -> None:
    """Add those of ``reports`` that passed, and take out those that did not."""
    if not state().everything:
        return
    passed = known()
    for report in reports:
        if report.outcome.failures:
            passed.pop(report.name, None)
        else:
            passed[report.name] = record.as_dict(report)
    STATE.parent.mkdir(parents=True, exist_ok=True)
    STATE.write_text(json.dumps({"state": asdict(state()), "passed": passed}, indent=1) + "\n")


def all_of(names: Sequence[str]) -> list[dict[str, Any]] | None:
    """What is known of ``names``, if all of them have passed."""
    passed = known()
    return [passed[name] for name in names] if passed.keys() >= set(names) else None
