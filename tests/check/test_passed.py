# SPDX-License-Identifier: GPL-2.0-only
"""A long run that goes on where it was ended, as long as nothing changes that its checks depend on."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from padlab.check import command, fresh, lab, memmap, passed, plan, races, record, steps, suites
from padlab.check.report import Report
from padlab.check.runner import Check
from padlab.core import exclusive, git, paths, process
from padlab.core.outcome import Outcome, judge
from padlab.measure import provenance


def test_files_are_those_to_be_committed(tmp_path: Path) -> None:
    assert passed.files.__wrapped__(tmp_path) == {}
    git = ["git", "-C", str(tmp_path), "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "-q"], check=True)
    for name in (".gitignore", "build/x.o", "results/bench.json", "new.c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("/build/\n")
    assert passed.files.__wrapped__(tmp_path).keys() == {".gitignore", "new.c"}


@pytest.fixture
def clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The clone's files and their fingerprints."""
    found = {"linux/mm/deferred_init.c": "one"}
    monkeypatch.setattr(passed, "STATE", tmp_path / "passed.json")
    monkeypatch.setattr(provenance, "path_of", lambda name: tmp_path / name)
    monkeypatch.setattr(passed, "files", lambda: found)
    yield found


def check(name: str, run: object = memmap.grown) -> Check:
    return Check(name, run, 60)  # type: ignore[arg-type]


A, B, C = (check(name) for name in "abc")
LAB = check(next(iter(lab.PARTS)))


def report(one: Check, *failures: str) -> Report:
    return Report(one.name, Outcome(1, failures), 2, 10)


def test_what_a_check_depends_on(clone: dict[str, str]) -> None:
    def changes(name: str) -> set[str]:
        checks = {
            "oracle": check("oracle", partial(memmap.grown)),
            "races": check("races", partial(judge, races.control)),
            "kselftests": check("kselftests", partial(suites.selftests, "perf")),
            "steps": check("steps", steps.check),
            "fresh": check("fresh", partial(fresh.proof, "trixie")),
            "lab": LAB,
        }
        before = {key: passed.state(one) for key, one in checks.items()}
        clone[name] = "new"
        return {key for key, one in checks.items() if passed.state(one) != before[key]}

    everything = {"oracle", "races", "kselftests", "steps", "fresh", "lab"}
    for name in (
        "linux/kernel/padata_mt.c",
        "machines/tiny.toml",
        "tests/faults/x.patch",
        "padlab/guest/init",
    ):
        assert changes(name) == everything
    assert changes("padlab/core/paths.py") == everything
    assert changes("padlab/check/oracle.py") == {"oracle", "steps", "fresh", "lab"}
    assert changes("padlab/check/selection.py") == {"fresh", "lab"}
    script = "linux/tools/testing/selftests/padata/test_load.sh"
    assert changes(script) == everything - {"oracle"}
    assert changes("linux/tools/testing/selftests/padata/load.c") == everything
    assert changes("series/x.msg") == {"steps", "fresh", "lab"}
    assert changes("tests/races.toml") == {"races", "fresh", "lab"}
    for name in (
        "docs/testing.md",
        "README.md",
        ".ci/run",
        "tests/check/test_x.py",
        "tests/mutants/engine.toml",
    ):
        assert changes(name) == {"fresh", "lab"}


@pytest.mark.parametrize(
    ("base", "counts"),
    [
        ("6.12", {"patches/a.patch", "source.toml"}),
        ("7.3", {"bases/7.3/patches/a.patch", "source.toml"}),
    ],
)
def test_what_another_base_has_does_not_count(
    clone: dict[str, str], monkeypatch: pytest.MonkeyPatch, base: str, counts: set[str]
) -> None:
    monkeypatch.setattr(passed.paths, "BASE", base)
    monkeypatch.setattr(passed.paths, "OWN", None if base == "6.12" else paths.BASES / base)
    found = set()
    for name in (
        "patches/a.patch",
        "bases/7.3/patches/a.patch",
        "bases/7.9/x",
        "series/x.msg",
        "source.toml",
    ):
        before = passed.state(A), passed.state(LAB)
        clone[name] = "new"
        found |= {name} if passed.state(A) != before[0] else set()
        assert passed.state(LAB) != before[1]
    assert found == counts


