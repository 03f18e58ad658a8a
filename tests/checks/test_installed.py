# SPDX-License-Identifier: GPL-2.0-only
"""What an installed kernel and its system say of themselves, and how that is judged."""

from pathlib import Path

import pytest

from checks.install import installed
from padlab.kernel import build
from padlab.kernel.kconfig import PERF
from padlab.vm import channel, dmesg, machine
from padlab.vm.boot import BootResult
from padlab.vm.spec import BootSpec
from padlab.vm.watch import HostClock
from tests.conftest import EMULATED

RELEASE = "6.12.9-padata-mt-cloud-amd64"
NODE = "[    0.6] node {} initialised, 3145728 pages in 22ms, 4 threads\n"
GUEST = f"""release {RELEASE}
system running
journal node 0 initialised, 3145728 pages in 22ms, 4 threads
journal node 1 initialised, 3145728 pages in 22ms, 4 threads
helpers 3
done 0
"""


def ended(guest: str = GUEST, console: str = NODE.format(0) + NODE.format(1)) -> BootResult:
    spec = BootSpec(machine.load("smt-numa"), "patched")
    kernel = build.Build("patched", PERF, Path(), Path(), Path(), "6.12.9-1", RELEASE)
    messages, said = dmesg.parse(console), channel.Guest(guest)
    return BootResult(spec, kernel, EMULATED, said.done or 0, messages, said, HostClock(), 1.0, Path())


def problems(result: BootResult) -> list[str]:
    return installed.booted_problems(result, RELEASE) + installed.system_problems(result)


def test_all_is_well() -> None:
    assert problems(ended()) == []


@pytest.mark.parametrize(
    ("good", "bad", "says"),
    [
        (f"release {RELEASE}", "release 6.12.9", "Linux 6.12.9 booted"),
        ("system running", "system degraded\nfailed ssh.service", "ssh.service"),
        ("system running", "system degraded", "the system is degraded"),
        ("helpers 3", "helpers 0", "with 0 helpers"),
        ("helpers 3\n", "", "with None helpers"),
        ("journal node 1", "journald node 1", "of the nodes"),
        ("system running", "trouble fallocate of a huge page: 1", "fallocate"),
    ],
)
def test_what_is_wrong_is_said(good: str, bad: str, says: str) -> None:
    assert good in GUEST
    assert any(says in line for line in problems(ended(GUEST.replace(good, bad))))


def test_all_nodes_are_to_be_initialised() -> None:
    assert "1 nodes were initialised, not 2" in problems(ended(console=NODE.format(0)))
