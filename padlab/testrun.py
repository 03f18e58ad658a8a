# SPDX-License-Identifier: GPL-2.0-only
"""``./lab test``: run checks one after another and sum up.

A check is a named function that returns an Outcome.  One that fails, in whatever
way, is told with its reason and its log, and the rest still runs.  At the end all
that failed is told again: of a CI run often only the last lines are kept.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.console import Console

from padlab import progress
from padlab.errors import LabError
from padlab.outcome import Outcome
from padlab.paths import LOGS

SHOWN_LINES = 20  # of what a failure has to say
AGAIN_LINES = 6  # of the same at the end

# Plain lines: they are read in CI logs as much as on a terminal.
_out = Console(highlight=False, soft_wrap=True, markup=False)


@dataclass(frozen=True)
class Check:
    name: str
    run: Callable[[], Outcome]


@dataclass(frozen=True)
class Report:
    """How a check went, in seconds; ``detail`` is what else its error had to say."""

    name: str
    outcome: Outcome
    elapsed: float
    detail: list[str]


def main(quick: bool, full: bool = False) -> int:
    """The exit status is 0 if all checks passed; the last line has the sums."""
    from padlab import checks

    return run_all(checks.quick() if quick else checks.full(full))


def run_all(checks: Iterable[Check]) -> int:
    start = time.monotonic()
    todo = list(checks)
    total = Outcome()
    failed: list[Report] = []
    for nr, check in enumerate(todo, start=1):
        report = _run(check)
        _tell(report, f"[{nr}/{len(todo)}]")
        total += report.outcome
        if report.outcome.failures:
            failed.append(report)
    _out.print(f"took {progress.seconds(time.monotonic() - start)}")
    for report in failed:
        _tell_failures(report, AGAIN_LINES, f"failed in {report.name}")
    _out.print(summary(total))
    return 1 if total.failures or not total.passed else 0


def summary(total: Outcome) -> str:
    skipped = f", {len(total.skips)} skipped" if total.skips else ""
    return f"{total.passed} passed, {len(total.failures)} failed{skipped}"


def _run(check: Check) -> Report:
    start = time.monotonic()
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
    return Report(check.name, outcome, time.monotonic() - start, detail)


def _tell(report: Report, place: str) -> None:
    outcome = report.outcome
    verdict = "FAILED" if outcome.failures else "ok" if outcome.passed else "skipped"
    _out.print(f"{place} {report.name}: {verdict}, {summary(outcome)}, {progress.seconds(report.elapsed)}")
    for reason in outcome.skips:
        _out.print(f"    skipped: {reason}")
    _tell_failures(report, SHOWN_LINES, "failed")


def _tell_failures(report: Report, limit: int, title: str) -> None:
    outcome = report.outcome
    for failure in outcome.failures:
        lines = failure.splitlines()
        _out.print(f"    {title}: {lines[0]}")
        _show(lines[1:], limit)
    _show(report.detail, limit)
    if outcome.failures and outcome.log:
        _out.print(f"    log: {outcome.log}")


def _show(lines: list[str], limit: int) -> None:
    for line in lines[:limit]:
        _out.print(f"      {line}")
    if len(lines) > limit:
        _out.print(f"      ... and {len(lines) - limit} lines more")
