# SPDX-License-Identifier: GPL-2.0-only
"""Kernel source that the user gives instead of Debian's package: a tarball, such as kernel.org's."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from padlab.core import packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.kernel import source

_NUMBERS = ("VERSION", "PATCHLEVEL", "SUBLEVEL")
_TODO = "give a tarball of Linux {series}, such as linux-{series}.4.tar.xz"


@dataclass(frozen=True)
class Given:
    """Source that was looked at; ``version`` tells it from any other."""

    version: str
    unpack: Callable[[Path], None]  # into an empty folder


def look_at(path: Path) -> Given:
    """Find out what ``path`` is; unpack nothing yet."""
    what = f"kernel source {path}"
    if not path.is_file():
        raise _bad(what, "it is no file" if path.exists() else "it is not there")
    path = path.resolve()
    with path.open("rb") as file:
        mark = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    packages.ensure("build")
    with progress.step(f"reading {path.name}"):
        members = ["--occurrence=1", "--wildcards", "--no-wildcards-match-slash", "*/Makefile"]
        version = check_version(_tar(["-x", "-O", *members], path, what), what)

    def unpack(place: Path) -> None:
        _tar(["-x", "-C", place, "--strip-components=1"], path, what)

    return Given(f"{version} of {path.name} ({mark})", unpack)


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


def _tar(args: list[object], path: Path, what: str) -> str:
    log = paths.LOGS / "unpack.log"
    try:
        return process.run(["tar", "-f", path, *args], what=what, log=log)
    except LabError as err:
        text = log.read_text(errors="replace") if err.log else ""
        if "Makefile: Not found in archive" in text:
            raise _bad(what, "it is no kernel source: there is no Makefile in it") from None
        raise LabError(what, "it is no tarball, or damaged", "fetch it anew", log=err.log) from None
