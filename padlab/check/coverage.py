# SPDX-License-Identifier: GPL-2.0-only
"""``./lab coverage``: which lines of ours the tests run, all of them together.

A kernel that counts is booted for everything that ./lab test has a guest for: KUnit,
kselftests of each kind, and the command lines of the memory map's matrix.  Counted are
all lines of our files and those that hooks add to others, as far as the kernel's
configuration has code for them.  A line that never ran has a reason in tests/coverage.toml,
or a test is missing.
"""

from __future__ import annotations

import json as jsons
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from padlab.check import beside, gcov, guests, matrix, memmap, suites
from padlab.check.gcov import File
from padlab.check.guests import KMEMLEAK_OFF, SMALL, SMT
from padlab.core import packages, paths, pool, progress, table, toml
from padlab.core.outcome import Outcome, judge
from padlab.measure import hugepages, provenance
from padlab.vm import boot as boots
from padlab.vm.boot import BootResult

CONFIG = "gcov"
REASONS = "coverage.toml"
RECORD = "coverage.json"
PLACE = paths.BUILD / "coverage"
# Of CPUs that have one instruction less for zeroing, or two: REP_GOOD has no name but a number.
OTHER_CPUS = ("clearcpuid=erms", "clearcpuid=erms,112")
HUGE = "test_huge_fallocate"
JOBS = 2  # guests at a time in ./lab test: the one that takes longest takes half of all the time


class Reason(Struct, forbid_unknown_fields=True):
    """A table of coverage.toml: lines of a file or function, or all of one, that no test here can run."""

    file: str
    why: str
    lines: tuple[str, ...] = ()
    function: str = ""


@dataclass(frozen=True)
class Line:
    """One that never ran, and why not."""

    file: str
    number: int
    text: str
    function: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.number}: {self.text}"


@dataclass(frozen=True)
class Coverage:
    """What came of all boots: lines of each file that there is code for, and those that never ran."""

    files: dict[str, File]
    unrun: list[Line]

    def of(self, file: str) -> tuple[int, int]:
        """How many lines, and how many of them ran."""
        runs = self.files[file].runs
        return len(runs), sum(count > 0 for count in runs.values())

    def unexplained(self) -> list[Line]:
        return [line for line in self.unrun if not line.why]


# Judging


def reasons() -> dict[str, Reason]:
    return toml.load(paths.TESTS / REASONS, dict[str, Reason], paths.over(REASONS))


def judged(files: dict[str, File], known: Iterable[Reason], tree: Path) -> Coverage:
    """Find the lines that never ran, and what is known of each."""
    known = list(known)
    unrun = []
    for name, file in files.items():
        source = (tree / name).read_text().splitlines()
        for number, count in sorted(file.runs.items()):
            if not count:
                line = Line(name, number, source[number - 1].strip(), file.functions[number])
                unrun.append(_explained(line, known))
    return Coverage(files, unrun)


def _explained(line: Line, known: Iterable[Reason]) -> Line:
    for one in known:
        if _is_of(one, line):
            return Line(line.file, line.number, line.text, line.function, one.why)
    return line


def _is_of(one: Reason, line: Line) -> bool:
    if one.file != line.file or not (one.lines or one.function):
        return False
    return line.text in (one.lines or (line.text,)) and line.function == (one.function or line.function)


# Booting


@dataclass(frozen=True)
class Guest:
    """One of the guests.  ``timed``: its clock counts instructions, see suites.py.

    A faulty kernel has initcalls and tasks that do what only devices and users do, and slow jobs.
    """

    name: str
    machine: str
    role: str
    append: tuple[str, ...] = ()
    timed: bool = False
    kernel: str = "patched"

    def boot(self) -> BootResult:
        if self.timed:
            return suites.boot_timed("patched", CONFIG, " ".join(self.append), suites.TIME_LIMIT_S)
        append = (*self.append, *suites.preempt(CONFIG, self.role), KMEMLEAK_OFF)
        return guests.boot(self.machine, self.kernel, CONFIG, self.role, append)


