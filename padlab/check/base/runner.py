# SPDX-License-Identifier: GPL-2.0-only
"""Runs checks: at the same time where they do not disturb each other, each within its limit.

A check is a named function that returns an Outcome.  One that fails, in whatever
way, is reported with its reason and its log, and the rest still runs.

Checks begin in the order of their list.  Each runs in a thread of its own, but is
mostly a guest that keeps one of the host's cores busy.  One that is to be ``alone``
waits until nothing else runs, and holds back those after it.
"""

import contextlib
import os
import queue
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from padlab.check.base import report as reports
from padlab.core import host, process, progress
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.core.paths import LOGS
from padlab.vm import accel, emulator, kept
from padlab.vm import boot as boots

APART_LIMIT_S = 3600.0  # for what is no part of a check, such as a kernel that it needs
GRACE_S = 30.0  # for a check whose children have been ended
_JOIN_S = 5.0


@dataclass(frozen=True)
class Check:
    name: str
    run: Callable[[], Outcome]
    limit_s: float
    alone: bool = False  # it takes all cores of the host
    mib: int = 0  # of the host's memory, at most
    cpus: int = 1  # of its guests
    # A digest of all that it depends on, if it is not to be run again while that is the same (kept.py).
    sees: Callable[[], str] | None = None


@dataclass(frozen=True)
class Host:
    """What there is for checks.  ``wide``: a guest takes a core for each of its CPUs."""

    cores: int
    mib: int
    wide: bool


def this_host(checks: Sequence[Check]) -> Host:
    wide = any(check.cpus > 1 for check in checks) and accel.choose(emulator.ensure()).parallel
    return Host(len(os.sched_getaffinity(0)), host.free_mib(), wide)


@dataclass
class _Running:
    nr: int
    check: Check
    until: float  # what is done apart comes on top
    scope: process.Scope = field(default_factory=process.Scope)
    thread: threading.Thread | None = None
    ended: bool = False  # by its limit

    @property
    def deadline(self) -> float:
        return self.until + min(self.scope.apart_s, APART_LIMIT_S)


class Runner:
    def __init__(self, checks: Sequence[Check], host: Host, again: bool = False, stop: bool = False) -> None:
        """``again``: every guest is booted, whatever is kept of earlier runs (kept.py).

        ``stop``: the first failure ends all.
        """
        self._again = again
        self._stop = stop
        self._host = host
        self._todo = list(enumerate(checks, start=1))
        self._count = len(checks)
        self._running: dict[int, _Running] = {}
        self._done: queue.SimpleQueue[tuple[int, reports.Report]] = queue.SimpleQueue()
        self.reports: list[reports.Report] = []

    def run(self) -> None:
        """All of them.  ``reports`` has those that have ended, also when this is interrupted."""
        try:
            while self._todo or self._running:
                if self._stop and any(report.outcome.failures for report in self.reports):
                    break
                self._start_what_fits()
                self._wait()
                self._end_what_is_late()
        finally:
            threads = [running.thread for running in self._running.values() if running.thread]
            if threads:
                process.kill_all()
            for thread in threads:
                thread.join(_JOIN_S)

    def _start_what_fits(self) -> None:
        for nr, check in list(self._todo):
            if self._fits(check):
                self._todo.remove((nr, check))
                self._start(nr, check)
            elif check.alone:
                break

    def _fits(self, check: Check) -> bool:
        others = [running.check for running in self._running.values()]
        if not others:
            return True
        if check.alone or any(other.alone for other in others):
            return False
        together = [*others, check]
        cores = sum(min(one.cpus, self._host.cores) if self._host.wide else 1 for one in together)
        return cores <= self._host.cores and sum(check.mib for check in together) <= self._host.mib

    def _start(self, nr: int, check: Check) -> None:
        running = _Running(nr, check, time.monotonic() + check.limit_s)
        # A daemon: one that hangs must not keep the lab from ending.
        running.thread = threading.Thread(target=self._work, args=(running,), name=check.name, daemon=True)
        self._running[nr] = running
        running.thread.start()

    def _work(self, running: _Running) -> None:
        with running.scope.entered(), progress.labelled(f"[{running.nr}]"):
            self._done.put((running.nr, run_one(running.check, self._again)))

    def _wait(self) -> None:
        due = min(running.deadline for running in self._running.values())
        with contextlib.suppress(queue.Empty):
            nr, report = self._done.get(timeout=max(0.0, due - time.monotonic()))
            if nr in self._running:  # not given up
                self._collect(nr, report)

    def _collect(self, nr: int, report: reports.Report) -> None:
        running = self._running.pop(nr)
        report = judged(report, running.ended)
        self.reports.append(report)
        reports.tell(report, f"[{nr}/{self._count}]")

    def _end_what_is_late(self) -> None:
        now = time.monotonic()
        for nr, running in list(self._running.items()):
            if now < running.deadline:
                continue
            if running.ended:
                check = running.check
                late = reports.Report(check.name, Outcome(), check.limit_s + GRACE_S, check.limit_s)
                self._collect(nr, late)
            else:
                running.ended = True
                running.until = now + GRACE_S - min(running.scope.apart_s, APART_LIMIT_S)
                running.scope.end()


def run_one(check: Check, again: bool = False) -> reports.Report:
    """One that fails by boots that were kept is run again with real ones."""
    try:
        key = check.sees() if check.sees else ""
    except LabError:
        key = ""  # the check needs the same, and says what is wrong
    if key and not again and (outcome := kept.verdict(key)):
        return reports.Report(check.name, outcome, 0.0, check.limit_s, kept="verdict kept")
    report = _with_keeper(check, kept.Keeper(again))
    if report.outcome.failures and report.kept:
        report = _with_keeper(check, kept.Keeper(again=True))
    if key and not report.outcome.failures:
        kept.keep_verdict(key, report.outcome)
    return report


def _with_keeper(check: Check, keeper: kept.Keeper) -> reports.Report:
    with kept.by(keeper):
        report = _run(check)
    if report.outcome.failures:
        keeper.drop()
    else:
        keeper.keep(boots.LOGS)
    return replace(report, kept=f"{len(keeper.read)} boots kept" if keeper.read else "")


def _run(check: Check) -> reports.Report:
    scope = process.scope()
    start, apart_s = time.monotonic(), scope.apart_s
    detail: list[str] = []
    try:
        outcome = check.run()
        if not (outcome.passed or outcome.failures or outcome.skips):
            outcome = Outcome(failures=("nothing was tested",))
    except LabError as err:
        outcome = Outcome(failures=(str(err),), log=err.log)
        detail = err.detail
    except Exception as err:  # a fault of the check itself must not hide the others
        log = LOGS / "test-traceback.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            file.write(f"{check.name}\n{traceback.format_exc()}\n")
        outcome = Outcome(failures=(f"the check broke: {err!r}",), log=log)
    elapsed = time.monotonic() - start - (scope.apart_s - apart_s)
    return reports.Report(check.name, outcome, elapsed, check.limit_s, detail)


def judged(report: reports.Report, ended: bool) -> reports.Report:
    """One that took longer than it may, or was ``ended`` for that, has failed, whatever else it says."""
    if report.elapsed <= report.limit_s and not ended:
        return report
    late = f"it took longer than its limit of {report.limit_s:g} s"
    return replace(report, outcome=replace(report.outcome, failures=(late, *report.outcome.failures)))
