# SPDX-License-Identifier: GPL-2.0-only
"""What runs a guest's CPUs here: KVM where it works, else TCG, QEMU's emulator.

Whether KVM works is found out by running a guest under it, and by how long that takes: there are machines,
themselves guests, where every page that a guest touches costs KVM so much that Linux boots 70 times slower
than under TCG.

There are machines with a /dev/kvm that opens and on which no guest gets anywhere, so neither the device nor
QEMU's word is proof.  The guest is a boot sector of a few bytes, which asks QEMU to exit with a status that
nothing else gives.  It needs the firmware to bring it up: code at the reset vector alone runs on such
machines too, and stops where the firmware leaves real mode.
"""

import contextlib
import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from padlab.core import process
from padlab.core.paths import SHARED
from padlab.kernel import content
from padlab.kernel.arch import X86_64, Arch
from padlab.vm import emulator

Name = Literal["kvm", "tcg"]
Threads = Literal["single", "multi"]

EMULATED = "emulated times are no proof of speed: --exact counts instructions"
KVM = Path("/dev/kvm")
CACHE = SHARED / "kvm-probe.json"
PROBE_LIMIT_S = 4.0
# Where KVM works at all, the firmware takes about as long under it as under TCG.
PROBE_MOST = 4.0  # times TCG's time
PROBE_FLOOR_S = 0.5  # starting QEMU is not to decide

# mov al, 0x21; out 0xf4, al; hlt; jmp to the hlt
_PROBE_CODE = bytes((0xB0, 0x21, 0xE6, 0xF4, 0xF4, 0xEB, 0xFD))
_FLOPPY_SIZE = 1440 * 1024
# isa-debug-exit: (value << 1) | 1
_PROBE_STATUS = (0x21 << 1) | 1


@dataclass(frozen=True)
class Accel:
    """What runs a guest's CPUs, and why: decided once for a boot and kept in its result."""

    name: Name
    why: str  # one line for people
    qemu: str  # QEMU's version
    threads: Threads | None = None  # TCG's: one host thread for all CPUs, or one each
    exact: bool = False  # instructions are counted

    @property
    def emulated(self) -> bool:
        """Emulated, and not exact: times are no proof of speed."""
        return self.name == "tcg" and not self.exact

    @property
    def described(self) -> str:
        text = f"{self.why}, QEMU {self.qemu}"
        return f"{text}; {EMULATED}" if self.emulated else text

    @property
    def parallel(self) -> bool:
        """The guest's CPUs run at the same time, each on a core of the host."""
        return self.name == "kvm" or self.threads == "multi"

    def as_dict(self) -> dict[str, str]:
        details = {None: "", "single": ", one thread for all CPUs", "multi": ", a thread for each CPU"}
        kind = "tcg, icount" if self.exact else self.name + details[self.threads]
        return {"accelerator": kind, "qemu": self.qemu}


def choose(qemu: Path, exact: bool = False, arch: Arch = X86_64) -> Accel:
    if arch.foreign:
        return _emulated(qemu, "the host is of another architecture")
    if exact:
        version = emulator.version(qemu)
        return Accel("tcg", "TCG, exact: guest instructions are counted", version, "single", exact=True)
    if not KVM.exists():
        return _emulated(qemu, "there is no /dev/kvm")
    if not os.access(KVM, os.R_OK | os.W_OK):
        return _emulated(qemu, "/dev/kvm may not be opened by this user")
    if not _works(qemu):
        return _emulated(qemu, "/dev/kvm opens, but no guest gets anywhere under it")
    return Accel("kvm", "KVM", emulator.version(qemu))


def _emulated(qemu: Path, why: str) -> Accel:
    version = emulator.version(qemu)
    threads: Threads = "multi" if emulator.is_parallel(version) else "single"
    return Accel("tcg", f"TCG, emulated ({why})", version, threads)


def _works(qemu: Path) -> bool:
    """Found out once per host boot."""
    host_boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        cached = json.loads(CACHE.read_text())
        if cached["host_boot"] == host_boot and isinstance(cached["kvm"], bool):
            return bool(cached["kvm"])
    kvm = probe(qemu, "kvm")
    tcg = probe(qemu, "tcg") if kvm else None
    works = kvm is not None and (tcg is None or kvm <= max(PROBE_MOST * tcg, PROBE_FLOOR_S))
    content.write(CACHE, json.dumps({"host_boot": host_boot, "kvm": works}) + "\n")
    return works


def probe(qemu: Path, accel: Name) -> float | None:
    """Boot the probe guest under ``accel``; the seconds until its code ran, if in time."""
    with tempfile.TemporaryDirectory(prefix="padlab-probe-") as tmp:
        floppy = Path(tmp) / "probe.img"
        boot_sector = _PROBE_CODE.ljust(510, b"\0") + b"\x55\xaa"
        floppy.write_bytes(boot_sector.ljust(_FLOPPY_SIZE, b"\0"))
        cmd = [str(qemu), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        cmd += ["-machine", f"pc,accel={accel}", "-m", "16M"]
        cmd += ["-drive", f"file={floppy},format=raw,if=floppy"]
        cmd += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
        start = time.monotonic()
        with process.spawn(cmd, what="looking whether KVM works", stdout=subprocess.DEVNULL) as proc:
            try:
                ran = proc.wait(PROBE_LIMIT_S) == _PROBE_STATUS
            except subprocess.TimeoutExpired:
                ran = False
        return time.monotonic() - start if ran else None
