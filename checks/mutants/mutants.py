# SPDX-License-Identifier: GPL-2.0-only
"""``./lab mutants``: does some check notice each small fault?

A check is first run without a mutant: if it fails then, nothing that it says of mutants
counts.  That also tells how long it takes, so that one that hangs is ended in time.  All
mutants are tried on cheap checks before any is tried on a dear one.
"""

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Iterable, Sequence
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

OUTCOMES = KILLED, EQUIVALENT, SURVIVED, OPEN = "killed", "equivalent", "survived", "not decided"


class Attempt(Struct, frozen=True):
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


_sources = functools.cache(Detector.sources)


class Log:
    def __init__(self, path: Path | None = None) -> None:
        self._path = path = path or mutantkernel.place() / "kept.json"
        self._attempts: dict[str, dict[str, Attempt]] = {}
        with contextlib.suppress(OSError, msgspec.MsgspecError):  # none, or of another version of the lab
            self._attempts = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, Attempt]])

    def find(self, detector: Detector, mutant: Mutant | None) -> Attempt | None:
        return self._attempts.get(detector.name, {}).get(_key(detector, mutant))

    def keep(self, detector: Detector, mutant: Mutant | None, attempt: Attempt) -> None:
        self._attempts.setdefault(detector.name, {})[_key(detector, mutant)] = attempt
        text = msgspec.json.encode(self._attempts).decode()
        provenance.write(self._path, msgspec.json.format(text, indent=1))

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


GROUPS = ("build", "quilt", "guest")
FIRST_LIMIT_S = 900.0  # for a check without a mutant
LIMIT, LEAST_LIMIT_S = 4.0, 60.0  # then so many times what it took, and some
_SAID = 200  # characters of what a check says


def choose(globs: Sequence[str]) -> list[mutant.Mutant]:
    return names.choose(globs, {fault.id: fault for fault in mutant.all_of()}, "mutants", "mutant")


def main(globs: Sequence[str], tier: str, list_only: bool = False) -> int:
    chosen = choose(globs)
    if list_only:
        print("".join(f"{fault.id}: {fault.why}\n" for fault in chosen), end="")
        return 0
    start = time.monotonic()
    log = Log()
    packages.ensure(*GROUPS, *(() if tier in TIERS[:2] else ("qemu",)))
    run = Run(log)
    for level in TIERS[: TIERS.index(tier) + 1]:
        run.try_all(chosen, level)
    verdicts = [log.verdict(fault, checks_of(fault)) for fault in chosen]
    show(verdicts)
    return conclude(verdicts, run.broken, time.monotonic() - start)


def checks_of(fault: mutant.Mutant) -> list[Detector]:
    """By tier, and as the table has them; a build of the engine that is known to find a bug is the first."""
    checks = map(detectors.named, fault.checks)
    return sorted(
        checks, key=lambda check: (detectors.FUZZ.get(check.name) != fault.build, TIERS.index(check.tier))
    )


class Unfit(LabError):
    """A check that says nothing of mutants."""


class Run:
    """Mutants tried on checks; ``broken`` are those that do not compile, each with the reason."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.broken: dict[str, LabError] = {}

    def try_all(self, chosen: Sequence[mutant.Mutant], tier: str) -> None:
        """Each that no check has noticed yet, on its checks of ``tier``."""
        verdicts = {fault.id: self._log.verdict(fault, checks_of(fault)).outcome for fault in chosen}
        alive = [fault for fault in chosen if verdicts[fault.id] not in (KILLED, EQUIVALENT)]
        todo = [fault for fault in alive if fault.id not in self.broken]
        for nr, fault in enumerate(todo, 1):
            with progress.step(f"[{nr}/{len(todo)}] {fault.id}, {tier}"):
                self._try(tier, fault)

    def _try(self, tier: str, fault: mutant.Mutant) -> None:
        """On its checks of ``tier``, until one notices it."""
        for check in checks_of(fault):
            if check.tier != tier:
                continue
            attempt = self._log.find(check, fault)
            if attempt is None:
                try:
                    attempt = attempt_of(check, fault, self._limit_s(check))
                except Unfit:
                    raise
                except LabError as err:
                    self.broken[fault.id] = err
                    progress.note(f"{fault.id} does not compile: {err.why}")
                    return
                self._log.keep(check, fault, attempt)
            if attempt.noticed:
                progress.note(f"{fault.id}: killed by {check.name}, {progress.seconds(attempt.seconds)}")
                return
            progress.note(f"{fault.id}: {check.name} does not notice it")

    def _limit_s(self, check: Detector) -> float:
        first = self._log.find(check, None)
        if first is None:
            with progress.step(f"{check.name}, without a mutant"):
                first = attempt_of(check, None, FIRST_LIMIT_S)
            if first.noticed:
                raise Unfit(f"check {check.name}", f"without a mutant: {first.said}", "mend that first")
            self._log.keep(check, None, first)
        return LIMIT * first.seconds + LEAST_LIMIT_S


def attempt_of(check: Detector, fault: mutant.Mutant | None, limit_s: float) -> Attempt:
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
        table.add_row(verdict.mutant, marked, verdict.by, seconds, plain(verdict.said[:60]))
    console().print(table)


def conclude(verdicts: Sequence[Verdict], broken: dict[str, LabError], elapsed: float) -> int:
    for name, err in broken.items():
        progress.note(f"{name} is no mutant, it does not compile: {err.why}")
        for line in err.detail[:5]:
            progress.note(f"  {line}")
    for verdict in verdicts:
        if verdict.outcome == SURVIVED:
            todo = "write a test, or say why it is equivalent"
            progress.note(f"{verdict.mutant} survives: {verdict.fault}; {todo}")
    counts = Counter(verdict.outcome for verdict in verdicts)
    sums = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
    progress.note(f"{len(verdicts)} mutants: {sums}; took {progress.seconds(elapsed)}")
    return 1 if counts[SURVIVED] or broken else 0
