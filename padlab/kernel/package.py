# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of the patched kernel, by the kernel's own bindeb-pkg.

The kernel's release, which is in the packages' names, ends with what tells it from
Debian's: "6.12.117-padata-mt-cloud-amd64".  Packages of a later commit have the same
names and a higher version, so that they replace those of an earlier one.

Objects are in a folder of the patched tree, as those of any build are (see build.py).
"""

import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from padlab.core import git, host, packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.kernel import arch as archs
from padlab.kernel import build as builds
from padlab.kernel import givenconfig, tree
from padlab.kernel.content import Stamp
from padlab.kernel.givenconfig import GivenConfig
from padlab.kernel.kconfig import PERF, parse_config

NAME = "padata-mt"
FRAGMENT = paths.CONFIGS / "package.config"
_DEFERRED = "CONFIG_DEFERRED_STRUCT_PAGE_INIT"
# What it depends on: mm/Kconfig.
NEEDS = {"CONFIG_64BIT": "y", "CONFIG_SPARSEMEM": "y", "CONFIG_NEED_PER_CPU_KM": "n", "CONFIG_KMSAN": "n"}
_SIGNED = "CONFIG_MODULE_SIG_ALL"
# Files that a configuration names, and what it has instead if they are not there: of the second
# the build makes one.
_KEYS = {
    "CONFIG_SYSTEM_TRUSTED_KEYS": "",
    "CONFIG_SYSTEM_REVOCATION_KEYS": "",
    "CONFIG_MODULE_SIG_KEY": "certs/signing_key.pem",
}
_VERSION = "CONFIG_LOCALVERSION"
# Facts about the compiler that a configuration was made with.
_COMPILER = re.compile(r"CONFIG_(?:AS|BINDGEN|CC|CLANG|GCC|LD|LLD|PAHOLE|RUSTC?|TOOLS)_")
_ROOM = 2 << 30
_ROOM_MODULE = 2 << 20  # for a module and its objects
_PACKAGED = re.compile(r"[a-z0-9.+-]*")  # what the names of packages are of


@dataclass(frozen=True)
class Packages:
    """What was made: files, the kernel's release, the packages' version, and how they came about."""

    release: str
    version: str
    files: tuple[Path, ...]
    config: str
    remarks: tuple[str, ...]


def make(directory: Path, given: GivenConfig) -> Packages:
    check_directory(directory)
    packages.ensure("build", "package")
    top = tree.ensure_tree("patched")
    obj = top / f"obj-package-{given.flavour or 'own'}"
    remarks = _configure(top, obj, given)
    what = f"building packages ({given.flavour or 'own configuration'}, Linux {tree.source_version()})"
    _make(top, obj, given, [archs.X86_64.target, "modules"], what, f"package-{given.flavour or 'own'}.log")
    release = (obj / "include/config/kernel.release").read_text().strip()
    signed = parse_config((obj / ".config").read_text()).get(_SIGNED) == "y"
    how = f"{'signed' if signed else 'not signed'}, as {_SIGNED} is {'on' if signed else 'off'}"
    modules = f"modules: {given.modules}, {how}"
    commit = git.commit()
    # With changes since the commit, the time of now: what comes later has a higher version.
    now = datetime.now(UTC).strftime("%Y%m%d%H%M%S")
    version = version_of(release, commit, now if commit.endswith("-dirty") else git.commit_time())
    files = _pack(top, obj, directory, version, given)
    return Packages(release, version, files, given.what, (*remarks, modules))


def _make(top: Path, obj: Path, given: GivenConfig, targets: list[str], what: str, log: str) -> None:
    builds.make(top, obj, archs.X86_64, [*tools(given), *targets], what, log, None)


def check_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as err:
        what = f"packages for {directory}"
        raise LabError(what, err.strerror or "it cannot be written", "give another folder") from None


def choose(config: Path | None) -> GivenConfig:
    """What the user gave; without, the running system's if that is Debian's, else perf."""
    path = config or givenconfig.of_this_system()
    if path:
        return givenconfig.read(path)
    progress.note(
        "note: the running kernel is none of Debian's; the lab's own configuration, configs/perf.config, "
        "is taken, which has no drivers but those of the lab's machines: for a real one give --config FILE"
    )
    return perf()


def perf() -> GivenConfig:
    return GivenConfig(f"kernel configuration {PERF}", PERF.name, builds.configuration("patched", PERF))


def _configure(top: Path, obj: Path, given: GivenConfig) -> list[str]:
    """Write .config; what it has otherwise than what was given."""
    what = f"configuring the packages ({given.flavour or 'own configuration'})"
    wanted = _wanted(top, given)
    obj.mkdir(exist_ok=True)
    stamp = Stamp(obj / ".padlab-configured", [given.text, wanted, tree.content_key("patched")])
    dot_config, fragment = obj / ".config", obj / ".padlab-fragment"
    image = obj / archs.X86_64.image
    if not (stamp.matches() and image.exists()):
        there = sum(512 * path.lstat().st_blocks for path in obj.rglob("*"))
        host.check_room(paths.base().trees, _ROOM + given.modules * _ROOM_MODULE - there, what)
    if not (stamp.matches() and dot_config.exists()):
        with stamp.renewed(), progress.step(what):
            dot_config.write_text(given.text)
            fragment.write_text(wanted)
            log = paths.base().logs / "config-package.log"
            builds.merge(top, obj, [fragment], what, log)
            command = builds.make_command(top, obj, archs.X86_64, [*tools(given), "olddefconfig"])
            process.run(command, what=what, env=builds.environment(), log=log)
            if missing := lacks(parse_config(dot_config.read_text())):
                why = f"it lacks what the series needs: {', '.join(missing)}"
                raise LabError(given.what, why, "give a configuration of a 64-bit server", log=log)
    return differences(given.options, parse_config(dot_config.read_text()), parse_config(wanted))


def _wanted(top: Path, given: GivenConfig) -> str:
    end = local_version(given)
    if not _PACKAGED.fullmatch(end):
        why = f"packages cannot be called as the kernel is, which ends with {end}"
        raise LabError(given.what, why, f"have {_VERSION} of small letters, digits, '.', '+' and '-'")
    lines = [FRAGMENT.read_text(), f'{_VERSION}="{end}"\n']
    for option, instead in _KEYS.items():
        named = given.options.get(option, "").strip('"')
        if named and named != instead and not named.startswith("pkcs11:") and not (top / named).exists():
            lines.append(f'{option}="{instead}"\n')
    return "".join(lines)


def local_version(given: GivenConfig) -> str:
    """What the kernel's release ends with: the configuration's own end, ours, and the flavour."""
    own = given.options.get(_VERSION, "").strip('"').partition(f"-{NAME}")[0]
    return "-".join([own, NAME, *filter(None, [given.flavour])])


def tools(given: GivenConfig) -> list[str]:
    """Variables of make: the compiler of a configuration with Rust, which the lab's kernels do without."""
    return ["RUSTC=rustc"] if given.options.get("CONFIG_RUST") == "y" else []


