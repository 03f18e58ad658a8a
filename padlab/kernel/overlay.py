# SPDX-License-Identifier: GPL-2.0-only
"""The overlay of a tree: every file that differs from stock, worked out in full, then put in place.

It is made of the files of linux/ at their paths, the edited files as quilt leaves
them, and for a test the edits of extra patches.
"""

import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from padlab.core import paths, progress
from padlab.core.errors import LabError
from padlab.kernel import coreedits
from padlab.kernel.content import copy, digest, fingerprint
from padlab.kernel.owned import owned_files
from padlab.kernel.state import State, find_edits, refuse_edits, remove, some, write_state


@dataclass(frozen=True)
class Overlay:
    """What a tree has beside stock: owned files, core edits, and for a test more patches."""

    owned: dict[str, Path]
    edits: list[str]
    extra: tuple[Path, ...] = ()

    def digest(self, version: str) -> str:
        paths_of = self.owned | {name: paths.base().patches / name for name in self.edits}
        files = [*paths_of.items(), *((path.name, path) for path in self.extra)]
        return digest([version, *(f"{name} {fingerprint(path)}" for name, path in files)])


def of_series(only: frozenset[str] | None = None, extra: tuple[Path, ...] = ()) -> Overlay:
    """All of the series, or what ``only`` names of it."""
    owned, edits = owned_files(), coreedits.read_series(paths.base().patches)
    if only is not None:
        owned = {name: path for name, path in owned.items() if name in only}
        edits = [name for name in edits if name in only]
    return Overlay(owned, edits, extra)


def sync(tree: Path, have: Overlay, state: State, discard: bool = False) -> None:
    """Give ``tree`` what it is to ``have``."""
    inputs = have.digest(state.version)
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
    stock = paths.base().trees / "stock"
    owned, patched = _work_out(have, stock, scratch, state.version)
    changes = _changes(tree, stock, state, {**owned, **patched})
    if not discard:
        refuse_edits(tree, [name for name, (_, is_edited) in changes.items() if is_edited])
    for name, (content, _) in changes.items():
        install(content, tree / name)
    remove(tree / ".pc")
    if (scratch / ".pc").exists():
        (scratch / ".pc").rename(tree / ".pc")
    # From here on, a file that differs from this has been edited.
    owned_now = {name: fingerprint(path) for name, path in owned.items()}
    patched_now = {name: fingerprint(path) if path else None for name, path in patched.items()}
    patches = {name: fingerprint(paths.base().patches / name) for name in have.edits}
    write_state(tree, State(state.version, inputs, owned_now, patched_now, patches))
    remove(scratch)
    if changes:
        progress.note(f"{paths.shown(tree)}: {len(changes)} files brought up to date")


def _work_out(
    have: Overlay, stock: Path, scratch: Path, version: str
) -> tuple[dict[str, Path], dict[str, Path | None]]:
    """Every file that differs from stock: what to copy to it (None: delete it)."""
    owned = dict(have.owned)
    patched: dict[str, Path | None] = {}
    what = f"applying the core edits to Linux {version}"
    for name in coreedits.apply(stock, _patches(have, scratch), scratch, what=what) if have.edits else []:
        path = scratch / name
        patched[name] = path if path.exists() else None
    if both := sorted(set(owned) & set(patched)):
        todo = "a file is either owned (linux/) or edited (patches/): remove one of them"
        raise LabError("preparing the tree", f"linux/ and patches/ both have {some(both)}", todo)
    for patch in have.extra:
        for part in coreedits.parse(patch.read_text()):
            target, source = scratch / part.path, owned.pop(part.path, stock / part.path)
            if source.exists() and not target.exists():  # else the patch makes it
                copy(source, target)
            patched[part.path] = target
        coreedits.apply_patch(patch, scratch)
    return owned, patched


def _patches(have: Overlay, scratch: Path) -> Path:
    """A folder whose series is what it is to have."""
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
