# SPDX-License-Identifier: GPL-2.0-only
"""``./lab test``: run checks one after another and sum up.

A check is a named function that returns an Outcome.  One that fails, in whatever
way, is told with its reason and its log, and the rest still runs.
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

# Plain lines: they are read in CI logs as much as on a terminal.
_out = Console(highlight=False, soft_wrap=True, markup=False)


@dataclass(frozen=True)
class Check:
    name: str
    run: Callable[[], Outcome]


def main(quick: bool, full: bool = False) -> int:
    """The exit status is 0 if all checks passed; the last line has the sums."""
    from padlab import checks

    return run_all(checks.quick() if quick else checks.full(full))


def run_all(checks: Iterable[Check]) -> int:
    start = time.monotonic()
    todo = list(checks)
    total = Outcome()
    for nr, check in enumerate(todo, start=1):
        total += _run(check, f"[{nr}/{len(todo)}]")
    _out.print(f"took {progress.seconds(time.monotonic() - start)}")
    _out.print(summary(total))
    return 1 if total.failures or not total.passed else 0


def summary(total: Outcome) -> str:
    skipped = f", {len(total.skips)} skipped" if total.skips else ""
    return f"{total.passed} passed, {len(total.failures)} failed{skipped}"


def _run(check: Check, place: str) -> Outcome:
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
    _tell(check.name, place, outcome, time.monotonic() - start, detail)
    return outcome


def _tell(name: str, place: str, outcome: Outcome, elapsed: float, detail: list[str]) -> None:
    verdict = "FAILED" if outcome.failures else "ok" if outcome.passed else "skipped"
    _out.print(f"{place} {name}: {verdict}, {summary(outcome)}, {progress.seconds(elapsed)}")
    for reason in outcome.skips:
        _out.print(f"    skipped: {reason}")
    for failure in outcome.failures:
        lines = failure.splitlines()
        _out.print(f"    failed: {lines[0]}")
        _show(lines[1:])
    _show(detail)
    if outcome.failures and outcome.log:
        _out.print(f"    log: {outcome.log}")


def _show(lines: list[str]) -> None:
    for line in lines[:SHOWN_LINES]:
        _out.print(f"      {line}")
    if len(lines) > SHOWN_LINES:
        _out.print(f"      ... and {len(lines) - SHOWN_LINES} lines more")
