# SPDX-License-Identifier: GPL-2.0-only
"""What files contain, as text to compare, and stamps of what something was made from."""

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from padlab.core import exclusive


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


def digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def make(place: Path, parts: Iterable[str], fill: Callable[[], object]) -> None:
    """Have ``fill`` make the folder ``place``, unless it has from just these parts; one at a time."""
    with exclusive.alone(place.with_name(f".{place.name}.lock")):
        stamp = Stamp(place / ".padlab-made", parts)
        if not stamp.matches():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            with stamp.renewed():
                fill()


class Stamp:
    """A file beside something that was made; it has a digest of all that it was made from."""

    def __init__(self, path: Path, parts: Iterable[str]) -> None:
        self.path = path
        self.key = digest(parts)

    def matches(self) -> bool:
        """Whether it was made, to the end, from just these parts."""
        return read(self.path) == self.key

    @contextlib.contextmanager
    def renewed(self) -> Iterator[None]:
        """Make it in the block.  If that does not come to its end, there is no stamp."""
        self.path.unlink(missing_ok=True)
        yield
        write(self.path, self.key)


def copy(source: Path, target: Path) -> None:
    """Into a folder that need not be there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def write(path: Path, text: str) -> None:
    """Into a folder that need not be there; a file that has the text already keeps its time."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""
