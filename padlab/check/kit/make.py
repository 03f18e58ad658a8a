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

from checks.selftests import suites
from padlab.check.kit import form
from padlab.core import aptsuite, git, packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.kernel import native, source, tree
from padlab.kernel.content import copy
from padlab.kernel.kconfig import PERF
from padlab.measure import provenance, structpages, zeroing
from padlab.vm import boot as boots
from padlab.vm import emulator, initramfs, qemu
from padlab.vm import machine as machines
from padlab.vm.accel import Accel

MOST_BYTES = 40 << 20
KERNELS = ("stock", "patched")
ROLES = {"boot": KERNELS, "oracle": KERNELS, "kunit": ("patched",), "selftest": ("patched",)}
SCRIPT = Path(__file__).with_name("run.sh")
ARCHIVE = "kit.tar.xz"
_WHAT = "./lab kit"


def main(folder: Path) -> int:
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
    shutil.copytree(portable_qemu(), inside, dirs_exist_ok=True)
    version = version_of(inside)
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
    }


def _benches(inside: Path) -> Iterator[tuple[str, str]]:
    """Those of each base, and the kernel source that it is of."""
    for base in paths.bases():
        command, what = [sys.executable, "-m", "padlab.check.kit.make", inside], f"benches of {base}"
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
    for target in map(machines.load, machines.names()):
        if not target.small or target.arch.foreign or target.firmware or target.monitor:
            continue
        lines.append(f"{boots.host_mib(target) * 3 // 4} {target.name}\n")  # no tests run there
        for kernel in KERNELS:
            spec = boots.BootSpec(target, kernel, initrd=Path(f"../kit/oracle-{kernel}.cpio"))
            accel = Accel("tcg", "", version, "multi")
            ports = qemu.Ports("file:console", "file:guest")
            arguments = qemu.command(spec, Path(f"../kit/{kernel}"), "", accel, ports)[1:]
            (folder / f"{target.name}-{kernel}").write_text("".join(f"{word}\n" for word in arguments))
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


# QEMU from Debian 13, with the libraries and the firmware that it needs: it runs on any x86-64 Linux.  An
# older one cannot be trusted with a host thread for each emulated CPU (emulator.py).

QEMU_SUITE = "trixie"
QEMU_PLACE = paths.CACHE / f"qemu-{QEMU_SUITE}"  # kept: it is made again if it is removed
LOADER = "lib/ld-linux-x86-64.so.2"
_QEMU = f"QEMU of Debian {QEMU_SUITE}"
_FIRMWARE = ("seabios/bios-256k.bin", "qemu/kvmvapic.bin", "qemu/linuxboot_dma.bin")
# apt would take the lock of dpkg, of which this state has none.
_INSTALL = ("apt-get", "-o", "Debug::NoLocking=1", "install", "-y", "--no-install-recommends")


def portable_qemu() -> Path:
    """A folder with the program, lib/ and share/: call it with LOADER --library-path lib PROGRAM -L share."""
    if not QEMU_PLACE.exists():
        aptsuite.update(QEMU_SUITE, _QEMU)
        QEMU_PLACE.parent.mkdir(parents=True, exist_ok=True)
        with (
            progress.step(f"fetching {_QEMU}"),
            tempfile.TemporaryDirectory(prefix=".qemu-", dir=QEMU_PLACE.parent) as tmp,
        ):
            _collect(_unpack(Path(tmp)), Path(tmp, "new")).rename(QEMU_PLACE)
    return QEMU_PLACE


def _unpack(tmp: Path) -> Path:
    """Its package and all that this depends on, in a folder as in a root."""
    (tmp / "debs/partial").mkdir(parents=True)
    command = [*_INSTALL, "-o", f"Dir::Cache::archives={tmp / 'debs'}", "--download-only", "qemu-system-x86"]
    log = paths.LOGS / f"apt-{QEMU_SUITE}.log"
    process.run(command, what=_QEMU, env=aptsuite.environment(QEMU_SUITE), log=log)
    for deb in sorted((tmp / "debs").glob("*.deb")):
        process.run(["dpkg-deb", "--extract", deb, tmp / "root"], what=f"unpacking {deb.name}")
    return tmp / "root/usr"


def _collect(usr: Path, place: Path) -> Path:
    libraries, program = usr / "lib/x86_64-linux-gnu", usr / "bin" / emulator.NAME
    loader = libraries / Path(LOADER).name
    said = process.run([loader, "--library-path", libraries, "--list", program], what=_QEMU)
    inside = (path for path in initramfs.libraries(said) if path.startswith(str(usr)))
    for path in (loader, *map(Path, inside)):
        copy(path, place / "lib" / path.name)
    for name in _FIRMWARE:
        copy(usr / "share" / name, place / "share" / Path(name).name)
    copy(program, place / program.name)
    return place


def version_of(place: Path) -> str:
    command = [place / LOADER, "--library-path", place / "lib", place / emulator.NAME, "--version"]
    return process.run(command, what=_QEMU).split(" version ")[1].split()[0]


def benches(folder: Path) -> None:
    """Those of the base in use, linked statically: a process is on one base, a kit has those of all."""
    for program, tool in {"memmap_bench": structpages.TOOL, "zero_bench": zeroing.TOOL}.items():
        apart = native.Tool(tool.folder, tool.sources, "-static")
        shutil.copy(native.make(apart, program, "STATIC=1"), folder / f"{program}-{paths.BASE}")
    (folder / f"source-{paths.BASE}").write_text(source.name_of(tree.source_version()))


if __name__ == "__main__":
    try:
        benches(Path(sys.argv[1]))
    except LabError as err:
        err.tell()
        sys.exit(err.status)
