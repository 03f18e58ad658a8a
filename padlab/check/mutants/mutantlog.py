# SPDX-License-Identifier: GPL-2.0-only
"""What is known of mutants: kept from run to run, and in build/records as mutants.csv and .json.

An attempt is kept with a digest of what it depends on.  When that changes, it is as if it
had never been made.
"""

from __future__ import annotations

import csv
import io
import json
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from padlab.check.mutants.detectors import Detector
from padlab.check.mutants.mutant import Mutant
from padlab.check.mutants.mutantkernel import PLACE
from padlab.core.once import once
from padlab.kernel.content import digest
from padlab.measure import provenance

KEPT = PLACE / "kept.json"
NAME = "mutants"
KILLED, SURVIVED, EQUIVALENT, OPEN = "killed", "survived", "equivalent", "not decided"


@dataclass(frozen=True)
class Attempt:
    """A check was run on a mutant, or without one."""

    noticed: bool
    said: str  # what it found, in a line
    seconds: float  # with what had to be built
    date: str


@dataclass(frozen=True)
class Verdict:
    """What is known of a mutant: killed by which check, after all seconds of those up to it."""

    mutant: Mutant
    outcome: str
    by: str = ""
    seconds: float = 0.0
    said: str = ""
    date: str = ""


@once
def _sources(detector: Detector) -> str:
    return detector.sources()


class Log:
    """Attempts by check and mutant, in a file."""

    def __init__(self, path: Path = KEPT) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            kept = json.loads(path.read_text())
        except (OSError, ValueError):
            kept = {}
        self._kept: dict[str, dict[str, Attempt]] = {
            name: {key: Attempt(**one) for key, one in attempts.items()} for name, attempts in kept.items()
        }

    def find(self, detector: Detector, mutant: Mutant | None) -> Attempt | None:
        return self._kept.get(detector.name, {}).get(_key(detector, mutant))

    def keep(self, detector: Detector, mutant: Mutant | None, attempt: Attempt) -> None:
        with self._lock:
            self._kept.setdefault(detector.name, {})[_key(detector, mutant)] = attempt
            self._write()

    def _write(self) -> None:
        text = {
            name: {key: asdict(one) for key, one in attempts.items()} for name, attempts in self._kept.items()
        }
        partial = self._path.with_suffix(".partial")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(text, indent=1) + "\n")
        partial.replace(self._path)

    def verdict(self, mutant: Mutant, detectors: Iterable[Detector]) -> Verdict:
        """What the attempts of ``detectors``, all that are to notice it, come to."""
        if mutant.equivalent:
            return Verdict(mutant, EQUIVALENT, said=mutant.equivalent)
        seconds, date, missing = 0.0, "", False
        for detector in detectors:
            attempt = self.find(detector, mutant)
            if attempt is None:
                missing = True
                continue
            seconds, date = seconds + attempt.seconds, max(date, attempt.date)
            if attempt.noticed:
                return Verdict(mutant, KILLED, detector.name, round(seconds, 1), attempt.said, attempt.date)
        return Verdict(mutant, OPEN if missing else SURVIVED, seconds=round(seconds, 1), date=date)


def _key(detector: Detector, mutant: Mutant | None) -> str:
    return digest([_sources(detector), mutant.key if mutant else ""])


# Recording


def counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Verdicts by outcome."""
    found = Counter(one.outcome for one in verdicts)
    return {outcome: found[outcome] for outcome in (KILLED, EQUIVALENT, SURVIVED, OPEN)}


def as_dict(verdict: Verdict) -> dict[str, object]:
    one = verdict.mutant
    return {
        "mutant": one.id,
        "file": one.file,
        "fault": one.why,
        "outcome": verdict.outcome,
        "by": verdict.by,
        "seconds": verdict.seconds or "",
        "date": verdict.date,
    }


def table(verdicts: list[Verdict]) -> str:
    """As CSV."""
    rows = [as_dict(one) for one in verdicts]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def record(verdicts: list[Verdict]) -> Path:
    """Keep all mutants, whatever is known of them, and the sums; return where the sums are."""
    by = Counter(one.by for one in verdicts if one.by)
    files = Counter(one.mutant.file for one in verdicts)
    data = {
        **provenance.of_native("./lab mutants"),
        "mutants": len(verdicts),
        **counts(verdicts),
        "killed by": dict(by.most_common()),
        "files": dict(sorted(files.items())),
    }
    provenance.keep(f"{NAME}.csv", table(verdicts))
    return provenance.keep(f"{NAME}.json", data)
