# SPDX-License-Identifier: GPL-2.0-only
"""The engine in userspace: what its program says, the bugs it must find, and how both are judged."""

from pathlib import Path

import pytest

from checks.engine import fuzz
from checks.mutants.mutant import Mutant
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.measure import tools
from tests.conftest import set_base, write

GOOD = """\
padata_fuzz: seed 0x51e2d247, 3 callers, 4 helpers, TSan
padata_fuzz: 90535 jobs in 1 s
padata_fuzz: helpers: 203016 ran, 40369 of them late, 207831 were cancelled
padata_fuzz: jobs that were helped: 75958, by 99307 threads
padata_fuzz: ok: 515832 jobs, 3 callers, 4 helpers, 5.7 s, 90545 jobs/s, seed 0x51e2d247
"""
BROKEN = (
    "guarantee 2 (chunks are aligned): chunk 9 to 25; job 5: start=9 size=61 align=8 "
    "min_chunk=0 max_threads=6, on CPU 4 of 7; seed 0x7c2dd114"
)
REPORT = """\
padata_fuzz: seed 0xda132c6b, 3 callers, 4 helpers, TSan
==================
WARNING: ThreadSanitizer: data race (pid=14131)
  Write of size 8 at 0x7b1400002800 by thread T4:
    #0 free ../../../../src/libsanitizer/tsan/tsan_interceptors_posix.cpp:706
SUMMARY: ThreadSanitizer: data race padata_fuzz.c:670 in run_on_heap
==================
padata_fuzz: FAILED: TSan reports (see above) what is most likely against guarantee 6; \
under way: job 309: start=1 size=2 align=1 min_chunk=1 max_threads=7, on CPU 4 of 8; seed 0xda132c6b
"""


@pytest.mark.parametrize(
    ("text", "status", "problem"),
    [
        (f"padata_fuzz: 1 jobs in 1 s\npadata_fuzz: FAILED: {BROKEN}\n", 1, BROKEN),
        (REPORT, 1, "TSan reports (see above) what is most likely against guarantee 6; under way"),
        (GOOD.partition("padata_fuzz: jobs")[0], -9, "it ended with status -9 and no result"),
        ("", 0, "it ended with status 0 and no result"),
        (GOOD.replace("515832", "1"), 0, "it did 1 jobs of 2"),
        (GOOD, 66, "it says ok and ended with status 66"),
    ],
)
def test_a_run_that_is_not_good(text: str, status: int, problem: str) -> None:
    (said,) = fuzz.problems(tools.said(text.splitlines(), "padata_fuzz: "), 2, status)
    assert said.startswith(problem)


BUG = Mutant("w", "a\n", "b\n", "kernel/padata_mt.c", build="asan", says="guarantee 2", id="t/b")


def test_our_bugs_are_found_by_each_build() -> None:
    bugs = fuzz.bugs()
    assert {bug.build for bug in bugs.values()} == set(fuzz.SANITIZERS)
    assert len(bugs) > 30


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "padata_fuzz-asan"
    set_base(monkeypatch, build=tmp_path)
    monkeypatch.setattr(fuzz, "build", lambda *_args: path)
    return path


def says(script: Path, text: str, status: int) -> None:
    script.with_suffix(".out").write_text(text)
    write(script, f"#!/bin/sh\ncat {script.with_suffix('.out')}\nexit {status}\n", 0o755)


def test_a_run_is_judged(script: Path) -> None:
    says(script, GOOD, 0)
    outcome = fuzz.fuzz("asan", 500000)
    assert (outcome.passed, outcome.failures) == (1, ())
    says(script, f"padata_fuzz: FAILED: {BROKEN}\n", 1)
    assert fuzz.fuzz("asan", 500000).failures == (BROKEN,)


@pytest.mark.parametrize(
    ("text", "status", "why"),
    [
        (f"padata_fuzz: FAILED: {BROKEN}\n", 1, None),
        (GOOD, 0, "nothing, in 515832 jobs"),
        (f"padata_fuzz: FAILED: {BROKEN}\n", 0, "guarantee 2"),
        ("padata_fuzz: FAILED: guarantee 4\n", 1, "guarantee 4"),
        ("", 139, "status 139"),
    ],
)
def test_a_bug_is_found_or_not(script: Path, text: str, status: int, why: str | None) -> None:
    says(script, text, status)
    outcome = fuzz.find(BUG)
    assert (outcome == Outcome(1)) is (why is None)
    assert why is None or why in outcome.failures[0]


def test_a_bug_that_says_something_else_first(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [tools.Said((), (), failure) for failure in ("guarantee 4", BROKEN, "")]
    monkeypatch.setattr(fuzz, "attempt", lambda *_args: (1, runs.pop(0)))
    script.touch()
    assert fuzz.find(BUG) == Outcome(1) and len(runs) == 1


def test_a_memory_layout_that_tsan_cannot_live_with(script: Path) -> None:
    says(script, "FATAL: ThreadSanitizer: unexpected memory mapping 0x1-0x2\n", 66)
    with pytest.raises(LabError, match="memory layout"):
        fuzz.fuzz("tsan", 1)
