# SPDX-License-Identifier: GPL-2.0-only
"""``./lab kit DIR``: a folder that measures and checks on any x86-64 Linux, with nothing installed there.

It has ``run``, which is run.sh; a static busybox for that; ``conf``, which tells run.sh what there is;
and all else in one archive: static benches of all bases, kernels of the base in use with images for their
roles, QEMU, and for each machine of the memmap oracle QEMU's arguments, one a line.
"""

import hashlib
import os
import shlex
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from padlab.check.guest import suites
from padlab.check.kit import form, portable
from padlab.check.memmap import memmap
from padlab.core import git, packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.kernel.kconfig import PERF
from padlab.measure import provenance
from padlab.vm import boot as boots
from padlab.vm import machine as machines
from padlab.vm import qemu
from padlab.vm.accel import Accel

MOST_BYTES = 40 << 20
KERNELS = ("stock", "patched")
ROLES = {"boot": KERNELS, "oracle": KERNELS, "kunit": ("patched",), "selftest": ("patched",)}
SCRIPT = Path(__file__).with_name("run.sh")
ARCHIVE = "kit.tar.xz"
_WHAT = "./lab kit"


def main(folder: Path) -> int:
    """Make the kit; a folder that has something else in it is left alone."""
    if folder.exists() and not (
        folder.is_dir() and (not any(folder.iterdir()) or (folder / "conf").exists())
    ):
        raise LabError(
            f"{_WHAT} {folder}", "there is something else", "name a folder that does not exist yet"
        )
    packages.ensure("build", "guest")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as tmp:
        inside, new = Path(tmp, "inside"), Path(tmp, "new")
        for place in (inside, new):
            place.mkdir()
        conf = _fill(inside)
        _pack(inside, new / ARCHIVE)
        conf["ARCHIVE_SHA256"] = hashlib.sha256((new / ARCHIVE).read_bytes()).hexdigest()
        conf["UNPACKED_MIB"] = str(1 + (sum(path.stat().st_size for path in inside.rglob("*")) >> 20))
        (new / "conf").write_text("".join(f"{key}={shlex.quote(value)}\n" for key, value in conf.items()))
        shutil.copy(SCRIPT, new / "run")
        shutil.copy("/bin/busybox", new / "busybox")
        (new / "run").chmod(0o755)
        size = sum(path.stat().st_size for path in new.iterdir())
        if size > MOST_BYTES:
            why = f"it takes {size >> 20} MiB, more than {MOST_BYTES >> 20}"
            raise LabError(_WHAT, why, "leave something out in padlab/check/kit/make.py")
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    progress.result(f"{folder}: {size / (1 << 20):.1f} MiB; on the other machine: {folder.name}/run --help")
    return 0


def _fill(inside: Path) -> dict[str, str]:
    """Put all that the archive has into a folder; what the script is told of it."""
    sources = dict(_benches(inside))
    _kernels(inside)
    shutil.copytree(portable.ensure(), inside, dirs_exist_ok=True)
    version = portable.version(inside)
    _oracle(inside / "oracle", version)
    return {
        "FORMAT": str(form.FORMAT),
        "COMMIT": git.commit(),
        "COMPILER": provenance.of_native(_WHAT)["compiler"],
        "BASE": paths.BASE,
        "BASES": " ".join([paths.BASE, *(base for base in paths.bases() if base != paths.BASE)]),
        "SOURCES": "\n".join(f"source-{base} {name}" for base, name in sources.items()),
        "CONFIG": PERF.name,
        "QEMU": version,
        "ARGUMENTS": " ".join(qemu.BASE_ARGS),
        "ARGUMENTS_TCG": " ".join(qemu.TCG_ARGS),
        "ARGUMENTS_CROWD": " ".join(qemu.CROWD_ARGS),
        "CROWD_CPUS": str(qemu.CROWD_CPUS),
        "MOST_CPUS": str(machines.MAX_CPUS),
        "GIVEN": " ".join(word for word in suites.GIVEN if not word.startswith("maxcpus=")),
        "GIVEN_KUNIT": " ".join((suites.KUNIT, *suites.preempt(PERF, "kunit"))),
        "SYNC": boots.SYNC,
    }


def _benches(inside: Path) -> Iterator[tuple[str, str]]:
    """Those of each base, and the kernel source that it is of."""
    for base in paths.bases():
        command, what = [sys.executable, "-m", "padlab.check.kit.benches", inside], f"benches of {base}"
        with progress.step(what) as step:
            log = paths.LOGS / f"kit-benches-{base}.log"
            env = {paths.BASE_VARIABLE: base}
            process.stream(command, step.update, what=what, cwd=paths.ROOT, env=env, log=log)
        told = inside / f"source-{base}"
        yield base, told.read_text()
        told.unlink()


def _kernels(inside: Path) -> None:
    for role, kernels in ROLES.items():
        for kernel in kernels:
            build, image = boots.prepare(kernel, PERF, role)
            shutil.copy(build.image, inside / kernel)
            shutil.copy(image, inside / f"{role}-{kernel}.cpio")


def _oracle(folder: Path, version: str) -> None:
    """QEMU's arguments, for a folder beside that with the kernels; "MIB NAME" of each machine in a list."""
    folder.mkdir()
    lines = []
    for name in memmap.small_machines():
        target = machines.load(name)
        if target.arch.foreign or target.firmware or target.monitor:
            continue
        lines.append(f"{boots.host_mib(target) * 3 // 4} {name}\n")  # no tests run there
        for kernel in KERNELS:
            spec = boots.BootSpec(target, kernel, initrd=Path(f"../kit/oracle-{kernel}.cpio"))
            accel = Accel("tcg", "", version, "multi")
            ports = qemu.Ports("file:console", "file:guest")
            arguments = qemu.command(spec, Path(f"../kit/{kernel}"), "", accel, ports)[1:]
            (folder / f"{name}-{kernel}").write_text("".join(f"{word}\n" for word in arguments))
    (folder / "machines").write_text("".join(lines))


def _pack(inside: Path, archive: Path) -> None:
    """What is alike lies side by side: each image has the same busybox."""
    names = sorted(os.listdir(inside), key=lambda name: (not name.endswith(".cpio"), name))
    with progress.step("packing the kit"), tarfile.open(archive, "w:xz") as tar:
        for name in names:
            tar.add(inside / name, name, filter=_of_nobody)


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
