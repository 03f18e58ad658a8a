# SPDX-License-Identifier: GPL-2.0-only
"""What is read out of a console: both kernels' lines, and consoles as they really are."""

from pathlib import Path

import pytest

from padlab.vm import dmesg
from padlab.vm.dmesg import parse

DATA = Path(__file__).parent.parent / "data"


def console(name: str) -> dmesg.Dmesg:
    return parse((DATA / name).read_text())


def test_stock_lines_and_stamps_beyond_100_s() -> None:
    stock = console("stock-kvm.log")
    assert [(n.node, n.pages, n.ms, n.threads) for n in stock.nodes] == [
        (0, None, 1001, None),
        (1, None, 632, None),
    ]
    assert stock.nodes[1].at == 102.631207
    assert (stock.deferred_ms, stock.boot_ms, stock.cpus) == (102400.001, 104000.0, 104)
    ours = console("patched-three-nodes.log")
    assert (ours.deferred_ms, ours.boot_ms, ours.version) == (50.0, 900.123, "6.12.117")


def test_panic_and_trouble() -> None:
    log = console("panic.log")
    assert log.panic == "Fatal exception"
    assert [line.split(":")[0] for line in log.trouble] == ["WARNING", "BUG"]
    assert log.boot_ms is None
    # A panic that a guest asks for is none.
    said = "[    1.0] Kernel panic - not syncing: {}\n"
    assert dmesg.parse(said.format("sysrq triggered crash")).panic is None
    assert dmesg.parse(said.format("sysrq")).panic == "sysrq"


@pytest.mark.parametrize(
    "line",
    [
        # A program wrote into the kernel's line, and the kernel into the program's
        "sh: not[    0.631207] node 0 initialised, 7 pages in 22ms, 4 threads\n found",
        "SeaBIOS \x1b[2J\x1bc[    0.631207] node 0 initialised, 7 pages in 22ms, 4 threads",
        "[    0.631207][    T1] node 0 initialised, 7 pages in 22ms, 4 threads",
        "[    0.6[    0.631207] node 0 initialised, 7 pages in 22ms, 4 threads[    0.64] x",
    ],
)
def test_garbled_by_other_output(line: str) -> None:
    (node,) = parse(f"noise\n{line}\n").nodes
    assert (node.node, node.pages, node.ms, node.threads, node.at) == (0, 7, 22, 4, 0.631207)


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
    assert (log.panic, log.version, log.cpus) == (None,) * 3


@pytest.mark.parametrize(
    ("node", "ms"),
    [
        ("", 0.0),  # nothing is deferred
        ("[    0.700250] node 0 deferred pages initialised in 480ms\n", 500.25),
        ("node 0 deferred pages initialised in 480ms\n", None),
    ],
)
def test_time_from_the_last_message_before(node: str, ms: float | None) -> None:
    done = "[    0.200000] smpboot: Total of 1 processors activated (8.00 BogoMIPS)\n"
    assert parse(done + node).deferred_ms == ms


def test_messages() -> None:
    assert dmesg.interesting("[    1.5] x86/mm: \x1b[1mready\r") == "x86/mm: [1mready"
    assert dmesg.interesting("cpus 4") == "cpus 4"
    text = "[    0.000000] Linux version 6.12\nnoise\n[  102.631207][    T1] node 0 deferred\n"
    assert parse(text).stamps == ((0, "Linux version 6.12"), (102631207, "node 0 deferred"))
