# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages the lab needs: found by what they install, installed when missing."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from padlab.core import paths, process, progress
from padlab.core.errors import LabError

# group -> package -> a file or command that is there once it is installed.
# Looking for these takes no time; apt is only called when one is missing.
GROUPS: dict[str, dict[str, str]] = {
    "build": {
        "build-essential": "g++",
        "flex": "flex",
        "bison": "bison",
        "bc": "bc",
        "libelf-dev": "/usr/include/libelf.h",
        "libssl-dev": "/usr/include/openssl/opensslv.h",
        "ccache": "ccache",
        "cpio": "cpio",
        "kmod": "/sbin/depmod",
        "mount": "mount",  # for a tmpfs of huge pages, UML's memory
        "perl": "perl",
        "xz-utils": "xz",
        "rsync": "rsync",
        "python3": "/usr/bin/python3",
    },
    "package": {"debhelper": "dh_builddeb", "openssl": "openssl", "zstd": "zstd"},
    "quilt": {"quilt": "quilt", "patch": "patch", "diffutils": "diff"},
    "qemu": {"qemu-system-x86": "qemu-system-x86_64"},
    "arm64": {
        "gcc-aarch64-linux-gnu": "aarch64-linux-gnu-gcc",
        "libc6-dev-arm64-cross": "/usr/aarch64-linux-gnu/lib/libc.a",  # for programs of guests
    },
    "riscv64": {"gcc-riscv64-linux-gnu": "riscv64-linux-gnu-gcc"},
    "ppc64el": {"gcc-powerpc64le-linux-gnu": "powerpc64le-linux-gnu-gcc"},
    "s390x": {"gcc-s390x-linux-gnu": "s390x-linux-gnu-gcc"},
    "ovmf": {"ovmf": "/usr/share/ovmf/OVMF.fd"},
    "qemu-arm64": {"qemu-system-arm": "qemu-system-aarch64"},
    "qemu-s390x": {"qemu-system-s390x": "qemu-system-s390x"},  # in Debian 12 by qemu-system-misc
    "guest": {"busybox-static": "/bin/busybox", "cpio": "cpio"},
    "git": {"git": "git"},
    "sparse": {"sparse": "sparse"},
    "coccinelle": {"coccinelle": "spatch"},
    "sphinx": {"python3-sphinx": "/usr/bin/sphinx-build"},
    "models": {"spin": "spin"},  # checks/models
    # checks/selftests/others.toml: what its programs link, and what scripts call
    "others": {
        "libcap-dev": "/usr/lib/x86_64-linux-gnu/libcap.a",
        "libnuma-dev": "/usr/lib/x86_64-linux-gnu/libnuma.a",
        "liburing-dev": "/usr/lib/x86_64-linux-gnu/liburing.a",
        "liburcu-dev": "/usr/lib/x86_64-linux-gnu/liburcu.a",
        "bash": "/bin/bash",
        "util-linux": "lscpu",
        "procps": "pgrep",
        "coreutils": "fmt",
    },
    "stress": {"stress-ng": "stress-ng"},
    "disk": {"e2fsprogs": "/sbin/mke2fs"},
    "fresh": {"mmdebstrap": "mmdebstrap", "mount": "mount", "git": "git"},
    "fresh-user": {"uidmap": "newuidmap"},  # for who is not root
}
_TODO = "check the network and /etc/apt/sources.list, then try again (apt's messages are below)"
# What apt's messages have in them, and what that means; the first that is found.
_REASONS = (
    (("No space left on device", "have enough free space"), "no room on disk"),
    (("Could not get lock", "Unable to acquire the dpkg frontend lock"), "another apt or dpkg is running"),
    (
        ("Temporary failure resolving", "Could not resolve", "Could not connect", "Unable to connect",
         "Connection timed out", "Connection failed", "Network is unreachable"),
        "the Debian mirror cannot be reached",
    ),
)  # fmt: skip
# An index that is missing, or so old that it asks for what has left the mirror.
_STALE = ("Unable to locate package", "has no installation candidate", "404", "Unable to fetch")


def missing(*groups: str) -> list[str]:
    witnesses: dict[str, str] = {}
    for group in groups:
        witnesses |= GROUPS[group]
    return [package for package, witness in witnesses.items() if not _present(package, witness)]


