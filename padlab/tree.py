# SPDX-License-Identifier: GPL-2.0-only
"""Kernel trees under build/trees: made once, then kept up to date file by file.

``stock`` is the package's source, untouched.  Every other tree is stock plus an
overlay: the files of linux/ at their paths, the hooked files as quilt leaves
them, and for a test the edits of extra patches.  The overlay is worked out in
full next to the tree, then only files whose content differs are replaced, each
by a rename.  So a file is never half-written, an interrupted run is finished by
the next one, and make rebuilds what changed.

A tree remembers in ``.padlab-state.json`` what it was given.  A file that is
neither that nor what the repository now says is somebody's edit, and is never
overwritten unless the user says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from dataclasses import asdict, dataclass, field
from pathlib import Path

from padlab import hooks, hostpkgs, paths, progress, run, source
from padlab.errors import LabError

STATE = ".padlab-state.json"
TREE_ROOM = 2 << 30
_FORMAT = 1


@dataclass(frozen=True)
class Variant:
    """A kind of tree: the series on top of stock or not, and patches on top of that.

    ``linked`` trees share unchanged files with stock through hard links: cheap,
    and right for trees nobody edits by hand.
    """

    series: bool = True
    extra: tuple[Path, ...] = ()
    linked: bool = False


VARIANTS: dict[str, Variant] = {"stock": Variant(series=False), "patched": Variant()}


@dataclass
class State:
    """What a tree was given: file -> fingerprint (None: deleted)."""

    version: str
    inputs: str = ""
    owned: dict[str, str | None] = field(default_factory=dict)
    hooked: dict[str, str | None] = field(default_factory=dict)
    patches: dict[str, str | None] = field(default_factory=dict)
    format: int = _FORMAT

    def files(self) -> dict[str, str | None]:
        return self.owned | self.hooked


def read_state(tree: Path) -> State | None:
    """The state of ``tree``; None when it was never completed."""
    try:
        record = json.loads((tree / STATE).read_text())
    except (OSError, ValueError):
        return None
    return State(**record) if record.get("format") == _FORMAT else None


def known_state(tree: Path) -> State:
    """The state of a tree that must be there."""
    state = read_state(tree)
    if state is None:
        raise LabError(f"the {tree.name} tree", "it has not been made yet", "run: ./lab tree")
    return state


def write_state(tree: Path, state: State) -> None:
    temp = tree / (STATE + ".tmp")
    temp.write_text(json.dumps(asdict(state), indent=1) + "\n")
    temp.rename(tree / STATE)


def fingerprint(path: Path) -> str | None:
    """Content and executable bit of a file; None when there is no file."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return "link:" + os.readlink(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return ("x:" if mode & stat.S_IXUSR else "f:") + digest


def owned_files() -> dict[str, Path]:
    """The files of linux/ by their path in the kernel tree; editors' leftovers excluded."""
    return {
        str(path.relative_to(paths.LINUX)): path
        for path in sorted(paths.LINUX.rglob("*"))
        if path.is_file() and not path.name.endswith(("~", ".swp", ".orig", ".rej", ".o", ".pyc"))
    }


def ensure_tree(kernel: str, *, discard: bool = False, update: bool = False) -> Path:
    """Make the tree of ``kernel`` if needed and bring it up to date; return its path.

    Edits made in the tree stay as long as the repository has not moved on
    (and are said); when it has, this stops, unless ``discard`` drops them.
    """
    if kernel not in VARIANTS:
        raise LabError("kernel", f"there is no {kernel!r}", f"choose one of: {', '.join(VARIANTS)}")
    version = _ensure_stock(update)
    stock = paths.TREES / "stock"
    if kernel == "stock":
        return stock
    hostpkgs.ensure("quilt")
    tree = paths.TREES / kernel
    variant = VARIANTS[kernel]
    state = read_state(tree)
    if state is None or state.version != version:
        if state is not None and not discard:
            _stop_for(kernel, _edited(tree, state))
        _clone(stock, tree, variant, version)
        state = State(version)
    _sync(kernel, tree, stock, state, discard)
    return tree


def source_version() -> str:
    """The Debian version of the stock tree."""
    return known_state(paths.TREES / "stock").version


def content_key(kernel: str) -> str:
    """Changes when a file of the series, or an edit of one, changes in the tree of ``kernel``."""
    tree = paths.TREES / kernel
    state = known_state(tree)
    files = sorted(set(state.files()) | set(hooks.owner_in(tree)))
    return digest([state.version, *(f"{name} {fingerprint(tree / name)}" for name in files)])


def digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


# Making trees


