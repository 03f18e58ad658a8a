# SPDX-License-Identifier: GPL-2.0-only
"""Kernel trees under build/trees: made once, then kept up to date file by file.

``stock`` is the package's source, untouched.  Every other tree is stock plus an overlay (overlay.py), of
which only files whose content differs are replaced.  So an interrupted run is finished by the next one, and
make rebuilds what changed.

A tree remembers what it was given (state.py).  A file that is neither that nor what the repository now says
was edited by hand, and is overwritten only if the user says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from padlab.core import host, packages, paths, process, progress
from padlab.kernel import coreedits, overlay, source
from padlab.kernel.content import digest, fingerprint
from padlab.kernel.source import Given
from padlab.kernel.state import (
    State,
    find_edits,
    is_generated,
    known_state,
    read_state,
    refuse_edits,
    remove,
    write_state,
)

TREE_ROOM = 2 << 30


@dataclass(frozen=True)
class Variant:
    """A kind of tree: which patches it has, and whether on top of the series or of stock.

    ``linked`` trees share unchanged files with stock through hard links: cheap, and right for trees
    nobody edits by hand.  ``only`` has the names of owned files and patches, if the tree is to have a
    part of the series.
    """

    extra: tuple[Path, ...] = ()
    linked: bool = False
    series: bool = True
    only: frozenset[str] | None = None


def _faults(pattern: str) -> tuple[Path, ...]:
    return tuple(sorted((paths.CHECKS / "faults").glob(pattern)))


# Beside stock.  "faulty" and "mirrored" are for tests: the series with all of checks/faults/,
# and stock with what of it is for stock, too: memory that can be mirrored, or has to be
# accepted.  Each of these patches is for all bases: its context is of lines that they have in common.
VARIANTS: dict[str, Variant] = {
    "patched": Variant(),
    "faulty": Variant(_faults("*.patch"), linked=True),
    "mirrored": Variant(_faults("*-memory.patch"), linked=True, series=False),
}


def ensure_tree(
    kernel: str, *, discard: bool = False, update: bool = False, given: Given | None = None
) -> Path:
    """Make the tree of ``kernel`` if needed and bring it up to date; return its path.

    Its source is the package's, as it was unpacked, or its newest version if ``update``,
    or what is ``given``: the next calls stay with that.

    Edits made in the tree stay as long as the repository has not changed, and a
    note names them.  When it has changed, this stops, unless ``discard`` drops them.
    """
    version = _ensure_given(given) if given else _ensure_stock(update)
    tree = paths.base().trees / kernel
    if kernel == "stock":
        return tree
    packages.ensure("quilt")
    variant = VARIANTS[kernel]
    state = read_state(tree)
    if state is None or state.version != version:
        if state is not None and not discard:
            refuse_edits(tree, find_edits(tree, state))
        _clone(tree, variant.linked, version)
        state = State(version)
    only = variant.only if variant.series else frozenset()
    overlay.sync(tree, overlay.of_series(only, variant.extra), state, discard)
    return tree


def source_version() -> str:
    return known_state(paths.base().trees / "stock").version


def has_series(kernel: str) -> bool:
    return kernel != "stock" and VARIANTS[kernel].series


def content_key(kernel: str) -> str:
    """Changes when a file of the series, or an edit of one, changes in the tree of ``kernel``."""
    tree = paths.base().trees / kernel
    state = known_state(tree)
    files = sorted(set(state.files()) | set(coreedits.owner_in(tree)))
    return digest([state.version, *(f"{name} {fingerprint(tree / name)}" for name in files)])


def _ensure_given(given: Given) -> str:
    source.warn_untested(given.version)
    state = read_state(paths.base().trees / "stock")
    if state is None or state.version != given.version:
        _unpack(given.unpack, given.version)
    return given.version


def _ensure_stock(update: bool) -> str:
    """Unpack stock when it is not there, or when ``update`` finds a newer one."""
    state = read_state(paths.base().trees / "stock")
    version = state.version if state and not update else source.ensure_source(update)
    source.warn_untested(version)
    if state and state.version == version:
        return version
    packages.ensure("build")
    deb = source.deb(version)
    pipeline = (
        'set -o pipefail; dpkg-deb --fsys-tarfile "$1" | tar -xO "./usr/src/$2.tar.xz" '
        '| tar -xJ -C "$3" --strip-components=1'
    )

    def unpack(place: Path) -> None:
        command = ["bash", "-c", pipeline, "unpack", deb, source.package().package, place]
        what, log = f"unpacking Linux {version}", paths.base().logs / "unpack.log"
        todo = f"if the package file is damaged, delete it and try again: {deb}"
        process.run(command, what=what, log=log, todo=todo)

    _unpack(unpack, version)
    return version


def _unpack(unpack: Callable[[Path], None], version: str) -> None:
    _make("stock", version, f"unpacking Linux {version}", TREE_ROOM, unpack)


def _clone(tree: Path, linked: bool, version: str) -> None:
    """Copy stock, without its builds, to ``tree``."""
    what, log = f"making the {tree.name} tree", paths.base().logs / "clone.log"
    stock = sorted((paths.base().trees / "stock").iterdir())
    entries = [entry for entry in stock if not is_generated(entry.name)]
    flags = ["-al"] if linked else ["-a", "--reflink=auto"]

    def copy(fresh: Path) -> None:
        process.run(["cp", *flags, "-t", fresh, "--", *entries], what=what, log=log)

    _make(tree.name, version, what, TREE_ROOM // 8 if linked else TREE_ROOM, copy)


def _make(name: str, version: str, what: str, room: int, fill: Callable[[Path], None]) -> None:
    """A tree of this version, which ``fill`` makes in an empty folder, in place of an older one."""
    host.check_room(paths.base().trees, room, what)
    fresh, place, old = (paths.base().trees / part for part in (f".{name}-new", name, f".{name}-old"))
    remove(fresh)
    fresh.mkdir(parents=True)
    with progress.step(what):
        fill(fresh)
        write_state(fresh, State(version))
        remove(old)
        if place.exists():
            place.rename(old)
        fresh.rename(place)
        remove(old)
