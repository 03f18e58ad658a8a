# SPDX-License-Identifier: GPL-2.0-only
"""Kselftests that nobody here wrote, on stock and patched: is each case as good on patched?

Some cases depend on time, and fail now and then on stock, too.  So programs in which a case
was worse on patched run again on both kernels, up to ``TRIES`` times in all; a case differs
if its best outcome on patched is worse than its best on stock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab.check.base import guests
from padlab.check.others import cases
from padlab.check.others.cases import Case, Compared
from padlab.core.errors import LabError
from padlab.core.once import once
from padlab.core.outcome import Outcome
from padlab.kernel import othertests
from padlab.kernel.kconfig import OUTSIDE, PERF, Config
from padlab.vm.channel import Guest

MACHINE = "outside"
CONFIG = OUTSIDE
QUICK_CONFIG = PERF  # of kernels that ./lab test has anyway; more cases are skipped there
ROLE = "outside"
TRIES = 3

# vm.huge_page_zero_threshold_kbytes, if not as it is at boot.
THRESHOLDS: dict[str, int | None] = {"default": None, "least": 1024, "off": 0}
DEFAULT = "default"
# Its programs touch huge pages enough for jobs.
WITH_JOBS = "mm"

_BOOT_LIMIT_S = 300
# Of the sum of the programs' limits, each of which is several times what it takes.
_LIMIT_SHARE = 0.5


@dataclass(frozen=True)
class Ran:
    """What programs did in one guest."""

    cases: dict[str, dict[str, Case]]
    jobs: dict[str, tuple[int, int]]  # all, and those in which a helper took part
    reports: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Both kernels, by program; ``log`` is what patched's guest said, in the last try."""

    threshold: str
    programs: dict[str, list[Compared]]
    jobs: dict[str, tuple[int, int]]
    reports: list[str]
    tries: int
    log: Path

    def all_jobs(self) -> tuple[int, int]:
        """Of all programs: jobs, and those in which a helper took part."""
        ran, shared = (sum(counts) for counts in zip((0, 0), *self.jobs.values(), strict=True))
        return ran, shared

    def differences(self) -> list[str]:
        return [
            f"{program}: {case}"
            for program, compared in self.programs.items()
            for case in compared
            if case.differs
        ]

    def problems(self) -> list[str]:
        """All that stock does not have, and what shows that nothing was tested."""
        problems = [*self.differences(), *self.reports, *self._untested()]
        ran, shared = self.all_jobs()
        wanted = any(othertests.suite_of(name) == WITH_JOBS for name in self.programs)
        if self.threshold == "off" and ran:
            problems.append(f"{ran} jobs ran although they are off")
        elif self.threshold != "off" and wanted and not shared:
            problems.append(f"no helper took part in any of {ran} jobs, so none of them was tested")
        return problems

    def _untested(self) -> list[str]:
        """A program that nowhere gets to a case would be equal on both."""
        listed = othertests.programs()
        return [
            f"{program}: no case passes on stock, and its table does not say why"
            for program, compared in self.programs.items()
            if not (listed[program].no_pass or _passes_on_stock(compared))
        ]


def _passes_on_stock(compared: Sequence[Compared]) -> bool:
    """Whether a case does.  If all are skipped, the exit status may be 0 nonetheless."""
    named = [case for case in compared if case.name != cases.EXIT]
    return any(case.passes_on_stock for case in named or compared)


# Choosing


def suites() -> list[str]:
    return list(dict.fromkeys(map(othertests.suite_of, othertests.programs())))


def names(suite: str = "", quick: bool = False) -> tuple[str, ...]:
    return tuple(
        name
        for name, program in othertests.programs().items()
        if suite in ("", othertests.suite_of(name)) and (program.quick or not quick)
    )


def limit_s(chosen: Sequence[str]) -> float:
    """For one boot."""
    programs = othertests.programs()
    return _BOOT_LIMIT_S + _LIMIT_SHARE * sum(programs[name].limit_s for name in chosen)


# Running


def read(guest: Guest) -> Ran:
    """The cases and jobs of each program that ran in a guest."""
    status = statuses(guest)
    jobs = {name: tuple(map(int, value.split())) for name, value in _pairs(guest, "jobs")}
    return Ran(
        {name: cases.parse(lines, status[name]) for name, lines in guest.ktap.items() if name in status},
        {name: (counts[0], counts[1]) for name, counts in jobs.items()},
        guest.trouble,
    )


def statuses(guest: Guest) -> dict[str, int]:
    """How each program ended."""
    return {name: int(value) for name, value in _pairs(guest, "status")}


def _pairs(guest: Guest, key: str) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (said.partition(" ") for said in guest.values(key))]


def arguments(chosen: Sequence[str], threshold: str) -> tuple[str, ...]:
    """On the kernel's command line."""
    kbytes = THRESHOLDS[threshold]
    programs = f"padlab_programs={','.join(chosen)}"
    return (programs,) if kbytes is None else (programs, f"padlab_threshold={kbytes}")


def _boot(kernel: str, config: Config, chosen: Sequence[str], threshold: str = DEFAULT) -> tuple[Ran, Path]:
    append = arguments(chosen, threshold)
    result = guests.boot(MACHINE, kernel, config, ROLE, append, limit_s(chosen))
    ran = read(result.guest)
    missing = [name for name in chosen if name not in ran.cases]
    if missing:
        raise LabError(
            f"test programs on {kernel}", f"{missing[0]} did not run", "see the log", log=result.guest_log
        )
    reports = (*result.dmesg.trouble, *ran.reports)
    return Ran(ran.cases, ran.jobs, reports), result.guest_log


@once
def _stock(config: Config, chosen: tuple[str, ...]) -> Ran:
    """The first try, which is the same for all thresholds."""
    return _boot("stock", config, chosen)[0]


def run(chosen: tuple[str, ...], threshold: str = DEFAULT, config: Config = CONFIG) -> Comparison:
    """Programs ``chosen`` on both kernels, those that are worse on patched several times."""
    stock = [_stock(config, chosen)]
    first, log = _boot("patched", config, chosen, threshold)
    patched = [first]
    while len(patched) < TRIES and (worse := _worse(chosen, stock, patched)):
        stock.append(_boot("stock", config, worse)[0])
        again, log = _boot("patched", config, worse, threshold)
        patched.append(again)
    return Comparison(
        threshold,
        {name: _compare(name, stock, patched) for name in chosen},
        first.jobs,
        cases.new_reports(_reports(stock), _reports(patched)),
        len(patched),
        log,
    )


def _compare(name: str, stock: Sequence[Ran], patched: Sequence[Ran]) -> list[Compared]:
    return cases.compare(
        [ran.cases[name] for ran in stock if name in ran.cases],
        [ran.cases[name] for ran in patched if name in ran.cases],
    )


def _worse(chosen: Sequence[str], stock: Sequence[Ran], patched: Sequence[Ran]) -> tuple[str, ...]:
    return tuple(name for name in chosen if any(case.differs for case in _compare(name, stock, patched)))


def _reports(tries: Sequence[Ran]) -> list[str]:
    return [report for ran in tries for report in ran.reports]


# Checks of ./lab test


def check(chosen: tuple[str, ...], threshold: str = DEFAULT, config: Config = CONFIG) -> Outcome:
    """A case for each of theirs."""
    comparison = run(chosen, threshold, config)
    problems = comparison.problems()
    equal = sum(not case.differs for compared in comparison.programs.values() for case in compared)
    return Outcome(equal, tuple(problems), (), comparison.log)
