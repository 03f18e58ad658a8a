# SPDX-License-Identifier: GPL-2.0-only
"""Where things are.  Everything generated is under build/ or in the user's cache.

Some of it is of one base: of the Linux that the kernel side is applied to.  Base 6.12 has the folders at the
top; what is another base's own is in ``bases/NAME``, and what is made for it in ``build/NAME`` and
``results/NAME``.  A process works on the base that its environment names, see base(); what it starts has that
environment, too.
"""

import functools
import os
from dataclasses import dataclass
from pathlib import Path

from padlab.core.errors import LabError

ROOT = Path(__file__).resolve().parent.parent.parent

# Of all bases.
LINUX = ROOT / "linux"  # files the series owns, at their kernel paths
CONFIGS = ROOT / "configs"
MACHINES = ROOT / "machines"
TESTS = ROOT / "tests"
CHECKS = ROOT / "checks"  # data of checks: models, mutants, faults, tables
BASES = ROOT / "bases"
RECORDED = ROOT / "results"
SHARED = ROOT / "build"  # the lock of the clone, the Python environment

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "padata-mt"
DOWNLOADS = CACHE / "downloads"
CCACHE = CACHE / "ccache"

DEFAULT_BASE = "6.12"
BASE_VARIABLE = "PADLAB_BASE"


@dataclass(frozen=True)
class Base:
    """A Linux that the series applies to, and where the files are that belong to it."""

    name: str
    own: Path | None  # what differs from base 6.12, see bases/README.md
    patches: Path  # edits of core files, a quilt series
    results: Path
    build: Path

    @classmethod
    def named(cls, name: str) -> "Base":
        if name not in bases():
            raise LabError("base", f"there is no {name!r}", f"choose one of: {', '.join(bases())}")
        if name == DEFAULT_BASE:
            return cls(name, None, ROOT / "patches", RECORDED, SHARED)
        own = BASES / name
        return cls(name, own, own / "patches", RECORDED / name, SHARED / name)

    def find(self, name: str) -> Path | None:
        """What is called so in the base's own folder, if that has it."""
        path = self.own / name if self.own else None
        return path if path and path.exists() else None

    @property
    def trees(self) -> Path:
        return self.build / "trees"

    @property
    def logs(self) -> Path:
        return self.build / "logs"

    @property
    def boots(self) -> Path:
        """One folder per boot: command line, console log, result."""
        return self.build / "boots"

    @property
    def initramfs(self) -> Path:
        return self.build / "initramfs"


def bases() -> list[str]:
    own = sorted(path.name for path in BASES.glob("*") if path.is_dir())
    return [DEFAULT_BASE, *own]


@functools.cache
def base() -> Base:
    """The base that this process works on, from its first call on: it does not change after that."""
    return Base.named(os.environ.get(BASE_VARIABLE) or DEFAULT_BASE)


def choose_base(name: str) -> None:
    """Let this process, and what it starts, work on the base ``name``."""
    Base.named(name)
    os.environ[BASE_VARIABLE] = name
    assert base().name == name, f"base {base().name} is in use already"


def command(words: str) -> str:
    return f"./lab {words}" if base().name == DEFAULT_BASE else f"./lab {words} --base {base().name}"


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def table(name: str) -> Path:
    """The file ``name`` of checks/, or what the base has instead."""
    return over(name) or CHECKS / name


def over(name: str) -> Path | None:
    """What the base lays over the table ``name`` of checks/, if it does: see toml.load()."""
    return base().find(f"checks/{name}")
