# SPDX-License-Identifier: GPL-2.0-only
"""``./lab boot``: boot once and print what came of it, or run a command or a shell in the guest."""

import json as jsonlib
import shlex
import subprocess
import sys
import termios
from dataclasses import replace
from pathlib import Path

from padlab.core import process, progress, table
from padlab.core.errors import LabError
from padlab.kernel import build as builds
from padlab.kernel.kconfig import Config
from padlab.vm import accel as accels
from padlab.vm import boot as boots
from padlab.vm import emulator, initramfs, qemu, summary
from padlab.vm import machine as known
from padlab.vm.machine import Machine
from padlab.vm.spec import BootSpec, How

# A person at the console has QEMU's keys, too: Ctrl-A X ends it, Ctrl-C is the guest's.
_SHELL = "mon:stdio"


def main(
    machine: Machine,
    kernel: str,
    config: Config,
    how: How,
    *,
    shell: bool = False,
    command: str = "",
    json: bool = False,
    dry_run: bool = False,
) -> int:
    """``./lab boot``: the exit status is 0 if all threads and pages are accounted for, or the command's."""
    role = "shell" if shell else "command" if command else "boot"
    spec = BootSpec(machine, kernel, config, **how)
    if dry_run:
        print(shlex.join(_planned(spec, role, command)))
        return 0
    ready = boots.prepare(kernel, config, role, command)
    if spec.gdb:
        progress.note(f"in another terminal: {gdb_line(ready.build.obj)}")
    if shell:
        return _shell(replace(spec, initrd=ready.initrd), ready.build)
    result = boots.boot(machine, ready, **how)
    if command:
        return _said(result)
    told = summary.describe(result)
    if json:
        print(jsonlib.dumps(told.as_dict(), indent=2))
    else:
        summary.show(told)
    return 0 if told.ok else 1


def _planned(spec: BootSpec, role: str, command: str) -> list[str]:
    """The QEMU line, with the console here; nothing is built, installed or started for it."""
    arch = spec.machine.arch
    binary = emulator.find(arch)
    accel = accels.Accel("tcg", "QEMU is not installed", "0", "multi", spec.exact)
    if binary:
        accel = accels.choose(binary, spec.exact, arch)
    spec = replace(spec, initrd=initramfs.planned(role, arch, command))
    kernel = builds.image(spec.kernel, spec.config)
    ports = qemu.Ports(_SHELL if role == "shell" else "stdio")
    return qemu.command(spec, kernel, binary or emulator.NAMES[arch], accel, ports)


def gdb_line(obj: Path) -> str:
    args = ["gdb"]
    if (obj / "vmlinux-gdb.py").exists():  # its config has the kernel's commands for gdb
        args += ["-iex", f"add-auto-load-safe-path {obj.parent}"]
    return shlex.join([*args, "-ex", f"target remote {qemu.GDB_TARGET}", str(obj / "vmlinux")])


def _shell(spec: BootSpec, build: builds.Build) -> int:
    folder, _, cmd = boots.set_up(spec, build, _SHELL)
    progress.note("a shell in the guest: 'poweroff -f' or Ctrl-A X ends it")
    mode = termios.tcgetattr(sys.stdin) if sys.stdin.isatty() else None
    try:
        # In this process group, or it could not read from the terminal.
        status = subprocess.run(["setpriv", "--pdeathsig", "KILL", *cmd], check=False).returncode
    finally:
        if mode:  # QEMU makes the terminal raw, however it ends
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, mode)
    if status:
        why = process.describe_status([emulator.NAME], status)
        log = folder / "command"
        raise LabError(f"a shell on {spec.machine.name}", why, "its own message is above", log=log)
    return 0


def _said(result: boots.BootResult) -> int:
    for line in result.guest.values("out"):
        print(line)
    for trouble in result.trouble:
        progress.note(f"the kernel says: {trouble}")
    return result.exit


def machines() -> int:
    names = ("machine", "kind", "host GiB", "what it is", "why it is here")
    grid = table.grid(names, left=set(names) - {"host GiB"})
    for machine in map(known.load, known.names()):
        gib = f"{boots.host_mib(machine) / 1024:.1f}"
        grid.add_row(machine.name, machine.kind, gib, machine.summary(), table.plain(machine.description))
    table.console().print(grid)
    return 0
