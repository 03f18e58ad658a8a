# SPDX-License-Identifier: GPL-2.0-only
"""The kernel source: a package of Debian's, from the cache or as the package index offers it.

``source.toml`` has, for each base, the version that this commit was tested with, which
is preferred.  What was downloaded once is kept in the user's cache: with it neither
index nor network are needed.  The package of a base is in the host's own suites, or in
one that the lab looks at by itself (core/aptsuite.py).  The user may give a tarball instead.
"""

import functools
import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NoReturn

from msgspec import Meta, Struct

from padlab.core import aptsuite, exclusive, host, packages, paths, process, progress, toml
from padlab.core.errors import AbsentError, LabError

RECORD = paths.ROOT / "source.toml"
_DOWNLOAD_ROOM = 400 << 20
_OFFERED = re.compile(r"^ (?:\*\*\*|   ) (\S+) -?\d+$", re.MULTILINE)
_GONE = re.compile(r"\s404\s+Not Found|File not found")
_REASON = re.compile(r"^E: Failed to fetch \S+\s+(.*)$", re.MULTILINE)


class Package(Struct, forbid_unknown_fields=True, frozen=True):
    """The package of a kernel series, and the version of it that this commit was tested with."""

    package: Annotated[str, Meta(pattern=r"^linux-source-[\d.]+\Z")]
    tested: Annotated[str, Meta(pattern=r"^\d[\w.+~-]*\Z")]
    suite: Annotated[str, Meta(pattern=r"^(?:[a-z][a-z-]*)?\Z")] = ""  # if it is in none of the host's own

    @property
    def series(self) -> str:
        return self.package.removeprefix("linux-source-")


def package() -> Package:
    known, name = toml.load(RECORD, dict[str, Package]), paths.base().name
    if name not in known:
        raise LabError(RECORD.name, f'has no table ["{name}"]', f"restore it: git checkout {RECORD.name}")
    return known[name]


def _update_index(what: str) -> None:
    if package().suite:
        aptsuite.update(package().suite, what)
    else:
        packages.update_index(what)


def deb(version: str) -> Path:
    """The package's file in the cache, which need not be there, with apt's name."""
    return paths.DOWNLOADS / f"{package().package}_{version}_all.deb"


def ensure_source(update: bool = False) -> str:
    """Return a version of the package, downloaded: the tested one if there is a choice.

    ``update`` asks for the newest instead, after fetching the package index.  Else
    that is done only if nothing can be had without.
    """
    tested = package().tested
    if not update and deb(tested).exists():
        return tested
    what = f"kernel source {package().package}"
    with exclusive.alone(paths.DOWNLOADS / ".lock"):
        for left in paths.DOWNLOADS.glob(".part-*"):  # of a download that was interrupted
            shutil.rmtree(left, ignore_errors=True)
        kept = _newest_kept()
        try:
            return _download(_choose(update, kept, what), update, what)
        except LabError as err:
            if kept is None:
                raise
            progress.note(f"note: {what}: {err.why}; using {kept} from {paths.DOWNLOADS}")
            return kept


@functools.cache  # once
def warn_untested(version: str) -> None:
    if version != package().tested:
        progress.note(
            f"note: this commit was tested with {package().package} {package().tested}, this is {version}"
        )


def name_of(version: str) -> str:
    """A version with the package that it is of; one that was not Debian's says so itself."""
    if " " in version:
        return f"Linux {version}"
    series = ".".join(version.partition("-")[0].split(".")[:2])
    return f"linux-source-{series} {version}"


def _choose(update: bool, kept: str | None, what: str) -> str:
    if update or package().suite:  # whose index is small
        _update_index(what)
    chosen = _offered(update)
    if package().suite and kept and not update and chosen != package().tested:
        return kept  # the suite has moved on
    if not (chosen or kept or package().suite):
        packages.need_apt(what)
        _update_index(what)
        chosen = _offered(update)
    return chosen or kept or _give_up(what)


def _give_up(what: str) -> NoReturn:
    if package().suite:
        why = f"{package().suite} does not offer it, and none is in {paths.DOWNLOADS}"
        raise AbsentError(what, why, f"give a source: {paths.command('tree')} --source FILE.tar.xz")
    todo = "check the network; /etc/apt/sources.list needs Debian 13, or Debian 12 with its security suite"
    raise LabError(what, f"the package index does not offer it, and none is in {paths.DOWNLOADS}", todo)


