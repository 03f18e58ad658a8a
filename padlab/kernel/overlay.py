# SPDX-License-Identifier: GPL-2.0-only
"""The overlay of a tree: every file that differs from stock, worked out in full, then put in place.

It is made of the files of linux/ at their paths, the edited files as quilt leaves
them, and for a test the edits of extra patches.
"""

import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab.core import paths, progress
from padlab.core.errors import LabError
from padlab.kernel import coreedits
from padlab.kernel.content import digest, fingerprint
from padlab.kernel.owned import owned_files
from padlab.kernel.state import State, find_edits, refuse_edits, remove, some, write_state


@dataclass(frozen=True)
class Part:
    owned: dict[str, Path]
    edits: list[str]


def choose(series: bool = True, only: frozenset[str] | None = None) -> Part:
    """All of it, if ``series``, or what ``only`` names of it."""
    if not series:
        return Part({}, [])
    owned, names = owned_files(), coreedits.read_series(paths.base().patches)
    if only is None:
        return Part(owned, names)
    part = {name: path for name, path in owned.items() if name in only}
    return Part(part, [name for name in names if name in only])


def sync(
    tree: Path, extra: Sequence[Path], stock: Path, state: State, discard: bool, have: Part | None = None
) -> None:
    """Give ``tree`` what linux/ and patches/ say, or it is to ``have`` of them, and ``extra`` patches."""
    have = have or choose()
    parts = [f"{name} {fingerprint(path)}" for name, path in have.owned.items()]
    parts += [f"{name} {fingerprint(paths.base().patches / name)}" for name in have.edits]
    inputs = digest([state.version, *parts, *(f"{path.name} {fingerprint(path)}" for path in extra)])
    edited = find_edits(tree, state)
    if state.inputs == inputs and not (discard and edited):
        if edited:
            progress.note(
                f"note: {paths.shown(tree)} has edits that are not in the repository yet: {some(edited)} "
                f"({paths.command('refresh')} keeps them, {paths.command('tree --discard')} drops them)"
            )
        return

    scratch = paths.base().trees / f".{tree.name}-sync"
    remove(scratch)
    scratch.mkdir()
    owned, patched = _overlay(extra, stock, scratch, state.version, have)
    wanted = owned | patched
    changes = _changes(tree, stock, state, wanted)
    if not discard:
        refuse_edits(tree, [name for name, (_, is_edited) in changes.items() if is_edited])
    for name, (content, _) in changes.items():
        install(content, tree / name)
    remove(tree / ".pc")
    if (scratch / ".pc").exists():
        (scratch / ".pc").rename(tree / ".pc")
    # From here on, a file that differs from this has been edited.
    write_state(
        tree,
        State(
            state.version,
            inputs,
            {name: fingerprint(path) for name, path in owned.items()},
            {name: fingerprint(path) if path else None for name, path in patched.items()},
            {name: fingerprint(paths.base().patches / name) for name in have.edits},
        ),
    )
    remove(scratch)
    if changes:
        progress.note(f"{paths.shown(tree)}: {len(changes)} files brought up to date")


def _overlay(
    extra: Sequence[Path], stock: Path, scratch: Path, version: str, have: Part
) -> tuple[dict[str, Path], dict[str, Path | None]]:
    """Work out every file that differs from stock: what to copy to it (None: delete it)."""
    owned = dict(have.owned)
    patched: dict[str, Path | None] = {}
    what = f"applying the core edits to Linux {version}"
    for name in coreedits.apply(stock, _patches(have, scratch), scratch, what=what) if have.edits else []:
        path = scratch / name
        patched[name] = path if path.exists() else None
    both = sorted(set(owned) & set(patched))
    if both:
        todo = "a file is either owned (linux/) or edited (patches/): remove one of them"
        raise LabError("preparing the tree", f"linux/ and patches/ both have {some(both)}", todo)
    for patch in extra:
        for part in coreedits.parse(patch.read_text()):
            name = part.path
            target = scratch / name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                source = owned.get(name, stock / name)
                if source.exists():  # else the patch makes it
                    shutil.copy2(source, target)
            owned.pop(name, None)
            patched[name] = target
        coreedits.apply_patch(patch, scratch)
    return owned, patched


def _patches(have: Part, scratch: Path) -> Path:
    if have.edits == coreedits.read_series(paths.base().patches):
        return paths.base().patches
    folder = scratch / ".pc-patches"
    folder.mkdir()
    for name in have.edits:
        shutil.copy(paths.base().patches / name, folder)
    (folder / "series").write_text("".join(f"{name}\n" for name in have.edits))
    return folder


def _changes(
    tree: Path, stock: Path, state: State, wanted: dict[str, Path | None]
) -> dict[str, tuple[Path | None, bool]]:
    """Which files of ``tree`` are not as wanted: what each should be, and whether it was edited by hand."""
    given = state.files()
    changes = {}
    for name in sorted(set(given) | set(wanted) | set(coreedits.owner_in(tree))):
        content = wanted.get(name, stock / name)
        if content is not None and not content.exists():
            content = None
        now = fingerprint(tree / name)
        if now != (fingerprint(content) if content else None):
            before = given[name] if name in given else fingerprint(stock / name)
            changes[name] = content, now != before
    return changes


def install(content: Path | None, place: Path) -> None:
    """Replace ``place`` by a rename: never half-written, never through a hard link; None: delete it."""
    if content is None:
        place.unlink(missing_ok=True)
        folder = place.parent
        while folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    temp = place.with_name(f".{place.name}.padlab")
    shutil.copyfile(content, temp)
    # The two modes git knows: whatever the user's umask is.
    temp.chmod(0o755 if content.stat().st_mode & stat.S_IXUSR else 0o644)
    temp.rename(place)
