# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel tree was given, in its ``.padlab-state.json``, and which files were edited since."""

import shutil
from pathlib import Path
from typing import Literal

import msgspec

from padlab.core import paths, process
from padlab.core.errors import LabError
from padlab.kernel import coreedits
from padlab.kernel.content import fingerprint

STATE = ".padlab-state.json"


class State(msgspec.Struct):
    """What a tree was given: file -> fingerprint (None: deleted)."""

    version: str
    inputs: str = ""
    owned: dict[str, str | None] = {}
    hooked: dict[str, str | None] = {}  # as core edits left it
    patches: dict[str, str | None] = {}
    format: Literal[1] = 1

    def files(self) -> dict[str, str | None]:
        return self.owned | self.hooked


def read_state(tree: Path) -> State | None:
    try:
        return msgspec.json.decode((tree / STATE).read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        return None


def known_state(tree: Path) -> State:
    state = read_state(tree)
    if state is None:
        raise LabError(f"the {tree.name} tree", "it has not been made yet", f"run: {paths.command('tree')}")
    return state


def write_state(tree: Path, state: State) -> None:
    temp = tree / (STATE + ".tmp")
    temp.write_bytes(msgspec.json.encode(state))
    temp.rename(tree / STATE)


def find_edits(tree: Path, state: State) -> list[str]:
    """Files of the series that differ from what the tree was given."""
    stock = paths.base().trees / "stock"
    given = {name: fingerprint(stock / name) for name in coreedits.owner_in(tree)} | state.files()
    return sorted(name for name, mark in given.items() if fingerprint(tree / name) != mark)


def refuse_edits(tree: Path, edits: list[str]) -> None:
    if edits:
        what = f"bringing {paths.shown(tree)} up to date"
        why = f"it has edits that are not in the repository: {some(edits)}"
        keep, drop = paths.command("refresh"), paths.command("tree --discard")
        todo = f"run {keep} to keep them or {drop} to drop them"
        raise LabError(what, why, todo, detail=[f"edited: {name}" for name in edits])


def some(names: list[str]) -> str:
    """A list for one line of text: its first three."""
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest


def differing(left: Path, right: Path) -> set[str]:
    """Source files that differ in content, or are in only one of two trees."""
    lines = _listing(left) ^ _listing(right)
    names = {line.rsplit(" ", 2)[0] for line in lines}
    return {name for name in names if fingerprint(left / name) != fingerprint(right / name)}


def _listing(tree: Path) -> set[str]:
    """Name, size and time of each source file."""
    generated = [path.name for path in tree.iterdir() if is_generated(path.name)]
    skipped = [word for name in generated for word in ("-o", "-path", f"./{name}")]
    command = ["find", ".", "(", "-name", "__pycache__", *skipped, ")", "-prune"]
    command += ["-o", "!", "-type", "d", "-printf", "%P %s %T@\\n"]
    return set(process.run(command, what=f"listing {tree.name}", cwd=tree).splitlines())


def is_generated(name: str) -> bool:
    """Top-level names in a tree that are not kernel source."""
    return name.startswith("obj-") or name in (".pc", STATE, STATE + ".tmp")


def remove(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)
