# SPDX-License-Identifier: GPL-2.0-only
"""What a maintainer's build robot would find: warnings with configurations that no kernel here has.

They are random ones, and other architectures' own.  Objects are compiled that a kernel of the configuration
has: kbuild says which in a dry run.  Asked for an object by its name, it would make any.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks.source import remarks
from padlab.core import packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import arch as archs
from padlab.kernel import build as builds
from padlab.kernel import kconfig, tree
from padlab.kernel.content import copy, read

SEEDS = 20
EVERY_32BIT = 5  # of 32 bits, the others of 64
_COMPILED = re.compile(r" -o (\S+)\.o \.\./\1\.c\b")


@dataclass(frozen=True)
class OtherConfig:
    """What make's ``target`` says, on each tree of its architecture in the same folder."""

    arch: archs.Arch
    target: str
    seed: int = 0

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.arch.name}" if self.seed else f"{self.target}, {self.arch.name}"

    def log(self, kernel: str) -> Path:
        return paths.base().logs / f"other-{kernel}-{self.arch.name}-{self.seed or self.target}.log"

    def obj(self, kernel: str) -> Path:
        return paths.base().trees / kernel / f"obj-other-{self.arch.name}"


RANDOM = [
    OtherConfig(archs.X86_64 if seed % EVERY_32BIT else archs.I386, "randconfig", seed)
    for seed in range(1, SEEDS + 1)
]
CROSS = (
    OtherConfig(archs.RISCV64, "defconfig"),
    OtherConfig(archs.PPC64EL, "ppc64le_defconfig"),
    OtherConfig(archs.S390X, "defconfig"),
)


def check(config: OtherConfig) -> Outcome:
    """Stock is only asked if there is something to be said: it has to say it, too."""
    ours, built = _said(config, "patched")
    if ours:
        ours -= _said(config, "stock")[0]
    progress.note(f"{config}: {len(built)} files of the series are compiled")
    return judge(sorted(ours) if built else ["no file of the series is compiled"], config.log("patched"))


def _said(config: OtherConfig, kernel: str) -> tuple[set[str], list[str]]:
    """The remarks, and the files of the series that ``kernel`` has with ``config``, compiled anew."""
    packages.ensure("build", *config.arch.packages)
    top = tree.ensure_tree(kernel)
    there = (name for name in remarks.touched(".c") if (top / name).exists())
    files = [name for name in there if not name.startswith("tools/")]
    objects = {name: (config.obj(kernel) / name).with_suffix(".o") for name in files}
    what = f"compiling files of {kernel} ({config})"
    with progress.step(what) as step:
        lines = _configure(config, kernel, top)
        for path in objects.values():
            path.unlink(missing_ok=True)
        folders = sorted({f"{Path(name).parent}/" for name in files})
        # One job: with more, lines of one break into those of another.
        dry_run = _make(config, kernel, what, ["-nk", "-j1", *folders], process.ANY)
        built = sorted(set(files) & compiled("\n".join(dry_run)))
        step.update(f"{len(built)} files")
        targets = [str(Path(name).with_suffix(".o")) for name in built]
        lines += _make(config, kernel, what, ["-k", *targets], process.ANY) if built else []
    failed = {f"{name}: it does not compile" for name in built if not objects[name].exists()}
    return remarks.parse(lines, top) | failed, built


def compiled(dry_run: str) -> set[str]:
    """The C files that make would compile."""
    return {f"{name}.c" for name in _COMPILED.findall(dry_run)}


def _make(
    config: OtherConfig,
    kernel: str,
    what: str,
    arguments: list[str],
    ok: Sequence[int] = (0,),
    env: Mapping[str, str] = {},
) -> list[str]:
    top, obj = paths.base().trees / kernel, config.obj(kernel)
    command = builds.make_command(top, obj, config.arch, arguments)
    env = {**builds.environment(), **env}
    return process.run(command, what=what, env=env, log=config.log(kernel), ok=ok).splitlines()


def _configure(config: OtherConfig, kernel: str, top: Path) -> list[str]:
    """What make says.  Stock has what came out for patched, which is configured first."""
    what, obj = f"configuring {kernel} ({config})", config.obj(kernel)
    fragment = paths.CONFIGS / ("random.config" if config.seed else "defconfig.config")
    obj.mkdir(exist_ok=True)
    lines: list[str] = []
    if kernel == "stock":
        copy(config.obj("patched") / ".config", obj / ".config")
    elif config.seed:
        env = {"KCONFIG_SEED": str(config.seed), "KCONFIG_ALLCONFIG": str(fragment)}
        lines += _make(config, kernel, what, [config.target], env=env)
    else:
        lines += _make(config, kernel, what, [config.target])
        builds.merge(top, obj, [fragment], what, config.log(kernel))
    lines += _make(config, kernel, what, ["olddefconfig"])
    lost = kconfig.lost_options([read(fragment)], read(obj / ".config"))
    if lost and kernel != "stock":
        name = paths.shown(fragment)
        why = f"{len(lost)} options did not come out as {name} asks"
        raise LabError(what, why, f"correct {name}", detail=lost)
    return lines + _make(config, kernel, what, ["prepare"])
