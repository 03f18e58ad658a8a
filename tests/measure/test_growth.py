# SPDX-License-Identifier: GPL-2.0-only
"""What grows with memory: telling a boot's parts apart, and the goals."""

from __future__ import annotations

import pytest

from padlab.core.errors import LabError
from padlab.measure import growth
from padlab.vm import dmesg
from padlab.vm.accel import Accel

CONSOLE = """\
[    0.008000] Initmem setup node 0 [mem 0x0000000000001000-0x000000403fffffff]
[    0.008018] On node 0, zone DMA32: 1 pages in unavailable ranges
[    0.032000] ACPI: PM-Timer IO Port: 0x608
[    0.040000] Kernel command line: console=ttyS0
[    0.075000] Fallback order for Node 0: 0
[    0.075400] software IO TLB: area num 1.
[    0.229400] SLUB: HWalign=64, Order=0-3, MinObjects=0, CPUs=1, Nodes=1
[    0.469000] smpboot: Total of 1 processors activated (2000.00 BogoMIPS)
[    2.300000] node 0 initialised, 1000 pages in 1831ms, 1 threads (1 took part)
[    2.342000] node 1 initialised, 500 pages in 1876ms, 1 threads (1 took part)
[    2.342214] Memory: 263955160K/268434932K available (6144K kernel code, 4K reserved, 0K cma-reserved)
[    2.357000] devtmpfs: initialized
[    2.357500] x86/mm: Memory block size: 1024MB
[    2.364000] futex hash table entries: 256 (order: 2, 16384 bytes, linear)
[    2.478000] Run /init as init process
"""


ACCEL = Accel("tcg", "TCG, exact", "10.0.2", "single", exact=True)


def costs(**phases: float) -> growth.Costs:
    known = {phase.name: 0.0 for phase in growth.PHASES}
    boot = phases.pop("boot", 100.0)
    return growth.Costs({**known, **{k.replace("_", " "): v for k, v in phases.items()}}, boot, 1_000_000)


def test_the_parts_of_a_boot() -> None:
    found = growth.costs_of(dmesg.parse(CONSOLE), None)
    assert found.phases["struct pages, early"] == pytest.approx(24)
    assert found.phases["memblock retires"] == pytest.approx(154)
    assert found.phases["memory blocks"] == pytest.approx(6.5)
    assert found.boot == pytest.approx(2478)
    assert found.pages == 1500


def test_the_trace_tells_deferred_init_better_than_the_messages() -> None:
    found = growth.costs_of(dmesg.parse(CONSOLE), 1830.5)
    assert found.phases["deferred init"] == pytest.approx(1830.5)


def test_deferred_init_ends_with_the_last_node_line_and_the_rest_begins_there() -> None:
    found = growth.costs_of(dmesg.parse(CONSOLE), None)
    assert found.phases["deferred init"] == pytest.approx(2342 - 469)
    assert found.phases["serial rest after it"] == pytest.approx(2357 - 2342)


@pytest.mark.parametrize("lost", ["PM-Timer", "SLUB", "devtmpfs", "node 0 init"])
def test_a_console_without_a_message_is_an_error(lost: str) -> None:
    text = "\n".join(line for line in CONSOLE.splitlines() if lost not in line)
    if lost == "node 0 init":
        text = "\n".join(line for line in text.splitlines() if "node 1 init" not in line)
    with pytest.raises(LabError, match="lacks the messages"):
        growth.costs_of(dmesg.parse(text), None)


def _growth(patched_boot: float, slowed: float = 2410.0) -> growth.Growth:
    stock = {64: costs(boot=100, **{"deferred init": 30.0}), 256: costs(boot=292, **{"deferred init": 120.0})}
    ours = {64: costs(boot=50, **{"deferred init": 10.0}), 256: costs(boot=patched_boot)}
    low = {
        1: costs(),
        3: costs(**{"struct pages, early": 524.288 * 0.03, "memblock retires": 524.288 * 0.015}),
    }
    few = {1: costs(), 3: costs(**{"struct pages, early": 524.288 * 0.01})}
    critical = {"stock": {16: 2400.0, 256: 3600.0}, "patched": {16: 2400.0, 256: slowed}}
    return growth.Growth({"stock": stock, "patched": ours}, {"stock": low, "patched": few}, ACCEL, critical)


def test_figures_and_goals() -> None:
    found = _growth(patched_boot=50 + 192 * 0.3)
    assert found.per_gib("stock") == pytest.approx(1.0)
    assert found.per_gib("patched") == pytest.approx(0.3)
    assert found.lower("stock") == pytest.approx(45)
    assert found.lower("patched") == pytest.approx(10)
    assert found.per_page("patched") == pytest.approx(10)
    assert [goal.ok for goal in growth.goals(found)] == [True] * 7


def test_what_one_cpu_does_alone() -> None:
    found = _growth(patched_boot=50)
    found.sizes["patched"][256].phases.update({"memblock retires": 192 * 0.02, "memory blocks": 0.0})
    assert found.serial("patched") == pytest.approx(0.02)
    missed = [goal.name for goal in growth.goals(found) if not goal.ok]
    assert missed == ["one CPU alone, but for hash tables, a GiB"]


def test_a_goal_that_is_missed() -> None:
    missed = [goal.name for goal in growth.goals(_growth(patched_boot=50 + 192 * 0.5)) if not goal.ok]
    assert missed == ["whole boot to init, a GiB"]


def test_memory_blocks_cost_what_they_do_in_stock() -> None:
    found = _growth(patched_boot=50)
    found.sizes["patched"][256].phases.update({"memory blocks": 192 * 0.02})
    assert found.serial("patched") == 0
    missed = [goal.name for goal in growth.goals(found) if not goal.ok]
    assert missed == ["memory blocks, beside jobs, a GiB"]


def test_boot_does_not_wait_longer_for_more_memory() -> None:
    found = _growth(patched_boot=50, slowed=2600.0)
    assert found.slowed("stock") == pytest.approx(1.5)
    missed = [goal.name for goal in growth.goals(found) if not goal.ok]
    assert missed == ["boot to init with a sleeping initcall, most memory"]
