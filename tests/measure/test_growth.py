# SPDX-License-Identifier: GPL-2.0-only
"""What grows with memory: what its figures come to, and the goals."""

import pytest

from padlab.measure import growth
from padlab.vm.accel import Accel

ACCEL = Accel("tcg", "TCG, exact", "10.0.2", "single", exact=True)


def costs(**phases: float) -> growth.Costs:
    nothing = {phase.name: 0.0 for phase in growth.PHASES}
    boot = phases.pop("boot", 100.0)
    return growth.Costs({**nothing, **{k.replace("_", " "): v for k, v in phases.items()}}, boot, 1_000_000)


def _growth(patched_boot: float) -> growth.Growth:
    stock = {64: costs(boot=100, **{"deferred init": 30.0}), 256: costs(boot=292, **{"deferred init": 120.0})}
    ours = {64: costs(boot=50, **{"deferred init": 10.0}), 256: costs(boot=patched_boot)}
    low = {
        1: costs(),
        3: costs(**{"struct pages, early": 524.288 * 0.03, "memblock retires": 524.288 * 0.015}),
    }
    few = {1: costs(), 3: costs(**{"struct pages, early": 524.288 * 0.01})}
    return growth.Growth({"stock": stock, "patched": ours}, {"stock": low, "patched": few}, ACCEL)


def test_figures_and_goals() -> None:
    boots = _growth(patched_boot=50 + 192 * 0.3)
    assert boots.per_gib("stock") == pytest.approx(1.0)
    assert boots.per_gib("patched") == pytest.approx(0.3)
    assert growth.lower(boots.low["stock"]) == pytest.approx(45)
    assert growth.lower(boots.low["patched"]) == pytest.approx(10)
    assert boots.per_page("patched") == pytest.approx(10)
    assert [goal.ok for goal in growth.goals(boots)] == [True] * 6


@pytest.mark.parametrize(
    ("phases", "more", "serial", "missed"),
    [
        ({}, {"patched_boot": 50 + 192 * 0.5}, 0, "whole boot to init, a GiB"),
        ({"memblock retires": 192 * 0.12}, {}, 0.12, "one CPU alone, but for hash tables, a GiB"),
        ({"memory blocks": 192 * 0.02}, {}, 0, "memory blocks, a GiB"),
    ],
)
def test_a_goal_that_is_missed(
    phases: dict[str, float], more: dict[str, float], serial: float, missed: str
) -> None:
    boots = _growth(**{"patched_boot": 50, **more})
    boots.sizes["patched"][256].phases.update(phases)
    assert boots.serial("patched") == pytest.approx(serial)
    assert [goal.name for goal in growth.goals(boots) if not goal.ok] == [missed]
