# SPDX-License-Identifier: GPL-2.0-only
"""Bare Debian roots: made by mmdebstrap, entered in namespaces, removed without a trace.

What is mounted in a root is mounted in a mount namespace of the processes in it, and
goes with them: on the host's side nothing is ever mounted there.
"""

import ast
import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from padlab.core import aptsuite, packages, paths, process, progress
from padlab.core import host as hosts
from padlab.core.errors import LabError

_PASSED_ON = re.compile(
    r"(?:(?:https?|ftp|all|no)_proxy|SSL_CERT_FILE|(?:REQUESTS|CURL)_CA_BUNDLE|CI|TERM)", re.IGNORECASE
)
# What a host adds to Debian's certificates, and where programs find them all.
_CERTIFICATES = (Path("/usr/local/share/ca-certificates"), Path("/etc/ssl/certs/ca-certificates.crt"))
_RESOLVER = (Path("/etc/resolv.conf"), Path("/etc/hosts"))


@dataclass(frozen=True)
class HostConfig:
    targets: str  # apt-get indextargets
    apt: list[str]  # lines for apt.conf
    environment: dict[str, str]

    def sources(self, suite: str) -> list[str]:
        mirrors = aptsuite.mirrors(self.targets)
        if "" not in mirrors:
            why = "apt's sources have no Debian mirror"
            raise LabError(_WHAT, why, "add one to /etc/apt/sources.list.d, then run: apt-get update")
        return [f"deb {uri} {suite}{pocket} main" for pocket, uri in mirrors.items()]

    def files(self) -> list[Path]:
        """Files and folders that a root needs at the same paths."""
        named = (word.strip('";') for line in self.apt for word in line.split())
        values = (word for value in self.environment.values() for word in value.split())
        wanted = dict.fromkeys([*_RESOLVER, *_CERTIFICATES, *map(Path, (*named, *values))])
        return [path for path in wanted if path.is_absolute() and path.exists()]


def read_host() -> HostConfig:
    what = "reading apt's configuration"
    targets = process.run(["apt-get", "indextargets", "Created-By: Packages"], what=what)
    settings = process.run(["apt-config", "dump"], what=what)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    listing = subprocess.run(pip, capture_output=True, text=True, check=False).stdout
    environment = passed_on(os.environ) | pip_environment(listing)
    return HostConfig(targets, aptsuite.acquire_settings(settings), environment)


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that concern the network, and that this is a CI."""
    return {name: value for name, value in environment.items() if value and _PASSED_ON.fullmatch(name)}


def pip_environment(config: str) -> dict[str, str]:
    """``pip config list`` as environment variables, which a pip elsewhere understands."""
    variables: dict[str, str] = {}
    # Later ones win, as in pip: global, for installing, from the environment.
    for section in ("global", "install", ":env:"):
        for name, value in re.findall(rf"^{section}\.([\w.-]+)=(.*)$", config, re.MULTILINE):
            key = "PIP_" + name.lstrip(".").upper().replace("-", "_")
            variables[key] = " ".join(str(ast.literal_eval(value)).split())
    return variables


# The two commands leave 5 GiB with ./lab test --quick.
ROOM = 8 << 30
_WHAT = "a bare Debian"
_REMOVE_TRIES = 20
_REMOVE_WAIT_S = 0.5
_ENVIRONMENT = "root/.host-environment"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ENTER = Path(__file__).with_name("enter-root.sh")


def roots() -> Path:
    """The folder that bare roots are made in."""
    folder = paths.base().build / "fresh"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def namespaces() -> list[str]:
    """What to put before a command that makes, enters or removes a root."""
    own = ("--user", "--map-root-user", "--map-auto") if os.geteuid() else ()
    return ["unshare", *own, "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--"]


def prepared(room: int) -> HostConfig:
    """What bare roots are made from; what cannot end well is refused at once."""
    if os.geteuid():
        packages.ensure("fresh-user")
    done = subprocess.run([*namespaces(), "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1:] or ["unshare failed"]
        who = "as root with CAP_SYS_ADMIN" if os.geteuid() == 0 else "as root, or allow user namespaces"
        raise LabError(_WHAT, f"no namespace can be made here ({why[0]})", f"run it {who}")
    hosts.check_room(roots(), room, _WHAT)
    packages.ensure("fresh")
    host = read_host()
    remove_leftovers()
    return host


@dataclass(frozen=True)
class Root:
    """A root, and what of the host is to be seen in it: {place on the host: place in the root}."""

    path: Path
    binds: Mapping[Path, str] = field(default_factory=dict)

    def inside(self, place: str) -> Path:
        return self.path / place.lstrip("/")

    def command(self, cwd: str, command: Sequence[str]) -> list[str]:
        pairs = [word for source, place in self.binds.items() for word in (str(source), place)]
        return [*namespaces(), "sh", str(_ENTER), str(self.path), *pairs, "", cwd, *command]


@contextlib.contextmanager
def folder(prefix: str) -> Iterator[Path]:
    """A folder for a root, which is gone when the block ends, however it does."""
    place = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=roots()))
    try:
        place.chmod(0o755)
        yield place
    finally:
        remove(place)


@contextlib.contextmanager
def made(suite: str, host: HostConfig, binds: Mapping[Path, str]) -> Iterator[Root]:
    """A bare root of ``suite``."""
    with folder(suite) as place:
        root = Root(place, binds)
        _debootstrap(root, suite, host)
        _furnish(root, host)
        yield root


def _debootstrap(root: Root, suite: str, host: HostConfig) -> None:
    what = f"making a bare Debian {suite}"
    log = paths.base().logs / f"fresh-{suite}-root.log"
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


def _furnish(root: Root, host: HostConfig) -> None:
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
    for place in sorted(roots().glob("*-*")):
        progress.note(f"removing {place}, which a killed run left behind")
        remove(place)


def remove(place: Path) -> None:
    """Remove a root.  Its last processes may still be ending."""
    inside = mounted_below(place, Path("/proc/self/mountinfo").read_text())
    if inside:
        todo = f"run: umount -R {inside[0]}; rm -rf --one-file-system {place}"
        raise LabError(f"removing {place}", f"{inside[0]} is mounted in it, not by this run", todo)
    command = [*namespaces(), "rm", "-rf", "--one-file-system", str(place)]
    for _ in range(_REMOVE_TRIES):
        subprocess.run(command, capture_output=True, check=False)
        if not place.exists():
            return
        time.sleep(_REMOVE_WAIT_S)
    raise LabError(f"removing {place}", "it is in use", f"run as root: rm -rf --one-file-system {place}")


def mounted_below(place: Path, mountinfo: str) -> list[Path]:
    """What is mounted on or below ``place``, by /proc/self/mountinfo."""
    names = (line.split()[4] for line in mountinfo.splitlines())
    points = (Path(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), name)) for name in names)
    return [point for point in points if point.is_relative_to(place)]
