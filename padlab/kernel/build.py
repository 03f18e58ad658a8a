# SPDX-License-Identifier: GPL-2.0-only
"""Building kernels and modules: repeatably, through ccache, and only when something changed.

Objects go to ``build/trees/<kernel>/obj-<config>``.  Being a direct subdirectory of the tree, kbuild names
every source as ``../kernel/fork.c`` there, so that compilations have the same command lines in every clone
and in stock and patched alike.  ccache then has a kernel that was built before, in whatever clone, and of
another kernel each file that includes no header that differs.
"""

import errno
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from padlab.core import host, packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.kernel import arch as archs
from padlab.kernel import content, kconfig, tree
from padlab.kernel.content import Stamp, fingerprint, read
from padlab.kernel.state import known_state

BUILD_ROOM = 1 << 30
_RECIPE = "4"  # change when the way of building changes
_STAMP = ".padlab-built"
_CONFIG_STAMP = ".padlab-configured"
_COMMAND = re.compile(r"^\s+(\[[CMS]\]\s+)?[A-Z][A-Z0-9_]*(\s+\[M\])?\s+\S")
_COMPILED = re.compile(r"^\s+(CC|AS|HOSTCC)\s")
_ERROR = re.compile(
    r": (fatal )?error:|undefined reference|^ERROR: |\bmultiple definition\b|^\S+: Assembler messages"
    r"|No space left on device"
)
_NO_ROOM = os.strerror(errno.ENOSPC)


@dataclass(frozen=True)
class Build:
    kernel: str
    config: kconfig.Config
    tree: Path
    obj: Path
    image: Path
    source_version: str
    release: str

    @property
    def arch(self) -> archs.Arch:
        return self.config.arch


def ensure_build(kernel: str, config: kconfig.Config = kconfig.PERF) -> Build:
    arch = config.arch
    top, obj = _place(kernel, config)
    version = tree.source_version()
    fragments = [path.read_text() for path in config.files(tree.has_series(kernel))]
    parts = [_RECIPE, tree.content_key(kernel), *fragments, *config.make, arch.identity]
    stamp = Stamp(obj / _STAMP, parts)
    if not (stamp.matches() and image(kernel, config).exists()):
        what = f"building {kernel} ({config}, Linux {version})"
        if not stamp.path.exists():
            host.check_room(paths.base().trees, BUILD_ROOM, what)
        targets = [arch.target, "modules", *config.make]
        with stamp.renewed():
            _configure(kernel, config, top, obj)
            make(top, obj, arch, targets, what, f"build-{kernel}-{config}.log", config.compilations)
    release = (obj / "include/config/kernel.release").read_text().strip()
    return Build(kernel, config, top, obj, image(kernel, config), version, release)


def configuration(kernel: str, config: kconfig.Config) -> str:
    top, obj = _place(kernel, config)
    _configure(kernel, config, top, obj)
    return read(obj / ".config")


def _place(kernel: str, config: kconfig.Config) -> tuple[Path, Path]:
    """The tree, and the folder of the objects, which need not be there."""
    packages.ensure("build", *config.arch.packages)
    top = tree.ensure_tree(kernel)
    return top, top / f"obj-{config}"


def image(kernel: str, config: kconfig.Config) -> Path:
    return paths.base().trees / kernel / f"obj-{config}" / config.arch.image


def is_built(kernel: str, config: kconfig.Config, file: str) -> bool:
    return (paths.base().trees / kernel / f"obj-{config}" / file).with_suffix(".o").exists()


def modules(build: Build) -> dict[str, Path]:
    order = read(build.obj / "modules.order").split()
    files = [(build.obj / line).with_suffix(".ko") for line in order]
    return {path.stem.replace("-", "_"): path for path in files}


def ensure_module(build: Build, srcdir: Path) -> Path:
    """The .ko of the module in ``srcdir``, built in a copy: kbuild writes next to sources."""
    place = paths.base().build / "modules" / f"{build.kernel}-{build.config}" / srcdir.name
    sources = [path for path in sorted(srcdir.iterdir()) if path.is_file()]
    parts = [read(build.obj / _STAMP), *(f"{path.name} {fingerprint(path)}" for path in sources)]
    what = f"building module {srcdir.name} for {build.kernel} ({build.config})"

    def fill() -> None:
        for path in sources:
            shutil.copy(path, place)
        log = f"module-{srcdir.name}-{build.kernel}-{build.config}.log"
        make(build.tree, build.obj, build.arch, [f"M={place}", "modules"], what, log, total=None)
        if (count := len(list(place.glob("*.ko")))) != 1:
            raise LabError(what, f"{count} modules came out of it", "let its Makefile build exactly one")

    content.make(place, parts, fill)
    return next(place.glob("*.ko"))


def objects(kernel: str, config: kconfig.Config, files: Sequence[str], variables: Sequence[str]) -> list[str]:
    """Compile ``files`` anew with these arguments of make, apart from the kernel's own; what make says."""
    top, of_kernel = _place(kernel, config)
    obj = of_kernel.with_name(f"{of_kernel.name}-alone")
    _configure(kernel, config, top, obj)
    targets = [str(Path(name).with_suffix(".o")) for name in files]
    for target in targets:
        (obj / target).unlink(missing_ok=True)
    what = f"compiling {len(files)} files of {kernel} ({config})"
    log = f"objects-{kernel}-{config}.log"
    make(top, obj, config.arch, [*variables, *targets], what, log, len(files))
    return read(paths.base().logs / log).splitlines()


