# SPDX-License-Identifier: GPL-2.0-only
"""Edits made in the patched tree, written back to linux/ and patches/, or to where the base has its own."""

from pathlib import Path

from padlab.core import packages, paths
from padlab.core.errors import LabError
from padlab.kernel import coreedits, overlay, owned
from padlab.kernel.content import fingerprint
from padlab.kernel.state import State, differing, find_edits, known_state, some


def refresh(difference: str = "") -> list[str]:
    """Write edits made in the patched tree back to linux/ and patches/; return what was written.

    An owned file that the base in use has otherwise is written to the patch that says how.
    ``difference`` is such a patch, to which edits of other owned files go instead of linux/.
    """
    packages.ensure("quilt")
    tree = paths.base().trees / "patched"
    state = known_state(tree)
    edited = find_edits(tree, state)
    owners = coreedits.owner_in(tree)
    patches = sorted({owners[name] for name in edited if name in owners})
    files = [name for name in edited if name not in owners]
    _check_conflicts(tree, state, files, patches)
    own = _own_patches(files, difference)

    written = []
    for name in files:
        if name not in own:
            edit = tree / name
            overlay.install(edit if edit.exists() else None, paths.LINUX / name)
            written.append(f"linux/{name}")
    folder = owned.differences(paths.base())
    for patch in sorted(set(own.values())):
        assert folder
        mine = {name: tree / name for name, owner in own.items() if owner == patch}
        owned.write_difference(folder, patch, mine)
        written.append(paths.shown(folder / patch))
    for name in patches:
        coreedits.refresh(tree, paths.base().patches, name)
        written.append(paths.shown(paths.base().patches / name))
    overlay.sync(tree, overlay.of_series(), state)
    return written


def _own_patches(files: list[str], difference: str) -> dict[str, str]:
    """The owned files that the base has, or is to have, otherwise than linux/: file -> patch."""
    folder = owned.differences(paths.base())
    if folder is None:
        if difference:
            raise LabError("refresh", f"linux/ is as base {paths.base().name} has it", "leave out --own")
        return {}
    patch_of = owned.patch_of(folder)
    patches = {name: patch_of.get(name, difference) for name in files}
    return {name: patch for name, patch in patches.items() if patch}


def _check_conflicts(tree: Path, state: State, files: list[str], patches: list[str]) -> None:
    """Refuse to overwrite what changed in the repository as well."""
    both = []
    now = owned.owned_files()
    for name in files:
        mine, given = fingerprint(now.get(name, paths.LINUX / name)), state.owned.get(name)
        if mine not in (given, fingerprint(tree / name)):
            both.append(f"linux/{name}")
    for name in patches:
        if name in state.patches and fingerprint(paths.base().patches / name) != state.patches[name]:
            both.append(paths.shown(paths.base().patches / name))
    if both:
        why = f"{some(both)} changed since the tree was made from it, and the tree was edited too"
        discard = paths.command("tree --discard")
        todo = f"copy your edits out of {paths.shown(tree)}, run {discard}, and edit again"
        raise LabError("refresh", why, todo)


def strays() -> list[str]:
    """Files of the patched tree that were added or edited and that neither linux/ nor a patch has."""
    tree, stock = paths.base().trees / "patched", paths.base().trees / "stock"
    known = {*known_state(tree).files(), *coreedits.owner_in(tree)}
    return sorted(differing(stock, tree) - known)
