# SPDX-License-Identifier: GPL-2.0-only
"""What is not run again while nothing that it saw has changed: boots, and verdicts of some checks.

A check judges what guests said.  If the check passes, what they said is kept, each under a key of all that
the guest could see: the kernel's image, the initramfs, QEMU's command line and QEMU itself.  A later run of a
check reads what is kept instead of booting, and judges it anew.  So a change of the kernel or of a guest's
script boots again, and a change of a judge does not.

What was kept is never the last word on a failure: a check that fails by it is run again with real boots, and
what it had is dropped (checks/cached.py).

A check that boots nothing may say itself what it sees (Needs in checks/declare.py): then its verdict is kept.

A boot's entry is a folder with its logs.  It is written under another name and renamed when it is whole.
"""

import contextlib
import functools
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from padlab.core import paths
from padlab.core.outcome import Outcome
from padlab.kernel.content import digest, fingerprint
from padlab.vm.watch import LOGS

FOLDER = paths.CACHE / "boots"
VERDICTS = paths.CACHE / "verdicts"
UNUSED_DAYS = 14
_PATH = re.compile(r"/[^,=\s]+")


@dataclass
class Cache:
    """The cached boots of one check.  ``since``: none that was written before is read (time.time())."""

    since: float = 0.0
    booted: dict[str, Path] = field(default_factory=dict)  # key -> folder with the logs
    read: list[str] = field(default_factory=list)  # keys

    def keep(self) -> None:
        """A cache that cannot be written is no failure: the next run boots."""
        for key, folder in self.booted.items():
            with contextlib.suppress(OSError):
                FOLDER.mkdir(parents=True, exist_ok=True)
                part = Path(tempfile.mkdtemp(prefix=".part-", dir=FOLDER))
                for name in LOGS:
                    shutil.copy(folder / name, part)
                shutil.rmtree(FOLDER / key, ignore_errors=True)
                part.rename(FOLDER / key)

    def drop(self) -> None:
        """The check has failed: nothing of what it read is believed again."""
        for key in self.read:
            shutil.rmtree(FOLDER / key, ignore_errors=True)

    def find(self, key: str) -> Path | None:
        folder = FOLDER / key
        with contextlib.suppress(OSError):
            if (folder / LOGS[0]).stat().st_mtime >= self.since:
                os.utime(folder)  # see prune()
                self.read.append(key)
                return folder
        return None


# That of the check that this process runs; None outside of checks, where each boot is real.
current: Cache | None = None


def key_of(command: Sequence[str]) -> str:
    """Of a boot, by QEMU's command line.  Files that it names count by what they contain."""
    words = [_PATH.sub(lambda match: _named(match[0]), word) for word in command]
    return digest(words)


def _named(path: str) -> str:
    mark = _program(path) if os.access(path, os.X_OK) else fingerprint(Path(path))
    return f"{Path(path).name} {mark}" if mark else path


@functools.cache
def _program(path: str) -> str | None:
    """A program by its content: QEMU's is large, and does not change meanwhile."""
    return fingerprint(Path(path).resolve())


def verdict(key: str) -> Outcome | None:
    """That of a check which passed when it saw the same."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        os.utime(VERDICTS / key)
        return msgspec.json.decode((VERDICTS / key).read_bytes(), type=Outcome)
    return None


def keep_verdict(key: str, outcome: Outcome) -> None:
    with contextlib.suppress(OSError):
        VERDICTS.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=VERDICTS, delete=False) as file:
            json.dump({"passed": outcome.passed, "skips": outcome.skips}, file)
        Path(file.name).rename(VERDICTS / key)


def prune() -> None:
    """Drop what no run has read for a while, and what was never finished."""
    oldest = time.time() - UNUSED_DAYS * 24 * 3600
    for entry in (*FOLDER.glob("*"), *VERDICTS.glob("*")):
        with contextlib.suppress(OSError):
            if entry.stat().st_mtime < oldest:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
