# SPDX-License-Identifier: GPL-2.0-only
"""Configurations that no kernel here has: random ones, and other architectures' own.

With these, objects are compiled that a kernel of the configuration has: kbuild says which in
a dry run.  Asked for an object by its name, it would make any.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

    def log(self, kernel: str) -> Path:
        return paths.base().logs / f"other-{kernel}-{self.arch.name}-{self.seed or self.target}.log"

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
        said = _configure(config, kernel, top)
        for name in files:
            _object(config, top, name).unlink(missing_ok=True)
        folders = sorted({f"{Path(name).parent}/" for name in files})
        # One job: with more, lines of one break into those of another.
        dry_run = _make(config, kernel, what, ["-nk", "-j1", *folders], process.ANY)
        built = sorted(set(files) & compiled("\n".join(dry_run)))
        step.update(f"{len(built)} files")
        targets = [str(Path(name).with_suffix(".o")) for name in built]
        said += _make(config, kernel, what, ["-k", *targets], process.ANY) if built else []
        return built, said


def is_compiled(config: OtherConfig, kernel: str, file: str) -> bool:
    return _object(config, paths.base().trees / kernel, file).exists()


def _object(config: OtherConfig, top: Path, file: str) -> Path:
    return (config.obj(top) / file).with_suffix(".o")


def _make(
    config: OtherConfig,
    kernel: str,
    what: str,
    arguments: list[str],
    ok: Sequence[int] = (0,),
    env: Mapping[str, str] = {},
) -> list[str]:
    top = paths.base().trees / kernel
    command = builds.make_command(top, config.obj(top), config.arch, arguments)
    env = {**builds.environment(), **env}
    return process.run(command, what=what, env=env, log=config.log(kernel), ok=ok).splitlines()


def _configure(config: OtherConfig, kernel: str, top: Path) -> list[str]:
    """What make says.  Stock has what came out for patched, which is configured first."""
    what = f"configuring {kernel} ({config})"
    obj, fragment = config.obj(top), _fragment(config)
    obj.mkdir(exist_ok=True)
    dot_config = obj / ".config"
    said: list[str] = []
    if kernel == "stock":
        copy(config.obj(paths.base().trees / "patched") / ".config", dot_config)
    elif config.seed:
        env = {"KCONFIG_SEED": str(config.seed), "KCONFIG_ALLCONFIG": str(fragment)}
        said += _make(config, kernel, what, [config.target], env=env)
    else:
        said += _make(config, kernel, what, [config.target])
        builds.merge(top, obj, [fragment], what, config.log(kernel))
    said += _make(config, kernel, what, ["olddefconfig"])
    lost = kconfig.lost_options([read(fragment)], read(dot_config))
    if lost and kernel != "stock":
        name = paths.shown(fragment)
        why = f"{len(lost)} options did not come out as {name} asks"
        raise LabError(what, why, f"correct {name}", detail=lost)
    return said + _make(config, kernel, what, ["prepare"])


def _fragment(config: OtherConfig) -> Path:
    return paths.CONFIGS / ("random.config" if config.seed else "defconfig.config")
