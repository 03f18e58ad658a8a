# SPDX-License-Identifier: GPL-2.0-only
"""Machines drawn at random: such as can be booted, and of all kinds."""

import random

import pytest

from checks import guests
from checks.memmap import oracle
from checks.memmap import test_random as soak
from padlab.core.errors import LabError
from padlab.vm import machine

ALL_DRAWN = [soak.draw(random.Random(seed)) for seed in range(500)]


def test_they_differ() -> None:
    assert len(set(ALL_DRAWN)) == len(ALL_DRAWN)


def test_each_can_be_booted() -> None:
    for drawn in ALL_DRAWN:
        nodes, dimms, mib = drawn.machine.nodes, drawn.machine.dimms, drawn.machine.mib
        assert 1 <= drawn.machine.cpus <= machine.MAX_CPUS
        assert 700 <= mib <= soak.MAX_MIB
        assert all(node.mib >= machine.MIN_MIB for node in nodes)
        assert all(dimm.node < len(nodes) and not dimm.mib % 128 for dimm in dimms)
        assert not any(" " in word for word in drawn.append)
        assert "init_on_free=1" not in drawn.append or mib <= soak.LITTLE_MIB


def test_there_are_all_kinds() -> None:
    nodes = [node for drawn in ALL_DRAWN for node in drawn.machine.nodes]
    words = {word.split("=")[0] for drawn in ALL_DRAWN for word in drawn.append}
    assert {"kernelcore", "movablecore", "mem", "numa", "memmap", "hugepagesz", "init_on_free"} <= words
    assert {drawn.config for drawn in ALL_DRAWN} == set(soak.CONFIGS)
    assert {len(drawn.machine.nodes) for drawn in ALL_DRAWN} == {1, 2, 3, 4}
    assert {len(drawn.machine.dimms) for drawn in ALL_DRAWN} == {0, 1, 2}
    assert any(not node.cpus for node in nodes) and any(node.mib % 128 for node in nodes)


def test_neither_boots_or_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def boot(_drawn: object, kernel: str) -> str:
        if kernel in hung:
            raise LabError(f"booting {kernel}", why or kernel, "see its log")
        return kernel

    monkeypatch.setattr(soak, "_boot", boot)
    monkeypatch.setattr(soak, "problems", lambda results, allowance: [])
    hung, why = {"stock", "patched"}, "it hung"
    assert soak.differences(ALL_DRAWN[0]) == []
    why = ""
    assert len(soak.differences(ALL_DRAWN[0])) == 2
    hung, why = {"patched"}, "it hung"
    assert soak.differences(ALL_DRAWN[0]) == ["lab: booting patched: it hung. See its log."]


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
