# SPDX-License-Identifier: GPL-2.0-only
"""``./lab mutants``: does some check notice each small fault?

A mutant is tried on its checks, the cheapest first, until one notices it.  A check is first run without a
mutant: if it fails then, nothing that it says of mutants counts.  That also tells how long it takes, so that
one that hangs is ended in time.
"""

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from checks import names
from checks.mutants import detectors, mutant, mutantkernel
from checks.mutants.detectors import TIERS, Detector
from checks.mutants.mutant import Mutant
from padlab.core import packages, progress
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.core.table import console, grid, plain
from padlab.kernel.content import digest
from padlab.measure import provenance

KILLED, EQUIVALENT, SURVIVED, OPEN, BROKEN = "killed", "equivalent", "survived", "not decided", "broken"
GROUPS = ("build", "quilt", "guest")
FIRST_LIMIT_S = 900.0  # for a check without a mutant
LIMIT, LEAST_LIMIT_S = 4.0, 60.0  # then so many times what it took, and some
_SAID = 200  # characters of what a check says


class Attempt(Struct, frozen=True):
    noticed: bool
    said: str  # what it found, in a line
    seconds: float  # with what had to be built


@dataclass(frozen=True)
class Verdict:
    """What is known of a mutant: killed by which check, after all seconds of those up to it."""

    fault: Mutant
    outcome: str
    by: str = ""
    seconds: float = 0.0
    said: str = ""


class Unfit(LabError):
    """A check that says nothing of mutants."""


_sources = functools.cache(Detector.sources)


class Log:
    """The attempts that were made, by check and by what it depends on."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path = path or mutantkernel.place() / "kept.json"
        self._attempts: dict[str, dict[str, Attempt]] = {}
        with contextlib.suppress(OSError, msgspec.MsgspecError):  # none, or of another version of the lab
            self._attempts = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, Attempt]])

    def find(self, check: Detector, fault: Mutant | None) -> Attempt | None:
        return self._attempts.get(check.name, {}).get(_key(check, fault))

    def keep(self, check: Detector, fault: Mutant | None, attempt: Attempt) -> Attempt:
        self._attempts.setdefault(check.name, {})[_key(check, fault)] = attempt
        text = msgspec.json.encode(self._attempts).decode()
        provenance.write(self._path, msgspec.json.format(text, indent=1))
        return attempt


def _key(check: Detector, fault: Mutant | None) -> str:
    return digest([_sources(check), fault.key if fault else ""])


def choose(globs: Sequence[str]) -> list[Mutant]:
    return names.choose(globs, {fault.id: fault for fault in mutant.all_of()}, "mutants", "mutant")


def main(globs: Sequence[str], tier: str, list_only: bool = False) -> int:
    chosen = choose(globs)
    if list_only:
        print("".join(f"{fault.id}: {fault.why}\n" for fault in chosen), end="")
        return 0
    start, log = time.monotonic(), Log()
    packages.ensure(*GROUPS, *(() if tier in TIERS[:2] else ("qemu",)))
    verdicts = []
    for nr, fault in enumerate(chosen, 1):
        with progress.step(f"[{nr}/{len(chosen)}] {fault.id}"):
            verdicts.append(tried(log, fault, tier))
    show(verdicts)
    return conclude(verdicts, time.monotonic() - start)


def checks_of(fault: Mutant) -> list[Detector]:
    """By tier, and as the table has them; a build of the engine that is known to find a bug is the first."""
    checks = map(detectors.named, fault.checks)
    return sorted(
        checks, key=lambda check: (detectors.FUZZ.get(check.name) != fault.build, TIERS.index(check.tier))
    )


def tried(log: Log, fault: Mutant, tier: str) -> Verdict:
    """On its checks up to ``tier``, until one notices it; what is known is not tried again."""
    if fault.equivalent:
        return Verdict(fault, EQUIVALENT, said=fault.equivalent)
    seconds, outcome = 0.0, SURVIVED
    for check in checks_of(fault):
        attempt = log.find(check, fault)
        if attempt is None and TIERS.index(check.tier) > TIERS.index(tier):
            outcome = OPEN
            continue
        if attempt is None:
            try:
                attempt = log.keep(check, fault, attempt_of(check, fault, _limit_s(log, check)))
            except Unfit:
                raise
            except LabError as err:
                progress.note("\n  ".join([f"{fault.id} does not compile: {err.why}", *err.detail[:5]]))
                return Verdict(fault, BROKEN, check.name, seconds, err.why)
        seconds = round(seconds + attempt.seconds, 1)
        if attempt.noticed:
            progress.note(f"{fault.id}: killed by {check.name}, {progress.seconds(attempt.seconds)}")
            return Verdict(fault, KILLED, check.name, seconds, attempt.said)
        progress.note(f"{fault.id}: {check.name} does not notice it")
    return Verdict(fault, outcome, seconds=seconds)


def _limit_s(log: Log, check: Detector) -> float:
    first = log.find(check, None)
    if first is None:
        with progress.step(f"{check.name}, without a mutant"):
            first = attempt_of(check, None, FIRST_LIMIT_S)
        if first.noticed:
            raise Unfit(f"check {check.name}", f"without a mutant: {first.said}", "mend that first")
        log.keep(check, None, first)
    return LIMIT * first.seconds + LEAST_LIMIT_S


def attempt_of(check: Detector, fault: Mutant | None, limit_s: float) -> Attempt:
    """Build it, which is an error if it does not compile, and run it."""
    start = time.monotonic()
    run = check.build(fault)
    try:
        outcome = run(limit_s)
    except LabError as err:
        outcome = Outcome(failures=(f"{err.what}: {err.why}",))
    noticed = bool(outcome.failures)
    if fault is None and not (noticed or outcome.passed):
        raise Unfit(f"check {check.name}", f"it is skipped here: {outcome.skips}", "use another one")
    said = " ".join("; ".join(outcome.failures).split())[:_SAID]
    return Attempt(noticed, said, round(time.monotonic() - start, 1))


def show(verdicts: Sequence[Verdict]) -> None:
    heads = ("mutant", "outcome", "by", "s", "what it said")
    table = grid(heads, left=set(heads) - {"s"})
    for verdict in verdicts:
        marked = f"{SURVIVED.upper()} <--" if verdict.outcome == SURVIVED else verdict.outcome
        seconds = f"{verdict.seconds:.1f}" if verdict.seconds else ""
        table.add_row(verdict.fault.id, marked, verdict.by, seconds, plain(verdict.said[:60]))
    console().print(table)


def conclude(verdicts: Sequence[Verdict], elapsed: float) -> int:
    for verdict in verdicts:
        if verdict.outcome == SURVIVED:
            todo = "write a test, or say why it is equivalent"
            progress.note(f"{verdict.fault.id} survives: {verdict.fault.why}; {todo}")
    counts = Counter(verdict.outcome for verdict in verdicts)
    sums = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    progress.note(f"{len(verdicts)} mutants: {sums}; took {progress.seconds(elapsed)}")
    return 1 if counts[SURVIVED] or counts[BROKEN] else 0
