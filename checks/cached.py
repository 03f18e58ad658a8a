# SPDX-License-Identifier: GPL-2.0-only
"""Running a check with what is cached of earlier runs: what guests said, or its verdict (cache.py)."""

import time
from collections.abc import Callable

from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.vm import cache


def run(
    check: Callable[[], Outcome], since: float = 0.0, sees: Callable[[], str] | None = None
) -> tuple[Outcome, str]:
    """What ``check`` comes to, and what of it was cached since ``since``, in words.

    One that fails by boots that were cached is run again with real ones.
    """
    try:
        key = sees() if sees else ""
    except LabError:
        key = ""  # the check needs the same, and says what is wrong
    if key and not since and (outcome := cache.verdict(key)):
        return outcome, "cached"
    outcome, read = _run(check, since)
    if outcome.failures and read:
        outcome, read = _run(check, time.time())
    if key and not outcome.failures:
        cache.keep_verdict(key, outcome)
    return outcome, f"{read} boots cached" if read else ""


def _run(check: Callable[[], Outcome], since: float) -> tuple[Outcome, int]:
    cache.current = boots_of_check = cache.Cache(since)
    try:
        outcome = check()
    except LabError as err:
        outcome = Outcome(failures=("\n".join([str(err), *err.detail]),), log=err.log)
    if not (outcome.passed or outcome.failures or outcome.skips):
        outcome = Outcome(failures=("nothing was tested",))
    if outcome.failures:
        boots_of_check.drop()
    else:
        boots_of_check.keep()
    return outcome, len(boots_of_check.read)
