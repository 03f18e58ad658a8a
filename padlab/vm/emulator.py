# SPDX-License-Identifier: GPL-2.0-only
"""QEMU itself: which one is used, its version, and what an old one cannot do."""

import functools
import os
import re
import subprocess
from pathlib import Path

from padlab.core import packages, progress
from padlab.core.errors import LabError
from padlab.kernel.arch import ARM64, S390X, X86_64, Arch

NAME = "qemu-system-x86_64"
OVERRIDE = "PADLAB_QEMU"
NAMES = {X86_64: NAME, ARM64: "qemu-system-aarch64", S390X: "qemu-system-s390x"}

# Earlier ones translate code without locking its page: while one emulated CPU patches an instruction, as jump
# labels do, another can keep the old one for good.  Linux then dies of a breakpoint that is not there ("Oops:
# int3"): one boot in six with 8 CPUs on 2 host cores.
PARALLEL_SINCE = (8, 1)


def ensure(arch: Arch = X86_64) -> Path:
    if arch.foreign or not os.environ.get(OVERRIDE):
        packages.ensure(f"qemu-{arch.name}" if arch.foreign else "qemu")
    path = find(arch)
    if path is None:
        raise LabError("QEMU", f"{NAMES[arch]} is not in PATH", f"install it, or name one in {OVERRIDE}")
    return path


def find(arch: Arch = X86_64) -> Path | None:
    """The one that $PADLAB_QEMU names, for x86-64, else the newest in PATH; None if there is none."""
    if not arch.foreign and (named := os.environ.get(OVERRIDE)):
        path = Path(named)
        if not os.access(path, os.X_OK) or not path.is_file():
            raise LabError(f"{OVERRIDE}={named}", "there is no such program", f"give the path of {NAME}")
        return path
    programs: dict[Path, Path] = {}
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(folder) / NAMES[arch]
        if path.is_file() and os.access(path, os.X_OK):
            programs.setdefault(path.resolve(), path)  # /bin and /usr/bin are one folder
    # Of equal ones, the first in PATH.
    return max(programs.values(), key=lambda path: _numbers(version(path)), default=None)


@functools.cache
def version(path: Path) -> str:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError as err:
        raise LabError("QEMU", f"{path} does not start: {err.strerror}", "install it again") from None
    match = re.search(r"QEMU emulator version (\d+(?:\.\d+)*)", said)
    if match is None:
        raise LabError("QEMU", f"{path} does not say its version", f"name another one in {OVERRIDE}")
    return match[1]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def is_parallel(text: str) -> bool:
    return _numbers(text) >= PARALLEL_SINCE


@functools.cache
def note_old(text: str) -> None:
    """Say once what is lost with QEMU of that version, and how to get a newer one."""
    progress.note(
        f"QEMU {text} runs emulated CPUs one after another; from 8.1 on they run at the same time"
        " (Debian 12 has 10.0 in bookworm-backports: apt-get install -t bookworm-backports qemu-system-x86)"
    )
