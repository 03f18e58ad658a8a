# SPDX-License-Identifier: GPL-2.0-only
"""The files that the series owns: those of linux/, with what the base in use has otherwise.

All bases share linux/.  What another base than 6.12 needs differently is in its folder
``owned``: a quilt series of small edits, each file in at most one patch, and a list
``without`` of files of linux/ that the base does not have.
"""

from pathlib import Path

from padlab.core import packages, paths, process
from padlab.core.errors import LabError
from padlab.core.paths import Base
from padlab.kernel import coreedits
from padlab.kernel.content import fingerprint, make, read
from padlab.kernel.state import some

WITHOUT = "without"
_LEFTOVERS = ("~", ".swp", ".orig", ".rej", ".o", ".pyc")  # of editors and programs


def differences(base: Base) -> Path | None:
    """The folder of what a base has otherwise; None for the base that linux/ is written for."""
    return base.own / "owned" if base.own else None


def owned_files(base: Base | None = None) -> dict[str, Path]:
    """The files that the series owns on a base, that in use if none is given, by their path in the kernel."""
    base = base or paths.base()
    files = {
        str(path.relative_to(paths.LINUX)): path
        for path in paths.LINUX.rglob("*")
        if path.is_file() and not path.name.endswith(_LEFTOVERS)
    }
    if folder := differences(base):
        for name in left_out(folder):
            if files.pop(name, None) is None:
                why, todo = f"linux/ has no {name}", "take it out of that list"
                raise LabError(paths.shown(folder / WITHOUT), why, todo)
        place = _applied(base, folder, files)
        for name in patch_of(folder):
            files.pop(name, None)
            if (place / name).exists():
                files[name] = place / name
    return dict(sorted(files.items()))


def is_test(file: str) -> bool:
    return file.startswith("tools/") or Path(file).stem.startswith("test_") or "_kunit" in file


def left_out(folder: Path) -> list[str]:
    lines = (line.strip() for line in read(folder / WITHOUT).splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def patch_of(folder: Path) -> dict[str, str]:
    touched = coreedits.touched(folder)
    twice = sorted(name for name, patches in touched.items() if len(patches) > 1)
    if twice:
        why = f"more than one patch edits {some(twice)}"
        raise LabError(paths.shown(folder), why, "put all edits of a file into one of them")
    return {name: patches[0] for name, patches in touched.items()}


def _applied(base: Base, folder: Path, files: dict[str, Path]) -> Path:
    """Where the files are that the patches edit, edited."""
    place = base.build / "owned"
    patched = patch_of(folder)
    if not patched:
        return place
    packages.ensure("quilt")
    parts = [f"{name} {fingerprint(files[name]) if name in files else None}" for name in sorted(patched)]
    parts += [f"{name} {fingerprint(folder / name)}" for name in ["series", *coreedits.read_series(folder)]]
    what = f"applying what Linux {base.name} has otherwise to linux/"
    todo = f"edit that patch of {paths.shown(folder)}, or what it edits"
    make(place, parts, lambda: coreedits.apply(paths.LINUX, folder, place, what=what, todo=todo))
    return place


def write_difference(folder: Path, patch: str, edited: dict[str, Path]) -> None:
    """Let ``patch``, which may be new, say what differs in its files, and in those ``edited``."""
    path = folder / patch
    owners, now = patch_of(folder), owned_files()
    names = sorted({name for name, owner in owners.items() if owner == patch} | set(edited))
    texts = [_difference(name, edited.get(name, now.get(name))) for name in names]
    folder.mkdir(parents=True, exist_ok=True)
    temp = path.with_name(f".{path.name}.padlab")
    said = read(path).partition("--- ")[0]  # before its first file
    temp.write_text(said + "".join(texts))
    temp.rename(path)
    series = coreedits.read_series(folder)
    if patch not in series:
        (folder / "series").write_text("".join(f"{name}\n" for name in [*series, patch]))


def _difference(name: str, wanted: Path | None) -> str:
    """A unified diff from linux/ to ``wanted``; one of them may be missing."""
    old = paths.LINUX / name
    there = {"a": old.exists(), "b": wanted is not None and wanted.exists()}
    labels = [f"{side}/{name}" if is_there else "/dev/null" for side, is_there in there.items()]
    sides = [old if there["a"] else "/dev/null", wanted if there["b"] else "/dev/null"]
    command = ["diff", f"-U{coreedits.CONTEXT_LINES}", "-p", "--label", labels[0], "--label", labels[1]]
    return process.run([*command, *sides], what=f"comparing {name}", ok=(0, 1))
