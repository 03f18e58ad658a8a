# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's checkers of source on the files of the series: kernel-doc, Coccinelle, and Sphinx."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from padlab.check.source import remarks
from padlab.core import packages, paths, process, progress
from padlab.core.outcome import Outcome
from padlab.kernel import tree

_PLACE = paths.BUILD / "checkers"
# Of the documents that include files which the series edits: all in the first, some in the others.
_MANUALS = ("core-api", "admin-guide/sysctl")


def _judged(said: Callable[[str], set[str]], log: Path) -> Outcome:
    return remarks.new(said("stock"), said("patched"), log)


# kernel-doc


def kernel_doc() -> Outcome:
    """Comments of functions and structs: none is malformed, or lacks what it should have."""
    log = paths.LOGS / "kernel-doc.log"

    def said(kernel: str) -> set[str]:
        top = tree.ensure_tree(kernel)
        command = ["scripts/kernel-doc", "-none", "-Wall", *_files(top)]
        output = process.run(command, what="kernel-doc", cwd=top, log=log, ok=range(256))
        return remarks.parse(output.splitlines(), top)

    return _judged(said, log)


def _files(top: Path) -> list[str]:
    return [name for name in remarks.touched(".c", ".h") if (top / name).exists()]


# Coccinelle


def coccinelle() -> Outcome:
    """The kernel's semantic patches, as make coccicheck has them report."""
    packages.ensure("coccinelle")
    log = paths.LOGS / "coccinelle.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")

    def said(kernel: str) -> set[str]:
        top = tree.ensure_tree(kernel)
        place = _PLACE / "coccinelle" / kernel
        _copy(top, place)
        lines: list[str] = []
        rules = [path for path in sorted((top / "scripts/coccinelle").rglob("*.cocci")) if _reports(path)]
        with progress.step(f"Coccinelle on {kernel}") as step:
            for nr, rule in enumerate(rules, 1):
                step.update(f"{rule.stem}, {nr} of {len(rules)}")
                lines += _rule(top, place, rule, log)
        return remarks.parse(lines, place)

    return _judged(said, log)


def _copy(top: Path, place: Path) -> None:
    """The files of the series, of a tree, in a folder by themselves."""
    shutil.rmtree(place, ignore_errors=True)
    for name in _files(top):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(top / name, place / name)


def _reports(rule: Path) -> bool:
    """Not the two that are partly OCaml, whose compiler is no part of Coccinelle."""
    text = rule.read_text()
    return "virtual report" in text and ":ocaml" not in text


def _rule(top: Path, place: Path, rule: Path, log: Path) -> list[str]:
    """What a rule reports: make coccicheck's script, with what make gives it."""
    includes = ("include", "arch/x86/include", "include/uapi", "arch/x86/include/uapi")
    environment = {
        "srctree": str(top),
        "KBUILD_EXTMOD": str(place),
        "LINUXINCLUDE": " ".join(f"-I{top}/{folder}" for folder in includes),
        "MODE": "report",
        "COCCI": str(rule),
        "J": str(len(os.sched_getaffinity(0))),
    }
    command = ["bash", top / "scripts/coccicheck"]
    # It leaves folders in its current one while it runs.
    output = process.run(command, what=f"coccicheck, {rule.stem}", cwd=place.parent, env=environment)
    with log.open("a") as file:
        file.write(output)
    return output.splitlines()


# Sphinx


def htmldocs() -> Outcome:
    """The manuals that the series adds to."""
    packages.ensure("build", "sphinx")
    log = paths.LOGS / "htmldocs.log"

    def said(kernel: str) -> set[str]:
        top = tree.ensure_tree(kernel)
        place = _PLACE / "htmldocs" / kernel
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        command = ["make", "-C", top, f"O={place}", f"SPHINXDIRS={' '.join(_MANUALS)}", "htmldocs"]
        lines: list[str] = []
        with progress.step(f"manuals of {kernel}, by Sphinx"):
            process.stream(command, lines.append, what="make htmldocs", log=log)
        return remarks.parse(lines, top)

    return _judged(said, log)
