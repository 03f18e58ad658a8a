# SPDX-License-Identifier: GPL-2.0-only
"""Kselftests that nobody here wrote, on stock and patched: does each program end as well on patched?

What counts is how a program ends, and how many of its cases pass.  Some depend on time, and fail
now and then on stock, too.  So programs that were worse on patched run again on both kernels, up to
``TRIES`` times in all; one is worse if its best try on patched is worse than its best on stock.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from checks import guests
from padlab.core import stats
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import others
from padlab.kernel.kconfig import DEBUG, OTHERS
from padlab.vm.boot import BootResult
from padlab.vm.channel import Guest
from padlab.vm.spec import How

MACHINE = "others"
CONFIG = OTHERS
ROLE = "others"
TRIES = 3
# Jobs on all huge pages: thresholds of patched, for zeroing and for copies.
_THRESHOLD = "padlab_threshold=1024"  # KiB
# Its programs touch huge pages enough for jobs.
WITH_JOBS = "mm"
_BOOT_LIMIT_S = 300
# Of the sum of the programs' limits, each of which is several times what it takes.
_LIMIT_SHARE = 0.5
_PASSED = re.compile(r"^(?:# )?ok \d+\b(?!.*# SKIP)")
_SKIPPED = 4  # exit status


@dataclass(frozen=True, order=True)
class Ran:
    ending: int  # 2 is good, 1 skipped, 0 any other
    passed: int  # cases, of those that print TAP

    def __str__(self) -> str:
        return f"{('fails', 'is skipped', 'passes')[self.ending]}, {self.passed} cases pass"


def suites() -> dict[str, list[str]]:
    """The names of programs by suite."""
    return stats.group(others.programs(), others.suite_of)


def limit_s(chosen: Iterable[str]) -> float:
    programs = others.programs()
    return _BOOT_LIMIT_S + _LIMIT_SHARE * sum(programs[name].limit_s for name in chosen)


def statuses(guest: Guest) -> dict[str, int]:
    return {name: int(value) for name, value in (said.split(" ") for said in guest.values("status"))}


def read(guest: Guest) -> dict[str, Ran]:
    return {
        name: Ran({0: 2, _SKIPPED: 1}.get(status, 0), sum(map(bool, map(_PASSED.match, guest.ktap[name]))))
        for name, status in statuses(guest).items()
    }


def jobs(guest: Guest) -> int:
    """In which a helper took part."""
    return sum(int(said.split(" ")[1]) for said in guest.values("jobs"))


def arguments(kernel: str, chosen: Sequence[str]) -> tuple[str, ...]:
    programs = f"padlab_programs={','.join(chosen)}"
    return (programs, _THRESHOLD) if kernel == "patched" else (programs,)


def _boot(kernel: str, chosen: Sequence[str]) -> BootResult:
    result = guests.boot(
        MACHINE, kernel, CONFIG, ROLE, append=arguments(kernel, chosen), time_limit_s=limit_s(chosen)
    )
    if missing := [name for name in chosen if name not in statuses(result.guest)]:
        what = f"test programs on {kernel}"
        raise LabError(what, f"{missing[0]} did not run", "see the log", log=result.guest_log)
    return result


def check(suite: str) -> Outcome:
    """A case for each program, skipped if it passes nowhere."""
    chosen = todo = suites()[suite]
    tries: dict[str, dict[str, Ran]] = {"stock": {}, "patched": {}}
    reports: dict[str, list[str]] = {"stock": [], "patched": []}
    shared = 0
    for _ in range(TRIES):
        for kernel, best in tries.items():
            result = _boot(kernel, todo)
            best |= {name: max(ran, best.get(name, ran)) for name, ran in read(result.guest).items()}
            reports[kernel] += result.trouble
        shared += jobs(result.guest)
        stock, patched = tries.values()
        todo = [name for name in todo if patched[name] < stock[name]]
        if not todo:
            break
    problems = [f"{name}: {stock[name]} on stock; {patched[name]} on patched" for name in todo]
    problems += guests.new_reports(*reports.values())
    if suite == WITH_JOBS and not shared:
        problems.append("no helper took part in any job, so none of them was tested")
    fine = [name for name in chosen if name not in todo]
    skips = tuple(f"{name}: {stock[name]} on stock" for name in fine if not stock[name].ending)
    return Outcome(len(fine) - len(skips), tuple(problems), skips, result.guest_log)


# Not MACHINE: pages of 1 GiB at boot are the end of stock's kernel if it checks page
# flags (VM_BUG_ON_PAGE in hugetlb_folio_init_tail_vmemmap()).
STRESS_MACHINE = guests.SMT
SECONDS = 20  # for each stressor
STRESSORS = 8  # and one that only newer versions have
STRESS_LIMIT_S = 1800

# What stress-ng ends with.
_GOOD = 0
_WORDS = {1: "wrong use", 2: "failed", 3: "no resources", 4: "not to be had here", 124: "did not end"}


def stress_problems(stock: dict[str, int], patched: dict[str, int]) -> list[str]:
    def word(status: int) -> str:
        return f"{_WORDS.get(status, 'ended')} (status {status})"

    wrong = [f"{name}: stock: {word(status)}" for name, status in stock.items() if status != _GOOD]
    wrong += [
        f"{name}: patched: {word(status)}, and passes on stock"
        for name, status in patched.items()
        if status != _GOOD and stock.get(name) == _GOOD
    ]
    for kernel, ran in (("stock", stock), ("patched", patched)):
        if len(ran) < STRESSORS:
            wrong.append(f"{kernel}: {len(ran)} of {STRESSORS} stressors ran")
    return wrong


def stress() -> Outcome:
    def boot(kernel: str, *more: str) -> BootResult:
        append = ("hugepages=256", f"padlab_seconds={SECONDS}", guests.KMEMLEAK_OFF, *more)
        how = How(append=append, time_limit_s=STRESS_LIMIT_S)
        return guests.boot(STRESS_MACHINE, kernel, DEBUG, "stress", **how)

    stock, patched = boot("stock"), boot("patched", _THRESHOLD)
    wrong = stress_problems(statuses(stock.guest), statuses(patched.guest))
    outcome = judge([*wrong, *guests.trouble(patched)], patched.log)
    return outcome + Outcome(sum(status == _GOOD for status in statuses(patched.guest).values()))
