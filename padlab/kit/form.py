# SPDX-License-Identifier: GPL-2.0-only
"""The file that a kit's run leaves: sections, each written when it was whole (kit/run.sh).

    padata-kit 2
    == boots gib=16 kernel=stock round=1
    command: qemu-system-x86_64 ...
    status: 0
    bytes: 31245
    sha256: 2c26b4...
    (so many bytes, and a line end)
    == ...

The first section is "kit", what the kit was made from; the last is "end", unless the run was ended before.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from padlab.core.errors import LabError

FORMAT = 2
FIRST, LAST = "kit", "end"
_MAGIC = f"padata-kit {FORMAT}\n".encode()
_HEAD = re.compile(
    rb"== (?P<name>[^\n]+)\ncommand: (?P<command>[^\n]*)\nstatus: (?P<status>\d+)\n"
    rb"bytes: (?P<bytes>\d+)\nsha256: (?P<sha256>[0-9a-f]{64})\n"
)


@dataclass(frozen=True)
class Section:
    name: str
    command: str
    status: int
    body: str

    @property
    def kind(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def words(self) -> dict[str, str]:
        """NAME=VALUE in its name."""
        return dict(word.split("=", 1) for word in self.name.split() if "=" in word)


@dataclass(frozen=True)
class File:
    sections: tuple[Section, ...]

    def of(self, kind: str) -> list[Section]:
        return [section for section in self.sections if section.kind == kind]

    @property
    def ended(self) -> bool:
        return self.sections[-1].name == LAST


def read(path: Path) -> File:
    try:
        return parse(path.read_bytes(), f"importing {path}")
    except OSError as err:
        todo = "give the file that the kit's run script has written"
        raise LabError(f"importing {path}", err.strerror or str(err), todo) from None


def parse(data: bytes, what: str) -> File:
    """An error if the file is damaged, but not if it just ends early, as that of a run that was killed."""
    if not data.startswith(_MAGIC):
        why = f"it is no file of a kit's run, or has another format than {FORMAT}"
        raise LabError(what, why, "give the file as run has written it, to the commit that made the kit")
    sections, at = [], len(_MAGIC)
    while (head := _HEAD.match(data, at)) and (end := head.end() + int(head["bytes"])) < len(data):
        body, at = data[head.end() : end], end + 1
        name, command, text = (
            part.decode(errors="replace") for part in (head["name"], head["command"], body)
        )
        if hashlib.sha256(body).hexdigest() != head["sha256"].decode() or data[end:at] != b"\n":
            raise _damaged(what, f"the body of section {name!r} is not what its digest says")
        sections.append(Section(name, command, int(head["status"]), text))
    if _HEAD.search(data, at + 1):  # what is cut is the last one
        raise _damaged(what, f"no head of a section is at byte {at}")
    if not sections or sections[0].name != FIRST:
        raise _damaged(what, f"it does not begin with section {FIRST!r}")
    return File(tuple(sections))


def _damaged(what: str, why: str) -> LabError:
    return LabError(what, f"it is damaged: {why}", "copy it again, as it is, from the machine that wrote it")
