# SPDX-License-Identifier: GPL-2.0-only
"""Kernel source that the user gives instead of Debian's package: a tarball, or a commit of a git tree.

Neither is changed.  Of a git tree the last commit is taken: local changes are named and left
alone, so that what was built can be made again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from padlab.core import packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.kernel import source
from padlab.kernel.state import some

_NUMBERS = ("VERSION", "PATCHLEVEL", "SUBLEVEL")
_TODO = "give a kernel.org tarball, such as linux-{series}.4.tar.xz, or a git tree of Linux {series}"


@dataclass(frozen=True)
class Given:
    """Source that was looked at; ``version`` tells it from any other."""

    version: str
    unpack: Callable[[Path], None]  # into an empty folder


def look_at(path: Path) -> Given:
    """Find out what ``path`` is; unpack nothing yet."""
    what = f"kernel source {path}"
    if path.is_dir():
        return _git_tree(path.resolve(), what)
    if not path.is_file():
        raise _bad(what, "it is not there")
    return _tarball(path.resolve(), what)


def _bad(what: str, why: str) -> LabError:
    return LabError(what, why, _TODO.format(series=source.base().series))


def check_version(makefile: str, what: str) -> str:
    """The version in the text of the Makefile at the top of the source: one of the base in use."""
    numbers = dict(re.findall(r"^(\w+) *= *(\S*) *$", makefile, re.MULTILINE))
    if not all(numbers.get(name, "").isdigit() for name in _NUMBERS[:2]):
        raise _bad(what, "it is no kernel source: there is no version in its Makefile")
    series = ".".join(numbers[name] for name in _NUMBERS[:2])
    version = f"{series}.{numbers.get('SUBLEVEL') or '0'}{numbers.get('EXTRAVERSION', '')}"
    if series != source.base().series:
        hint = f"; base {series} is for that" if series in paths.bases() else ""
        raise _bad(
            what, f"it is Linux {version}, and base {paths.BASE} is for {source.base().series}.N{hint}"
        )
    return version


# A tarball


def _tarball(path: Path, what: str) -> Given:
    with path.open("rb") as file:
        mark = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    makefile = _from_tarball(path, what)
    version = check_version(makefile, what)

    def unpack(place: Path) -> None:
        _tar(["-x", "-C", place, "--strip-components=1"], path, what)

    return Given(f"{version} of {path.name} ({mark})", unpack)


def _from_tarball(path: Path, what: str) -> str:
    """The Makefile in the top folder."""
    packages.ensure("build")
    with progress.step(f"reading {path.name}"):
        members = ["--occurrence=1", "--wildcards", "--no-wildcards-match-slash", "*/Makefile"]
        return _tar(["-x", "-O", *members], path, what)


def _tar(args: list[object], path: Path, what: str) -> str:
    log = paths.LOGS / "unpack.log"
    try:
        return process.run(["tar", "-f", path, *args], what=what, log=log)
    except LabError as err:
        text = log.read_text(errors="replace") if err.log else ""
        if "Makefile: Not found in archive" in text:
            raise _bad(what, "it is no kernel source: there is no Makefile in it") from None
        raise LabError(what, "it is no tarball, or damaged", "fetch it anew", log=err.log) from None


# A git tree


def _git_tree(path: Path, what: str) -> Given:
    packages.ensure("git", "build")
    try:
        commit = _git(path, "rev-parse", "--short=12", "HEAD").strip()
        makefile = _git(path, "show", "HEAD:Makefile")
    except LabError:
        raise _bad(what, "it is no git tree of the kernel with a commit") from None
    version = check_version(makefile, what)
    changed = [line[3:] for line in _git(path, "status", "--porcelain", "--untracked-files=no").splitlines()]
    if changed:
        progress.note(
            f"note: {path} has local changes, which are left alone and not built: {some(changed)}; "
            f"its last commit is taken, {commit}"
        )

    def unpack(place: Path) -> None:
        pipeline = 'set -o pipefail; git -c safe.directory="*" -C "$1" archive HEAD | tar -x -C "$2"'
        command = ["bash", "-c", pipeline, "unpack", path, place]
        process.run(command, what=what, log=paths.LOGS / "unpack.log")

    return Given(f"{version} of commit {commit}", unpack)


def _git(path: Path, *args: str) -> str:
    command = ["git", "--no-optional-locks", "-c", "safe.directory=*", "-C", path, *args]
    return process.run(command, what=f"git {args[0]}", env={"GIT_CEILING_DIRECTORIES": str(path.parent)})
