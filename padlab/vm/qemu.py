# SPDX-License-Identifier: GPL-2.0-only
"""A boot as QEMU arguments.  Pure: it is tested on text.

The chipset is ``pc`` rather than ``q35``, but for EFI: it has RAM up to 3 GiB below the PCI hole where q35
has 2, as the published KVM guests had, and half the devices to probe.  Its 255 CPUs are enough for every
published machine.

Guest RAM is ``reserve=off``, one backend per NUMA node: only what the guest touches (the memmap, 1.6 % of its
RAM, and little else) takes host memory, so that machines far larger than the host boot.
"""

from dataclasses import dataclass
from pathlib import Path

from padlab.core import packages
from padlab.kernel.arch import ARM64, S390X
from padlab.vm.accel import Accel
from padlab.vm.machine import Machine
from padlab.vm.spec import BootSpec

# A guest's clock goes on while a busy host runs none of its CPUs, and a kernel that finds that a CPU or a
# worker has done nothing for a while reports it, which fails a check.  So: the most that RCU takes, in
# seconds, and as long for workqueues.  What really hangs is ended by the limit of its boot.
PATIENCE = ("rcupdate.rcu_cpu_stall_timeout=300", "workqueue.watchdog_thresh=300")

# Every line on the first serial port, with times; reboot at once on a panic, which
# -no-reboot turns into QEMU's exit.
_CONSOLE = ("console=ttyS0", "earlyprintk=ttyS0,115200")
_ANY = ("panic=-1", "loglevel=7", "printk.time=1", *PATIENCE)
BASE_ARGS = (*_CONSOLE, *_ANY)

# An emulated CPU cannot calibrate its timers: with many CPUs on few host cores
# every one of them spends seconds on attempts that fail.
TCG_ARGS = ("lpj=4000000", "tsc=reliable", "no_timer_check")

# Until the kernel has a clock source, each CPU's own timer ticks 250 times a
# second.  With many emulated CPUs those interrupts take most of the boot (104
# CPUs: 219 s against 73 s), so there one timer ticks for all of them.
CROWD_ARGS = ("nolapic_timer",)
CROWD_CPUS = 8

# Exact mode repeats to the digit only if nothing depends on chance.  When the threads of deferred init are
# woken and wake who waits for them, by the TSC, which counts instructions then.  The kernel log's clock is
# corrected by ticks this early, and off by some.  Messages wait until the guest prints them all: the serial
# port takes thousands of instructions for each.
EXACT_ARGS = ("nokaslr", "loglevel=4", "trace_clock=x86-tsc", "trace_event=sched:sched_waking")

# Translated code; QEMU's default is a share of the host's memory.
TB_CACHE_MIB = 256

# By as many threads as QEMU starts for that at most, which it does only on so many CPUs.
PREALLOC = "prealloc=on,prealloc-threads=16"

# QEMU waits for a debugger before the guest's first instruction.
GDB_ARGS = ("-s", "-S")
GDB_TARGET = "localhost:1234"

# On arm64: without pointer authentication, which costs the emulator a hash for each function call;
# QEMU's second generation of the interrupt controller has eight CPUs at most.
ARM64_BOARD = ("-machine", "virt,gic-version=3", "-cpu", "neoverse-n1")
ARM64_ARGS = ("console=ttyAMA0", "earlycon=pl011,0x9000000", *_ANY)

S390X_BOARD = ("-machine", "s390-ccw-virtio,memory-backend=mem0", "-cpu", "max")
S390X_ARGS = ("console=ttyS0", *_ANY)

# Code and variables in one: what is written to these is lost with the machine.
OVMF = packages.GROUPS["ovmf"]["ovmf"]


@dataclass(frozen=True)
class Ports:
    console: str = "stdio"  # kernel messages: ttyS0
    channel: str = "null"  # what the guest's programs say: ttyS1 (see channel.py)
    monitor: str = "padlab"  # an abstract socket's name, if the machine has the monitor at ttyS2


