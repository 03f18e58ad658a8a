# SPDX-License-Identifier: GPL-2.0-only
"""The same checks many times: what is added up, told and recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from padlab.check import margins
from padlab.measure import provenance


def run(seconds: float, *failures: str) -> list[dict[str, Any]]:
    part = {"name": "test_x.sh", "seconds": seconds / 2, "limit": 40}
    return [{"name": "kselftests", "failed": failures, "seconds": seconds, "limit": 100, "parts": [part]}]


def test_runs_add_up_by_check_part_and_load() -> None:
    found: margins.Margins = {}
    margins.add(found, "idle", run(10))
    margins.add(found, "idle", run(50, "a", "b"))
    margins.add(found, "busy", run(90, "a"))
    assert list(found) == [
        ("kselftests", "idle"),
        ("test_x.sh in kselftests", "idle"),
        ("kselftests", "busy"),
        ("test_x.sh in kselftests", "busy"),
    ]
    idle = found["kselftests", "idle"].as_dict()
    assert (idle["runs"], idle["failed"], idle["failures"]) == (2, 1, {"a": 1, "b": 1})
    assert idle["seconds"] == {"least": 10, "median": 30, "most": 50} and idle["most of limit"] == 0.5
    assert found["test_x.sh in kselftests", "busy"].share == 45 / 40


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(margins.command, "checks", lambda *args, **options: [])
    monkeypatch.setattr(provenance, "path_of", lambda name: tmp_path / name)
    made = {"command": "./lab margins", "source": "linux", "host": "a CPU", "commit": "abc", "date": "today"}
    monkeypatch.setattr(provenance, "of_native", lambda command: made)
    return tmp_path / margins.RECORD


def test_each_load_has_all_runs_and_what_was_known_stays(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {"name": "another", "load": "idle", "runs": 200}
    record.write_text(json.dumps({"margins": [other, {"name": "kselftests", "load": "idle", "runs": 7}]}))
    monkeypatch.setattr(margins, "_run_once", lambda globs, full, log: run(60))
    assert margins.main(["kselftests"], runs=3) == 0
    known = json.loads(record.read_text())["margins"]
    assert [(one["name"], one["load"], one["runs"]) for one in known] == [
        ("another", "idle", 200),
        ("kselftests", "busy", 3),
        ("kselftests", "idle", 3),
        ("test_x.sh in kselftests", "busy", 3),
        ("test_x.sh in kselftests", "idle", 3),
    ]
    out = capsys.readouterr().out
    assert "75 %" in out and "4 over 50 % of their limits" in out


def test_one_failure_is_told_and_two_are_too_many(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*some: int) -> int:
        nr = 0

        def once(globs: Sequence[str], full: bool, log: Path) -> list[dict[str, Any]]:
            nonlocal nr
            nr += 1
            return run(1, *(["too slow"] if nr in some else []))

        monkeypatch.setattr(margins, "_run_once", once)
        return margins.main(["kselftests"], runs=3)

    assert fails(2) == 0
    assert "failed 1 times, kselftests, idle host: too slow" in capsys.readouterr().out
    assert fails(2, 3) == 1
    assert fails(2, 5) == 0  # once under each load
