# SPDX-License-Identifier: GPL-2.0-only
"""What checks did, as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from padlab.check import record
from padlab.check.report import Report
from padlab.core.outcome import Outcome, Took
from padlab.measure import provenance

MADE = {"host": "a CPU", "date": "a day"}
REPORTS = [
    Report("good", Outcome(3, took=(Took("test_x.sh", 20.04, 300),)), elapsed=42.55, limit_s=100),
    Report("bad", Outcome(1, ("first: why\nmore",), ("no SMT",)), elapsed=1, limit_s=60),
]


def test_each_check_with_its_times_and_what_failed(tmp_path: Path) -> None:
    record.write(tmp_path / "some.json", REPORTS)
    good, bad = json.loads((tmp_path / "some.json").read_text())
    part = {"name": "test_x.sh", "seconds": 20.0, "limit": 300}
    assert good == {
        "name": "good",
        "passed": 3,
        "failed": [],
        "skipped": [],
        "seconds": 42.5,
        "limit": 100,
        "parts": [part],
    }
    assert (bad["failed"], bad["skipped"]) == (["first: why"], ["no SMT"])


def test_a_run_of_all_has_its_date_host_and_sums(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(provenance, "path_of", lambda name: tmp_path / name)
    good, bad = (record.as_dict(report) for report in REPORTS)
    record.write_full(MADE, {"good": good, "also good": bad | {"failed": []}}, ["not run"])
    full = json.loads((tmp_path / record.FULL).read_text())
    assert {key: full[key] for key in MADE} == MADE
    assert (full["seconds"], full["passed"], full["skipped"], full["missing"]) == (44, 4, 1, ["not run"])
    assert [check["name"] for check in full["checks"]] == ["good", "bad"]
