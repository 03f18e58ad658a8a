# SPDX-License-Identifier: GPL-2.0-only
"""``./lab kit DIR``: a folder that measures on any x86-64 Linux, with nothing installed there.

It has ``run``, which is kit/run.sh; a static busybox for that; ``conf``, which tells run.sh what there is;
``made``, what the kit was made from; and all else in one archive: static benches of all bases, kernels of
the base in use with their images, QEMU, and its command lines, a word a line.
"""

import hashlib
import itertools
import shlex
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Unpack

from padlab.core import git, packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.kernel import native, source, tree
from padlab.kernel.kconfig import PERF
from padlab.kit import form, portable
from padlab.measure import provenance, structpages, zeroing
from padlab.vm import boot as boots
from padlab.vm import machine as machines
from padlab.vm import qemu
from padlab.vm.accel import Accel
from padlab.vm.machine import Machine
from padlab.vm.spec import BootSpec, How

MOST_MIB = 40
KERNELS = ("stock", "patched")
ROLES = ("boot", "oracle")
ACCELS = (Accel("kvm", "", ""), Accel("tcg", "", "", "multi"))
# The most CPUs with which a guest has the same arguments.
SIZES = {"few": qemu.CROWD_CPUS, "many": machines.MAX_CPUS}
SCRIPT = paths.ROOT / "kit/run.sh"
ARCHIVE = "kit.tar.xz"
_KIT = Path("../kit")  # the unpacked archive, of the folder in which guests are started
_WHAT = "./lab kit"


def main(folder: Path) -> int:
    if folder.exists():
        raise LabError(f"{_WHAT} {folder}", "it is there already", "name a folder that does not exist yet")
    packages.ensure("build", "guest")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as tmp:
        inside, new = Path(tmp, "inside"), Path(tmp, "new")
        new.mkdir()
        shutil.copytree(portable.ensure(), inside)
        _benches(inside, new / "made")
        for kernel, role in itertools.product(KERNELS, ROLES):
            build, image = boots.prepare(kernel, PERF, role)
            shutil.copy(build.image, inside / kernel)
            shutil.copy(image, inside / f"{role}-{kernel}.cpio")
        write_guests(inside)
        with progress.step("packing the kit"), tarfile.open(new / ARCHIVE, "w:xz") as tar:
            # What is alike lies side by side: each image has the same busybox.
            for path in sorted(inside.iterdir(), key=lambda path: (path.suffix != ".cpio", path)):
                tar.add(path, path.name)
        _finish(inside, new)
        new.rename(folder)
    progress.result(f"{folder}: on the other machine: {folder.name}/run --help")
    return 0


def _finish(inside: Path, new: Path) -> None:
    """What is beside the archive."""
    conf = {
        "FORMAT": form.FORMAT,
        "BASES": " ".join(sorted(paths.bases(), key=lambda base: base != paths.base().name)),
        "QEMU": " ".join([*portable.command(_KIT), "-L", f"{_KIT}/share"]),
        "CROWD_CPUS": qemu.CROWD_CPUS,
        "MOST_CPUS": machines.MAX_CPUS,
        "UNPACKED_MIB": 1 + (sum(path.stat().st_size for path in inside.rglob("*")) >> 20),
        "ARCHIVE_SHA256": hashlib.sha256((new / ARCHIVE).read_bytes()).hexdigest(),
    }
    (new / "conf").write_text("".join(f"{key}={shlex.quote(str(value))}\n" for key, value in conf.items()))
    shutil.copy("/bin/busybox", new / "busybox")
    shutil.copy(SCRIPT, new / "run")
    (new / "run").chmod(0o755)
    mib = sum(path.stat().st_size for path in new.iterdir()) >> 20
    if mib >= MOST_MIB:
        why = f"it takes {mib} MiB, more than {MOST_MIB}"
        raise LabError(_WHAT, why, "leave something out in padlab/kit/make.py")


def _benches(inside: Path, made: Path) -> None:
    """A process is on one base, a kit has the benches of all; and what it is made from."""
    facts = {"commit": git.commit(), "base": paths.base().name, "config": PERF.name}
    facts |= {"qemu": portable.version(), "compiler": provenance.of_native(_WHAT)["compiler"]}
    made.write_text("".join(f"{name} {value}\n" for name, value in facts.items()))
    for base in paths.bases():
        command, what = [sys.executable, "-m", "padlab.kit.make", inside, made], f"benches of {base}"
        log, env = paths.base().logs / f"kit-benches-{base}.log", {paths.BASE_VARIABLE: base}
        with progress.step(what) as step:
            process.stream(command, step.update, what=what, cwd=paths.ROOT, env=env, log=log)


def benches(inside: Path, made: Path) -> None:
    """Those of the base in use, linked statically, and the kernel source that they are of."""
    for program, tool in {"memmap_bench": structpages.TOOL, "zero_bench": zeroing.TOOL}.items():
        apart = native.Tool(tool.folder, tool.sources, "-static")
        shutil.copy(native.make(apart, program, "STATIC=1"), inside / f"{program}-{paths.base().name}")
    with made.open("a") as lines:
        lines.write(f"source-{paths.base().name} {source.name_of(tree.source_version())}\n")


def write_guests(inside: Path) -> None:
    """QEMU's arguments for each guest, and a list: "MIB NAME" of each machine of the memmap oracle."""
    known = map(machines.load, machines.names())
    targets = [one for one in known if one.small and not (one.arch.foreign or one.firmware or one.monitor)]
    lines = (f"{boots.host_mib(target) * 3 // 4} {target.name}\n" for target in targets)  # no tests run there
    (inside / "oracle").write_text("".join(lines))
    (inside / "qemu").mkdir()
    for kernel, accel in itertools.product(KERNELS, ACCELS):
        words = {f"boot-{name}": _sized(cpus, kernel, accel) for name, cpus in SIZES.items()}
        words |= {f"oracle-{target.name}": _words("oracle", target, kernel, accel) for target in targets}
        for name, command in words.items():
            path = inside / f"qemu/{name}-{kernel}-{accel.name}"
            path.write_text("".join(f"{word}\n" for word in command))


def _words(role: str, target: Machine, kernel: str, accel: Accel, **how: Unpack[How]) -> list[str]:
    spec = BootSpec(target, kernel, initrd=_KIT / f"{role}-{kernel}.cpio", **how)
    ports = qemu.Ports(f"file:{kernel}.console", f"file:{kernel}.guest")
    return qemu.command(spec, _KIT / kernel, "", accel, ports)[1:]


def _sized(cpus: int, kernel: str, accel: Accel) -> list[str]:
    """Of a guest as large as its host: with names in place of figures, which run.sh fills in."""
    mib = machines.MAX_MIB
    target = Machine(description="", kind="odd", nodes=(machines.Node(mib, cpus),))
    words = _words("boot", target, kernel, accel, prealloc=True, append=("@MORE@",))
    smp = words.index("-smp") + 1
    words[smp] = words[smp].replace(str(cpus), "@CPUS@")
    return [word.replace(f"{mib}M", "@MIB@M") for word in words]


if __name__ == "__main__":
    benches(Path(sys.argv[1]), Path(sys.argv[2]))
