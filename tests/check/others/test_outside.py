# SPDX-License-Identifier: GPL-2.0-only
"""Test programs of others on two kernels: what is run again, what differs, what is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from padlab.check.base import guests
from padlab.check.others import outside, outsiderun
from padlab.check.others.cases import EXIT, FAIL, PASS, SKIP, Case
from padlab.core import packages, paths
from padlab.core.errors import LabError
from padlab.kernel import othertests
from padlab.measure import provenance
from padlab.vm import channel, machine

COMMAND_LINE = 2048  # characters that the kernel takes

GUEST = """\
running mm/cow
ktap mm/cow ok 1 a
ktap mm/cow not ok 2 b
status mm/cow 1
jobs mm/cow 12 3
running mm/thuge-gen
status mm/thuge-gen 4
jobs mm/thuge-gen 0 0
done 0
"""


def test_what_a_guest_said_by_program() -> None:
    ran = outside.read(channel.parse(GUEST))
    assert list(ran.cases) == ["mm/cow", "mm/thuge-gen"]
    assert [case.outcome for case in ran.cases["mm/cow"].values()] == ["fail", "pass", "fail"]
    assert ran.jobs["mm/cow"] == (12, 3)


def test_all_programs_fit_on_a_command_line() -> None:
    own = " ".join(machine.load(outside.MACHINE).append)
    for suite in outside.suites():
        chosen = " ".join(outside.arguments(outside.names(suite), "least"))
        assert len(own) + len(chosen) < COMMAND_LINE - 512, suite
    assert "padlab_threshold=0" in outside.arguments(("mm/cow",), "off")
    assert outside.arguments(("mm/cow",), "default") == ("padlab_programs=mm/cow",)
    quick = outside.names(quick=True)
    assert {othertests.suite_of(name) for name in quick} >= {"mm", "cgroup", "memory-hotplug"}
    assert set(quick) < set(outside.names())


class Guests:
    """Kernels on which each try of a program has the outcome that ``outcomes`` gives."""

    def __init__(self, outcomes: dict[str, dict[str, list[str]]], reports: dict[str, str]) -> None:
        self.outcomes, self.reports = outcomes, reports
        self.boots: list[tuple[str, tuple[str, ...], str]] = []

    def __call__(
        self, kernel: str, config: str, chosen: tuple[str, ...], threshold: str = "default"
    ) -> tuple[outside.Ran, Path]:
        self.boots.append((kernel, chosen, threshold))
        ran = {}
        for name in chosen:
            tries = self.outcomes[name][kernel]
            ran[name] = {"a": Case(tries.pop(0) if len(tries) > 1 else tries[0])}
        shared = 0 if threshold == "off" or kernel == "stock" else 2
        report = self.reports.get(kernel)
        jobs = dict.fromkeys(chosen, (shared, shared)) if kernel == "patched" else {}
        return outside.Ran(ran, jobs, (report,) if report else ()), Path("guest.log")


Make = Callable[..., Guests]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    def make(outcomes: dict[str, dict[str, list[str]]], **reports: str) -> Guests:
        booted = Guests(outcomes, reports)
        monkeypatch.setattr(outside, "_boot", booted)
        monkeypatch.setattr(outside, "_stock", lambda config, chosen: booted("stock", config, chosen)[0])
        return booted

    return make


def test_only_what_is_worse_runs_again_and_no_more_often_than_it_has_to(make: Make) -> None:
    booted = make(
        {
            "mm/cow": {"stock": [PASS], "patched": [FAIL, PASS]},
            "mm/migration": {"stock": [FAIL], "patched": [FAIL]},
        }
    )
    comparison = outside.run(("mm/cow", "mm/migration"), "least")
    assert [(kernel, chosen) for kernel, chosen, _ in booted.boots] == [
        ("stock", ("mm/cow", "mm/migration")),
        ("patched", ("mm/cow", "mm/migration")),
        ("stock", ("mm/cow",)),
        ("patched", ("mm/cow",)),
    ]
    untested = "mm/migration: no case passes on stock, and its table does not say why"
    assert comparison.problems() == [untested] and comparison.tries == 2


def test_what_never_passes_differs(make: Make) -> None:
    booted = make({"mm/cow": {"stock": [PASS, FAIL], "patched": [FAIL]}})
    comparison = outside.run(("mm/cow",))
    assert len(booted.boots) == 2 * outside.TRIES
    assert comparison.problems() == ["mm/cow: a: pass, fail, fail on stock; fail, fail, fail on patched"]


def test_what_passes_nowhere_may_have_a_reason(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make({"mm/cow": {"stock": [FAIL], "patched": [FAIL]}})
    table = {"mm/cow": othertests.Program("./cow", no_pass="it needs more memory")}
    monkeypatch.setattr(othertests, "programs", lambda: table)
    assert outside.run(("mm/cow",)).problems() == []


@pytest.mark.parametrize("outcome", [SKIP, PASS])
def test_a_status_of_0_is_no_case_that_passes_if_all_are_skipped(
    outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = outside.Ran({"mm/cow": {EXIT: Case(PASS), "1": Case(outcome)}}, {"mm/cow": (2, 2)}, ())
    monkeypatch.setattr(outside, "_boot", lambda *args: (ran, Path("guest.log")))
    monkeypatch.setattr(outside, "_stock", lambda *args: ran)
    problems = outside.run(("mm/cow",)).problems()
    assert any("no case passes on stock" in problem for problem in problems) == (outcome == SKIP)


def test_a_report_of_patched_alone_is_a_difference(make: Make) -> None:
    same = {"mm/cow": {"stock": [PASS], "patched": [PASS]}}
    make(same, patched="BUG: 1")
    assert outside.run(("mm/cow",)).problems() == ["BUG: 1"]
    make(same, patched="BUG: 1", stock="BUG: 2")
    assert outside.run(("mm/cow",)).problems() == []


def test_jobs_have_to_run_unless_they_are_off(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    same = {"mm/cow": {"stock": [PASS], "patched": [PASS]}}
    make(same)
    assert outside.run(("mm/cow",), "off").problems() == []
    comparison = outside.run(("mm/cow",), "least")
    assert comparison.problems() == []
    idle = outside.Comparison(**{**vars(comparison), "jobs": {"mm/cow": (5, 0)}})
    assert idle.problems() == ["no helper took part in any of 5 jobs, so none of them was tested"]
    wrong = outside.Comparison(**{**vars(comparison), "threshold": "off"})
    assert wrong.problems() == ["2 jobs ran although they are off"]


def test_a_program_that_did_not_run_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    trouble = type("Dmesg", (), {"trouble": ()})
    result = type("R", (), {"guest": channel.parse(GUEST), "dmesg": trouble, "guest_log": Path("x")})
    monkeypatch.setattr(guests, "boot", lambda *args: result)
    with pytest.raises(LabError, match="mm/soft-dirty did not run"):
        outside.run(("mm/cow", "mm/soft-dirty"))


def test_all_is_recorded_and_some_is_not(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make({name: {"stock": [PASS], "patched": [PASS]} for name in outside.names()})
    monkeypatch.setattr(guests, "ready", lambda *args: None)
    monkeypatch.setattr(packages, "ensure", lambda *args: None)
    monkeypatch.setattr(provenance, "of_native", lambda command: {"command": command})
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    assert outsiderun.main(["mm/cow"]) == 0
    assert not list(tmp_path.iterdir())
    assert outsiderun.main(jobs=2) == 0
    suites = json.loads((tmp_path / "records/outside.json").read_text())["suites"]
    assert len(suites) == len(outside.suites()) * len(outside.THRESHOLDS)
    assert {suite["threshold"] for suite in suites} == {"default", "least", "off"}
    assert sum(suite["passed on both"] for suite in suites) == 3 * len(outside.names())
    assert "0 differences" in capsys.readouterr().out


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(LabError, match="nearest are 'mm/cow"):
        outsiderun.choose(["mm/cwo"])
    assert outsiderun.choose(["cgroup/test_cpu"]) == (
        "cgroup/test_cpu",
        "cgroup/test_cpuset",
        "cgroup/test_cpuset_prs",
    )