def _ensure_stock(update: bool) -> str:
    """Unpack stock when it is not there, or when ``update`` finds a newer one."""
    stock = paths.TREES / "stock"
    state = read_state(stock)
    if state is not None and not update:
        return state.version
    newest = source.ensure_source(update)
    if state is not None and state.version == newest.version:
        return state.version
    hostpkgs.ensure("build")
    what = f"unpacking Linux {newest.version}"
    source.check_room(paths.TREES, TREE_ROOM, what)
    fresh = paths.TREES / ".stock-new"
    _remove(fresh)
    fresh.mkdir(parents=True)
    pipeline = (
        f'set -o pipefail; dpkg-deb --fsys-tarfile "$1" | tar -xO ./{source.TARBALL} '
        '| tar -xJ -C "$2" --strip-components=1'
    )
    with progress.step(what):
        run.run(
            ["bash", "-c", pipeline, "unpack", newest.deb, fresh],
            what=what,
            log=paths.LOGS / "unpack.log",
            todo=f"if the package file is damaged, delete it and try again: {newest.deb}",
        )
        write_state(fresh, State(newest.version))
        _replace(fresh, stock)
    return newest.version


def _clone(stock: Path, tree: Path, variant: Variant, version: str) -> None:
    """Copy stock, without its builds, to ``tree``."""
    what = f"making the {tree.name} tree"
    source.check_room(paths.TREES, TREE_ROOM // 8 if variant.linked else TREE_ROOM, what)
    fresh = paths.TREES / f".{tree.name}-new"
    _remove(fresh)
    fresh.mkdir(parents=True)
    entries = [entry for entry in sorted(stock.iterdir()) if not _is_generated(entry.name)]
    flags = ["-al"] if variant.linked else ["-a", "--reflink=auto"]
    with progress.step(what):
        run.run(["cp", *flags, "-t", fresh, "--", *entries], what=what, log=paths.LOGS / "clone.log")
        write_state(fresh, State(version))
        _replace(fresh, tree)


def _is_generated(name: str) -> bool:
    """Top-level names in a tree that are not kernel source."""
    return name.startswith("obj-") or name in (".pc", STATE, STATE + ".tmp")


def _replace(fresh: Path, place: Path) -> None:
    old = place.with_name(f".{place.name}-old")
    _remove(old)
    if place.exists():
        place.rename(old)
    fresh.rename(place)
    _remove(old)


def _remove(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)


# Keeping a tree up to date


def _inputs(variant: Variant, version: str) -> str:
    """A digest of everything the overlay is made from."""
    parts = [f"{name} {fingerprint(path)}" for name, path in owned_files().items()]
    names = hooks.read_series(paths.PATCHES)
    parts += [f"{name} {fingerprint(paths.PATCHES / name)}" for name in names]
    parts += [f"{path.name} {fingerprint(path)}" for path in variant.extra]
    return digest([version, *parts])


def _sync(kernel: str, tree: Path, stock: Path, state: State, discard: bool) -> None:
    """Give ``tree`` what linux/ and patches/ say now."""
    variant = VARIANTS[kernel]
    inputs = _inputs(variant, state.version)
    edited = _edited(tree, state)
    if state.inputs == inputs and not (discard and edited):
        if edited:
            progress.note(
                f"note: build/trees/{kernel} has edits that are not in the repository yet: "
                f"{_some(edited)} (./lab refresh keeps them, ./lab tree --discard drops them)"
            )
        return

    scratch = paths.TREES / f".{kernel}-sync"
    _remove(scratch)
    scratch.mkdir()
    owned, hooked = _overlay(variant, stock, scratch, state.version)
    wanted = owned | hooked
    changes = _changes(tree, stock, state, wanted)
    if not discard:
        _stop_for(kernel, [name for name, change in changes.items() if change.edited])
    for name, change in changes.items():
        _install(change.content, tree / name)
    _remove(tree / ".pc")
    if (scratch / ".pc").exists():
        (scratch / ".pc").rename(tree / ".pc")
    # Whatever is read back from here on was given by us.
    names = hooks.read_series(paths.PATCHES)
    write_state(
        tree,
        State(
            state.version,
            inputs,
            {name: fingerprint(path) for name, path in owned.items()},
            {name: fingerprint(path) if path else None for name, path in hooked.items()},
            {name: fingerprint(paths.PATCHES / name) for name in names},
        ),
    )
    _remove(scratch)
    if changes:
        progress.note(f"build/trees/{kernel}: {len(changes)} files brought up to date")


def _overlay(
    variant: Variant, stock: Path, scratch: Path, version: str
) -> tuple[dict[str, Path], dict[str, Path | None]]:
    """Work out every file that differs from stock: what to copy to it (None: delete it)."""
    owned = owned_files()
    hooked: dict[str, Path | None] = {}
    for name in hooks.apply(stock, paths.PATCHES, scratch, version):
        path = scratch / name
        hooked[name] = path if path.exists() else None
    both = sorted(set(owned) & set(hooked))
    if both:
        raise LabError(
            "preparing the tree",
            f"linux/ and patches/ both have {_some(both)}",
            "a file is either owned (linux/) or hooked (patches/): remove one of them",
        )
    for patch in variant.extra:
        for part in hooks.parse(patch.read_text()):
            name = part.path
            target = scratch / name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(owned.get(name, stock / name), target)
            owned.pop(name, None)
            hooked[name] = target
        hooks.apply_patch(patch, scratch)
    return owned, hooked


@dataclass(frozen=True)
class Change:
    """A file to replace: with a copy of ``content``, or delete it when None."""

    content: Path | None
    edited: bool


def _changes(tree: Path, stock: Path, state: State, wanted: dict[str, Path | None]) -> dict[str, Change]:
    """Which files of ``tree`` are not as wanted, and whether that is somebody's edit."""
    given = state.files()
    changes = {}
    for name in sorted(set(given) | set(wanted) | set(hooks.owner_in(tree))):
        content = wanted.get(name, stock / name)
        if content is not None and not content.exists():
            content = None
        now = fingerprint(tree / name)
        if now != (fingerprint(content) if content else None):
            before = given[name] if name in given else fingerprint(stock / name)
            changes[name] = Change(content, edited=now != before)
    return changes


def _edited(tree: Path, state: State) -> list[str]:
    """Files of the series that differ from what the tree was given."""
    edited = [name for name, given in state.files().items() if fingerprint(tree / name) != given]
    stock = paths.TREES / "stock"
    for name in hooks.owner_in(tree):
        if name not in state.files() and fingerprint(tree / name) != fingerprint(stock / name):
            edited.append(name)
    return sorted(edited)


def _stop_for(kernel: str, edited: list[str]) -> None:
    if edited:
        raise LabError(
            f"bringing build/trees/{kernel} up to date",
            f"it has edits that are not in the repository: {_some(edited)}",
            "run ./lab refresh to keep them or ./lab tree --discard to drop them",
            detail=[f"edited: {name}" for name in edited],
        )


def _some(names: list[str]) -> str:
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest


def _install(content: Path | None, place: Path) -> None:
    """Replace ``place`` by a rename: never half-written, never through a hard link."""
    if content is None:
        place.unlink(missing_ok=True)
        _prune(place.parent)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    temp = place.with_name(f".{place.name}.padlab")
    shutil.copyfile(content, temp)
    temp.chmod(_mode(content))
    temp.rename(place)


def _mode(path: Path) -> int:
    """The two modes git knows: whatever the user's umask is."""
    return 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644


def _prune(folder: Path) -> None:
    """Remove folders that a deleted file leaves empty."""
    while folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


# Writing edits back


def refresh() -> list[str]:
    """Write edits made in the patched tree back to linux/ and patches/; return what was written."""
    hostpkgs.ensure("quilt")
    tree = paths.TREES / "patched"
    state = known_state(tree)
    edited = _edited(tree, state)
    owners = hooks.owner_in(tree)
    patches = sorted({owners[name] for name in edited if name in owners})
    files = [name for name in edited if name not in owners]
    _check_conflicts(tree, state, files, patches)

    written = []
    for name in files:
        _write_owned(tree / name, paths.LINUX / name)
        written.append(f"linux/{name}")
    for name in patches:
        hooks.refresh(tree, paths.PATCHES, name)
        written.append(f"patches/{name}")
    _sync("patched", tree, paths.TREES / "stock", state, discard=False)
    return written


def _check_conflicts(tree: Path, state: State, files: list[str], patches: list[str]) -> None:
    """Refuse to overwrite what changed in the repository as well."""
    both = []
    for name in files:
        mine, given = fingerprint(paths.LINUX / name), state.owned.get(name)
        if mine not in (given, fingerprint(tree / name)):
            both.append(f"linux/{name}")
    for name in patches:
        if name in state.patches and fingerprint(paths.PATCHES / name) != state.patches[name]:
            both.append(f"patches/{name}")
    if both:
        raise LabError(
            "refresh",
            f"{_some(both)} changed since the tree was made from it, and the tree was edited too",
            "copy your edits out of build/trees/patched, run ./lab tree --discard, and edit again",
        )


def _write_owned(edited: Path, place: Path) -> None:
    if not edited.exists():
        place.unlink(missing_ok=True)
        return
    temp = place.with_name(f".{place.name}.padlab")
    shutil.copyfile(edited, temp)
    temp.chmod(_mode(edited))
    temp.rename(place)


def strays() -> list[str]:
    """Files of the patched tree that were added or edited but belong to nobody."""
    tree, stock = paths.TREES / "patched", paths.TREES / "stock"
    state = known_state(tree)
    known = set(state.files()) | set(hooks.owner_in(tree))
    found = []
    base = _listing(stock)
    for name, signature in _listing(tree).items():
        if name in known or base.get(name) == signature:
            continue
        if fingerprint(tree / name) != fingerprint(stock / name):
            found.append(name)
    return sorted(found)


def _listing(tree: Path) -> dict[str, tuple[int, int]]:
    """file -> (size, time stamp), for the source files of a tree."""
    listing: dict[str, tuple[int, int]] = {}
    folders = [tree]
    while folders:
        folder = folders.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if folder == tree and _is_generated(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                else:
                    info = entry.stat(follow_symlinks=False)
                    name = os.path.relpath(entry.path, tree)
                    listing[name] = (info.st_size, info.st_mtime_ns)
    return listing
