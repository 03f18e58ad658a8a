# SPDX-License-Identifier: GPL-2.0-only
"""./lab test GLOB and --list: which checks, and what is said of names that are none."""

import contextlib
import re
import shlex
from functools import partial
from pathlib import Path

import pytest

from padlab.check.base import runner
from padlab.check.base.runner import Check
from padlab.check.plan import lab_test, plan, selection
from padlab.check.plan.lab_test import How
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome

NAMES = ["lint: mypy", "KUnit, smt-numa (perf)", "kselftests, smt-numa (perf)", "boot, tiny (debug)", "50%"]
CHECKS = [Check(name, lambda: Outcome(1), 60) for name in NAMES]


def chosen(*globs: str) -> list[str]:
    return [check.name for check in selection.choose(CHECKS, globs, [*NAMES, "boot, tiny (kasan)"])]


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("lint", [0]),
        ("KUNIT", [1]),
        ("smt", [1, 2]),
        ("*smt*", [1, 2]),
        ("smt*", None),
        ("k*", [1, 2]),
        ("?oot, *", [3]),
        ("*(debug)", [3]),
        ("[lb]*", [0, 3]),
        ("", [0, 1, 2, 3, 4]),
    ],
)
def test_globs(glob: str, found: list[int] | None) -> None:
    if found is None:
        with pytest.raises(LabError):
            chosen(glob)
    else:
        assert chosen(glob) == [NAMES[nr] for nr in found]


def test_singles_only_if_nothing_else_has_the_name() -> None:
    singles = [Check(name, lambda: Outcome(1), 60) for name in ("test_tiny (debug)", "test_load (debug)")]
    for globs, names in {
        (): NAMES,
        ("tiny",): ["boot, tiny (debug)"],
        ("*debug*",): ["boot, tiny (debug)"],
        ("test_tiny",): ["test_tiny (debug)"],
        ("lint", "test_load (debug)"): ["lint: mypy", "test_load (debug)"],
    }.items():
        assert [check.name for check in selection.choose(CHECKS, globs, NAMES, singles)] == names


def test_each_kselftest_has_its_own_check() -> None:
    names = [check.name for check in lab_test.checks(["test_*"])]
    assert "test_load (perf)" in names
    assert "test_report_hung (debug)" in names
    assert "test_report_hung (perf)" not in names
    assert "test_load (rt)" in [check.name for check in lab_test.checks(["test_load*"], full=True)]
    assert not any(name.startswith("test_") for name in (check.name for check in lab_test.checks(full=True)))


def test_several_globs_in_the_order_of_the_list() -> None:
    assert chosen("boot", "lint", "mypy") == ["lint: mypy", "boot, tiny (debug)"]
    assert chosen() == NAMES


def test_unknown_names_near_ones() -> None:
    with pytest.raises(LabError) as error:
        chosen("lint", "kselftets")
    assert error.value.what == "test kselftets"
    assert "'kselftests'" in error.value.why
    assert "--list" in error.value.todo
    with pytest.raises(LabError) as error:
        chosen("zzzz")
    assert error.value.why == "no check has that name"


