# SPDX-License-Identifier: GPL-2.0-only
"""What is read out of a console: both kernels' lines, and consoles as they really are."""

from pathlib import Path

import pytest

from padlab import dmesg
from padlab.dmesg import parse

DATA = Path(__file__).parent / "data"


def console(name: str) -> dmesg.Dmesg:
    return parse((DATA / name).read_text())


def test_our_lines_in_node_order() -> None:
    nodes = console("patched-three-nodes.log").nodes
    assert [(n.node, n.pages, n.ms, n.threads, n.ran) for n in nodes] == [
        (0, 294912, 22, 2, 2),
        (1, 491520, 42, 2, 1),
        (2, 131072, 9, 1, 1),
    ]
    assert nodes[0].text == "node 0 initialised, 294912 pages in 22ms, 2 threads"
    assert nodes[1].text == "node 1 initialised, 491520 pages in 42ms, 2 threads (1 took part)"


def test_stock_lines_and_stamps_beyond_100_s() -> None:
    stock = console("stock-kvm.log")
    assert [(n.node, n.pages, n.ms, n.threads) for n in stock.nodes] == [
        (0, None, 1001, None),
        (1, None, 632, None),
    ]
    assert stock.nodes[1].at == 102.631207
    assert stock.deferred_ms == pytest.approx(102400.001, abs=1e-9)
    assert stock.boot_ms == 104000.0
    assert stock.cpus == 104


def test_times_are_those_of_the_stamps() -> None:
    ours = console("patched-three-nodes.log")
    assert ours.deferred_ms == 50.0
    assert ours.boot_ms == 900.123
    assert ours.version == "6.12.117"


def test_memory_and_guest_lines() -> None:
    ours = console("patched-three-nodes.log")
    assert ours.memory == dmesg.MemoryLine(free=1013000, present=1051263, reserved=35000)
    assert ours.total_pages == 1016263
    assert [zone.managed for zone in ours.zones] == [3840, 312000, 512000, 188423]
    assert ours.zones[3] == dmesg.Zone(2, "Normal", 198400, 198369, 188423)
    assert ours.say("online") == "0-3"
    assert ours.done == 0


def test_panic_and_trouble() -> None:
    log = console("panic.log")
    assert log.panic == "Fatal exception"
    assert log.done is None
    assert [line.split(":")[0] for line in log.trouble] == ["WARNING", "BUG"]
    assert log.boot_ms is None


@pytest.mark.parametrize(
    "line",
    [
        # init wrote into the kernel's line, and the kernel into init's
        "PADLAB: cpus[    0.631207] node 0 initialised, 7 pages in 22ms, 4 threads\n 4",
        "SeaBIOS \x1b[2J\x1bc[    0.631207] node 0 initialised, 7 pages in 22ms, 4 threads (4 took part)",
        "[    0.631207][    T1] node 0 initialised, 7 pages in 22ms, 4 threads",
        "[    0.6[    0.631207] node 0 initialised, 7 pages in 22ms, 4 threads[    0.64] x",
    ],
)
def test_garbled_by_other_output(line: str) -> None:
    (node,) = parse(f"noise\n{line}\n").nodes
    assert (node.node, node.pages, node.ms, node.threads, node.at) == (0, 7, 22, 4, 0.631207)


def test_lines_without_thread_count_or_stamp() -> None:
    (node,) = parse("node 0 initialised, 3145728 pages in 22ms").nodes
    assert (node.pages, node.threads, node.ran, node.at) == (3145728, None, None, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[    0.6] node 0 initi\nalised, 7 pages in 22ms",
        "node 0 initialised, pages in 22ms",
        "node x deferred pages initialised in 22ms",
    ],
)
def test_missing_and_cut_lines(text: str) -> None:
    log = parse(text)
    assert log.nodes == ()
    assert log.deferred_ms is None
    assert (log.memory, log.panic, log.done, log.total_pages, log.cpus) == (None,) * 5


def test_a_machine_that_defers_nothing_takes_no_time() -> None:
    log = parse("[    0.601207] smpboot: Total of 2 processors activated (8.00 BogoMIPS)\n")
    assert log.deferred_ms == 0.0


def test_one_processor() -> None:
    log = parse(
        "[    0.200000] smpboot: Total of 1 processors activated (8.00 BogoMIPS)\n"
        "[    0.700250] node 0 deferred pages initialised in 480ms\n"
    )
    assert log.deferred_ms == 500.25


def test_no_time_from_a_node_line_without_stamp() -> None:
    log = parse("[    0.2] smpboot: Total of 1 processors\nnode 0 deferred pages initialised in 480ms\n")
    assert log.deferred_ms is None


def test_broken_guest_lines_are_no_figures() -> None:
    log = parse("PADLAB: memtotal-kib many\nPADLAB: zone 0 DMA spanned\nPADLAB: done\n")
    assert (log.total_pages, log.zones, log.done) == (None, (), None)


def test_shown_lines_are_bare() -> None:
    assert dmesg.interesting("[    1.5] x86/mm: \x1b[1mready\r") == "x86/mm: [1mready"
    assert dmesg.interesting("PADLAB: cpus 4") == "PADLAB: cpus 4"


TSC = """\
[    0.290355] smpboot: Total of 1 processors activated (2000.00 BogoMIPS)
[    0.320349] node 0 initialised, 3302906 pages in 32ms, 1 threads (1 took part)
PADLAB: tsc             init-1       [000] d..1. 300000000: sched_waking: comm=pgdatinit0 pid=31 prio=120 target_cpu=000
PADLAB: tsc             init-1       [000] d..1. 300500000: sched_waking: comm=pgdatinit1 pid=32 prio=120 target_cpu=000
PADLAB: tsc       pgdatinit1-32      [000] d..1. 332000000: sched_waking: comm=kthreadd pid=2 prio=120 target_cpu=000
PADLAB: tsc       pgdatinit0-31      [000] d..1. 332500000: sched_waking: comm=init pid=1 prio=120 target_cpu=000
PADLAB: tsc       pgdatinit1-32      [000] d..1. 399000000: sched_waking: comm=kthreadd pid=2 prio=120 target_cpu=000
"""


def test_the_tsc_is_what_counts_in_exact_mode() -> None:
    assert dmesg.parse(TSC).deferred_ms == pytest.approx(32.5)


def test_threads_that_woke_nobody_leave_the_stamps() -> None:
    text = TSC.replace("comm=init pid=1 ", "comm=init pid=9 ")
    assert dmesg.parse(text).deferred_ms == pytest.approx(29.994)
