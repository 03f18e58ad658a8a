# SPDX-License-Identifier: GPL-2.0-only
"""What is known of mutants, kept from run to run.

An attempt is kept with a digest of what it depends on.  When that changes, it is as if it
had never been made.
"""

import contextlib
import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from padlab.check.mutants.detectors import Detector
from padlab.check.mutants.mutant import Mutant
from padlab.check.mutants.mutantkernel import PLACE
from padlab.core.once import once
from padlab.kernel.content import digest
from padlab.measure import provenance

KEPT = PLACE / "kept.json"
OUTCOMES = KILLED, EQUIVALENT, SURVIVED, OPEN = "killed", "equivalent", "survived", "not decided"


class Attempt(Struct, frozen=True):
    """A check was run on a mutant, or without one."""

    noticed: bool
    said: str  # what it found, in a line
    seconds: float  # with what had to be built


class Verdict(Struct, frozen=True):
    """What is known of a mutant: killed by which check, after all seconds of those up to it."""

    mutant: str
    fault: str
    outcome: str
    by: str = ""
    seconds: float = 0.0
    said: str = ""


@once
def _sources(detector: Detector) -> str:
    return detector.sources()


class Log:
    def __init__(self, path: Path = KEPT) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._attempts: dict[str, dict[str, Attempt]] = {}
        with contextlib.suppress(OSError, msgspec.MsgspecError):  # none, or of another version of the lab
            self._attempts = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, Attempt]])

    def find(self, detector: Detector, mutant: Mutant | None) -> Attempt | None:
        return self._attempts.get(detector.name, {}).get(_key(detector, mutant))

    def keep(self, detector: Detector, mutant: Mutant | None, attempt: Attempt) -> None:
        with self._lock:
            self._attempts.setdefault(detector.name, {})[_key(detector, mutant)] = attempt
            text = msgspec.json.encode(self._attempts).decode()
            provenance.write(self._path, msgspec.json.format(text, indent=1))

    def forget(self, detector: Detector, mutant: Mutant) -> None:
        """In this run; on disk until something else is kept."""
        self._attempts.get(detector.name, {}).pop(_key(detector, mutant), None)

    def verdict(self, mutant: Mutant, detectors: Iterable[Detector]) -> Verdict:
        """What the attempts of ``detectors``, all that are to notice it, come to."""
        if mutant.equivalent:
            return Verdict(mutant.id, mutant.why, EQUIVALENT, said=mutant.equivalent)
        seconds, outcome = 0.0, SURVIVED
        for detector in detectors:
            attempt = self.find(detector, mutant)
            if attempt is None:
                outcome = OPEN
                continue
            seconds = round(seconds + attempt.seconds, 1)
            if attempt.noticed:
                return Verdict(mutant.id, mutant.why, KILLED, detector.name, seconds, attempt.said)
        return Verdict(mutant.id, mutant.why, outcome, seconds=seconds)


def _key(detector: Detector, mutant: Mutant | None) -> str:
    return digest([_sources(detector), mutant.key if mutant else ""])
