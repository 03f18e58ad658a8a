# SPDX-License-Identifier: GPL-2.0-only
"""Machines drawn at random: the same for the same seed, such as can be booted, and of all kinds."""

import pytest

from padlab.check.base import guests
from padlab.check.memmap import oracle, soak
from padlab.core import packages
from padlab.core.errors import LabError
from padlab.vm import machine

SEEDS = range(500)


def test_a_seed_is_one_machine() -> None:
    assert [soak.draw(seed) for seed in SEEDS] == [soak.draw(seed) for seed in SEEDS]
    assert len({soak.draw(seed) for seed in SEEDS}) == len(SEEDS)


def test_each_can_be_booted() -> None:
    for seed in SEEDS:
        drawn = soak.draw(seed)
        nodes, dimms, mib = drawn.machine.nodes, drawn.machine.dimms, drawn.machine.mib
        assert 1 <= drawn.machine.cpus <= machine.MAX_CPUS
        assert 700 <= mib <= soak.MAX_MIB
        assert all(node.mib >= machine.MIN_MIB for node in nodes)
        assert all(dimm.node < len(nodes) and not dimm.mib % 128 for dimm in dimms)
        assert not any(" " in word for word in drawn.append)
        assert "init_on_free=1" not in drawn.append or mib <= soak.LITTLE_MIB


def test_there_are_all_kinds() -> None:
    all_drawn = [soak.draw(seed) for seed in SEEDS]
    nodes = [node for drawn in all_drawn for node in drawn.machine.nodes]
    words = {word.split("=")[0] for drawn in all_drawn for word in drawn.append}
    assert {"kernelcore", "movablecore", "mem", "numa", "memmap", "hugepagesz", "init_on_free"} <= words
    assert {drawn.config for drawn in all_drawn} == set(soak.CONFIGS)
    assert {len(drawn.machine.nodes) for drawn in all_drawn} == {1, 2, 3, 4}
    assert {len(drawn.machine.dimms) for drawn in all_drawn} == {0, 1, 2}
    assert any(not node.cpus for node in nodes) and any(node.mib % 128 for node in nodes)


@pytest.fixture
def booted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host on which seed 7 differs, seed 8 boots one kernel alone, seed 9 none, and 10 for two reasons."""

    def boot(drawn: soak.Drawn, kernel: str) -> int:
        if drawn.seed > 8 or (drawn.seed == 8 and kernel == "patched"):
            raise LabError(f"booting {kernel}", "it hung" * (drawn.seed < 10) or kernel, "see its log")
        return drawn.seed

    monkeypatch.setattr(soak, "_boot", boot)
    monkeypatch.setattr(
        soak, "problems", lambda seeds, allowance: ["a zone differs", "by a page"] if seeds[0] == 7 else []
    )
    monkeypatch.setattr(guests, "ready", lambda *args: None)
    monkeypatch.setattr(packages, "ensure", lambda *args: None)


@pytest.mark.usefixtures("booted")
def test_what_differs_can_be_drawn_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main(seed=5, nr=6, jobs=2) == 1
    out = capsys.readouterr().out
    assert "seed 7: " in out and "(again: ./lab soak --seed 7 --boots 1)\n  by a page\n" in out
    assert "booting patched: it hung" in out and "3 of 6 machines equal, seeds 5 to 10" in out
    assert soak.main(seed=1, nr=1) == 0


@pytest.mark.usefixtures("booted")
def test_a_check_names_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak.time, "time", lambda: 6.5)
    outcome = soak.check(2)
    assert outcome.passed == 1 and "./lab soak --seed 7 --boots 1" in outcome.failures[0]


def test_what_stock_breaks_ours_has_to_break(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(guests, "trouble", lambda result: list(result.complaints))
    monkeypatch.setattr(oracle, "parse", lambda rules: oracle.Report(violations=rules))
    monkeypatch.setattr(oracle, "compare", lambda *_, stock_breaks: asked.append(stock_breaks) or [])

    def result(broken: list[str], *complaints: str) -> object:
        spec = type("Spec", (), {"kernel": "stock"})
        return type("Result", (), {"guest": broken, "complaints": complaints, "spec": spec})

    assert soak.problems([result([]), result([])], 8) == []  # type: ignore[list-item]
    assert soak.problems([result(["a rule"]), result([])], 8) == []  # type: ignore[list-item]
    assert asked == [False, True]
    assert soak.problems([result([], "BUG: x"), result([])], 8) == ["stock: BUG: x"]  # type: ignore[list-item]
