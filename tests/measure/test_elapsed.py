# SPDX-License-Identifier: GPL-2.0-only
"""How much longer boots take for each GiB."""

from __future__ import annotations

import pytest

from padlab.core.errors import LabError
from padlab.measure import elapsed, growth
from padlab.vm.accel import Accel

PARALLEL = Accel("tcg", "TCG, emulated", "10.0.2", "multi")


def times(per_gib: float) -> dict[int, tuple[float, ...]]:
    """Three boots each: one too fast, one as it should be, one far too slow."""
    return {gib: tuple(1000 + per_gib * gib + off for off in (-5, 0, 900)) for gib in elapsed.SIZES_GIB}


def found(waiting: float, beside: float, plain: float = 5) -> elapsed.Elapsed:
    per_gib = {
        0: {"stock": 9.0, elapsed.WAITING: 5.0, elapsed.BESIDE: plain},
        growth.SLEEP_MS: {"stock": 9.0, elapsed.WAITING: waiting, elapsed.BESIDE: beside},
    }
    ms = {
        (sleep_ms, way, gib): all_of
        for sleep_ms, ways in per_gib.items()
        for way, cost in ways.items()
        for gib, all_of in times(cost).items()
    }
    return elapsed.Elapsed(ms, PARALLEL)


def test_medians_tell_what_a_gib_takes() -> None:
    one = found(4, 2)
    assert one.per_gib(0, "stock") == pytest.approx(9)
    assert one.ratio(growth.SLEEP_MS) == pytest.approx(0.5)
    assert one.ratio(0) == pytest.approx(1)
    assert one.ok


def test_the_goal_is_missed() -> None:
    assert not found(4, 2.5, plain=1).ok


def test_nothing_to_compare_with_is_no_success() -> None:
    assert not found(0, 0).ok


def test_guests_find_the_same_memory_again() -> None:
    with elapsed.shared_memory() as path:
        assert path.stat().st_size == max(elapsed.SIZES_GIB) << 30
        path.open("r+b").write(b"touched")
        assert path.open("rb").read(7) == b"touched"
    assert not path.exists()


@pytest.mark.parametrize("gib", elapsed.SIZES_GIB)
def test_machines_have_two_cpus(gib: int) -> None:
    machine = elapsed.machine(gib)
    assert (machine.cpus, machine.mib) == (2, gib * 1024)


def test_cpus_that_take_turns_are_refused() -> None:
    elapsed.check_parallel(PARALLEL)
    elapsed.check_parallel(Accel("kvm", "KVM", "7.2.22"))
    with pytest.raises(LabError, match="runs emulated CPUs one after another"):
        elapsed.check_parallel(Accel("tcg", "TCG, emulated", "7.2.22", "single"))
