# SPDX-License-Identifier: GPL-2.0-only
"""What the checks expect of a base: each entry is about something that there is, and has its effect."""

import fnmatch
from pathlib import Path

import pytest

from padlab.check.base import expected
from padlab.check.guest import costs, suites
from padlab.check.memmap import matrix
from padlab.check.plan import lab_test, plan
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel.kconfig import DEBUG, PERF
from padlab.measure import growth
from padlab.measure.growth import Goal

OTHERS = [name for name in paths.bases() if name != paths.DEFAULT_BASE]
# A case of the matrix that has other expectations, a check and a goal that are left out.
TABLE = """\
kunit_preempts = true
[left-out]
"KUnit, arm64" = "nobody has one"
"what is *" = "nobody asks"
[cases."memmap oracle, smt-numa, numa=off"]
says = ["a line"]
stock_breaks = true
"""


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base with that table and nothing else of its own."""
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks/checks.toml").write_text(TABLE)
    monkeypatch.setattr(paths, "BASE", "9.9")
    monkeypatch.setattr(paths, "OWN", tmp_path)


@pytest.mark.usefixtures("default_base")
def test_nothing_is_otherwise_on_the_default_base() -> None:
    assert expected.table() == expected.Expected()
    assert [check.name for check in plan.full(True)] == [check.name for check in plan.of_any_base(True)]
    assert expected.left_out(check.name for check in plan.of_any_base(True)) == []
    assert suites.preempt(PERF, "kunit") == ()


@pytest.mark.parametrize("name", OTHERS)
def test_each_entry_is_about_something_that_is_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "BASE", name)
    monkeypatch.setattr(paths, "OWN", None)
    usual = {case.title: case for case in matrix.cases(True)}
    monkeypatch.setattr(paths, "OWN", paths.BASES / name)
    cases = {case.title: case for case in matrix.cases(True)}
    names = [check.name for check in plan.of_any_base(True)]
    names += [goal.name for goal in growth.goals(RESULT)]
    table = expected.table()
    for glob in table.left_out:
        assert fnmatch.filter(names, glob), glob
    for title in table.cases:
        assert cases[title] != usual[title]


COSTS = growth.Costs({phase.name: 1.0 for phase in growth.PHASES}, 1.0, 1)
RESULT = growth.Growth(
    {kernel: dict.fromkeys(growth.SIZES_GIB, COSTS) for kernel in growth.KERNELS},
    {kernel: dict.fromkeys(growth.LOW_GIB, COSTS) for kernel in growth.KERNELS},
    None,
)


@pytest.mark.usefixtures("base")
class TestBase:
    def test_checks_that_it_has_not_are_left_out_and_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "KUnit, arm64" not in [check.name for check in lab_test.checks()]
        assert lab_test.main(list_only=True) == 0
        out, err = capsys.readouterr()
        assert "KUnit, arm64" not in out.splitlines()
        assert err == "left out on Linux 9.9, as nobody has one: KUnit, arm64\n"

    def test_one_that_is_named_is_told_why(self) -> None:
        with pytest.raises(LabError) as error:
            lab_test.checks(["KUnit, arm*"])
        assert error.value.why == "left out on Linux 9.9, as nobody has one: KUnit, arm64"
        assert [check.name for check in lab_test.checks(["arm64"], full=True)]

    def test_goals_that_it_has_not_are_skipped(self) -> None:
        goals = [Goal(name, "s", 1.0, 2.0, limit) for name, limit in (("what is it", 1.0), ("that", 3.0))]
        outcome = costs._reached(goals)
        assert (outcome.passed, outcome.failures) == (1, ())
        assert outcome.skips == ("left out on Linux 9.9, as nobody asks: what is it",)

    def test_cases_are_of_the_base(self) -> None:
        cases = {case.title: case for case in matrix.cases(True)}
        case = cases["memmap oracle, smt-numa, numa=off"]
        assert (case.says, case.stock_breaks) == (("a line",), True)
        assert not cases["memmap oracle, tiny, numa=off"].stock_breaks

    def test_kunit_guests_are_preempted_at_once(self) -> None:
        assert suites.preempt(PERF, "kunit") == suites.preempt(DEBUG, "kunit") == ("preempt=full",)
        assert suites.preempt(PERF, "selftest") == ()
