# SPDX-License-Identifier: GPL-2.0-only
"""Core edits: a quilt series of small edits to files the kernel owns.

They are always applied to copies of the few files they touch, in a scratch folder, with quilt; the tree only
ever receives the result.  So an edit that does not apply leaves the tree as it was, and a file whose content
stays the same keeps its time stamp.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from padlab.core import paths, process
from padlab.core.errors import LabError
from padlab.kernel.content import copy, read

_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_APPLYING = re.compile(r"^Applying patch (?:.*/)?(\S+)$", re.MULTILINE)
_FAILED = re.compile(
    r"^patching file '?([^'\s]+)'?\n(?:Hunk #\d+ succeeded.*\n)*Hunk #(\d+) FAILED at (\d+)", re.MULTILINE
)

_TODO = "edit that patch for this kernel version"

# One line of context on each side: the edits are to survive neighbouring changes
# in later 6.12.N.  Compiling and testing show an edit that was put in a wrong place.
CONTEXT_LINES = 1


@dataclass
class FilePatch:
    path: str
    hunks: list[list[str]] = field(default_factory=list)


def parse(text: str) -> list[FilePatch]:
    """Split a unified diff by file; the lines of hunks are counted, since some look like headers."""
    files: list[FilePatch] = []
    old_left = new_left = 0
    previous = ""
    for line in text.splitlines():
        if old_left > 0 or new_left > 0:
            files[-1].hunks[-1].append(line)
            old_left -= line[:1] in ("-", " ", "")
            new_left -= line[:1] in ("+", " ", "")
        elif line.startswith("+++ ") and previous.startswith("--- "):
            sides = (side[4:].split("\t")[0].strip() for side in (line, previous))
            name = next(side for side in sides if side != "/dev/null")
            files.append(FilePatch(name.partition("/")[2]))
        elif files and (match := _HUNK.match(line)):
            old_left, new_left = (int(count) if count else 1 for count in match.groups())
            files[-1].hunks.append([line])
        previous = line
    return files


def read_series(patches: Path) -> list[str]:
    lines = (line.split("#")[0].split() for line in read(patches / "series").splitlines())
    return [words[0] for words in lines if words]


def touched(patches: Path) -> dict[str, list[str]]:
    """file -> the patches that edit it, in order.  A patch that is only in the series file edits none."""
    files: dict[str, list[str]] = {}
    for name in read_series(patches):
        for part in parse(read(patches / name)):
            files.setdefault(part.path, []).append(name)
    return files


def quilt(args: list[str], tree: Path, patches: Path, *, what: str, log: Path | None = None) -> str:
    """Run quilt in ``tree``, untouched by the user's own quilt settings."""
    settings = {"QUILT_PATCHES": str(patches), "QUILT_SERIES": "series", "QUILT_PC": ".pc"}
    settings |= {f"QUILT_{name}": "" for name in ("DIFF_OPTS", "PATCH_OPTS", "PUSH_ARGS", "REFRESH_ARGS")}
    settings |= {f"QUILT_NO_DIFF_{name}": "1" for name in ("INDEX", "TIMESTAMPS")}
    command = ["quilt", "--quiltrc=/dev/null", *args]
    return process.run(command, what=what, cwd=tree, env=settings, log=log)


def apply(stock: Path, patches: Path, scratch: Path, *, what: str, todo: str = _TODO) -> list[str]:
    """Fill ``scratch`` with the edited files, patched, and quilt's .pc; return their paths."""
    names = touched(patches)
    for name in names:
        if (stock / name).exists():
            copy(stock / name, scratch / name)
    if not read_series(patches):
        return []
    log = paths.base().logs / "quilt-push.log"
    try:
        # Offsets are fine, fuzz is not: it may put an edit in the wrong place.
        quilt(["push", "-a", "--fuzz=0"], scratch, patches, what=what, log=log)
    except LabError as err:
        if err.log is None:
            raise
        why = failure(log.read_text(errors="replace"))
        raise LabError(what, why, todo, log=log, detail=err.detail) from None
    return sorted(names)


def failure(output: str) -> str:
    applying = _APPLYING.findall(output)
    if not applying:
        return "quilt push failed"
    if failed := _FAILED.search(output):
        return f"{applying[-1]}: hunk #{failed[2]} does not apply to {failed[1]} (line {failed[3]})"
    return f"{applying[-1]} does not apply"


def apply_patch(patch: Path, root: Path) -> None:
    command = ["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "--force", "-i", patch]
    todo = f"update {os.path.relpath(patch, paths.ROOT)} to the sources it changes"
    process.run(command, what=f"applying {patch.name}", cwd=root, todo=todo)


def owner_in(tree: Path) -> dict[str, str]:
    """file -> the top-most applied patch that edits it, from quilt's records in ``tree``."""
    owners: dict[str, str] = {}
    for name in read(tree / ".pc/applied-patches").split():
        root = tree / ".pc" / name
        for path in root.rglob("*"):
            if path.is_file() and path.name not in (".timestamp", ".needs_refresh"):
                owners[str(path.relative_to(root))] = name
    return owners


def refresh(tree: Path, patches: Path, name: str) -> None:
    # -f: a patch below others may share a file with them; quilt then
    # takes the version of that file as the next patch found it.
    options = ["-f", f"-U{CONTEXT_LINES}", "-pab", "--no-index", "--no-timestamps"]
    quilt(["refresh", *options, name], tree, patches, what=f"refreshing {name}")
