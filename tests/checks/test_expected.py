# SPDX-License-Identifier: GPL-2.0-only
"""What the checks expect of a base: each entry is about something that there is, and has its effect."""

import fnmatch
from dataclasses import replace
from pathlib import Path

import pytest

from checks import expected
from checks.boot import test_costs as costs
from checks.memmap import matrix
from checks.memmap.case import Case
from checks.mutants import detectors
from padlab.core import paths
from padlab.measure import growth
from padlab.measure.growth import Goal
from tests.conftest import set_base

# A case of the matrix that has other expectations, a check and a goal that are left out.
TABLE = """\
[left-out]
"KUnit, arm64" = "nobody has one"
"what is *" = "nobody asks"
[cases."memmap oracle, smt-numa, numa=off"]
says = ["a line"]
stock_breaks = true
"""


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks/checks.toml").write_text(TABLE)
    set_base(monkeypatch, name="9.9", own=tmp_path)


def cases() -> dict[str, Case]:
    return {case.title: case for case in matrix.cases(True)}


@pytest.mark.parametrize("name", paths.bases())
def test_each_entry_is_about_something_that_is_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check, a goal, or a case that has other expectations than without the table."""
    usual = [replace(case, says=(), stock_breaks=False) for case in cases().values()]
    set_base(monkeypatch, name)
    of_base, table = cases(), expected.table()
    names = [*detectors._items(), *(goal.name for goal in growth.goals(RESULT))]
    for glob in table.left_out:
        assert fnmatch.filter(names, glob), glob
    assert set(table.cases) <= {case.title for case in usual}
    assert all(of_base[title].says == case.says for title, case in table.cases.items())


COSTS = growth.Costs({phase.name: 1.0 for phase in growth.PHASES}, 1.0, 1)
BOOTS = growth.Boots(dict.fromkeys(growth.SIZES_GIB, COSTS), dict.fromkeys(growth.LOW_GIB, COSTS), None)
RESULT = dict.fromkeys(growth.KERNELS, BOOTS)


@pytest.mark.usefixtures("base")
class TestBase:
    def test_why_a_check_is_left_out(self) -> None:
        assert expected.why_left_out("KUnit, arm64") == "nobody has one"
        assert not expected.why_left_out("KUnit, smt-numa (perf)")
        assert expected.left_out(["KUnit, arm64", "a"]) == [
            "left out on Linux 9.9, as nobody has one: KUnit, arm64"
        ]

    def test_goals_that_it_has_not_are_skipped(self) -> None:
        goals = [Goal(name, "s", 1.0, 2.0, limit) for name, limit in (("what is it", 1.0), ("that", 3.0))]
        outcome = costs._reached(goals)
        assert (outcome.passed, outcome.failures) == (1, ())
        assert outcome.skips == ("left out on Linux 9.9, as nobody asks: what is it",)

    def test_cases_are_of_the_base(self) -> None:
        of_base = cases()
        case = of_base["memmap oracle, smt-numa, numa=off"]
        assert (case.says, case.stock_breaks) == (("a line",), True)
        assert not of_base["memmap oracle, tiny, numa=off"].stock_breaks
