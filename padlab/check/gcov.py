# SPDX-License-Identifier: GPL-2.0-only
"""Lines of the kernel that have run: from the counters of guests, by gcov, added up.

A guest's init prints the file of counters of each object (padlab/guest/init).  Here it is
put beside the compiler's notes of that object, and gcov tells of each line how often it
ran.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from padlab.core import packages, paths, process
from padlab.core.errors import LabError
from padlab.kernel import build as builds
from padlab.kernel import instrument, tree
from padlab.kernel.owned import owned_files
from padlab.vm.channel import Guest

LOG = paths.LOGS / "gcov.log"
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass
class File:
    """A file's lines that there is code for."""

    runs: dict[int, int] = field(default_factory=dict)  # by number
    functions: dict[int, str] = field(default_factory=dict)

    def add(self, other: File) -> None:
        for number, count in other.runs.items():
            self.runs[number] = self.runs.get(number, 0) + count
        self.functions |= other.functions


def objects(guest: Guest) -> dict[str, bytes]:
    """What a guest printed: the path of each file of counters, and what is in it."""
    found = {}
    for value in guest.values("gcda"):
        name, _, data = value.partition(" ")
        found[name] = base64.b64decode(data)
    return found


def parse(output: str) -> dict[str, File]:
    """The files in gcov's JSON, of one object a line; paths are those of the tree."""
    found: dict[str, File] = {}
    for line in filter(lambda line: line.startswith("{"), output.splitlines()):
        for entry in json.loads(line)["files"]:
            file = found.setdefault(os.path.normpath(entry["file"]).removeprefix("../"), File())
            for one in entry["lines"]:
                number = one["line_number"]
                file.runs[number] = file.runs.get(number, 0) + one["count"]
                file.functions[number] = one.get("function_name", "")
    return found


def read(guest: Guest, build: builds.Build, place: Path) -> dict[str, File]:
    """What ran in ``guest``; ``place`` is a folder for the files."""
    wanted = {str(build.obj / Path(file).with_suffix(".gcda")): file for file in instrument.counted()}
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    names = []
    for path, data in objects(guest).items():
        if path not in wanted:
            continue
        # Two objects may have the same name in different folders.
        name = wanted[path].removesuffix(".c").replace("/", "--")
        (place / f"{name}.gcda").write_bytes(data)
        shutil.copy(build.obj / Path(wanted[path]).with_suffix(".gcno"), place / f"{name}.gcno")
        names.append(f"{name}.gcda")
    if not names:
        raise LabError("coverage", "the guest printed no counters", "look at its report", log=LOG)
    packages.ensure("build")
    command = ["gcov", "--json-format", "--stdout", *names]
    return parse(process.run(command, what="reading what ran", cwd=place, log=LOG))


def add(total: dict[str, File], more: dict[str, File]) -> None:
    for name, file in more.items():
        total.setdefault(name, File()).add(file)


def moved(found: Mapping[str, File], tree: Path, to: Path) -> dict[str, File]:
    """What ran of ``tree``, by the lines of another that has most of it, too."""
    return {
        name: _moved(file, tree / name, to / name) for name, file in found.items() if (to / name).exists()
    }


def _moved(file: File, source: Path, to: Path) -> File:
    if source.read_bytes() == to.read_bytes():
        return file
    command = ["diff", "-U0", source, to]
    numbers = same_lines(process.run(command, what=f"comparing {to}", log=LOG, ok=(0, 1)), max(file.runs))
    return File(
        {numbers[number]: count for number, count in file.runs.items() if number in numbers},
        {numbers[number]: name for number, name in file.functions.items() if number in numbers},
    )


def same_lines(diff: str, last: int) -> dict[int, int]:
    """Numbers of the lines up to ``last`` that ``diff -U0`` leaves, and what they are after it."""
    numbers: dict[int, int] = {}
    number, shift = 1, 0
    for match in _HUNK.finditer(diff):
        start, gone, new = int(match[1]), int(match[2] or 1), int(match[4] or 1)
        # Where nothing goes, what is new comes after the line that is named.
        first = start if gone else start + 1
        numbers |= {kept: kept + shift for kept in range(number, first)}
        number, shift = first + gone, shift + new - gone
    return numbers | {kept: kept + shift for kept in range(number, last + 1)}


def added_lines(diff: str) -> Iterator[int]:
    """Numbers of the lines that ``diff -U0`` says are new."""
    for match in _HUNK.finditer(diff):
        start, count = int(match[3]), int(match[4] or 1)
        yield from range(start, start + count)


def ours(found: Mapping[str, File], kernel: Path) -> dict[str, File]:
    """Of that the lines that are ours: all of our files, and what hooks add to others."""
    chosen, owned = {}, owned_files()
    for name, file in found.items():
        if instrument.is_test(name) or name.startswith("../"):
            continue
        if name in owned:
            chosen[name] = file
        elif numbers := set(hooked(name, kernel)) & set(file.runs):
            chosen[name] = File(
                {number: file.runs[number] for number in numbers},
                {number: file.functions[number] for number in numbers},
            )
    return dict(sorted(chosen.items()))


def hooked(name: str, kernel: Path) -> Iterable[int]:
    stock = tree.ensure_tree("stock") / name
    if not stock.exists() or not (kernel / name).exists():
        return ()
    command = ["diff", "-U0", stock, kernel / name]
    return added_lines(process.run(command, what=f"comparing {name}", log=LOG, ok=(0, 1)))