def _newest_kept() -> str | None:
    """Of the versions in the cache, in Debian's order."""
    name = package().package
    files = paths.DOWNLOADS.glob(f"{name}_*_all.deb")
    versions = [path.name.removeprefix(f"{name}_").removesuffix("_all.deb") for path in files]

    def order(left: str, right: str) -> int:
        command = ["dpkg", "--compare-versions", left, "gt", right]
        return -1 if subprocess.run(command, check=False).returncode else 1

    return max(versions, key=functools.cmp_to_key(order), default=None)


def _offered(update: bool) -> str | None:
    """What to take of what the package index offers; None if that is nothing, or there is no index."""
    if shutil.which("apt-cache") is None:
        return None
    command, what = ["apt-cache", "policy", package().package], "asking for the kernel source"
    policy = process.run(command, what=what, env=_environment(), ok=process.ANY)
    if not update and package().tested in _OFFERED.findall(policy):
        return package().tested
    candidate = re.search(r"^\s*Candidate: (?!\(none\))(\S+)$", policy, re.MULTILINE)
    return candidate[1] if candidate else None


def _environment() -> dict[str, str]:
    return aptsuite.environment(package().suite) if package().suite else {}


def _download(version: str, update: bool, what: str, *, again: bool = True) -> str:
    """apt checks the file against the signed index, which may be older than the mirror."""
    if deb(version).exists():
        return version
    host.check_room(paths.DOWNLOADS, _DOWNLOAD_ROOM, what)
    exact, log = f"{package().package}={version}", paths.base().logs / "apt-download.log"
    options = ["-o", "APT::Sandbox::User=root"]
    try:
        with progress.step(f"downloading {package().package} {version}"):
            packages.download(exact, what, log, options, _environment())
        return version
    except LabError as err:
        if err.log is None:
            raise
        text, reason = log.read_text(errors="replace"), err.why
    if not _GONE.search(text):
        match = _REASON.search(text)
        why = f"version {version} could not be fetched: {match[1] if match else reason}"
        raise LabError(what, why, "check the network and /etc/apt/sources.list, then try again", log=log)
    if not again:
        why = f"version {version}, which the package index names, is not on the mirror"
        raise LabError(what, why, "run: apt-get update; then check /etc/apt/sources.list", log=log)
    progress.note(f"{version} has left the mirror; updating the package index")
    _update_index(what)
    return _download(_offered(update) or _give_up(what), update, what, again=False)


@dataclass(frozen=True)
class Given:
    """Source that was looked at; ``version`` tells it from any other."""

    version: str
    unpack: Callable[[Path], None]  # into an empty folder


def look_at(path: Path) -> Given:
    what = f"kernel source {path}"
    if not path.is_file():
        raise _bad_source(what, "it is no file" if path.exists() else "it is not there")
    path = path.resolve()
    with path.open("rb") as file:
        mark = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    packages.ensure("build")
    with progress.step(f"reading {path.name}"):
        members = ["--occurrence=1", "--wildcards", "--no-wildcards-match-slash", "*/Makefile"]
        version = _version_in(_tar(["-x", "-O", *members], path, what), what)

    def unpack(place: Path) -> None:
        _tar(["-x", "-C", place, "--strip-components=1"], path, what)

    return Given(f"{version} of {path.name} ({mark})", unpack)


def _bad_source(what: str, why: str) -> LabError:
    series = package().series
    return LabError(what, why, f"give a tarball of Linux {series}, such as linux-{series}.4.tar.xz")


def _version_in(makefile: str, what: str) -> str:
    """The version in the text of the Makefile at the top of the source: one of the base in use."""
    numbers = dict(re.findall(r"^(\w+) *= *(\S*) *$", makefile, re.MULTILINE))
    series = ".".join(numbers.get(name, "") for name in ("VERSION", "PATCHLEVEL"))
    if not re.fullmatch(r"\d+\.\d+", series):
        raise _bad_source(what, "it is no kernel source: there is no version in its Makefile")
    version = f"{series}.{numbers.get('SUBLEVEL') or '0'}{numbers.get('EXTRAVERSION', '')}"
    if series != package().series:
        hint = f"; base {series} is for that" if series in paths.bases() else ""
        why = f"it is Linux {version}, and base {paths.base().name} is for {package().series}.N{hint}"
        raise _bad_source(what, why)
    return version


def _tar(args: list[object], path: Path, what: str) -> str:
    log = paths.base().logs / "unpack.log"
    try:
        return process.run(["tar", "-f", path, *args], what=what, log=log)
    except LabError as err:
        text = log.read_text(errors="replace") if err.log else ""
        if "Makefile: Not found in archive" in text:
            raise _bad_source(what, "it is no kernel source: there is no Makefile in it") from None
        raise LabError(what, "it is no tarball, or damaged", "fetch it anew", log=err.log) from None
