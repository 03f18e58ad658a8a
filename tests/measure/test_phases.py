# SPDX-License-Identifier: GPL-2.0-only
"""Telling the phases of a boot apart, on each base."""

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.measure import growth, phases
from padlab.vm import dmesg
from tests.conftest import set_base

LATER = """\
[    0.469000] smpboot: Total of 1 processors activated (2000.00 BogoMIPS)
[    2.300000] node 0 initialised, 1000 pages in 1831ms, 1 threads
[    2.342000] node 1 initialised, 500 pages in 1876ms, 1 threads
[    2.342214] Memory: 263955160K/268434932K available (6144K kernel code, 4K reserved, 0K cma-reserved)
[    2.357000] devtmpfs: initialized
[    2.357500] x86/mm: Memory block size: 1024MB
[    2.364000] futex hash table entries: 256 (order: 2, 16384 bytes, linear)
[    2.478000] Run /init as init process
"""
EARLIER = {
    "6.12": """\
[    0.008000] Initmem setup node 0 [mem 0x0000000000001000-0x000000403fffffff]
[    0.008018] On node 0, zone DMA32: 1 pages in unavailable ranges
[    0.032000] ACPI: PM-Timer IO Port: 0x608
[    0.033000] setup_percpu: NR_CPUS:512 nr_cpumask_bits:1 nr_cpu_ids:1 nr_node_ids:1
[    0.040000] Kernel command line: console=ttyS0
[    0.075000] Fallback order for Node 0: 0
[    0.075400] software IO TLB: area num 1.
[    0.229400] SLUB: HWalign=64, Order=0-3, MinObjects=0, CPUs=1, Nodes=1
""",
    "7.3": """\
[    0.002000] ACPI: PM-Timer IO Port: 0x608
[    0.004000] Initmem setup node 0 [mem 0x0000000000001000-0x000000403fffffff]
[    0.008000] On node 0, zone DMA32: 1 pages in unavailable ranges
[    0.031000] On node 0, zone DMA32: 97 pages in unavailable ranges
[    0.032000] setup_percpu: NR_CPUS:512 nr_cpumask_bits:1 nr_cpu_ids:1 nr_node_ids:1
[    0.040000] Kernel command line: console=ttyS0
[    0.075000] software IO TLB: area num 1.
[    0.075300] Fallback order for Node 0: 0 1
[    0.075400] Fallback order for Node 1: 1 0
[    0.229400] SLUB: HWalign=64, Order=0-3, MinObjects=0, CPUs=1, Nodes=1
""",
}


@pytest.fixture(params=paths.bases())
def console(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a kernel of the base says, which is the one in use."""
    base = request.param
    set_base(monkeypatch, base)
    return EARLIER[base] + LATER


def test_the_parts_of_a_boot(console: str) -> None:
    assert phases.others().keys() <= {phase.name for phase in phases.PHASES}
    costs = growth.costs_of(dmesg.parse(console), None)
    assert costs.phases == pytest.approx(
        {
            "struct pages, early": 24,
            "hash tables": 35,
            "memblock retires": 154,
            "deferred init": 2342 - 469,  # to the last node line
            "serial rest after it": 2357 - 2342,
            "memory blocks": 6.5,
        }
    )
    assert (costs.boot, costs.pages) == (pytest.approx(2478), 1500)
    # The trace tells it better than the messages.
    assert growth.costs_of(dmesg.parse(console), 1830.5).phases["deferred init"] == pytest.approx(1830.5)


@pytest.mark.parametrize("lost", ["Initmem", "PM-Timer", "SLUB", "devtmpfs", "node 0 init"])
@pytest.mark.usefixtures("default_base")
def test_a_console_without_a_message_is_an_error(lost: str) -> None:
    text = "\n".join(line for line in (EARLIER["6.12"] + LATER).splitlines() if lost not in line)
    if lost == "node 0 init":
        text = "\n".join(line for line in text.splitlines() if "node 1 init" not in line)
    with pytest.raises(LabError, match="lacks the messages"):
        growth.costs_of(dmesg.parse(text), None)
