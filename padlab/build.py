# SPDX-License-Identifier: GPL-2.0-only
"""Building kernels and modules: repeatable, through ccache, and not at all when nothing changed.

Objects go to ``build/trees/<kernel>/obj-<config>``.  Being a direct
subdirectory of the tree, kbuild names every source as ``../kernel/fork.c``
there, so that compilations have the same command lines in every clone and in
stock and patched alike, and ccache has nearly all of the second kernel.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab import hostpkgs, paths, progress, run, source, tree
from padlab.errors import LabError

CONFIGS: dict[str, tuple[str, ...]] = {
    "perf": ("perf.config",),
    "debug": ("perf.config", "debug.config"),
    "kasan": ("perf.config", "kasan.config"),
    "sparse": ("perf.config", "sparse.config"),
    "nosplit": ("perf.config", "debug.config", "nosplit.config"),
}
PATCHED_FRAGMENT = "patched.config"  # options that stock does not have
BUILD_ROOM = 1 << 30
_RECIPE = "1"  # change when the way of building changes
_STAMP = ".padlab-built"
_CONFIG_STAMP = ".padlab-configured"
_COMMAND = re.compile(r"^\s+(\[[CMS]\]\s+)?[A-Z][A-Z0-9_]*(\s+\[M\])?\s+\S")
_COMPILED = re.compile(r"^\s+(CC|AS|HOSTCC)\s")
_ERROR = re.compile(
    r": (fatal )?error:|undefined reference|^ERROR: |\bmultiple definition\b|^\S+: Assembler messages"
)
# Compilations of a build from nothing, to draw the progress against.
_COMPILATIONS = {"perf": 900, "debug": 920, "kasan": 920, "sparse": 900, "nosplit": 920}


@dataclass(frozen=True)
class Build:
    """A built kernel."""

    kernel: str
    config: str
    tree: Path
    obj: Path
    bzimage: Path
    source_version: str
    release: str


def ensure_build(kernel: str, config: str = "perf") -> Build:
    """Build ``kernel`` with ``config`` unless nothing changed since the last time."""
    if config not in CONFIGS:
        raise LabError("config", f"there is no {config!r}", f"choose one of: {', '.join(CONFIGS)}")
    hostpkgs.ensure("build")
    top = tree.ensure_tree(kernel)
    obj = top / f"obj-{config}"
    version = tree.source_version()
    key = _build_key(kernel, config)
    if _read(obj / _STAMP) != key or not _bzimage(obj).exists():
        what = f"building {kernel} ({config}, Linux {version})"
        if not (obj / _STAMP).exists():
            source.check_room(paths.TREES, BUILD_ROOM, what)
        (obj / _STAMP).unlink(missing_ok=True)
        _configure(kernel, config, top, obj)
        _make(top, obj, ["bzImage", "modules"], what, f"build-{kernel}-{config}.log", _COMPILATIONS[config])
        (obj / _STAMP).write_text(key)
    release = (obj / "include/config/kernel.release").read_text().strip()
    return Build(kernel, config, top, obj, _bzimage(obj), version, release)


def _bzimage(obj: Path) -> Path:
    return obj / "arch/x86/boot/bzImage"


def modules(build: Build) -> dict[str, Path]:
    """Modules built with the kernel: name -> .ko."""
    order = _read(build.obj / "modules.order").split()
    found = [(build.obj / line).with_suffix(".ko") for line in order]
    return {path.stem.replace("-", "_"): path for path in found}


def ensure_module(build: Build, srcdir: Path) -> Path:
    """Build the out-of-tree module in ``srcdir`` against ``build``; return its .ko.

    The sources are copied to build/modules first: kbuild writes next to them.
    """
    place = paths.BUILD / "modules" / f"{build.kernel}-{build.config}" / srcdir.name
    sources = {path.name: path for path in sorted(srcdir.iterdir()) if path.is_file()}
    key = tree.digest(
        [_read(build.obj / _STAMP), *(f"{name} {tree.fingerprint(path)}" for name, path in sources.items())]
    )
    result = list(place.glob("*.ko"))
    if _read(place / _STAMP) == key and len(result) == 1:
        return result[0]
    place.mkdir(parents=True, exist_ok=True)
    (place / _STAMP).unlink(missing_ok=True)
    for name, path in sources.items():
        if tree.fingerprint(path) != tree.fingerprint(place / name):
            shutil.copy(path, place / name)
    what = f"building module {srcdir.name} for {build.kernel} ({build.config})"
    log = f"module-{srcdir.name}-{build.kernel}-{build.config}.log"
    _make(build.tree, build.obj, [f"M={place}", "modules"], what, log, total=None)
    result = list(place.glob("*.ko"))
    if len(result) != 1:
        raise LabError(what, f"{len(result)} modules came out of it", "let its Makefile build exactly one")
    (place / _STAMP).write_text(key)
    return result[0]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def _build_key(kernel: str, config: str) -> str:
    fragments = [path.read_text() for path in _fragments(kernel, config)]
    return tree.digest([_RECIPE, tree.content_key(kernel), *fragments, _compiler()])


def _compiler() -> str:
    """Which compiler it is: two versions never share an object directory unnoticed."""
    version = subprocess.run(["gcc", "-v"], capture_output=True, text=True, check=False)
    return version.stderr


# Configuring


def _fragments(kernel: str, config: str) -> list[Path]:
    names = [*CONFIGS[config], *([] if kernel == "stock" else [PATCHED_FRAGMENT])]
    return [paths.CONFIGS / name for name in names]


def _configure(kernel: str, config: str, top: Path, obj: Path) -> None:
    """Write .config from tinyconfig and the fragments, unless it was made from the same."""
    fragments = _fragments(kernel, config)
    state = tree.known_state(top)
    kconfigs = [f"{name} {tree.fingerprint(top / name)}" for name in state.files() if "Kconfig" in name]
    key = tree.digest([_RECIPE, state.version, *kconfigs, *(path.read_text() for path in fragments)])
    if _read(obj / _CONFIG_STAMP) == key and (obj / ".config").exists():
        return
    what = f"configuring {kernel} ({config})"
    obj.mkdir(exist_ok=True)
    (obj / _CONFIG_STAMP).unlink(missing_ok=True)
    log = paths.LOGS / f"config-{kernel}-{config}.log"
    with progress.step(what):
        dot_config = obj / ".config"
        run.run(_make_command(top, obj, ["tinyconfig"]), what=what, env=environment(), log=log)
        merge = ["scripts/kconfig/merge_config.sh", "-m", "-O", obj, dot_config, *fragments]
        run.run(merge, what=what, cwd=top, env={"KCONFIG_CONFIG": str(dot_config)}, log=log)
        run.run(_make_command(top, obj, ["olddefconfig"]), what=what, env=environment(), log=log)
    lost = lost_options([path.read_text() for path in fragments], dot_config.read_text())
    if lost:
        raise LabError(
            what,
            f"{len(lost)} options did not come out as configs/ asks",
            "fix the fragment: a dependency is missing, or this kernel renamed the option",
            log=log,
            detail=lost,
        )
    (obj / _CONFIG_STAMP).write_text(key)


def parse_config(text: str) -> dict[str, str]:
    """option -> value of a .config or fragment; "n" when it says "is not set"."""
    options = {}
    for line in text.splitlines():
        if match := re.match(r"^(CONFIG_\w+)=(.*)$", line):
            options[match[1]] = match[2]
        elif match := re.match(r"^# (CONFIG_\w+) is not set$", line):
            options[match[1]] = "n"
    return options


def lost_options(fragments: list[str], config: str) -> list[str]:
    """The options of ``fragments`` (a later one wins) that ``config`` has not as asked."""
    wanted: dict[str, str] = {}
    for fragment in fragments:
        wanted |= parse_config(fragment)
    got = parse_config(config)
    return [
        f"{name}: {value} asked for, {got.get(name, 'not available')} came out"
        for name, value in wanted.items()
        if got.get(name, "n") != value
    ]


# Running make


def kunit_uml(what: str, args: Sequence[str], config: str, log: Path, ok: Sequence[int] = (0,)) -> Path:
    """Have the kernel's own runner build User-mode Linux with ``config``, or run it, too.

    The tree it is built in is returned; ``args`` say what to do and where in it.
    """
    top = tree.ensure_tree("patched")
    hostpkgs.ensure("build")
    command = ["tools/testing/kunit/kunit.py", *args, f"--kunitconfig={paths.CONFIGS / config}"]
    command += [f"--jobs={len(os.sched_getaffinity(0))}"]
    command += ["--make_options", "CC=ccache gcc", "--make_options", "HOSTCC=ccache gcc"]
    with progress.step(what) as step:
        run.stream(
            command,
            step.update,
            what=what,
            cwd=top,
            env=environment(),
            log=log,
            ok=ok,
            explain=compiler_errors,
        )
    return top


def environment() -> dict[str, str]:
    """What makes two builds of the same source equal, and ccache share them."""
    return {
        "KBUILD_BUILD_TIMESTAMP": "1970-01-01 00:00:00 UTC",
        "KBUILD_BUILD_USER": "padlab",
        "KBUILD_BUILD_HOST": "padlab",
        "KBUILD_BUILD_VERSION": "1",
        "LOCALVERSION": "",
        "CCACHE_DIR": str(paths.CCACHE),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_COMPILERCHECK": "content",
        "CCACHE_MAXSIZE": "5G",
        # Headers are generated moments before they are used.
        "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",
    }


def _make_command(top: Path, obj: Path, targets: list[str]) -> list[str]:
    jobs = len(os.sched_getaffinity(0))
    return ["make", f"-j{jobs}", "-C", str(top), f"O={obj}", "CC=ccache gcc", "HOSTCC=ccache gcc", *targets]


def _make(top: Path, obj: Path, targets: list[str], what: str, log: str, total: int | None) -> None:
    compiled = 0
    with progress.step(what) as shown:

        def count(line: str) -> None:
            nonlocal compiled
            compiled += bool(_COMPILED.match(line))
            fresh = total if total and compiled <= total else None
            shown.update(f"{compiled} files compiled" + (f" of about {fresh}" if fresh else ""))

        paths.CCACHE.mkdir(parents=True, exist_ok=True)
        run.stream(
            _make_command(top, obj, targets),
            count,
            what=what,
            env=environment(),
            log=paths.LOGS / log,
            todo="fix the source (the compiler's lines are below)",
            explain=compiler_errors,
        )


def compiler_errors(lines: list[str], limit: int = 40) -> list[str]:
    """What the compiler, linker or modpost said about errors, out of make's output."""
    shown: list[str] = []
    block: list[str] = []
    for line in [*lines, "make: end"]:
        if _COMMAND.match(line) or line.startswith("make"):
            if any(_ERROR.search(said) for said in block):
                shown += block
            block = []
        else:
            block.append(line)
    return shown[:limit]