def test_a_check_of_another_set() -> None:
    with pytest.raises(
        LabError, match="not in this set of checks: 'boot, tiny \\(kasan\\)'; run: ./lab test --full"
    ):
        chosen("kasan")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of the lab in this clone is no reason to wait."""
    monkeypatch.setattr(lab_test.exclusive, "held", lambda _command: contextlib.nullcontext())


def test_list_prints_names_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert lab_test.main(["LINT"], list_only=True) == 0
    assert capsys.readouterr().out.splitlines() == list(plan.lab.LINT)
    assert lab_test.main(quick=True, list_only=True) == 0
    assert capsys.readouterr().out.splitlines() == [check.name for check in plan.quick()]


def test_a_report_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        lab_test.main(["lint"], how=How(json=tmp_path / "no/such/folder.json"))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("memmap and HOLES", ["memmap oracle, holes"]),
        ("lint and not (python or shell)", []),
        ("smt-numa or one-cpu and kunit", ["KUnit, smt-numa (perf)"]),
    ],
)
def test_words_as_pytest_has_them(words: str, found: list[str]) -> None:
    names = ["memmap oracle, holes", "lint of python", "KUnit, smt-numa (perf)", "lint of shell"]
    checks = [Check(name, Outcome, 1.0) for name in names]
    if found:
        assert [check.name for check in selection.having(checks, words)] == found
    else:
        with pytest.raises(LabError, match="test -k lint: no check has that name, nearest are 'lint'"):
            selection.having(checks, words)


@pytest.mark.filterwarnings("ignore:.*object is not callable:SyntaxWarning")
@pytest.mark.parametrize("words", ["a b", "a (b)", "not"])
def test_words_that_are_no_expression(words: str) -> None:
    with pytest.raises(LabError, match="that is no expression; join words by and, or, not"):
        selection.having([Check("a b", Outcome, 1.0)], words)


def test_what_failed_is_run_again_until_it_passes(
    alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, bad = [], {"b", "c"}

    def outcome(name: str) -> Outcome:
        ran.append(name)
        return Outcome(0, ("it does not",)) if name in bad else Outcome(1)

    checks = [Check(name, partial(outcome, name), 60.0) for name in "abc"]
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    monkeypatch.setattr(lab_test, "checks", lambda *_args: checks)
    monkeypatch.setattr(lab_test, "_set_up", lambda _groups: Outcome(1))
    monkeypatch.setattr(runner, "this_host", lambda _checks: runner.Host(1, 1000, False))
    assert lab_test.main(quick=True) == 1
    bad.remove("b")
    ran.clear()
    assert lab_test.main(quick=True, how=How(failed=True)) == 1 and ran == ["b", "c"]
    bad.clear()
    ran.clear()
    assert lab_test.main(quick=True, how=How(failed=True, words="c")) == 0 and ran == ["c"]
    ran.clear()
    assert lab_test.main(quick=True, how=How(failed=True, stop=True)) == 0 and ran == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("free_mib", "room", "why"),
    [
        (1000, 0, r"'memmap oracle, memory-768' takes \d+ GiB of memory"),
        (1 << 20, 1 << 60, "no room on disk"),
    ],
)
def test_all_of_it_is_refused_where_it_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, free_mib: int, room: int, why: str
) -> None:
    monkeypatch.setattr(lab_test, "FULL_ROOM", room)
    monkeypatch.setattr(lab_test.host, "free_mib", lambda: free_mib)
    with pytest.raises(LabError, match=why):
        lab_test.main(full=True)


def test_a_failed_set_up_is_told_and_nothing_else_runs(
    alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_groups: str) -> None:
        raise LabError("installing quilt", "the network is down", "check it")

    monkeypatch.setattr(lab_test.packages, "ensure", refuse)
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    assert lab_test.main(["lint"], how=How(json=tmp_path / "x.json")) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "0 passed, 1 failed"
    assert "installing quilt: the network is down; check it" in out[-2]
    assert "the network is down" in (tmp_path / "x.json").read_text()


def test_results_are_written(
    alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [Check("good", lambda: Outcome(1), 60), Check("bad", lambda: Outcome(0, ("no",)), 60)]
    monkeypatch.setattr(lab_test, "checks", lambda *_args: checks)
    monkeypatch.setattr(lab_test, "_set_up", lambda _groups: Outcome(1))
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    assert lab_test.main(how=How(json=tmp_path / "x.json", junitxml=tmp_path / "x.xml")) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 1 failed"
    assert (tmp_path / "x.json").read_text().count('"name"') == 2
    assert (tmp_path / "x.xml").read_text().count("<testcase ") == 2


def test_what_ci_runs_of_another_base() -> None:
    lines = re.findall(r"^brief\+?=\((.*)\)$", (paths.ROOT / ".ci/run").read_text(), re.MULTILINE)
    globs = [glob for line in lines for glob in shlex.split(line)]
    assert len(lab_test.checks(globs)) == len(globs) == 10