def all_guests() -> list[Guest]:
    """Those that take longest first."""
    huge = hugepages.MACHINE
    return [
        Guest("kselftests", SMT, "selftest", (*suites.GIVEN, "deferred_init_threads=50%")),
        Guest("kselftests that measure time", suites.TIME, "selftest", ("padlab_tests=time",), timed=True),
        Guest("kselftests of huge pages", huge, "selftest", ("padlab_tests=huge",)),
        Guest("kselftests of nodes", suites.LATE, "selftest", ("padlab_tests=nodes",)),
        Guest("kselftests that provoke reports", SMT, "selftest", suites.REPORTS),
        Guest("KUnit", SMT, "kunit", (*suites.GIVEN, suites.KUNIT)),
        *(
            Guest(f"deferred_init_threads={value}", SMALL, "boot", (f"deferred_init_threads={value}",))
            for value in ("abc", "1000000000000")
        ),
        *(
            Guest(f"deferred_init={value}", SMALL, "boot", (f"deferred_init={value}",))
            for value in ("abc", "async")
        ),
        *(
            Guest(title, machine, "boot", append, kernel=beside.KERNEL)
            for title, (machine, append) in beside.boots().items()
        ),
        Guest("a node without CPUs", "node-without-cpus", "boot"),
        Guest("the same, the first node not the nearest", "far-node", "boot"),
        Guest("a zone that grows on demand", memmap.GROWN, "oracle", matrix.GROWING),
        *(
            Guest(f"huge pages, {no}", SMT, "selftest", (*suites.GIVEN, f"padlab_only={HUGE}", no))
            for no in OTHER_CPUS
        ),
        *(
            Guest(case.title, case.machine, "oracle", case.append)
            for case in matrix.cases(full=False)
            if not case.mirrored
        ),
    ]


def _measure(jobs: int) -> tuple[dict[str, File], list[str], BootResult]:
    """What ran in all of them together, and what the guests complain of."""
    every = all_guests()
    total: dict[str, File] = {}
    problems: list[str] = []
    tree = guests.built("patched", CONFIG).tree
    guests.built(beside.KERNEL, CONFIG)
    results = pool.in_order(Guest.boot, every, jobs)
    for nr, (guest, result) in enumerate(zip(every, results, strict=True), start=1):
        problems += _complaints(guest.name, result)
        ran = gcov.read(result.guest, result.build, PLACE / str(nr))
        gcov.add(total, gcov.moved(ran, result.build.tree, tree))
        progress.note(f"{nr} of {len(every)}: {guest.name}, {progress.seconds(result.wall_s)}")
    return gcov.ours(total, tree), problems, result


def _complaints(name: str, result: BootResult) -> list[str]:
    """Of the kernel.  How tests end is judged where they are run for their own sake."""
    if "padlab_tests=report" in result.spec.append:
        return []
    return [f"{name}: {line}" for line in result.dmesg.trouble]


# The check of ./lab test, and the command


def check() -> Outcome:
    """Every line of ours runs in some guest, or there is a reason."""
    files, problems, result = _measure(JOBS)
    coverage = judged(files, reasons().values(), guests.patched_tree())
    never = [f"{line} never ran" for line in coverage.unexplained()]
    return judge([*problems, *never], result.log)


def main(jobs: int = 1, json: bool = False) -> int:
    with boots.quiet_stdout():
        packages.ensure("build", "quilt", "qemu", "guest")
        files, problems, result = _measure(jobs)
        coverage = judged(files, reasons().values(), guests.patched_tree())
        made_by = provenance.provenance("./lab coverage", result.build, result.accel)
        report = as_dict(coverage, made_by)
        provenance.write_json(provenance.path_of(RECORD), report)
    if json:
        print(jsons.dumps(report, indent=2))
    else:
        show(coverage)
    for problem in problems:
        progress.result(problem)
    return 1 if problems or coverage.unexplained() else 0


def as_dict(coverage: Coverage, made_by: dict[str, str]) -> dict[str, Any]:
    """What is recorded."""
    return {
        **made_by,
        "files": {
            file: dict(zip(("lines", "ran"), coverage.of(file), strict=True)) for file in coverage.files
        },
        "never ran": [
            {"file": line.file, "line": line.text, "why": line.why or None} for line in coverage.unrun
        ],
    }


def show(coverage: Coverage) -> None:
    grid = table.grid(["file", "lines", "ran", "%", "no reason"], left={"file"})
    sums = [0, 0, 0]
    for file in coverage.files:
        lines, ran = coverage.of(file)
        bare = sum(line.file == file for line in coverage.unexplained())
        sums = [total + one for total, one in zip(sums, (lines, ran, bare), strict=True)]
        grid.add_row(*_row(file, lines, ran, bare))
    grid.add_row(*_row("all", *sums))
    table.console().print(grid)
    _show_lines("never ran, and there is a reason", [line for line in coverage.unrun if line.why])
    _show_lines("never ran", coverage.unexplained())


def _row(file: str, lines: int, ran: int, bare: int) -> list[str]:
    return [file, f"{lines:,}", f"{ran:,}", f"{100 * ran / lines:.1f}", f"{bare or ''}"]


def _show_lines(title: str, lines: Sequence[Line]) -> None:
    if lines:
        rows = [f"  {line}" + (f"\n      {line.why}" if line.why else "") for line in lines]
        progress.result("\n".join([f"{title}:", *rows]))