def test_what_passed_counts_until_it_fails_or_a_file_changes(clone: dict[str, str]) -> None:
    passed.keep(A, report(A))
    passed.keep(B, report(B, "why"))
    passed.keep(C, report(C))
    every = [A, B, C]
    assert list(passed.known(every)) == ["a", "c"]
    passed.keep(A, report(A, "why"))
    assert list(passed.known(every)) == ["c"]
    clone["linux/mm/deferred_init.c"] = "two"
    assert not passed.known(every)
    passed.keep(A, report(A))
    assert [(one["name"], len(one["date"]), "host" in one) for one in passed.known([A]).values()] == [
        ("a", 10, True)
    ]


def test_what_another_machine_recorded_counts_unless_it_fails_here(clone: dict[str, str]) -> None:
    passed.keep(A, report(A))
    passed.keep(B, report(B))
    record.write_full({}, passed.known([A, B]), ["c"])
    passed.STATE.unlink()
    every = [A, B, C]
    assert list(passed.known(every)) == ["a", "b"]
    passed.keep(A, report(A, "why"))
    assert list(passed.known(every)) == ["b"]
    clone["linux/mm/deferred_init.c"] = "two"
    assert not passed.known(every)


def test_nothing_is_kept_of_a_copy_that_is_no_clone(clone: dict[str, str]) -> None:
    clone.clear()
    passed.keep(A, report(A))
    assert not passed.STATE.exists() and not passed.known([A])


@pytest.mark.parametrize(
    "text", ["", "[]", "nonsense", '{"state": {}, "passed": {}}', '{"checks": [1]}', '{"checks": {}}']
)
def test_a_file_of_another_form_has_nothing(clone: dict[str, str], text: str) -> None:
    passed.STATE.write_text(text)
    provenance.path_of(record.FULL).write_text(text)
    assert passed.known([A, check("state"), check("passed"), check("checks")]) == {}


def runs_all(patch: pytest.MonkeyPatch, tmp_path: Path, every: list[Check]) -> None:
    """A run with --full has ``every``, and needs no set-up."""
    patch.setattr(plan, "full", lambda everything=False: every)
    patch.setattr(command, "_set_up", lambda groups: Outcome(1))
    patch.setattr(command.selection, "STATE", tmp_path / "failed.json")
    patch.setattr(exclusive, "held", lambda what: __import__("contextlib").nullcontext())


def test_a_full_run_in_parts_is_recorded_when_all_have_passed(
    clone: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[str] = []
    broken = {"b"}

    def run(name: str) -> Outcome:
        ran.append(name)
        return Outcome(1, ("why",) if name in broken else ())

    every = [check(name, partial(run, name)) for name in "abc"]
    runs_all(monkeypatch, tmp_path, every)

    def recorded() -> tuple[list[str], list[str]]:
        full = json.loads(provenance.path_of(record.FULL).read_text())
        return [one["name"] for one in full["checks"]], full["missing"]

    assert command.main(full=True) == 1
    assert sorted(ran) == ["a", "b", "c"] and recorded() == (["a", "c"], ["b"])
    ran.clear(), broken.clear()
    assert command.main(full=True, resume=True) == 0
    assert ran == ["b"] and recorded() == (["a", "b", "c"], [])
    clone["linux/mm/deferred_init.c"] = "two"
    assert command.main(["c"], full=True, resume=True) == 0
    assert ran == ["b", "c"] and recorded() == (["c"], ["a", "b"])
    assert list(passed.known(every)) == ["c"]
    provenance.path_of(record.FULL).unlink()
    assert command.main(["c"], full=True, resume=True) == 0
    assert ran == ["b", "c"] and recorded() == (["c"], ["a", "b"])
    # A new clone has no trees to ask, and nothing to add.
    passed.STATE.unlink()
    monkeypatch.setattr(command, "_made_by", lambda: pytest.fail("nothing was run here"))
    assert command.main(["c"], full=True, resume=True) == 0


def test_a_full_run_that_is_told_to_end_is_recorded(
    clone: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patch:
        scope = process.Scope()
        patch.setattr(process, "_all", scope)

        def end() -> Outcome:
            passed.keep(A, report(A))
            scope.end()
            raise KeyboardInterrupt

        every = [A, check("b", end)]
        runs_all(patch, tmp_path, every)
        patch.setattr(command.runner.Runner, "run", lambda self: end())
        with pytest.raises(KeyboardInterrupt):
            command.main(full=True)
    full = json.loads(provenance.path_of(record.FULL).read_text())
    assert full["missing"] == ["b"] and full["commit"] == git.commit() and full["compiler"]
