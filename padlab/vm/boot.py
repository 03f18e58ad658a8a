# SPDX-License-Identifier: GPL-2.0-only
"""Boot one kernel on one machine in QEMU and tell how it ended.

Each boot has a folder under build/boots: ``boot.json`` (what is booted), ``command`` (the QEMU line),
``console.log`` (kernel messages), ``guest.log`` (what the guest's programs say, see channel.py), and
``qemu.log`` (QEMU's own messages).

A guest ends well by saying "done N" and powering off.  Whatever else it does (panic, hang, reset) is a
LabError with the end of the console.
"""

import contextlib
import os
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Unpack

import msgspec

from padlab.core import host, packages, paths, progress
from padlab.core.errors import LabError
from padlab.kernel import build as builds
from padlab.kernel.kconfig import PERF, Config
from padlab.vm import accel as accels
from padlab.vm import cache, channel, dmesg, emulator, initramfs, qemu, trace, watch
from padlab.vm.accel import Accel
from padlab.vm.machine import Machine
from padlab.vm.spec import BootSpec, How
from padlab.vm.watch import HostClock

BOOTED = "boot.json"
# struct page per page, and room for QEMU, its code cache and the rest of the guest.
_MEMMAP_SHARE = 64 / 4096
_HOST_EXTRA_MIB = 1024


class Ready(NamedTuple):
    build: builds.Build
    initrd: Path


@dataclass(frozen=True)
class BootResult:
    spec: BootSpec
    build: builds.Build
    accel: Accel
    exit: int  # status of what ran in the guest, 0 when all went well
    dmesg: dmesg.Dmesg
    guest: channel.Guest
    clock: HostClock
    wall_s: float
    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / watch.CONSOLE

    @property
    def guest_log(self) -> Path:
        return self.folder / watch.GUEST

    @property
    def trouble(self) -> tuple[str, ...]:
        return (*self.dmesg.trouble, *self.guest.trouble)

    @property
    def deferred_ms(self) -> float | None:
        """How long deferred init took by the guest's clock.

        In exact mode the guest traces when its threads were woken, by the TSC.  That counts then: until later
        in the boot, the clock of kernel messages is corrected by timer ticks, and can be off by 8 ms.
        """
        traced = trace.deferred_ms(self.guest.trace) if self.accel.exact else None
        return self.dmesg.deferred_ms if traced is None else traced


def prepare(kernel: str, config: Config = PERF, role: str = "boot", command: str = "") -> Ready:
    build = builds.ensure_build(kernel, config)
    return Ready(build, initramfs.ensure(build, role, command))


def boot(machine: Machine, ready: Ready, label: str = "", **how: Unpack[How]) -> BootResult:
    """Boot what is ready on ``machine`` and wait for its end, no longer than the time limit.

    ``label`` tells this boot from the others of a series.  In a check, one that is cached is not run
    again: see cache.py.
    """
    build = ready.build
    spec = BootSpec(machine, build.kernel, build.config, initrd=ready.initrd, **how)
    what = f"booting {spec.kernel} on {spec.machine.name}"
    cached = cache.current
    key = _key(spec, build) if cached else ""
    if cached and key and (kept := cached.find(key)):
        with contextlib.suppress(OSError):  # another check has just dropped it
            return read(kept, what, spec, build, _runs_with(spec)[1])
    folder, accel, cmd = set_up(spec, build)
    start = time.monotonic()
    clock = HostClock()
    with progress.step(f"{what} ({label})" if label else what) as step:
        end = watch.run(cmd, what, folder, spec.limit_s, step.update, clock)
        said = _read_logs(folder)
        status = watch.check_end(what, end, *said, spec.limit_s, folder)
    if cached and key:
        cached.booted[key] = folder
    return BootResult(spec, build, accel, status, *said, clock, time.monotonic() - start, folder)


def note(folder: Path, *booted: BootSpec | builds.Build | Accel) -> None:
    (folder / BOOTED).write_bytes(msgspec.json.encode(booted, enc_hook=str))