def _configure(kernel: str, config: kconfig.Config, top: Path, obj: Path) -> None:
    """Write .config from tinyconfig and the fragments, unless nothing of that changed."""
    fragments = config.files(tree.has_series(kernel))
    state = known_state(top)
    kconfigs = [f"{name} {fingerprint(top / name)}" for name in state.files() if "Kconfig" in name]
    texts = [path.read_text() for path in fragments]
    series = [path.read_text() for path in config.files(series=True)]
    own = sorted(kconfig.own_options())
    parts = [_RECIPE, state.version, *kconfigs, *texts, *own, *series]
    stamp = Stamp(obj / _CONFIG_STAMP, parts)
    if stamp.matches() and (obj / ".config").exists():
        return
    what = f"configuring {kernel} ({config})"
    obj.mkdir(exist_ok=True)
    make = partial(make_command, top, obj, config.arch)
    log = paths.base().logs / f"config-{kernel}-{config}.log"
    with stamp.renewed(), progress.step(what):
        process.run(make(["tinyconfig"]), what=what, env=environment(), log=log)
        merge(top, obj, fragments, what, log)
        process.run(make(["olddefconfig"]), what=what, env=environment(), log=log)
        lost = kconfig.lost_options(texts, (obj / ".config").read_text())
        some_steps = kernel in tree.VARIANTS and tree.VARIANTS[kernel].only is not None
        if some_steps:
            lost = [option for option in lost if kconfig.UNKNOWN not in option]  # it is of a later step
        if lost:
            why = f"{len(lost)} options did not come out as configs/ asks"
            todo = "fix the fragment: a dependency is missing, or this kernel renamed the option"
            raise LabError(what, why, todo, log=log, detail=lost)
        process.run(make(["syncconfig"]), what=what, env=environment(), log=log)
        if not some_steps:  # the options of later steps are of files that it has not
            _share_header(kernel, config, obj)


def merge(top: Path, obj: Path, fragments: Sequence[Path], what: str, log: Path) -> None:
    """Into the .config that is there."""
    dot_config = obj / ".config"
    command = ["scripts/kconfig/merge_config.sh", "-m", "-O", obj, dot_config, *fragments]
    process.run(command, what=what, cwd=top, env={"KCONFIG_CONFIG": str(dot_config)}, log=log)


def _share_header(kernel: str, config: kconfig.Config, obj: Path) -> None:
    """Have the series' own options in autoconf.h as in that of a patched kernel: see kconfig.py."""
    series, patched = obj, "faulty" if config.faults else "patched"
    if kernel != patched:
        top = tree.ensure_tree(patched)
        series = top / obj.name
        _configure(patched, config, top, series)
    header = obj / kconfig.AUTOCONF
    text, own = header.read_text(), kconfig.own_options()
    header.write_text(kconfig.options_last(text, own, (series / kconfig.AUTOCONF).read_text()))


def kunit_uml(
    what: str, args: Sequence[str], config: str, log: Path, ok: Sequence[int] = (0,), kernel: str = "patched"
) -> Path:
    """Have the kernel's own runner build User-mode Linux, run it, or both; return the tree it is in."""
    top = tree.ensure_tree(kernel)
    packages.ensure("build")
    command = ["tools/testing/kunit/kunit.py", *args, f"--kunitconfig={kconfig.kunit_config(config)}"]
    if args[0] != "exec":
        command += [f"--jobs={len(os.sched_getaffinity(0))}"]
    for variable in archs.X86_64.make_variables():
        command += ["--make_options", variable]
    env = environment()
    with progress.step(what) as step:
        process.stream(
            command, step.update, what=what, cwd=top, env=env, log=log, ok=ok, explain=compiler_errors
        )
    return top


def environment() -> dict[str, str]:
    """Variables that make two builds of the same source equal, so that they share ccache's objects."""
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
        # Headers are known by the dependencies that the compiler writes, not by preprocessing
        # first: 18 s instead of 31 s for 49 files that the cache does not have.
        "CCACHE_DEPEND": "1",
        # Headers are generated moments before they are used.  And what is compiled is the same
        # where messages are in another language, or the variable for it is not set.
        "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime,locale",
    }


def make_command(top: Path, obj: Path, arch: archs.Arch, targets: list[str]) -> list[str]:
    jobs = len(os.sched_getaffinity(0))
    return ["make", f"-j{jobs}", "-C", str(top), f"O={obj}", *arch.make_variables(), *targets]


def make(
    top: Path, obj: Path, arch: archs.Arch, targets: list[str], what: str, log: str, total: int | None
) -> None:
    """``total`` is how many files are compiled from nothing, if that is known: for who watches."""
    command, todo = make_command(top, obj, arch, targets), "fix the source (the compiler's lines are below)"
    env, place = environment(), paths.base().logs / log
    compiled = 0
    with progress.step(what) as shown:

        def count(line: str) -> None:
            nonlocal compiled
            compiled += bool(_COMPILED.match(line))
            about = f" of about {total}" if total and compiled <= total else ""
            shown.update(f"{compiled} files compiled{about}")

        paths.CCACHE.mkdir(parents=True, exist_ok=True)
        try:
            process.stream(command, count, what=what, env=env, log=place, todo=todo, explain=compiler_errors)
        except LabError as err:
            if not any(_NO_ROOM in line for line in err.detail):
                raise
            todo = f"free some space for {paths.base().build} and {paths.CCACHE}, and run it again"
            raise LabError(what, "no room on disk", todo, log=err.log, detail=err.detail) from None


def compiler_errors(lines: list[str]) -> list[str]:
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
    return shown[:40]
