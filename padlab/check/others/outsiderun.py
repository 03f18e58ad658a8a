# SPDX-License-Identifier: GPL-2.0-only
"""``./lab outside``: all kselftests of others at all thresholds, shown and recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
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
    with boots.quiet_stdout():
        packages.ensure("build", "quilt", "qemu", "guest")
        done = _run(chosen, jobs)
        data = as_dict(done)
        if not globs:
            provenance.keep(RECORD, data)
    provenance.tell(data, json, partial(_show, done))
    return 1 if any(comparison.problems() for comparison in done) else 0


def _run(chosen: Sequence[str], jobs: int) -> list[Comparison]:
    """Suite by suite, each at all thresholds."""
    for kernel in ("stock", "patched"):
        guests.ready(kernel, outside.ROLE, outside.CONFIG)
    parts = [
        (tuple(name for name in chosen if othertests.suite_of(name) == suite), threshold)
        for suite in outside.suites()
        for threshold in outside.THRESHOLDS
    ]
    return list(pool.in_order(_run_part, [part for part in parts if part[0]], jobs))


def _run_part(part: tuple[tuple[str, ...], str]) -> Comparison:
    chosen, threshold = part
    with progress.labelled(f"[{othertests.suite_of(chosen[0])}, {threshold}]"):
        return outside.run(chosen, threshold)


# What is recorded


def as_dict(done: Sequence[Comparison]) -> dict[str, Any]:
    return {
        **provenance.of_native(COMMAND),
        "machine": machine.load(outside.MACHINE).summary(),
        "suites": [suite_dict(comparison) for comparison in done],
    }


def suite_dict(comparison: Comparison) -> dict[str, Any]:
    """One suite at one threshold."""
    compared = [(name, case) for name, of_program in comparison.programs.items() for case in of_program]
    ran, shared = comparison.all_jobs()
    return {
        "suite": othertests.suite_of(next(iter(comparison.programs))),
        "threshold": comparison.threshold,
        "programs": len(comparison.programs),
        "cases": len(compared),
        "passed on both": sum(case.both(cases.PASS) for _, case in compared),
        "jobs": ran,
        "with helpers": shared,
        "tries": comparison.tries,
        "problems": comparison.problems(),
        "failed on both": _by_program(compared, cases.FAIL),
        "skipped on both": _by_program(compared, cases.SKIP),
    }


def _by_program(compared: Iterable[tuple[str, cases.Compared]], outcome: str) -> dict[str, dict[str, int]]:
    """Reasons, or names where there are none, and how many cases have them."""
    counters: dict[str, Counter[str]] = {}
    for program, case in compared:
        if case.both(outcome):
            counters.setdefault(program, Counter())[case.reason or case.name] += 1
    return {program: dict(counter) for program, counter in counters.items()}


def _show(done: Sequence[Comparison]) -> None:
    names = ("suite", "threshold", "programs", "cases", "passed on both", "jobs", "with helpers")
    grid = table.grid((*names, "problems"), left={"suite", "threshold"})
    for comparison in done:
        data = suite_dict(comparison)
        grid.add_row(*(table.plain(str(data[name])) for name in names), str(len(data["problems"])))
    table.console().print(grid)
    for comparison in done:
        for problem in comparison.problems():
            progress.result(f"{problem}\n  log: {comparison.log}")
    progress.result(f"{sum(len(comparison.problems()) for comparison in done)} differences")
