# SPDX-License-Identifier: GPL-2.0-only
"""Configurations that no kernel here has: random ones, and other architectures' own.

With these, objects are compiled that a kernel of the configuration has: kbuild says which in
a dry run.  Asked for an object by its name, it would make any.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from padlab.core import packages, paths, process, progress, toml
from padlab.core.errors import LabError
from padlab.kernel import arch as archs
from padlab.kernel import build as builds
from padlab.kernel import kconfig, tree
from padlab.kernel.content import copy, read

_COMPILED = re.compile(r" -o (\S+)\.o \.\./\1\.c\b")


class Robot(Struct, frozen=True, forbid_unknown_fields=True):
    """checks/robot.toml"""

    seeds: int
    every_32bit: int


@dataclass(frozen=True)
class OtherConfig:
    """What make's ``target`` says, on each tree of its architecture in the same folder."""

    arch: archs.Arch
    target: str
    seed: int = 0

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.arch.name}" if self.seed else f"{self.target}, {self.arch.name}"

    @cached_property
    def log(self) -> Path:
        return paths.LOGS / f"other-{self.arch.name}-{self.seed or self.target}.log"

    def obj(self, top: Path) -> Path:
        return top / f"obj-other-{self.arch.name}"


CROSS = (
    OtherConfig(archs.RISCV64, "defconfig"),
    OtherConfig(archs.PPC64EL, "ppc64le_defconfig"),
    OtherConfig(archs.S390X, "defconfig"),
)


def of_seeds() -> list[OtherConfig]:
    robot = toml.load(paths.CHECKS / "robot.toml", Robot)
    return [
        OtherConfig(archs.X86_64 if seed % robot.every_32bit else archs.I386, "randconfig", seed)
        for seed in range(1, robot.seeds + 1)
    ]


def compiled(dry_run: str) -> set[str]:
    """The C files that make would compile."""
    return {f"{name}.c" for name in _COMPILED.findall(dry_run)}


def compile_objects(config: OtherConfig, kernel: str, files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Of ``files``, those that ``kernel`` has with ``config``, compiled anew; and what make says."""
    packages.ensure("build", *config.arch.packages)
    top = tree.ensure_tree(kernel)
    what = f"compiling files of {kernel} ({config})"
    with progress.step(what) as step:
        _configure(config, kernel, top)
        objects = {name: str(Path(name).with_suffix(".o")) for name in files}
        for name in objects.values():
            (config.obj(top) / name).unlink(missing_ok=True)
        folders = sorted({f"{Path(name).parent}/" for name in files})
        # One job: with more, lines of one break into those of another.
        command = _make(config, top, ["-nk", "-j1", *folders])
        dry = process.run(command, what=what, env=builds.environment(), ok=process.ANY)
        built = sorted(set(files) & compiled(dry))
        targets = [objects[name] for name in built]
        lines: list[str] = []
        if targets:
            command = _make(config, top, ["-k", *targets])

            def say(line: str) -> None:
                lines.append(line)
                step.update(f"{len(lines)} lines of make")

            process.stream(command, say, what=what, env=builds.environment(), log=config.log, ok=process.ANY)
        return built, lines


def is_compiled(config: OtherConfig, kernel: str, file: str) -> bool:
    return (config.obj(paths.TREES / kernel) / file).with_suffix(".o").exists()


def _make(config: OtherConfig, top: Path, arguments: list[str]) -> list[str]:
    return builds.make_command(top, config.obj(top), config.arch, arguments)


def _configure(config: OtherConfig, kernel: str, top: Path) -> None:
    """Stock has what patched came out with; patched is configured first."""
    what = f"configuring {kernel} ({config})"
    obj, fragment = config.obj(top), _fragment(config)
    obj.mkdir(exist_ok=True)

    def make(*targets: str, **env: str) -> None:
        command = _make(config, top, [*targets])
        process.run(command, what=what, env=builds.environment() | env, log=config.log, ok=(0,))

    if kernel == "stock":
        copy(config.obj(paths.TREES / "patched") / ".config", obj / ".config")
    elif config.seed:
        make(config.target, KCONFIG_SEED=str(config.seed), KCONFIG_ALLCONFIG=str(fragment))
    else:
        make(config.target)
        merge = ["scripts/kconfig/merge_config.sh", "-m", "-O", obj, obj / ".config", fragment]
        env = {"KCONFIG_CONFIG": str(obj / ".config")}
        process.run(merge, what=what, cwd=top, env=env, log=config.log)
    make("olddefconfig")
    lost = kconfig.lost_options([read(fragment)], read(obj / ".config"))
    if lost and kernel != "stock":
        name = paths.shown(fragment)
        raise LabError(
            what, f"{len(lost)} options did not come out as {name} asks", f"correct {name}", detail=lost
        )
    make("prepare")


def _fragment(config: OtherConfig) -> Path:
    return paths.CONFIGS / ("random.config" if config.seed else "defconfig.config")