def _present(package: str, witness: str) -> bool:
    if not witness.startswith("/"):
        return shutil.which(witness) is not None
    if package == "busybox-static":  # the dynamic busybox has the same path
        query = ["dpkg-query", "-W", "-f=${Status}", package]
        said = subprocess.run(query, capture_output=True, text=True, check=False).stdout
        return said.endswith(" installed")
    return Path(witness).exists()


def ensure(*groups: str) -> None:
    packages = missing(*groups)
    if not packages:
        return
    install(packages)
    still = missing(*groups)
    if still:
        why = f"apt-get installed {' '.join(still)}, yet it is not there"
        raise LabError("packages", why, f"run: apt-get install --reinstall {' '.join(still)}")


def install(packages: list[str]) -> None:
    """apt-get install, with one update when the index does not know a package."""
    names = " ".join(packages)
    command = f"apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 {names}".split()
    what, log = f"installing {names}", paths.base().logs / "apt-install.log"
    with progress.step(f"installing packages {names}"):
        need_apt(what, f"install these yourself: {names}")
        try:
            _apt(command, what, log)
        except LabError as err:
            text = log.read_text(errors="replace") if err.log else ""
            if "dpkg was interrupted" in text:
                _apt(["dpkg", "--configure", "-a"], what, log)
            elif any(sign in text for sign in _STALE):
                update_index(what)
            else:
                raise
            _apt(command, what, log)


def update_index(what: str) -> None:
    """apt-get update.  One source that fails is no reason to stop: what is wanted may be in another."""
    log = paths.base().logs / "apt-update.log"
    command = ["apt-get", "update", "--error-on=any"]
    try:
        _apt(command, what, log)
    except LabError as err:
        if err.log is None:
            raise
        progress.note(f"apt-get update: {reason(log.read_text(errors='replace'))} (log: {log})")


def need_apt(what: str, todo: str = "run this on Debian 12 or 13") -> None:
    if shutil.which("apt-get") is None:
        raise LabError(what, "this is not a Debian system (no apt-get)", todo)


def download(
    package: str, what: str, log: Path, options: Sequence[str], env: Mapping[str, str] | None = None
) -> None:
    """Have apt-get put a package's file into the cache, where it appears when it is whole."""
    with tempfile.TemporaryDirectory(prefix=".part-", dir=paths.DOWNLOADS) as part:
        process.run(["apt-get", *options, "download", package], what=what, cwd=Path(part), env=env, log=log)
        debs = list(Path(part).glob("*.deb"))
        if len(debs) != 1:
            raise LabError(what, "apt-get download left no package", "run: apt-get update", log=log)
        debs[0].rename(paths.DOWNLOADS / debs[0].name)


def reason(text: str) -> str:
    for signs, why in _REASONS:
        if any(sign in text for sign in signs):
            return why
    # The first error is the cause, and what follows from it comes after.
    lines = [line for line in text.splitlines() if line.startswith("E: ")]
    return lines[0].removeprefix("E: ") if lines else "apt-get failed"


def _apt(cmd: list[str], what: str, log: Path) -> None:
    if os.geteuid() != 0 and not (shutil.which("sudo") and (sys.stdin.isatty() or _sudo_asks_nothing())):
        raise LabError(what, "this needs root", f"run as root: {' '.join(cmd)}")
    try:
        _as_root(cmd, what, log)
    except LabError as err:
        why = reason(log.read_text(errors="replace")) if err.log else err.why
        raise LabError(what, why, err.todo, log=err.log, detail=err.detail) from None


def _as_root(cmd: list[str], what: str, log: Path) -> None:
    if os.geteuid() == 0:
        env = {"DEBIAN_FRONTEND": "noninteractive"}
        process.run(cmd, what=what, env=env, log=log, todo=_TODO)
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    # Not through run: sudo asks for a password on the terminal of this session.
    with log.open("w") as out:
        sudo = ["sudo", "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", *cmd]
        status = subprocess.run(sudo, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    if status:
        tail = log.read_text(errors="replace").splitlines()[-process.TAIL_LINES :]
        why = process.describe_status(cmd, status)
        raise LabError(what, why, _TODO, log=log, detail=tail)


def _sudo_asks_nothing() -> bool:
    return subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
