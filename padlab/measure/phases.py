# SPDX-License-Identifier: GPL-2.0-only
"""The phases of boot that may grow with memory, told apart by the kernel's own messages.

Some are around other messages on another base than 6.12: FILE in checks/ of its folder says so.
"""

import re
from dataclasses import dataclass

from msgspec import Struct

from padlab.core import paths, toml
from padlab.core.errors import LabError
from padlab.vm import dmesg, summary

FILE = "phases.toml"


@dataclass(frozen=True)
class Phase:
    """A part of the boot: from the last message like ``begin`` to the next like ``end``."""

    name: str
    begin: str
    end: str


EARLY_INIT = Phase("struct pages, early", dmesg.INITMEM, dmesg.PM_TIMER)
HASHES = Phase("hash tables", dmesg.COMMAND_LINE, dmesg.FALLBACK_ORDER)
EARLY_FREE = Phase("memblock retires", dmesg.SWIOTLB, dmesg.SLUB)
DEFERRED = Phase("deferred init", dmesg.SMP_DONE, dmesg.NODE_DONE)
REST = Phase("serial rest after it", dmesg.NODE_DONE, dmesg.DEVTMPFS)
BLOCKS = Phase("memory blocks", dmesg.BLOCK_SIZE, dmesg.FUTEX)
PHASES = (EARLY_INIT, HASHES, EARLY_FREE, DEFERRED, REST, BLOCKS)


class Bounds(Struct, frozen=True, forbid_unknown_fields=True):
    begin: str = ""
    end: str = ""


def others() -> dict[str, Bounds]:
    """Of the base in use."""
    path = paths.over(FILE)
    return toml.load(path, dict[str, Bounds]) if path else {}


def took(messages: dmesg.Dmesg, phase: Phase, what: str) -> float:
    """Millions of instructions of one phase of a boot, on the base in use."""
    bounds = others().get(phase.name, Bounds())
    begin = end = None
    for at, text in messages.stamps:
        if end is None and re.match(bounds.begin or phase.begin, text):
            begin = at
        elif begin is not None and re.match(bounds.end or phase.end, text):
            end = at
    if begin is None or end is None:
        raise LabError(what, f"its console lacks the messages around '{phase.name}'", "see the console")
    return (end - begin) * summary.INSTRUCTIONS_PER_MS / 1e9
