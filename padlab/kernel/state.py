# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel tree was given, in its ``.padlab-state.json``, and which files were edited since."""

import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import coreedits
from padlab.kernel.content import fingerprint

STATE = ".padlab-state.json"
_FORMAT = 1


@dataclass
class State:
    """What a tree was given: file -> fingerprint (None: deleted)."""

    version: str
    inputs: str = ""
    owned: dict[str, str | None] = field(default_factory=dict)
    hooked: dict[str, str | None] = field(default_factory=dict)  # as core edits left it
    patches: dict[str, str | None] = field(default_factory=dict)
    format: int = _FORMAT

    def files(self) -> dict[str, str | None]:
        return self.owned | self.hooked


def read_state(tree: Path) -> State | None:
    try:
        record = json.loads((tree / STATE).read_text())
    except (OSError, ValueError):
        return None
    return State(**record) if record.get("format") == _FORMAT else None


def known_state(tree: Path) -> State:
    state = read_state(tree)
    if state is None:
        raise LabError(f"the {tree.name} tree", "it has not been made yet", f"run: {paths.command('tree')}")
    return state


def write_state(tree: Path, state: State) -> None:
    temp = tree / (STATE + ".tmp")
    temp.write_text(json.dumps(asdict(state), indent=1) + "\n")
    temp.rename(tree / STATE)


def find_edits(tree: Path, state: State) -> list[str]:
    """Files of the series that differ from what the tree was given."""
    edited = [name for name, given in state.files().items() if fingerprint(tree / name) != given]
    stock = paths.base().trees / "stock"
    for name in coreedits.owner_in(tree):
        if name not in state.files() and fingerprint(tree / name) != fingerprint(stock / name):
            edited.append(name)
    return sorted(edited)


def refuse_edits(tree: Path, edits: list[str]) -> None:
    if edits:
        what = f"bringing {paths.shown(tree)} up to date"
        why = f"it has edits that are not in the repository: {some(edits)}"
        todo = (
            f"run {paths.command('refresh')} to keep them or {paths.command('tree --discard')} to drop them"
        )
        raise LabError(what, why, todo, detail=[f"edited: {name}" for name in edits])


def some(names: list[str]) -> str:
    """A list for one line of text: its first three."""
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest


def differing(left: Path, right: Path) -> set[str]:
    """Source files that differ in content, or are in only one of two trees."""
    listings = _listing(left), _listing(right)
    names = {name for name, _ in set(listings[0].items()) ^ set(listings[1].items())}
    return {name for name in names if fingerprint(left / name) != fingerprint(right / name)}


def _listing(tree: Path) -> dict[str, tuple[int, int]]:
    listing: dict[str, tuple[int, int]] = {}
    folders = [tree]
    while folders:
        folder = folders.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name == "__pycache__" or (folder == tree and is_generated(entry.name)):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                else:
                    info = entry.stat(follow_symlinks=False)
                    listing[os.path.relpath(entry.path, tree)] = (info.st_size, info.st_mtime_ns)
    return listing


def is_generated(name: str) -> bool:
    """Top-level names in a tree that are not kernel source."""
    return name.startswith("obj-") or name in (".pc", STATE, STATE + ".tmp")


def remove(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)
