# SPDX-License-Identifier: GPL-2.0-only
"""The kernel source: Debian's linux-source-6.12, as the package index offers it."""

from __future__ import annotations

import contextlib
import fcntl
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from padlab import hostpkgs, paths, progress, run
from padlab.errors import LabError

SERIES = "6.12"
PACKAGE = f"linux-source-{SERIES}"
TARBALL = f"usr/src/{PACKAGE}.tar.xz"
_DOWNLOAD_ROOM = 400 << 20


@dataclass(frozen=True)
class Source:
    """One version of the package: ``version`` is Debian's, ``kernel`` upstream's."""

    version: str
    kernel: str
    deb: Path


def make_source(version: str) -> Source:
    """Describe ``version`` of the package; its file need not be there."""
    # apt's own naming: an epoch's colon is percent-encoded in file names.
    name = f"{PACKAGE}_{version.replace(':', '%3a')}_all.deb"
    return Source(version, kernel_version(version), paths.DOWNLOADS / name)


def kernel_version(version: str) -> str:
    """The upstream part of a Debian version: 6.12.117-1~deb12u1 is 6.12.117."""
    return version.split(":")[-1].rsplit("-", 1)[0]


def parse_candidate(policy: str) -> str | None:
    """The version apt would install, from the output of apt-cache policy."""
    match = re.search(r"^\s*Candidate: (\S+)$", policy, re.MULTILINE)
    return match[1] if match and match[1] != "(none)" else None


def ensure_source(update: bool = False) -> Source:
    """Return the newest version the package index offers, downloaded.

    ``update`` fetches the index first; else that is done only when the index
    does not know the package.
    """
    what = f"kernel source {PACKAGE}"
    if shutil.which("apt-cache") is None:
        raise LabError(what, "this is not a Debian system (no apt-cache)", "run this on Debian 12 or 13")
    source = _candidate()
    if update or source is None:
        hostpkgs.update_index(what)
        source = _candidate()
    if source is None:
        raise LabError(
            what,
            f"no package index, or one that does not offer {PACKAGE}",
            "check the network; /etc/apt/sources.list needs Debian 13, or Debian 12 with its security suite",
        )
    with _downloads_locked():
        if not source.deb.exists():
            source = _download(source, what)
    return source


def _candidate() -> Source | None:
    policy = subprocess.run(
        ["apt-cache", "policy", PACKAGE],
        capture_output=True,
        text=True,
        env={"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        check=False,
    )
    version = parse_candidate(policy.stdout)
    return make_source(version) if version else None


@contextlib.contextmanager
def _downloads_locked() -> Iterator[None]:
    """Clones share the folder: one downloads, and the rest of an ended download goes."""
    paths.DOWNLOADS.mkdir(parents=True, exist_ok=True)
    with (paths.DOWNLOADS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in paths.DOWNLOADS.glob(".part-*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def _download(source: Source, what: str) -> Source:
    check_room(paths.DOWNLOADS, _DOWNLOAD_ROOM, what)
    try:
        return _apt_download(source, what)
    except LabError as first:
        # An index that is a few weeks old names a file that has left the mirror.
        progress.note(f"{PACKAGE} {source.version} could not be fetched; updating the package index")
        hostpkgs.update_index(what)
        newer = _candidate()
        if newer is None or newer == source:
            raise first
        return newer if newer.deb.exists() else _apt_download(newer, what)


def _apt_download(source: Source, what: str) -> Source:
    """apt checks the file against the signed index; it appears under its name when whole."""
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=paths.DOWNLOADS))
    try:
        with progress.step(f"downloading {PACKAGE} {source.version}"):
            _fetch(source.version, part, what)
        debs = list(part.glob("*.deb"))
        if len(debs) != 1:
            raise LabError(what, "apt-get download left no package", "run: apt-get update")
        debs[0].rename(source.deb)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return source


def _fetch(version: str, folder: Path, what: str) -> None:
    command = ["apt-get", "download", "-o", "APT::Sandbox::User=root", f"{PACKAGE}={version}"]
    log = paths.LOGS / "apt-download.log"
    try:
        run.run(command, what=what, cwd=folder, log=log)
    except LabError as err:
        why = f"version {version} could not be fetched"
        todo = "check the network and /etc/apt/sources.list, then try again"
        raise LabError(what, why, todo, log=log, detail=err.detail) from None


def check_room(where: Path, need: int, what: str) -> None:
    """Refuse to begin what would fill the disk half-way."""
    while not where.exists():
        where = where.parent
    free = shutil.disk_usage(where).free
    if free < need:
        raise LabError(
            what,
            f"no room on disk: {free / (1 << 30):.1f} GiB free at {where}, {need / (1 << 30):.1f} GiB needed",
            "free some space, or put the clone on another disk",
        )
