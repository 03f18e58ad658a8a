# SPDX-License-Identifier: GPL-2.0-only
"""Code of the kernel in userspace: the engine with sanitizers, pages, CPU time of helpers, memblock."""

import os

import pytest

from checks.declare import QUICK, Needs, check, each, row
from checks.engine import fuzz, memblock
from checks.engine.programs import CHECKERS, Checker
from padlab.core import threads
from padlab.core.outcome import Outcome

QUICK_JOBS = 200_000
JOBS = {"asan": 1_500_000, "tsan": 1_000_000}
FUZZ = Needs(1200, alone=True)
NATIVE = Needs(300, mib=2048)


@each("checker", (row(name, checker, needs=NATIVE, when=QUICK) for name, checker in CHECKERS.items()))
def test_native(checker: Checker) -> Outcome:
    return checker.run()


@each(
    "sanitizer",
    (
        row(f"engine in userspace, {name}", sanitizer, needs=FUZZ, when=QUICK)
        for sanitizer, name in fuzz.SANITIZERS.items()
    ),
)
def test_engine(sanitizer: str, request: pytest.FixtureRequest) -> Outcome:
    jobs = QUICK_JOBS if request.config.option.quick else JOBS[sanitizer]
    return fuzz.fuzz(sanitizer, jobs)


@check("engine in userspace finds every seeded fault", Needs(1200, alone=True, sees=fuzz.seen_by_find))
def test_seeded_faults() -> Outcome:
    """As many at a time as there are CPUs."""
    return sum(threads.in_order(fuzz.find, fuzz.bugs().values(), len(os.sched_getaffinity(0))), Outcome())


@check("memblock in userspace", Needs(3600, alone=True))
def test_memblock() -> Outcome:
    return memblock.check()
