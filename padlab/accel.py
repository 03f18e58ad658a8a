# SPDX-License-Identifier: GPL-2.0-only
"""What runs a guest's CPUs here: KVM where it works, else TCG, QEMU's emulator.

Whether KVM works is found out by running a guest under it, and by how long that
takes: there are machines, themselves guests, where every page that a guest
touches costs KVM so much that Linux boots 70 times slower than under TCG.

There are machines with a /dev/kvm that opens and on which no guest gets
anywhere, so neither the device nor QEMU's word is proof.  The guest is a boot
sector of a few bytes, which asks QEMU to exit with a status that nothing else
gives.  It needs the firmware to bring it up: code at the reset vector alone
runs on such machines too, and stops where the firmware leaves real mode.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from padlab import qemu, run
from padlab.paths import BUILD

KVM = Path("/dev/kvm")
CACHE = BUILD / "kvm-probe.json"
PROBE_LIMIT_S = 4.0
# Where KVM works at all, the firmware takes about as long under it as under TCG.
PROBE_MOST = 4.0  # times TCG's time
PROBE_FLOOR_S = 0.5  # starting QEMU is not to decide

# Earlier ones translate code without locking its page: while one emulated CPU
# patches an instruction, as jump labels do, another can keep the old one for
# good.  Linux then dies of a breakpoint that is not there ("Oops: int3"): one
# boot in six with 8 CPUs on 2 host cores.
PARALLEL_TCG_SINCE = (8, 1)

# mov al, 0x21; out 0xf4, al; hlt; jmp to the hlt
_PROBE_CODE = bytes((0xB0, 0x21, 0xE6, 0xF4, 0xF4, 0xEB, 0xFD))
_FLOPPY_SIZE = 1440 * 1024
# isa-debug-exit: (value << 1) | 1
_PROBE_STATUS = (0x21 << 1) | 1


def choose() -> qemu.Accel:
    """``kvm`` where a guest runs under it, else ``tcg``; found out once per host boot."""
    if not os.access(KVM, os.R_OK | os.W_OK):
        return "tcg"
    host_boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    works = _cached(host_boot)
    if works is None:
        works = _kvm_is_of_use()
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        CACHE.write_text(json.dumps({"host_boot": host_boot, "kvm": works}) + "\n")
    return "kvm" if works else "tcg"


def _kvm_is_of_use() -> bool:
    kvm = probe("kvm")
    if kvm is None:
        return False
    tcg = probe("tcg")
    return tcg is None or kvm <= max(PROBE_MOST * tcg, PROBE_FLOOR_S)


def tcg_threads() -> qemu.TcgThreads:
    """``multi``, a host thread per emulated CPU, if this QEMU can be trusted with it."""
    return "multi" if _version_tuple(qemu_version()) >= PARALLEL_TCG_SINCE else "single"


@functools.cache
def qemu_version() -> str:
    """QEMU's version, such as "7.2.22"; "0" if it does not say."""
    told = subprocess.run([qemu.BINARY, "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"version (\d+(?:\.\d+)*)", told.stdout)
    return match[1] if match else "0"


def _version_tuple(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def why() -> str:
    """One line on the choice, for people."""
    if not KVM.exists():
        return "TCG, emulated (there is no /dev/kvm)"
    if not os.access(KVM, os.R_OK | os.W_OK):
        return "TCG, emulated (/dev/kvm may not be opened by this user)"
    return "KVM" if choose() == "kvm" else "TCG, emulated (/dev/kvm opens, but no guest gets anywhere under it)"


def probe(accel: str) -> float | None:
    """Boot the probe guest under ``accel``; the seconds until its code ran, if in time."""
    with tempfile.TemporaryDirectory(prefix="padlab-probe-") as tmp:
        floppy = Path(tmp) / "probe.img"
        floppy.write_bytes(_image())
        cmd = [qemu.BINARY, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        cmd += ["-machine", f"pc,accel={accel}", "-m", "16M"]
        cmd += ["-drive", f"file={floppy},format=raw,if=floppy"]
        cmd += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
        start = time.monotonic()
        with run.spawn(cmd, what="looking whether KVM works", stdout=subprocess.DEVNULL) as proc:
            try:
                ran = proc.wait(PROBE_LIMIT_S) == _PROBE_STATUS
            except subprocess.TimeoutExpired:
                ran = False
        return time.monotonic() - start if ran else None


def _image() -> bytes:
    """A floppy disk whose boot sector is the probe."""
    return (_PROBE_CODE.ljust(510, b"\0") + b"\x55\xaa").ljust(_FLOPPY_SIZE, b"\0")


def _cached(host_boot: str) -> bool | None:
    try:
        known = json.loads(CACHE.read_text())
        return known["kvm"] if known["host_boot"] == host_boot else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
