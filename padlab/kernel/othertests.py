# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the kernel tree that nobody here wrote, as programs.

tools/testing/memblock and tools/testing/vma run on the host, and are built once for each
kernel, whose code they contain.  Makefiles write next to their sources, so each is built in
a copy.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from padlab.core import packages, paths, process, progress
from padlab.kernel import compiler, tree
from padlab.kernel.content import Stamp

SOURCES = paths.TESTS / "outside"
PACKAGES = ("build", "outside")

_RECIPE = "1"  # change when the way of building changes
_PLACE = paths.BUILD / "native/outside"
_HOST_PARTS = ("tools", "mm", "lib", "include", "arch/x86/include")


def host_program(kernel: str, name: str, *variables: str) -> Path:
    """tools/testing/``name`` with code of ``kernel``; ``variables`` are arguments of make."""
    packages.ensure(*PACKAGES)
    top = tree.ensure_tree(kernel)
    variant = "-".join((kernel, name, *variables)).replace("=", "")
    place = _PLACE / variant
    program = place / name
    shim = SOURCES / "vma_close.h"
    stamp = Stamp(place / ".padlab-built", [*_parts(kernel), shim.read_text()])
    if not stamp.matches():
        with stamp.renewed(), progress.step(f"building {name} of {kernel}"):
            _renew(place)
            copy = _copy(top, _HOST_PARTS, place / "tree")
            built = copy / "tools/testing" / name / {"memblock": "main"}.get(name, name)
            cc = f"gcc -include {shim}" if name == "vma" else "gcc"
            _make(built.parent, f"CC={cc}", *variables, built.name, log=f"outside-{variant}.log")
            built.rename(program)
            shutil.rmtree(copy)
    return program


def _parts(kernel: str) -> list[str]:
    return [_RECIPE, tree.content_key(kernel), compiler.identity()]


def _renew(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)


def _copy(top: Path, names: tuple[str, ...], place: Path) -> Path:
    """The parts ``names`` of the tree ``top``, copied to ``place``."""
    place.mkdir(exist_ok=True)
    process.run(
        ["cp", "-a", "--reflink=auto", "--parents", "-t", place, *names],
        what=f"copying parts of {top.name}",
        cwd=top,
    )
    return place


def _make(folder: Path, *args: str, log: str) -> None:
    jobs = len(os.sched_getaffinity(0))
    process.run(
        ["make", "-s", f"-j{jobs}", "-C", folder, *args],
        what=f"building {folder.name}",
        log=paths.LOGS / log,
    )
