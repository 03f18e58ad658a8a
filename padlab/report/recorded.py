# SPDX-License-Identifier: GPL-2.0-only
"""What the report is made from: files of results/, each with the command that records it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from padlab.core import paths
from padlab.measure import provenance
from padlab.measure.provenance import MissingError

_WHAT = "the report"


# Files and commands of what was read, the last one last: for whoever finds that it has another form.
taken: list[tuple[str, str]] = []


def _take(path: Path, command: str) -> None:
    taken.append((paths.shown(path), command))


@dataclass(frozen=True)
class Recorded:
    """One file."""

    path: Path
    base: str
    command: str
    made: Mapping[str, Any]  # what made it
    data: Any = field(repr=False)

    @property
    def name(self) -> str:
        return str(self.path.relative_to(paths.RECORDED))

    def source(self) -> str:
        """What made it, in a line for the reader."""
        keys = ("command", "source", "host", "accelerator", "qemu", "compiler", "commit", "date")
        words = {"qemu": "QEMU {}", "host": "on {}", "commit": "commit {}"}
        parts = [words.get(key, "{}").format(self.made[key]) for key in keys if self.made.get(key)]
        return f"{', '.join(parts)}: results/{self.name}"


def read(base: str, name: str, words: str) -> Recorded:
    """A JSON file of a base; ``words`` of ./lab record it."""
    return _json(paths.results_of(base) / name, base, paths.command(words, base))


def of_cpus(base: str, name: str, words: str) -> dict[str, Recorded]:
    """The same of each CPU that it was recorded on, by the CPU."""
    every = {slug: read() for slug, read in readers(base, name, words).items()}
    return {recorded.made.get("host", slug): recorded for slug, recorded in every.items()}


def readers(base: str, name: str, words: str) -> dict[str, Callable[[], Recorded]]:
    """What reads the file of each CPU: one that cannot be read need not keep others from it."""
    command = paths.command(words, base)
    found: dict[str, Callable[[], Recorded]] = {
        slug: partial(_json, path, base, command) for slug, path in provenance.of_cpus(name, base).items()
    }
    if not found:
        raise MissingError(_WHAT, f"there is no {name} of base {base}", command)
    return found


def _json(path: Path, base: str, command: str) -> Recorded:
    _take(path, command)
    data = provenance.load(path, command, _WHAT)
    return Recorded(path, base, command, data, data)


def table(base: str, name: str, words: str) -> Recorded:
    """A CSV file, as a list of its rows: the comments above say what made it."""
    path, command = paths.results_of(base) / name, paths.command(words, base)
    _take(path, command)
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        raise MissingError(_WHAT, f"there is no {paths.shown(path)}", command) from None
    except OSError as err:
        raise provenance.unreadable(path, command, _WHAT, err) from None
    comments = (line[1:].partition(":") for line in lines if line.startswith("#"))
    made = {key.strip(): value.strip() for key, _, value in comments}
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    if not rows:
        raise MissingError(_WHAT, f"{paths.shown(path)} has no rows", command, again=True)
    return Recorded(path, base, command, made, rows)
