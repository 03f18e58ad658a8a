# SPDX-License-Identifier: GPL-2.0-only
"""Bare Debian roots: made by mmdebstrap, entered in namespaces, removed without a trace.

What is mounted in a root is mounted in a mount namespace of the processes in it, and
goes with them: on the host's side nothing is ever mounted there.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from padlab.check.fresh import hostconfig
from padlab.core import host as hosts
from padlab.core import packages, paths, process, progress
from padlab.core.errors import LabError

ROOTS = paths.BUILD / "fresh"
# The two commands leave 5 GiB with ./lab test --quick; the whole test has many builds.
ROOM = 8 << 30
ROOM_FULL = 15 << 30
_WHAT = "./lab fresh"
_REMOVE_TRIES = 20
_REMOVE_WAIT_S = 0.5
_NAMESPACES = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child")
_AS_USER = ("--user", "--map-root-user", "--map-auto")
_ENVIRONMENT = "root/.host-environment"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ENTER = Path(__file__).with_name("enter-root.sh")


def namespaces() -> list[str]:
    """What to put before a command that makes, enters or removes a root."""
    own = _AS_USER if os.geteuid() else ()
    return [_NAMESPACES[0], *own, *_NAMESPACES[1:], "--"]


def prepared(room: int) -> hostconfig.HostConfig:
    """What bare roots are made from; what cannot end well is refused at once."""
    if os.geteuid():
        packages.ensure("fresh-user")
    done = subprocess.run([*namespaces(), "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1:] or ["unshare failed"]
        who = "as root with CAP_SYS_ADMIN" if os.geteuid() == 0 else "as root, or allow user namespaces"
        raise LabError(_WHAT, f"no namespace can be made here ({why[0]})", f"run it {who}")
    ROOTS.mkdir(parents=True, exist_ok=True)
    hosts.check_room(ROOTS, room, _WHAT)
    packages.ensure("fresh")
    host = hostconfig.read()
    remove_leftovers()
    return host


@dataclass(frozen=True)
class Root:
    """A root, and what of the host is to be seen in it: {place on the host: place in the root}."""

    path: Path
    binds: Mapping[Path, str] = field(default_factory=dict)

    def inside(self, place: str) -> Path:
        """``place`` of the root as the host sees it."""
        return self.path / place.lstrip("/")

    def command(self, cwd: str, command: Sequence[str]) -> list[str]:
        """The command line that runs ``command`` in the root's folder ``cwd``."""
        pairs = [word for source, place in self.binds.items() for word in (str(source), place)]
        return [*namespaces(), "sh", str(_ENTER), str(self.path), *pairs, "", cwd, *command]


@contextlib.contextmanager
def made(suite: str, host: hostconfig.HostConfig, binds: Mapping[Path, str]) -> Iterator[Root]:
    """A bare root of ``suite``, which is gone when the block ends, however it does."""
    ROOTS.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f"{suite}-", dir=ROOTS))
    try:
        place.chmod(0o755)
        root = Root(place, binds)
        _debootstrap(root, suite, host)
        _furnish(root, host)
        yield root
    finally:
        remove(place)


def _debootstrap(root: Root, suite: str, host: hostconfig.HostConfig) -> None:
    what = f"making a bare Debian {suite}"
    log = paths.LOGS / f"fresh-{suite}-root.log"
    options = [f"--aptopt={line.rstrip(';')}" for line in host.apt]
    command = ["mmdebstrap", "--variant=apt", "--mode=root", *options, suite, str(root.path)]
    try:
        with progress.step(what) as step:
            process.stream([*namespaces(), *command, *host.sources(suite)], step.update, what=what, log=log)
    except LabError as err:
        if err.log is None:
            raise
        why = packages.reason(err.log.read_text(errors="replace"))
        todo = "check the network and apt's sources, then try again"
        raise LabError(what, why, todo, log=log, detail=err.detail) from None


def _furnish(root: Root, host: hostconfig.HostConfig) -> None:
    """Give a root the host's network configuration, and folders to mount things on."""
    for path in host.files():
        copy(path, root.inside(str(path)))
    for place in root.binds.values():
        root.inside(place).mkdir(parents=True, exist_ok=True)
    variables = {"HOME": "/root", "LANG": "C.UTF-8", **host.environment, "PATH": _PATH}
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()]
    script = root.inside(_ENVIRONMENT)
    script.touch(mode=0o600)
    script.write_text("".join(lines))


def copy(source: Path, target: Path) -> None:
    """A file or folder, links followed: they lead elsewhere in the root."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        target.unlink(missing_ok=True)
        shutil.copy(source, target)


def remove_leftovers() -> None:
    """Remove the roots of runs that were killed: who calls this holds the clone's lock."""
    for place in sorted(ROOTS.glob("*-*")):
        progress.note(f"removing {place}, which a killed run left behind")
        remove(place)


def remove(place: Path) -> None:
    """Remove a root.  Its last processes may still be ending."""
    inside = mounted_below(place, Path("/proc/self/mountinfo").read_text())
    if inside:
        todo = f"run: umount -R {inside[0]}; rm -rf --one-file-system {place}"
        raise LabError(f"removing {place}", f"{inside[0]} is mounted in it, not by this run", todo)
    for _ in range(_REMOVE_TRIES):
        subprocess.run(
            [*namespaces(), "rm", "-rf", "--one-file-system", str(place)], capture_output=True, check=False
        )
        if not place.exists():
            return
        time.sleep(_REMOVE_WAIT_S)
    raise LabError(f"removing {place}", "it is in use", f"run as root: rm -rf --one-file-system {place}")


def mounted_below(place: Path, mountinfo: str) -> list[Path]:
    """What is mounted on or below ``place``, by /proc/self/mountinfo."""
    points = (Path(_unescaped(line.split()[4])) for line in mountinfo.splitlines())
    return [point for point in points if point.is_relative_to(place)]


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
