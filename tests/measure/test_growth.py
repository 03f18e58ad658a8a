# SPDX-License-Identifier: GPL-2.0-only
"""What grows with memory: what its figures come to, and the goals."""

import pytest

from padlab.measure import growth
from tests.conftest import EXACT


def costs(boot: float = 100.0, **phases: float) -> growth.Costs:
    nothing = {phase.name: 0.0 for phase in growth.PHASES}
    return growth.Costs({**nothing, **{k.replace("_", " "): v for k, v in phases.items()}}, boot, 1_000_000)


def booted(patched_boot: float) -> dict[str, growth.Boots]:
    stock = {64: costs(100, deferred_init=30.0), 256: costs(292, deferred_init=120.0)}
    ours = {64: costs(50, deferred_init=10.0), 256: costs(patched_boot)}
    low = costs(**{"struct pages, early": 524.288 * 0.03, "memblock retires": 524.288 * 0.015})
    few = costs(**{"struct pages, early": 524.288 * 0.01})
    return {
        "stock": growth.Boots(stock, {1: costs(), 3: low}, EXACT),
        "patched": growth.Boots(ours, {1: costs(), 3: few}, EXACT),
    }


def test_figures_and_goals() -> None:
    boots = booted(patched_boot=50 + 192 * 0.3)
    goals = growth.goals(boots)
    assert [goal.ok for goal in goals] == [True] * 6
    assert [(goal.stock, goal.patched) for goal in (*goals[:2], goals[-1])] == [
        pytest.approx(pair) for pair in ((30, 10), (45, 10), (1.0, 0.3))
    ]


@pytest.mark.parametrize(
    ("phases", "patched_boot", "serial", "missed"),
    [
        ({}, 50 + 192 * 0.5, 0, "whole boot to init, a GiB"),
        ({"memblock retires": 192 * 0.12}, 50, 0.12, "one CPU alone, but for hash tables, a GiB"),
        ({"memory blocks": 192 * 0.02}, 50, 0, "memory blocks, a GiB"),
    ],
)
def test_a_goal_that_is_missed(
    phases: dict[str, float], patched_boot: float, serial: float, missed: str
) -> None:
    boots = booted(patched_boot)
    boots["patched"].sizes[256].phases.update(phases)
    goals = growth.goals(boots)
    assert goals[3].patched == pytest.approx(serial)
    assert [goal.name for goal in goals if not goal.ok] == [missed]