def command(spec: BootSpec, kernel: Path, binary: Path | str, accel: Accel, ports: Ports) -> list[str]:
    """The QEMU command line of a boot.

    If ``accel`` is exact, instructions are counted: one emulated CPU, one virtual nanosecond per guest
    instruction, or 2 to the power of ``spec.shift`` for tests that are about time; the machine keeps all of
    its memory and nodes.  With ``spec.all_cpus`` it keeps its CPUs, too: they take turns, and what one of
    them does is counted together with what others do meanwhile.

    ``spec.disk`` is the image of a disk, /dev/vda in a guest that knows virtio.
    """
    machine = spec.machine
    args = [str(binary), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    one_cpu = accel.exact and not spec.all_cpus
    args += [*_board(machine), *_accel(accel, spec.shift)]
    args += ["-smp", _smp(machine, one_cpu), "-m", _memory(machine)]
    provided = PREALLOC if spec.prealloc else "reserve=off"
    for i, node in enumerate(machine.nodes):
        if node.mib:
            args += ["-object", f"memory-backend-ram,id=mem{i},size={node.mib}M,{provided}"]
    args += _numa(machine, one_cpu)
    for i, node in enumerate(machine.nodes):
        for j, distance in enumerate(node.distances):
            args += ["-numa", f"dist,src={i},dst={j},val={distance}"]
    # Not in the firmware's memory map: the guest's ACPI code finds and adds them.
    for i, dimm in enumerate(machine.dimms):
        args += ["-object", f"memory-backend-ram,id=dimm{i},size={dimm.mib}M,reserve=off"]
        args += ["-device", f"pc-dimm,id=slot{i},memdev=dimm{i},node={dimm.node}"]
    args += _serial(machine, ports)
    args += _monitor(ports.monitor) if machine.monitor else []
    args += machine.qemu
    args += GDB_ARGS if spec.gdb else ()
    if spec.disk:
        disk = f"file={spec.disk},format=raw,if=none,id=disk"
        args += ["-drive", disk, "-device", "virtio-blk-pci,drive=disk"]
    args += ["-kernel", str(kernel)]
    if spec.initrd:
        args += ["-initrd", str(spec.initrd)]
    words = [*_base_args(machine, accel), *machine.append, *spec.kernel_args()]
    return [*args, "-append", " ".join(words)]


def _base_args(machine: Machine, accel: Accel) -> list[str]:
    if machine.arch.foreign:
        return [*(ARM64_ARGS if machine.arch is ARM64 else S390X_ARGS)]
    args = [*BASE_ARGS]
    if accel.name == "tcg":
        args += TCG_ARGS
    if accel.exact:
        args += EXACT_ARGS
    elif accel.name == "tcg" and machine.cpus > CROWD_CPUS:
        args += CROWD_ARGS
    return args


def _board(machine: Machine) -> list[str]:
    if machine.arch.foreign:
        return [*(ARM64_BOARD if machine.arch is ARM64 else S390X_BOARD)]
    board = "q35" if machine.firmware else "pc"
    if machine.below_4g_mib is not None:
        board += f",max-ram-below-4g={machine.below_4g_mib}M"
    firmware = ["-bios", OVMF] if machine.firmware else []
    return ["-machine", board, *firmware, "-cpu", "max"]


def _monitor(socket: str) -> list[str]:
    """QEMU's monitor at the third serial port, with an interrupt of its own: the first two share none."""
    place = f"path={socket},abstract=on"
    return [
        *("-chardev", f"socket,id=monitor,server=on,wait=off,{place}", "-mon", "monitor"),
        *("-chardev", f"socket,id=guest,{place}"),
        *("-device", "isa-serial,chardev=guest,index=2,iobase=0x3e8,irq=5"),
    ]


def _accel(accel: Accel, shift: int) -> list[str]:
    if accel.name == "kvm":
        return ["-accel", "kvm"]
    args = ["-accel", f"tcg,thread={accel.threads},tb-size={TB_CACHE_MIB}"]
    if accel.exact:
        args += ["-icount", f"shift={shift},sleep=off", "-rtc", "base=2025-01-01,clock=vm", "-seed", "1"]
    return args


def _sockets(machine: Machine) -> tuple[int, int]:
    """Sockets and cores per socket.

    A socket per node with CPUs where these are equal, as in real machines; else a socket per core, since
    QEMU's sockets all have the same size and Linux warns of a socket that spans nodes.
    """
    cores = machine.cores_per_node
    if cores is None:
        return machine.cpus // machine.threads_per_core, 1
    return sum(node.cpus > 0 for node in machine.nodes), cores


def _smp(machine: Machine, one_cpu: bool) -> str:
    if one_cpu:
        return "1"
    sockets, cores = _sockets(machine)
    return f"{machine.cpus},sockets={sockets},cores={cores},threads={machine.threads_per_core}"


def _memory(machine: Machine) -> str:
    if not machine.dimms:
        return f"{machine.mib}M"
    # A slot's address is a multiple of a gibibyte, so it may take up to one more.
    most = machine.mib + machine.dimm_mib + 1024 * len(machine.dimms)
    return f"{machine.mib}M,slots={len(machine.dimms)},maxmem={most}M"


def _numa(machine: Machine, one_cpu: bool) -> list[str]:
    if machine.arch is ARM64:
        return _numa_of_arm64(machine)
    if machine.arch is S390X:  # nor has its kernel a way to know of nodes
        return []
    args = []
    for i, node in enumerate(machine.nodes):
        args += ["-numa", f"node,nodeid={i}{f',memdev=mem{i}' if node.mib else ''}"]

    per_socket = _sockets(machine)[1] * machine.threads_per_core
    socket = 0
    for i, node in enumerate(machine.nodes):
        # The one CPU is on the first node that has any.
        count = int(node.cpus > 0 and socket == 0) if one_cpu else node.cpus // per_socket
        for _ in range(count):
            args += ["-numa", f"cpu,node-id={i},socket-id={socket}"]
            socket += 1
    return args


def _serial(machine: Machine, ports: Ports) -> list[str]:
    """Of s390x the first one is a terminal, for Linux ttyS1, and the second one, for lines, ttyS0."""
    if machine.arch is ARM64:
        return ["-serial", ports.console, *_channel_of_arm64(ports.channel)]
    both = ["-serial", ports.console, "-serial", ports.channel]
    return both[2:] + both[:2] if machine.arch is S390X else both


def _channel_of_arm64(chardev: str) -> list[str]:
    """A PCI card: its second port has the name that it has on x86, for the same scripts.

    The board has one serial port that Linux knows from the start, for the console.  ``chardev`` is as
    -serial takes it.
    """
    kind, _, path = chardev.partition(":")
    device = f"{kind},id=channel" + (f",path={path}" if path else "")
    return [
        *("-chardev", "null,id=unused", "-chardev", device),
        *("-device", "pci-serial-2x,chardev1=unused,chardev2=channel"),
    ]


def _numa_of_arm64(machine: Machine) -> list[str]:
    """A node has its CPUs by number: the board's sockets have clusters, which QEMU would want named."""
    args = []
    first = 0
    for i, node in enumerate(machine.nodes):
        cpus = f",cpus={first}-{first + node.cpus - 1}" if node.cpus else ""
        memory = f",memdev=mem{i}" if node.mib else ""
        args += ["-numa", f"node,nodeid={i}{cpus}{memory}"]
        first += node.cpus
    return args
