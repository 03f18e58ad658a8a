# SPDX-License-Identifier: GPL-2.0-only
"""An arm64 machine as QEMU arguments: ``virt``, with a CPU of servers.

Its console is its one serial port that Linux knows from the start.  What the guest's
programs say goes to the second port of a PCI card, which has the name that it has on
x86 (ttyS1), so that guests of both architectures run the same scripts.
"""

from padlab.vm.machine import Machine

# No pointer authentication, which costs the emulator a hash for each function call.
CPU = "neoverse-n1"
# QEMU's second generation of the interrupt controller has eight CPUs at most.
BOARD = "virt,gic-version=3"
BASE_ARGS = ("console=ttyAMA0", "earlycon=pl011,0x9000000", "panic=-1", "loglevel=7", "printk.time=1")


def channel(chardev: str) -> list[str]:
    """The card whose second port is for the guest's programs; ``chardev`` is as -serial takes it."""
    kind, _, path = chardev.partition(":")
    device = f"{kind},id=channel" + (f",path={path}" if path else "")
    return [
        *("-chardev", "null,id=unused", "-chardev", device),
        *("-device", "pci-serial-2x,chardev1=unused,chardev2=channel"),
    ]


def numa(machine: Machine) -> list[str]:
    """A node has its CPUs by number: the board's sockets have clusters, which QEMU would want named."""
    args = []
    first = 0
    for i, node in enumerate(machine.nodes):
        cpus = f",cpus={first}-{first + node.cpus - 1}" if node.cpus else ""
        memory = f",memdev=mem{i}" if node.mib else ""
        args += ["-numa", f"node,nodeid={i}{cpus}{memory}"]
        first += node.cpus
    return args
