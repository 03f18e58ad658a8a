# SPDX-License-Identifier: GPL-2.0-only
"""C programs compiled on the host: those of the tree's tools/testing, and static ones for the guest.

Each has a stamp of its sources and of the compiler.  When one of these changes,
it is made from nothing: make goes by times, which files copied into a tree do
not tell.  Everything is under ``build/native``; whoever builds there has it alone.
"""

import contextlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab.core import exclusive, packages, paths, process, progress
from padlab.kernel import content, tree
from padlab.kernel.arch import X86_64, Arch
from padlab.kernel.content import Stamp, fingerprint

# The job engine, which most of the tools run.
ENGINE = ("kernel/padata_mt.c", "kernel/padata_mt.h", "include/linux/padata_mt.h")
_STATIC = ("-O2", "-Wall", "-Wextra", "-static", "-pthread")


@dataclass(frozen=True)
class Tool:
    """A folder of the patched tree whose Makefile makes programs of it and of ``sources`` elsewhere."""

    folder: str
    sources: tuple[str, ...]
    suffix: str = ""  # of the folder that it makes them in

    @property
    def place(self) -> Path:
        return paths.base().build / "native" / f"{Path(self.folder).name}{self.suffix}"


def make(tool: Tool, program: str, *variables: str) -> Path:
    packages.ensure("build")
    top = tree.ensure_tree("patched")
    stamp = Stamp(tool.place / ".padlab-sources", marks(tool))
    with exclusive.alone(tool.place.with_name(f".{tool.place.name}.lock")):
        said = contextlib.nullcontext() if stamp.matches() else progress.step(f"building {program}")
        if not stamp.matches():
            shutil.rmtree(tool.place, ignore_errors=True)
        with said, stamp.renewed():
            make_by_times(tool, program, top, tool.place, variables)
    return tool.place / program


def marks(tool: Tool) -> list[str]:
    """What the programs of ``tool`` are made from."""
    top = tree.ensure_tree("patched")
    places = (top / name for name in (tool.folder, *tool.sources))
    files = (file for place in places for file in ([place] if place.is_file() else sorted(place.iterdir())))
    return [
        X86_64.identity,
        *(f"{file.relative_to(top)} {fingerprint(file)}" for file in files if file.is_file()),
    ]


def cpus() -> int:
    """How many CPUs programs may use, and a bench uses."""
    return len(os.sched_getaffinity(0))


def make_by_times(tool: Tool, program: str, top: Path, place: Path, variables: Sequence[str] = ()) -> Path:
    packages.ensure("build")
    place.mkdir(parents=True, exist_ok=True)
    command = ["make", "-s", f"-j{cpus()}", "-C", top / tool.folder]
    command += [f"O={place}", "CC=gcc", *variables, place / program]
    process.run(command, what=f"building {program}", log=paths.base().logs / f"native-{tool.place.name}.log")
    return place / program


def static(source: Path, arch: Arch = X86_64) -> bytes:
    """The program that the C file ``source`` and the headers beside it are, without libraries."""
    packages.ensure("build", *arch.packages)
    place = paths.base().build / "native/programs" / arch.name / source.stem
    files = (source, *sorted(source.parent.glob("*.h")))
    parts = [arch.identity, *_STATIC, *(f"{file} {fingerprint(file)}" for file in files)]
    what, log = f"building {source.name}", paths.base().logs / f"native-{source.stem}.log"
    command = [arch.compiler, *_STATIC, "-o", place / "program", source]
    content.make(place, parts, lambda: process.run(command, what=what, log=log))
    return (place / "program").read_bytes()
