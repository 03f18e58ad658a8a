# SPDX-License-Identifier: GPL-2.0-only
"""``./lab mutants``: does some check notice each small fault?

A check is first run without a mutant: if it fails then, nothing that it says of mutants
counts.  That also tells how long it takes, so that one that hangs is ended in time.  All
mutants are tried on cheap checks before any is tried on a dear one.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json as jsons
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial

from padlab.check.mutants import detectors, mutant, mutantkernel, mutantlog
from padlab.check.mutants.detectors import TIERS, Detector
from padlab.check.mutants.mutant import Mutant
from padlab.check.mutants.mutantlog import KILLED, SURVIVED, Attempt, Log, Verdict
from padlab.check.plan import selection
from padlab.core import packages, process, progress
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.core.table import console, grid, plain
from padlab.measure import provenance
from padlab.vm import boot as boots

GROUPS = ("build", "quilt", "guest")
FIRST_LIMIT_S = 900.0  # for a check without a mutant
LIMIT, LEAST_LIMIT_S = 4.0, 60.0  # then so many times what it took, and some
_SAID = 200  # characters of what a check says


def main(
    globs: Sequence[str],
    tier: str,
    jobs: int = 1,
    again: bool = False,
    list_only: bool = False,
    json: bool = False,
) -> int:
    everything = mutant.all_of()
    chosen = choose(everything, globs)
    if list_only:
        print("".join(f"{one.id}: {one.why}\n" for one in chosen), end="")
        return 0
    start = time.monotonic()
    log = Log()
    with boots.quiet_stdout():
        packages.ensure(*GROUPS, *(() if tier in TIERS[:2] else ("qemu",)))
        run = Run(log, again, jobs)
        for level in TIERS[: TIERS.index(tier) + 1]:
            run.try_all(chosen, level)
    verdicts = [log.verdict(one, checks_of(one)) for one in chosen]
    mutantlog.record([log.verdict(one, checks_of(one)) for one in everything])
    if json:
        print(jsons.dumps([mutantlog.as_dict(one) for one in verdicts], indent=2))
    else:
        show(verdicts)
    return conclude(verdicts, run.broken, time.monotonic() - start)


def choose(everything: Sequence[Mutant], globs: Sequence[str]) -> list[Mutant]:
    """Those that any of ``globs`` names, all without any."""
    chosen = set(selection.named(globs, [one.id for one in everything], "mutants", "mutant"))
    return [one for one in everything if one.id in chosen]


def checks_of(one: Mutant) -> list[Detector]:
    """From the cheapest; a build of the engine that is known to find a bug is the first."""
    found = [detectors.named(name) for name in one.checks]
    return sorted(found, key=lambda check: (check.name != one.build, *check.cost))


class Unfit(LabError):
    """A check that says nothing of mutants."""


class Run:
    """Mutants tried on checks; ``broken`` are those that do not compile, each with the reason."""

    def __init__(self, log: Log, again: bool, jobs: int = 1) -> None:
        self._log = log
        self._again = again
        self._jobs = jobs
        self._count = 0
        self._stopping = False
        self._alone = threading.Lock()
        self._first = threading.Lock()
        self._tried: set[tuple[str, str]] = set()
        self.broken: dict[str, LabError] = {}

    def try_all(self, chosen: Sequence[Mutant], tier: str) -> None:
        """Each that no check has noticed yet, on its checks of ``tier``."""
        todo = [one for one in chosen if not (one.equivalent or one.id in self.broken or self._known(one))]
        together = [one for one in todo if tier != TIERS[0] and mutantkernel.can_be_chosen(one)]
        alone = [one for one in todo if one not in together]
        self._count = len(todo)
        with concurrent.futures.ThreadPoolExecutor(self._jobs) as pool:
            try:
                for _done in pool.map(partial(self._try, tier), range(1, len(todo) + 1), [*together, *alone]):
                    pass
            except BaseException as err:
                # What fails from now on has been ended by us.
                self._stopping = True
                pool.shutdown(wait=False, cancel_futures=True)
                if not isinstance(err, Exception):
                    process.kill_all()
                raise

    def _known(self, one: Mutant) -> bool:
        """Whether it is killed, in this run or if that counts in one before."""
        tried = [check for check in checks_of(one) if not self._again or (one.id, check.name) in self._tried]
        return self._log.verdict(one, tried).outcome == KILLED

    def _try(self, tier: str, nr: int, one: Mutant) -> None:
        with progress.labelled(f"[{nr}/{self._count}]"), self._turn(tier, one):
            for check in checks_of(one):
                if check.tier == tier and not self._try_check(check, one):
                    return

    @contextlib.contextmanager
    def _turn(self, tier: str, one: Mutant) -> Iterator[None]:
        """By itself, unless all that is changed for it is a kernel's command line."""
        alone = tier == TIERS[0] or tier == "uml" or not mutantkernel.can_be_chosen(one)
        with self._alone if alone else contextlib.nullcontext():
            yield

    def _try_check(self, check: Detector, one: Mutant) -> bool:
        """Whether there is a reason to try another one."""
        attempt = None if self._again else self._log.find(check, one)
        if attempt is None:
            try:
                attempt = attempt_of(check, one, self._limit_s(check))
            except Unfit:
                raise
            except LabError as err:
                self.broken[one.id] = err
                progress.note(f"{one.id} does not compile: {err.why}")
                return False
            if self._stopping:
                return False
            self._log.keep(check, one, attempt)
        self._tried.add((one.id, check.name))
        if attempt.noticed:
            progress.note(f"{one.id}: killed by {check.name}, {progress.seconds(attempt.seconds)}")
        else:
            progress.note(f"{one.id}: {check.name} does not notice it")
        return not attempt.noticed

    def _limit_s(self, check: Detector) -> float:
        """From a run without a mutant, which is to find nothing."""
        with self._first:
            first = self._log.find(check, None)
            if first is None:
                with progress.labelled("[without a mutant]"):
                    first = attempt_of(check, None, FIRST_LIMIT_S)
                if first.noticed:
                    raise Unfit(f"check {check.name}", f"without a mutant: {first.said}", "mend that first")
                self._log.keep(check, None, first)
        return LIMIT * first.seconds + LEAST_LIMIT_S