def lacks(options: Mapping[str, str]) -> list[str]:
    if options.get(_DEFERRED) == "y":
        return []
    lacking = {name: value for name, value in NEEDS.items() if options.get(name, "n") != value}
    return [f"{name} is {'off' if value == 'y' else 'on'}" for name, value in lacking.items()] or [
        f"{_DEFERRED} is off"
    ]


def differences(given: Mapping[str, str], result: Mapping[str, str], asked: Mapping[str, str]) -> list[str]:
    lines = []
    for name, wanted in asked.items():
        before, after = given.get(name, "n"), result.get(name, "n")
        if name == _VERSION:
            continue
        if before != after:
            lines.append(f"{_become(after)}: {name}, which was {'off' if before == 'n' else before}")
        if wanted != after:
            lines.append(f"not {_become(wanted)}, as other options rule that out: {name}")
    changed = (name for name, value in given.items() if value != result.get(name, "n") and name not in asked)
    rest = [name for name in changed if not _COMPILER.match(name)]
    if rest:
        lines.append(f"{len(rest)} more that depend on those or on this Linux: {', '.join(rest)}")
    return lines


def _become(value: str) -> str:
    return {"y": "switched on", "n": "switched off"}.get(value, f"set to {value}")


def version_of(release: str, commit: str, time: str) -> str:
    """The packages' version: of Linux, and of this repository, in the order of its commits.  Pure."""
    linux = re.match(r"[\d.]+(?:-rc\d+)?", release)
    name = re.sub(r"[^\w.+~]", ".", commit)
    return f"{linux[0].replace('-', '~') if linux else release}+{time}.g{name}-1"


def _pack(top: Path, obj: Path, directory: Path, version: str, given: GivenConfig) -> tuple[Path, ...]:
    _remove_left(top)
    # dpkg-buildpackage would have every dependency of a build checked, those of no use here, too.
    variables = [
        f"KDEB_PKGVERSION={version}",
        "KDEB_SOURCENAME=linux-upstream",
        "KDEB_CHANGELOG_DIST=unstable",
        "DEB_BUILD_PROFILES=pkg.linux-upstream.nokerneldbg",
        "DPKG_FLAGS=-d",
    ]
    what, log = f"packing {version}", "package-pack.log"
    try:
        _make(top, obj, given, ["bindeb-pkg", *variables], what, log)
        images = list(top.glob("linux-image-*.deb"))
        if not images:
            raise LabError(
                what, "no package of a kernel came out of it", "see the log", log=paths.base().logs / log
            )
        return _deliver([*images, *top.glob("linux-headers-*.deb")], directory, what)
    finally:
        _remove_left(top)


def _deliver(debs: list[Path], directory: Path, what: str) -> tuple[Path, ...]:
    """Replace earlier packages in the user's folder once it has the new ones whole."""
    partials = {path: directory / f".{path.name}.partial" for path in debs}
    try:
        for path, partial in partials.items():
            shutil.copyfile(path, partial)
    except OSError as err:
        for partial in partials.values():
            partial.unlink(missing_ok=True)
        why = f"{directory} cannot take them: {err.strerror}"
        raise LabError(what, why, "give another folder: what has been compiled is kept") from None
    for path, partial in partials.items():
        for old in directory.glob(f"{path.name.partition('_')[0]}_*.deb"):
            old.unlink()
        partial.rename(directory / path.name)
    return tuple(directory / path.name for path in debs)


def _remove_left(top: Path) -> None:
    """linux-libc-dev has the name of Debian's, and nothing of ours in it."""
    for path in (*top.glob("linux-*.deb"), *top.glob("linux-upstream_*")):
        path.unlink()
