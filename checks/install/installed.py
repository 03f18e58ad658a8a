# SPDX-License-Identifier: GPL-2.0-only
"""The packages of ./lab package on a bare Debian: apt installs them, the kernel boots, apt removes them.

With perf, the installed kernel and its initrd boot as far as the initrd goes.  With Debian's configuration
for clouds, the root that they were installed in is a disk, and the system on it comes up and looks at itself.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from checks import guests
from checks.install import bareroot
from checks.install.bareroot import Root
from padlab.core import aptsuite, packages, paths, process, progress
from padlab.core.outcome import Outcome, judge
from padlab.kernel import build as builds
from padlab.kernel import givenconfig, package, source, tree
from padlab.kernel.kconfig import PERF
from padlab.kernel.package import Packages
from padlab.vm import boot as boots
from padlab.vm import machine
from padlab.vm.boot import BootResult, Ready

SUITE = "trixie"
PERF_MACHINE = guests.SMT
CLOUD_MACHINE = "huge-pages"
CLOUD = "config.amd64_none_cloud-amd64.xz"
BOOT_LIMIT_S = 900
DISK_MIB = 6144
GUEST = paths.ROOT / "padlab/guest/installed"
# Where apt and dpkg keep what they have done.
_THEIRS = ("/root", "/tmp", "/var/cache", "/var/log", "/var/lib/apt", "/var/lib/dpkg")
_OLDER = "0~"  # before a version: lower, as that of an earlier commit


def of_perf() -> Outcome:
    """Over packages of a lower version, which they replace; and nothing is left when they are removed."""
    with _root() as root, bareroot.folder("packages") as place:
        _apt(root, "install", "initramfs-tools", "busybox")
        bareroot.copy(GUEST / "initrd.sh", root.inside("/etc/initramfs-tools/scripts/init-top/padlab"))
        debs = package.make(place / "new", package.perf())
        before = _seen(root)
        _install(root, [_older(path, place) for path in debs.files])
        _install(root, debs.files)
        problems = _installed_problems(root, debs)
        result = _boot(root, place, debs, PERF_MACHINE, ())
        problems += booted_problems(result, debs.release)
        _apt(root, "purge", f"linux-*-{package.NAME}*")
        problems += [f"apt purge leaves: {line}" for line in sorted(_seen(root) ^ before)]
    return judge(problems, result.log)


def of_cloud() -> Outcome:
    """systemd comes up, the journal has the nodes, and a huge page is zeroed with helpers."""
    with _root() as root, bareroot.folder("packages") as place:
        series = source.package().series
        _apt(root, "install", f"linux-config-{series}")
        config = root.inside(f"/usr/src/linux-config-{series}/{CLOUD}")
        debs = package.make(place / "new", givenconfig.read(config))
        _apt(root, "install", "systemd-sysv", "udev", "initramfs-tools", "util-linux", "mount")
        bareroot.copy(GUEST / "look.sh", root.inside("/usr/local/sbin/padlab-look"))
        bareroot.copy(GUEST / "look.service", root.inside("/etc/systemd/system/padlab-look.service"))
        root.inside("/etc/fstab").write_text("/dev/vda / ext4 defaults 0 1\n")
        _in(root, "systemctl", "enable", "padlab-look")
        _install(root, debs.files)
        problems = _installed_problems(root, debs)
        disk = _disk(root, place / "disk")
        result = _boot(root, place, debs, CLOUD_MACHINE, ("root=/dev/vda", "rw"), disk)
        problems += booted_problems(result, debs.release) + system_problems(result)
    return judge(problems, result.log)


def booted_problems(result: BootResult, release: str) -> list[str]:
    """The kernel is the one that was installed, and has initialised all nodes.  Pure."""
    problems = guests.trouble(result)
    if (booted := result.guest.value("release")) != release:
        problems.append(f"Linux {booted} booted, not {release}")
    nodes = sum(node.mib > 0 for node in result.spec.machine.nodes)
    if len(result.dmesg.nodes) != nodes:
        problems.append(f"{len(result.dmesg.nodes)} nodes were initialised, not {nodes}")
    return problems


def system_problems(result: BootResult) -> list[str]:
    """The system on the disk is whole, and its journal and its huge pages are as they should be.  Pure."""
    guest = result.guest
    problems = [f"this unit failed: {unit}" for unit in guest.values("failed")]
    if (state := guest.value("system")) != "running":
        problems.append(f"systemd says that the system is {state}")
    if len(guest.values("journal")) != len(result.dmesg.nodes):
        problems.append(f"the journal has {guest.values('journal')} of the nodes")
    if not guest.number("helpers"):
        problems.append(f"a huge page was zeroed with {guest.value('helpers')} helpers")
    return problems


def _installed_problems(root: Root, debs: Packages) -> list[str]:
    names = [path.name.partition("_")[0] for path in debs.files]
    query = "-f=${Package} ${db:Status-Abbrev} ${Version}\n"
    lines = _in(root, "dpkg-query", "-W", query, *names).splitlines()
    problems = [f"not {debs.version}: {line}" for line in lines if line.split()[1:] != ["ii", debs.version]]
    files = [f"/boot/{kind}-{debs.release}" for kind in ("vmlinuz", "initrd.img", "config", "System.map")]
    build = f"/usr/src/linux-headers-{debs.release}"
    files += [f"{build}/{name}" for name in ("Makefile", "Module.symvers", "include/config/kernel.release")]
    problems += [f"{name} is not there" for name in files if not root.inside(name).exists()]
    return problems


@contextmanager
def _root() -> Iterator[Root]:
    host = bareroot.prepared(bareroot.ROOM)
    with bareroot.made(SUITE, host, {}) as root:
        if source.package().suite:
            mirror = aptsuite.mirrors(host.targets)[""]
            line = f"deb {mirror} {source.package().suite} main\n"
            root.inside("/etc/apt/sources.list.d/base.list").write_text(line)
        _apt(root, "update")
        yield root


def _in(root: Root, *command: str) -> str:
    log = paths.base().logs / "installed.log"
    return process.run(root.command("/root", list(command)), what=f"{command[0]} in a bare root", log=log)


def _apt(root: Root, action: str, *names: str) -> None:
    with progress.step(f"apt-get {action} in a bare {SUITE}"):
        options = ["-q", "-y", "--no-install-recommends"]
        _in(root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *options, action, *names)


def _install(root: Root, files: tuple[Path, ...] | list[Path]) -> None:
    for path in files:
        bareroot.copy(path, root.inside(f"/root/{path.name}"))
    _apt(root, "install", *(f"/root/{path.name}" for path in files))
    for path in files:
        root.inside(f"/root/{path.name}").unlink()


def _seen(root: Root) -> set[str]:
    """The names of all files, and of packages with their state."""
    theirs = [word for place in _THEIRS for word in ("-o", "-path", place)][1:]
    files = _in(root, "find", "/", "-xdev", "(", *theirs, ")", "-prune", "-o", "-print").splitlines()
    return {*files, *_in(root, "dpkg-query", "-W", "-f=${Package} ${db:Status-Abbrev}\n").splitlines()}


def _older(path: Path, place: Path) -> Path:
    folder, old = place / "old-content", place / f"old-{path.name}"
    shutil.rmtree(folder, ignore_errors=True)
    what = f"packing {old.name}"
    process.run(["dpkg-deb", "-R", path, folder], what=what)
    (folder / "DEBIAN").chmod(0o755)
    control = folder / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: ", rf"Version: {_OLDER}", control.read_text(), flags=re.MULTILINE))
    process.run(["dpkg-deb", "-Zgzip", "--root-owner-group", "-b", folder, old], what=what)
    return old


def _disk(root: Root, path: Path) -> Path:
    packages.ensure("disk")
    what = "making a disk of a bare root"
    with path.open("wb") as file:
        file.truncate(DISK_MIB << 20)
    with progress.step(what):
        command = [*bareroot.namespaces(), "/sbin/mke2fs", "-q", "-t", "ext4", "-d", root.path, path]
        process.run(command, what=what, log=paths.base().logs / "disk.log")
    return path


def _boot(
    root: Root, place: Path, debs: Packages, name: str, append: tuple[str, ...], disk: Path | None = None
) -> BootResult:
    image, initrd = (place / kind for kind in ("vmlinuz", "initrd.img"))
    for path in (image, initrd):
        bareroot.copy(root.inside(f"/boot/{path.name}-{debs.release}"), path)
    top = paths.base().trees / "patched"
    build = builds.Build("patched", PERF, top, top, image, tree.source_version(), debs.release)
    ready = Ready(build, initrd)
    return boots.boot(machine.load(name), ready, append=append, time_limit_s=BOOT_LIMIT_S, disk=disk)
