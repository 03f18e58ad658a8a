# SPDX-License-Identifier: GPL-2.0-only
"""Which objects a patched kernel cannot have from the compiler cache once stock has been built.

By what kbuild noted of each object: the files that were read for it.  If one of them is not the
same in stock, the object has to be compiled; any other is in ccache (build.py, autoconf.py).
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from padlab.kernel.build import Build
from padlab.kernel.content import fingerprint

_SOURCE = re.compile(r"^source_\S+ := (\S+)$", re.MULTILINE)
_READ = re.compile(r"^  (\S+) \\?$", re.MULTILINE)


def files_of(command: str) -> list[str]:
    """The files that an object was made from, by the text of its .cmd file."""
    return [*_SOURCE.findall(command), *_READ.findall(command)]


def unshared(patched: Build, stock: Build) -> list[str]:
    """Objects of ``patched``, by their paths, for which a file was read that ``stock`` has not so."""

    @cache
    def differs(name: str) -> bool:
        return fingerprint(patched.obj / name) != fingerprint(stock.obj / name)

    return [
        name
        for name, files in _objects(patched.obj)
        if any(differs(file) for file in files if not file.startswith(("/", "$")))
    ]


def _objects(folder: Path) -> Iterator[tuple[str, list[str]]]:
    for path in sorted(folder.rglob(".*.o.cmd")):
        name = path.with_name(path.name.removeprefix(".").removesuffix(".cmd"))
        yield str(name.relative_to(folder)), files_of(path.read_text(errors="replace"))
