# SPDX-License-Identifier: GPL-2.0-only
"""``./lab test``: chooses checks, makes what they need, runs and sums up."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab.check.base import expected, guests, report, runner
from padlab.check.guest import suites
from padlab.check.plan import plan, selection
from padlab.core import environment, exclusive, host, packages, paths, progress
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.vm import kept

# Packages: what any check, or a test of the lab, runs.  Nothing is skipped for want of one.
QUICK_GROUPS = ("build", "quilt", "git", "guest")
GROUPS = (*QUICK_GROUPS, "models", "qemu", "arm64", "qemu-arm64")
FULL_ROOM = 20 << 30  # on disk, for kernels and packages
SET_UP = "set-up: packages and the patched tree"
FAILED = "failed.json"  # names of checks that failed when they were last run


@dataclass(frozen=True)
class How:
    words: str = ""  # that names have to have, as pytest's -k
    stop: bool = False  # at the first failure
    failed: bool = False  # only what failed the last time
    durations: int = 0
    again: bool = False
    json: Path | None = None
    junitxml: Path | None = None


def checks(globs: Sequence[str] = (), quick: bool = False, full: bool = False) -> list[runner.Check]:
    chosen = plan.quick() if quick else plan.full(full)
    names_of_all = [check.name for check in (*plan.of_any_base(True), *suites.singles(True))]
    return selection.choose(chosen, globs, names_of_all, [] if quick else suites.singles(full))


def main(
    globs: Sequence[str] = (),
    quick: bool = False,
    full: bool = False,
    list_only: bool = False,
    how: How = How(),
) -> int:
    chosen = checks(globs, quick, full)
    if how.words:
        chosen = selection.having(chosen, how.words)
    if how.failed:
        chosen = [check for check in chosen if check.name in _failed()] or chosen
    if list_only:
        print("".join(f"{check.name}\n" for check in chosen), end="")
    if not (globs or quick or how.words or how.failed):
        for line in expected.left_out(check.name for check in plan.of_any_base(full)):
            progress.note(line)
    if list_only:
        return 0
    if full and not (globs or how.words or how.failed):
        _check_host(chosen)
    for file in filter(None, (how.json, how.junitxml)):
        file.touch()  # if it cannot be written, that is said now
    with exclusive.held(paths.command("test")):
        start = time.monotonic()
        reports = _run(chosen, QUICK_GROUPS if quick else GROUPS, how)
        elapsed = time.monotonic() - start
        _keep_failed(reports)
        if how.json:
            how.json.write_text(report.to_json(reports), encoding="utf-8")
        if how.junitxml:
            how.junitxml.write_text(report.to_junit(reports), encoding="utf-8")
    return report.conclude(reports, elapsed, how.durations)


def _failed() -> list[str]:
    file = paths.BUILD / FAILED
    return json.loads(file.read_text()) if file.exists() else []


def _keep_failed(reports: Sequence[report.Report]) -> None:
    """What was not run this time stays as it is."""
    run = {report.name: bool(report.outcome.failures) for report in reports}
    names = [name for name in _failed() if name not in run]
    (paths.BUILD / FAILED).write_text(json.dumps([*names, *(name for name in run if run[name])]))


def _check_host(chosen: Sequence[runner.Check]) -> None:
    """Refuse hours of work that cannot end well here."""
    what = paths.command("test --full")
    host.check_room(paths.BUILD, FULL_ROOM, what)
    largest = max(chosen, key=lambda check: check.mib)
    free = host.free_mib()
    if largest.mib > free:
        why = f"'{largest.name}' takes {largest.mib / 1024:.0f} GiB of memory, {free / 1024:.0f} GiB are free"
        raise LabError(what, why, "end other programs, or name checks that fit: ./lab test --full GLOB")


def _run(chosen: list[runner.Check], groups: Sequence[str], how: How) -> list[report.Report]:
    set_up = runner.run_one(runner.Check(SET_UP, lambda: _set_up(groups), plan.SET_UP_LIMIT_S))
    if set_up.outcome.failures:
        report.tell(set_up, "[0]")
        return [set_up]
    run = runner.Runner(chosen, runner.this_host(chosen), how.again, how.stop)
    try:
        run.run()
    finally:
        kept.prune()
    return run.reports


def _set_up(groups: Sequence[str]) -> Outcome:
    environment.need("dev")
    packages.ensure(*groups)
    guests.patched_tree()
    return Outcome(1)