def noted(folder: Path) -> tuple[BootSpec, builds.Build, Accel]:
    text, kind = (folder / BOOTED).read_bytes(), tuple[BootSpec, builds.Build, Accel]
    booted: tuple[BootSpec, builds.Build, Accel]
    booted = msgspec.json.decode(text, type=kind, dec_hook=lambda of, value: of(value))  # a Path
    return booted


def read(folder: Path, what: str, spec: BootSpec, build: builds.Build, accel: Accel) -> BootResult:
    """A boot by the logs that it left: without the host's times."""
    said = _read_logs(folder)
    status = watch.check_end(what, watch.End(0), *said, 0, folder)
    return BootResult(spec, build, accel, status, *said, HostClock(), 0.0, folder)


def _read_logs(folder: Path) -> tuple[dmesg.Dmesg, channel.Guest]:
    console, guest = ((folder / log).read_bytes().decode(errors="replace") for log in watch.LOGS)
    return dmesg.parse(console), channel.Guest(guest)


def _key(spec: BootSpec, build: builds.Build) -> str:
    """Of all that the guest sees; "" if it also sees a disk, or a debugger."""
    if spec.disk or spec.gdb:
        return ""
    binary, accel = _runs_with(spec)
    words = qemu.command(spec, build.image, binary, accel, qemu.Ports("console", "guest"))
    return cache.key_of([*words, host.cpu()] if accel.name == "kvm" else words)


def _runs_with(spec: BootSpec) -> tuple[Path, Accel]:
    binary = emulator.ensure(spec.machine.arch)
    return binary, accels.choose(binary, spec.exact, spec.machine.arch)


def set_up(spec: BootSpec, build: builds.Build, console: str | None = None) -> tuple[Path, Accel, list[str]]:
    """All but the boot: its folder, what runs its CPUs, its QEMU line with messages to ``console``."""
    check_config(spec.machine, spec.config, spec.exact)
    binary, accel = _runs_with(spec)
    if spec.machine.firmware:
        packages.ensure(spec.machine.firmware)
    check_memory(spec.machine, host.free_mib())
    if not spec.machine.arch.foreign and accel.emulated and not accel.parallel and spec.machine.cpus > 1:
        emulator.note_old(accel.qemu)
    folder = _folder(spec)
    files = [f"file:{folder / name}" for name in watch.LOGS]
    ports = qemu.Ports(console or files[0], files[1], f"{folder.name}-{os.getpid()}")
    cmd = qemu.command(spec, build.image, binary, accel, ports)
    (folder / "command").write_text(shlex.join(cmd) + "\n")
    note(folder, spec, build, accel)
    return folder, accel, cmd


def host_mib(machine: Machine) -> int:
    """What a guest takes: its memmap is all of its memory that is touched."""
    return int(machine.mib * _MEMMAP_SHARE) + _HOST_EXTRA_MIB


def check_memory(machine: Machine, available: int) -> None:
    need = host_mib(machine)
    if available < need:
        why = f"its memmap needs {need / 1024:.1f} GiB of host memory and {available / 1024:.1f} GiB are free"
        raise LabError(f"booting {machine.name}", why, "end other programs, or choose a smaller machine")


def check_config(machine: Machine, config: Config, exact: bool) -> None:
    if config.arch is not machine.arch:
        why = f"it is of {machine.arch.name}, and a kernel with config {config} is not"
        raise LabError(f"booting {machine.name}", why, f"give --config {machine.config}, or another machine")
    if machine.arch.foreign and exact:
        raise LabError(
            f"booting {machine.name}", "instructions are counted on x86_64 only", "leave out --exact"
        )


def _folder(spec: BootSpec) -> Path:
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{spec.name}"
    for n in range(1, 1000):
        folder = paths.base().boots / (stem if n == 1 else f"{stem}-{n}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder
    raise LabError("boot log", f"{paths.base().boots}/{stem} is taken", "remove old boots")
