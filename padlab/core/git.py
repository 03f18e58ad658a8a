# SPDX-License-Identifier: GPL-2.0-only
"""Which commit this clone is at, for results."""

import shutil
from pathlib import Path

from padlab.core import paths, process
from padlab.core.errors import LabError

UNKNOWN = "unknown"


def commit(root: Path = paths.ROOT) -> str:
    """What git describe --always says; with ``-dirty`` if more than results differ from that.

    Results are left out, since commands that record some run one after another.
    It is "unknown" without git, and in a copy that is no clone.
    """
    if shutil.which("git") is None:
        return UNKNOWN
    try:
        name = _git(root, "describe", "--always").strip()
        changed = _git(root, "status", "--porcelain", "--", ".", f":(exclude){paths.RECORDED.name}")
    except LabError:
        return UNKNOWN
    return f"{name}-dirty" if changed else name


def commit_time() -> str:
    """When the last commit was made, UTC, as a number that grows from commit to commit; 0 if unknown."""
    try:
        return _git(paths.ROOT, "log", "-1", "--format=%cd", "--date=format-local:%Y%m%d%H%M%S").strip()
    except LabError:
        return "0"


def _git(root: Path, *args: str) -> str:
    # Of this clone, whoever owns it, and not of one that it lies in.
    command = ["git", "--no-optional-locks", "-c", f"safe.directory={root}", "-C", root, *args]
    env = {"GIT_CEILING_DIRECTORIES": str(root.parent), "TZ": "UTC"}
    return process.run(command, what=f"git {args[0]}", env=env)
