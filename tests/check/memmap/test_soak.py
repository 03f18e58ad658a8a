# SPDX-License-Identifier: GPL-2.0-only
"""Machines drawn at random: the same for the same seed, such as can be booted, and of all kinds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from padlab.check.base import guests
from padlab.check.memmap import oracle, soak
from padlab.core import packages, paths
from padlab.core.errors import LabError
from padlab.measure import provenance
from padlab.vm import machine

SEEDS = range(500)


def test_a_seed_is_one_machine() -> None:
    assert [soak.draw(seed) for seed in SEEDS] == [soak.draw(seed) for seed in SEEDS]
    assert len({soak.draw(seed) for seed in SEEDS}) == len(SEEDS)
    assert str(soak.draw(1)) == "seed 1: " + str(soak.draw(1)).removeprefix("seed 1: ")


def test_each_can_be_booted() -> None:
    for seed in SEEDS:
        drawn = soak.draw(seed)
        made = drawn.machine
        assert 1 <= made.cpus <= machine.MAX_CPUS
        assert 700 <= made.mib <= soak.MAX_MIB
        assert all(node.mib >= machine.MIN_MIB for node in made.nodes)
        assert all(dimm.node < len(made.nodes) and not dimm.mib % 128 for dimm in made.dimms)
        assert not any(" " in word for word in drawn.append)
        assert "init_on_free=1" not in drawn.append or made.mib <= soak.LITTLE_MIB


def test_there_are_all_kinds() -> None:
    drawn = [soak.draw(seed) for seed in SEEDS]
    words = {word.split("=")[0] for one in drawn for word in one.append}
    assert {"kernelcore", "movablecore", "mem", "numa", "memmap", "hugepagesz", "init_on_free"} <= words
    assert {one.config for one in drawn} == set(soak.CONFIGS)
    assert {len(one.machine.nodes) for one in drawn} == {1, 2, 3, 4}
    assert {len(one.machine.dimms) for one in drawn} == {0, 1, 2}
    assert any(not node.cpus for one in drawn for node in one.machine.nodes)
    assert any(node.mib % 128 for one in drawn for node in one.machine.nodes)


@pytest.fixture
def booted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host on which seed 7 differs, and seed 8 boots one kernel alone."""

    def boot(drawn: soak.Drawn, kernel: str) -> object:
        if drawn.seed == 8 and kernel == "patched":
            raise LabError("booting", "it hung", "see its log")
        return type("Result", (), {"accel": None, "seed": drawn.seed})

    def problems(results: list[object], allowance: int) -> list[str]:
        return ["a zone differs", "by a page"] if getattr(results[0], "seed", 0) == 7 else []

    monkeypatch.setattr(soak, "_boot", boot)
    monkeypatch.setattr(soak, "problems", problems)
    monkeypatch.setattr(guests, "ready", lambda *args: None)
    monkeypatch.setattr(guests, "build", lambda *args: None)
    monkeypatch.setattr(packages, "ensure", lambda *args: None)
    monkeypatch.setattr(provenance, "provenance", lambda command, *args: {"command": command})
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    return tmp_path / "records/soak.json"


def test_what_differs_can_be_drawn_again(booted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main(seed=5, nr=5, jobs=2) == 1
    out = capsys.readouterr().out
    assert "seed 7: " in out and "(again: ./lab soak --seed 7 --boots 1)\n  by a page\n" in out
    assert "it hung" in out and "3 of 5 machines equal, seeds 5 to 9" in out
    recorded = json.loads(booted.read_text())
    assert (recorded["seeds"], recorded["equal"]) == ([5, 9], 3)
    assert recorded["different"]["7"] == ["a zone differs", "by a page"]


def test_a_machine_on_which_neither_boots(booted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def boot(drawn: soak.Drawn, kernel: str) -> object:
        if drawn.seed == 1 or kernel == "patched":
            raise LabError(f"booting {kernel}", "no memory", "see its log")
        return type("Result", (), {"accel": None})

    monkeypatch.setattr(soak, "_boot", boot)
    assert soak.main(seed=1, nr=2) == 1
    recorded = json.loads(booted.read_text())
    assert recorded["neither boots"] == {"1": "no memory"}
    assert list(recorded["different"]) == ["2"]


def test_one_seed_is_not_recorded(booted: Path) -> None:
    assert soak.main(seed=1, nr=1) == 0
    assert not booted.exists()


def test_a_check_names_the_seed(booted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak.time, "time", lambda: 6.5)
    found = soak.check(2)
    assert found.passed == 1 and "./lab soak --seed 7 --boots 1" in found.failures[0]


def test_what_stock_breaks_ours_has_to_break(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(guests, "trouble", lambda result: list(result.complaints))
    monkeypatch.setattr(oracle, "parse", lambda guest: guest)
    monkeypatch.setattr(oracle, "broken_rules", lambda report: report)
    monkeypatch.setattr(oracle, "compare", lambda *args: asked.append(args[3]) or [])

    def result(broken: list[str], *complaints: str) -> object:
        spec = type("Spec", (), {"kernel": "stock"})
        return type("Result", (), {"guest": broken, "complaints": complaints, "spec": spec})

    assert soak.problems([result([]), result([])], 8) == []  # type: ignore[list-item]
    assert soak.problems([result(["a rule"]), result([])], 8) == []  # type: ignore[list-item]
    assert asked == [False, True]
    assert soak.problems([result([], "BUG: x"), result([])], 8) == ["stock: BUG: x"]  # type: ignore[list-item]