def attempt_of(check: Detector, one: Mutant | None, limit_s: float) -> Attempt:
    """Build it, which is an error if it does not compile, and run it."""
    start = time.monotonic()
    run = check.build(one)
    try:
        outcome = run(limit_s)
    except LabError as err:
        outcome = Outcome(failures=(f"{err.what}: {err.why}",))
    noticed = bool(outcome.failures)
    if one is None and not (noticed or outcome.passed):
        raise Unfit(f"check {check.name}", f"it is skipped here: {outcome.skips}", "use another one")
    said = " ".join("; ".join(outcome.failures).split())[:_SAID]
    return Attempt(noticed, said, round(time.monotonic() - start, 1), provenance.today())


# What it comes to


def show(verdicts: Sequence[Verdict]) -> None:
    table = grid(
        ("mutant", "outcome", "by", "s", "what it said"), left=("mutant", "outcome", "by", "what it said")
    )
    for one in verdicts:
        marked = f"{one.outcome.upper()} <--" if one.outcome == SURVIVED else one.outcome
        seconds = f"{one.seconds:.1f}" if one.seconds else ""
        table.add_row(one.mutant.id, marked, one.by, seconds, plain(one.said[:60]))
    console().print(table)


def conclude(verdicts: Sequence[Verdict], broken: dict[str, LabError], elapsed: float) -> int:
    """The sums, and the exit status: all that are decided are killed or equivalent."""
    for name, err in broken.items():
        progress.note(f"{name} is no mutant, it does not compile: {err.why}")
        for line in err.detail[:5]:
            progress.note(f"  {line}")
    survivors = [one for one in verdicts if one.outcome == SURVIVED]
    for one in survivors:
        progress.note(
            f"{one.mutant.id} survives: {one.mutant.why}; write a test, or say why it is equivalent"
        )
    sums = ", ".join(f"{nr} {outcome}" for outcome, nr in mutantlog.counts(verdicts).items() if nr)
    progress.note(f"{len(verdicts)} mutants: {sums}; took {progress.seconds(elapsed)}")
    return 1 if survivors or broken else 0
