# SPDX-License-Identifier: GPL-2.0-only
"""``./lab outside``: all kselftests of others at all thresholds, shown and recorded."""

from __future__ import annotations

import json as jsons
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from padlab.check.base import guests
from padlab.check.others import cases, outside
from padlab.check.others.outside import Comparison
from padlab.check.plan import selection
from padlab.core import packages, pool, progress, table
from padlab.kernel import othertests
from padlab.measure import provenance
from padlab.vm import boot as boots
from padlab.vm import machine

RECORD = "outside.json"
COMMAND = "./lab outside"


def choose(globs: Sequence[str]) -> tuple[str, ...]:
    """The programs that any of ``globs`` names; without any, all."""
    return tuple(selection.named(globs, outside.names(), "outside", "program"))


def main(globs: Sequence[str] = (), jobs: int = 1, list_only: bool = False, json: bool = False) -> int:
    """Run, show, and keep what came of it if it was all.  The exit status is 1 if there is a difference."""
    chosen = choose(globs)
    if list_only:
        print("".join(f"{name}\n" for name in chosen), end="")
        return 0
    start = time.monotonic()
    with boots.quiet_stdout():
        packages.ensure("build", "quilt", "qemu", "guest")
        done = _run(chosen, jobs)
        data = as_dict(done)
        if not globs:
            provenance.keep(RECORD, data)
    if json:
        print(jsons.dumps(data, indent=2))
    else:
        _show(done, time.monotonic() - start)
    return 1 if any(one.problems() for one in done) else 0


def _run(chosen: Sequence[str], jobs: int) -> list[Comparison]:
    """Suite by suite, each at all thresholds."""
    for kernel in ("stock", "patched"):
        guests.ready(kernel, outside.ROLE, outside.CONFIG)
    parts = [
        (tuple(name for name in chosen if othertests.suite_of(name) == suite), threshold)
        for suite in outside.suites()
        for threshold in outside.THRESHOLDS
    ]
    return list(pool.in_order(_one, [part for part in parts if part[0]], jobs))


def _one(part: tuple[tuple[str, ...], str]) -> Comparison:
    chosen, threshold = part
    with progress.labelled(f"[{othertests.suite_of(chosen[0])}, {threshold}]"):
        return outside.run(chosen, threshold)


# What is recorded


def as_dict(done: Sequence[Comparison]) -> dict[str, Any]:
    return {
        **provenance.provenance(COMMAND, guests.build("patched", outside.CONFIG), done[0].log.accel),
        "machine": machine.load(outside.MACHINE).summary(),
        "suites": [suite_dict(one) for one in done],
    }


def suite_dict(one: Comparison) -> dict[str, Any]:
    """One suite at one threshold."""
    every = [(program, case) for program, compared in one.programs.items() for case in compared]
    ran, shared = one.all_jobs()
    return {
        "suite": othertests.suite_of(next(iter(one.programs))),
        "threshold": one.threshold,
        "programs": len(one.programs),
        "cases": len(every),
        "passed on both": sum(case.both(cases.PASS) for _, case in every),
        "jobs": ran,
        "jobs with helpers": shared,
        "seconds": sum(one.seconds.values()),
        "tries": one.tries,
        "different": one.differences(),
        "reports": one.reports,
        "failed on both": _by_program(every, cases.FAIL),
        "skipped on both": _by_program(every, cases.SKIP),
        "worse on stock": [f"{program}: {case}" for program, case in every if case.better],
        "not always the same": [f"{program}: {case}" for program, case in every if case.flaky],
    }


def _by_program(every: Iterable[tuple[str, cases.Compared]], outcome: str) -> dict[str, dict[str, int]]:
    """Reasons, or names where there are none, and how many cases have them."""
    found: dict[str, Counter[str]] = {}
    for program, case in every:
        if case.both(outcome):
            found.setdefault(program, Counter())[case.reason or case.name] += 1
    return {program: dict(counter) for program, counter in found.items()}


def _show(done: Sequence[Comparison], elapsed: float) -> None:
    names = ["suite", "threshold", "programs", "cases", "passed on both", "jobs", "with helpers", "different"]
    grid = table.grid(names, left={"suite", "threshold"})
    for one in done:
        data = suite_dict(one)
        cells = [data["suite"], data["threshold"], data["programs"], data["cases"], data["passed on both"]]
        cells += [data["jobs"], data["jobs with helpers"], len(one.problems())]
        grid.add_row(*(table.plain(str(cell)) for cell in cells))
    table.console().print(grid)
    for one in done:
        for problem in one.problems():
            progress.result(f"{problem}\n  log: {one.log.guest_log}")
    different = sum(len(one.problems()) for one in done)
    progress.result(f"{different} differences, took {progress.seconds(elapsed)}")
