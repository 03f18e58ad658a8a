# SPDX-License-Identifier: GPL-2.0-only
"""Where things are.  Everything generated is under build/ or in the user's cache.

Some of it is of one base: of the Linux that the kernel side is applied to.  Base 6.12 has the names at the
top; what is another base's own is in ``bases/NAME``, and what is made for it in ``build/NAME`` and
``results/NAME``.  ``use_base()`` is called before any module is imported that has a path of a base; a program
that the lab runs has the base in its environment.
"""

import contextlib
import os
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

# Of the base in use.
BASE: str
OWN: Path | None  # what differs from base 6.12, see bases/README.md
PATCHES: Path  # hooks, a quilt series
RESULTS: Path
BUILD: Path
TREES: Path  # kernel trees: stock, patched, faulty
LOGS: Path
BOOTS: Path  # one folder per boot: command line, console log, result
INITRAMFS: Path


def bases() -> list[str]:
    """The names of all bases, the default first."""
    own = sorted(path.name for path in BASES.glob("*") if path.is_dir())
    return [DEFAULT_BASE, *own]


def results_of(base: str) -> Path:
    """Where the results of a base are, whatever base is in use."""
    return RECORDED if base == DEFAULT_BASE else RECORDED / base


def use_base(name: str) -> None:
    """Let this process, and what it starts, work on the base ``name``."""
    if name not in bases():
        raise LabError("base", f"there is no {name!r}", f"choose one of: {', '.join(bases())}")
    if name != BASE:
        _set(name)
    os.environ[BASE_VARIABLE] = name


def command(words: str) -> str:
    return f"./lab {words}" if BASE == DEFAULT_BASE else f"./lab {words} --base {BASE}"


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def table(name: str) -> Path:
    """The file ``name`` of checks/, or what the base has instead."""
    return over(name) or CHECKS / name


def over(name: str) -> Path | None:
    """What the base lays over the table ``name`` of checks/, if it does: see toml.load()."""
    own = OWN / "checks" / name if OWN else None
    return own if own and own.exists() else None


def _set(name: str) -> None:
    global BASE, OWN, PATCHES, RESULTS, BUILD, TREES, LOGS, BOOTS, INITRAMFS
    BASE = name
    OWN = None if name == DEFAULT_BASE else BASES / name
    PATCHES = OWN / "patches" if OWN else ROOT / "patches"
    RESULTS = results_of(name)
    BUILD = SHARED / name if OWN else SHARED
    TREES = BUILD / "trees"
    LOGS = BUILD / "logs"
    BOOTS = BUILD / "boots"
    INITRAMFS = BUILD / "initramfs"


_set(DEFAULT_BASE)
# A name that is none is answered where the command line is read.
with contextlib.suppress(LabError):
    use_base(os.environ.get(BASE_VARIABLE) or DEFAULT_BASE)
