# SPDX-License-Identifier: GPL-2.0-only
"""QEMU from Debian 13, with the libraries and the firmware that it needs: it runs on any x86-64 Linux.

An older one cannot be trusted with a host thread for each emulated CPU (padlab/vm/emulator.py).
"""

import tempfile
from pathlib import Path

from padlab.core import aptsuite, paths, process, progress
from padlab.kernel.content import copy
from padlab.vm import emulator, initramfs

SUITE = "trixie"
PLACE = paths.CACHE / f"qemu-{SUITE}"  # kept: it is made again if it is removed
_LOADER = "lib/ld-linux-x86-64.so.2"
_WHAT = f"QEMU of Debian {SUITE}"
_FIRMWARE = ("seabios/bios-256k.bin", "qemu/kvmvapic.bin", "qemu/linuxboot_dma.bin")
# apt would take the lock of dpkg, of which this state has none.
_INSTALL = ("apt-get", "-o", "Debug::NoLocking=1", "install", "-y", "--no-install-recommends")


def command(place: Path) -> list[str]:
    """What runs it in a copy of its folder."""
    return [f"{place}/{_LOADER}", "--library-path", f"{place}/lib", f"{place}/{emulator.NAME}"]


def version() -> str:
    return process.run([*command(PLACE), "--version"], what=_WHAT).split(" version ")[1].split()[0]


def ensure() -> Path:
    """A folder with the program, lib/ and share/."""
    if not PLACE.exists():
        aptsuite.update(SUITE, _WHAT)
        PLACE.parent.mkdir(parents=True, exist_ok=True)
        with (
            progress.step(f"fetching {_WHAT}"),
            tempfile.TemporaryDirectory(prefix=".qemu-", dir=PLACE.parent) as tmp,
        ):
            _collect(_unpack(Path(tmp)), Path(tmp, "new")).rename(PLACE)
    return PLACE


def _unpack(tmp: Path) -> Path:
    """Its package and all that this depends on, in a folder as in a root."""
    (tmp / "debs/partial").mkdir(parents=True)
    install = [*_INSTALL, "-o", f"Dir::Cache::archives={tmp / 'debs'}", "--download-only", "qemu-system-x86"]
    log = paths.base().logs / f"apt-{SUITE}.log"
    process.run(install, what=_WHAT, env=aptsuite.environment(SUITE), log=log)
    for deb in sorted((tmp / "debs").glob("*.deb")):
        process.run(["dpkg-deb", "--extract", deb, tmp / "root"], what=f"unpacking {deb.name}")
    return tmp / "root/usr"


def _collect(usr: Path, place: Path) -> Path:
    libraries, program = usr / "lib/x86_64-linux-gnu", usr / "bin" / emulator.NAME
    loader = libraries / Path(_LOADER).name
    said = process.run([loader, "--library-path", libraries, "--list", program], what=_WHAT)
    inside = (path for path in initramfs.libraries(said) if path.startswith(str(usr)))
    for path in (loader, *map(Path, inside)):
        copy(path, place / "lib" / path.name)
    for name in _FIRMWARE:
        copy(usr / "share" / name, place / "share" / Path(name).name)
    copy(program, place / program.name)
    return place
