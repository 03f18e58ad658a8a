# SPDX-License-Identifier: GPL-2.0-only
"""How much longer boots take for each GiB."""

from __future__ import annotations

import pytest

from padlab.core.errors import LabError
from padlab.measure import elapsed
from padlab.vm.accel import Accel

PARALLEL = Accel("tcg", "TCG, emulated", "10.0.2", "multi")


def times(per_gib: float) -> dict[int, tuple[float, ...]]:
    """Three boots each: one too fast, one as it should be, one far too slow."""
    return {gib: tuple(1000 + per_gib * gib + off for off in (-5, 0, 900)) for gib in elapsed.SIZES_GIB}


def found(waiting: float, beside: float) -> elapsed.Elapsed:
    ms = {"stock": times(9), elapsed.WAITING: times(waiting), elapsed.BESIDE: times(beside)}
    return elapsed.Elapsed(ms, PARALLEL)


def test_medians_tell_what_a_gib_takes() -> None:
    one = found(4, 2)
    assert one.per_gib("stock") == pytest.approx(9)
    assert one.ratio == pytest.approx(0.5)
    assert one.ok


def test_the_goal_is_missed() -> None:
    assert not found(4, 2.5).ok


def test_nothing_to_compare_with_is_no_success() -> None:
    assert not found(0, 0).ok


@pytest.mark.parametrize("gib", elapsed.SIZES_GIB)
def test_machines_have_two_cpus(gib: int) -> None:
    machine = elapsed.machine(gib)
    assert (machine.cpus, machine.mib) == (2, gib * 1024)


def test_cpus_that_take_turns_are_refused() -> None:
    elapsed.check_parallel(PARALLEL)
    elapsed.check_parallel(Accel("kvm", "KVM", "7.2.22"))
    with pytest.raises(LabError, match="runs emulated CPUs one after another"):
        elapsed.check_parallel(Accel("tcg", "TCG, emulated", "7.2.22", "single"))
