# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's checkers of source on the files of the series: kernel-doc, Coccinelle, and Sphinx."""

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from checks.source import remarks
from padlab.core import packages, paths, process, progress
from padlab.core.outcome import Outcome, judge
from padlab.kernel import tree
from padlab.kernel.content import copy

# Of the documents that include files which the series edits: all in the first, some in the others.
_MANUALS = ("core-api", "admin-guide/sysctl")

# What a checker says of a tree, with an empty folder and a log of its own.
Checker = Callable[[Path, Path, Path, progress.Step], Iterable[str]]


def check(name: str) -> Outcome:
    """One case, which passes if nothing is said of the patched tree that is not said of stock."""
    groups, checker = CHECKERS[name]
    packages.ensure(*groups)
    log = paths.base().logs / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    said = {}
    for kernel in ("stock", "patched"):
        top, place = tree.ensure_tree(kernel), paths.base().build / "checkers" / name / kernel
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        with progress.step(f"{name} on {kernel}") as step:
            said[kernel] = remarks.parse(checker(top, place, log, step), top)
    return judge(sorted(said["patched"] - said["stock"]), log)


def _files(top: Path) -> list[str]:
    return [name for name in remarks.touched(".c", ".h") if (top / name).exists()]


def _kernel_doc(top: Path, _place: Path, log: Path, _step: progress.Step) -> list[str]:
    command = ["scripts/kernel-doc", "-none", "-Wall", *_files(top)]
    return process.run(command, what="kernel-doc", cwd=top, log=log, ok=range(256)).splitlines()


def _coccinelle(top: Path, place: Path, log: Path, step: progress.Step) -> Iterable[str]:
    """The kernel's semantic patches, as make coccicheck has them report, on files in the folder alone."""
    for name in _files(top):
        copy(top / name, place / name)
    texts = {path: path.read_text() for path in sorted((top / "scripts/coccinelle").rglob("*.cocci"))}
    # Not the two that are partly OCaml, whose compiler is no part of Coccinelle.
    rules = [path for path, text in texts.items() if "virtual report" in text and ":ocaml" not in text]
    for nr, rule in enumerate(rules, 1):
        step.update(f"{rule.stem}, {nr} of {len(rules)}")
        for line in _rule(top, place, rule, log):
            yield line.removeprefix(f"{place}/")


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


def _htmldocs(top: Path, place: Path, log: Path, _step: progress.Step) -> list[str]:
    """The manuals that the series adds to, made by Sphinx."""
    command = ["make", "-C", top, f"O={place}", f"SPHINXDIRS={' '.join(_MANUALS)}", "htmldocs"]
    lines: list[str] = []
    process.stream(command, lines.append, what="make htmldocs", log=log)
    return lines


# By name, with the packages that each needs.
CHECKERS: dict[str, tuple[tuple[str, ...], Checker]] = {
    "kernel-doc": ((), _kernel_doc),
    "coccinelle": (("coccinelle",), _coccinelle),
    "htmldocs": (("build", "sphinx"), _htmldocs),
}
