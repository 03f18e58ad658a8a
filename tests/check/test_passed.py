# SPDX-License-Identifier: GPL-2.0-only
"""A long run that goes on where it was ended, as long as nothing changes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from padlab.check import command, lab, passed, plan, record
from padlab.check.report import Report
from padlab.check.runner import Check
from padlab.core import exclusive
from padlab.core.outcome import Outcome


def test_the_state_is_that_of_files_to_be_committed(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / ".gitignore").write_text("/build/\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "build").mkdir()

    def changes(name: str) -> tuple[bool, bool]:
        before = passed.state.__wrapped__(tmp_path)
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("new")
        after = passed.state.__wrapped__(tmp_path)
        return after.everything != before.everything, after.kernels != before.kernels

    assert changes("new.c") == (True, True) and changes("new.c") == (False, False)
    assert changes("build/x.o") == changes("results/bench.json") == (False, False)
    assert changes("README.md") == changes("tests/coverage.toml") == (True, True)
    assert changes("padlab/docs/x.py") == changes("tests/faults/x.patch") == (True, True)
    for name in ("docs/testing.md", "tests/check/test_x.py", "tests/mutants/engine.toml"):
        assert changes(name) == (True, False)


def test_nothing_is_kept_of_a_copy_that_is_no_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert passed.state.__wrapped__(tmp_path) == NO_CLONE
    monkeypatch.setattr(passed, "STATE", tmp_path / "passed.json")
    monkeypatch.setattr(passed, "state", lambda: NO_CLONE)
    passed.keep([report("a")])
    assert not passed.STATE.exists() and not passed.known()


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The last is the clone's: of all files, and of those that kernels know."""
    found = ["one"]
    monkeypatch.setattr(passed, "STATE", tmp_path / "passed.json")
    monkeypatch.setattr(passed, "state", lambda: passed.State(found[-1], found[-1].partition(" ")[0]))
    return found


NO_CLONE = passed.State("", "")


def report(name: str, *failures: str) -> Report:
    return Report(name, Outcome(1, failures), 2, 10)


def test_what_passed_counts_until_it_fails_or_a_file_changes(states: list[str]) -> None:
    passed.keep([report("a"), report("b", "why")])
    passed.keep([report("c")])
    assert list(passed.known()) == ["a", "c"]
    passed.keep([report("a", "why")])
    assert list(passed.known()) == ["c"] and passed.all_of(["a", "c"]) is None
    states.append("two")
    assert not passed.known()
    passed.keep([report("a")])
    assert [check["name"] for check in passed.all_of(["a"]) or []] == ["a"]


def test_what_boots_knows_nothing_of_documents(states: list[str]) -> None:
    of_lab = next(iter(lab.PARTS))
    passed.keep([report("a"), report(of_lab)])
    states.append("one documents")
    assert list(passed.known()) == ["a"]
    passed.keep([report("b")])
    assert list(passed.known()) == ["a", "b"]
    passed.keep([report(of_lab)])
    assert list(passed.known()) == ["a", "b", of_lab]
    states.append("two documents")
    assert not passed.known()


def test_a_full_run_in_parts_is_recorded_when_all_have_passed(
    states: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[str] = []
    broken = {"b"}

    def run(name: str) -> Outcome:
        ran.append(name)
        return Outcome(1, ("why",) if name in broken else ())

    every = [Check(name, lambda name=name: run(name), 60) for name in "abc"]
    monkeypatch.setattr(plan, "full", lambda everything=False: every)
    monkeypatch.setattr(command, "_set_up", lambda groups: Outcome(1))
    monkeypatch.setattr(command.selection, "STATE", tmp_path / "failed.json")
    monkeypatch.setattr(exclusive, "held", lambda what: __import__("contextlib").nullcontext())
    recorded: list[list[str]] = []
    monkeypatch.setattr(record, "write_full", lambda checks: recorded.append([one["name"] for one in checks]))
    assert command.main(full=True) == 1
    assert sorted(ran) == ["a", "b", "c"] and not recorded
    ran.clear(), broken.clear()
    assert command.main(full=True, resume=True) == 0
    assert ran == ["b"] and recorded == [["a", "b", "c"]]
    states.append("two")
    assert command.main(["c"], full=True, resume=True) == 0
    assert ran == ["b", "c"] and len(recorded) == 1
    as_json = json.loads(passed.STATE.read_text())
    assert (as_json["state"]["everything"], list(as_json["passed"])) == ("two", ["c"])
