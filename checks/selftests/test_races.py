# SPDX-License-Identifier: GPL-2.0-only
"""KCSAN finds no data race of ours (races.py)."""

import pytest

from checks import guests
from checks.declare import FULL, check, each, guest, row, whole_mib
from checks.guests import SMT
from checks.selftests import races, suites
from padlab.core import progress
from padlab.core.outcome import Outcome, judge
from padlab.measure import hugepages

ARGUMENTS = (*suites.GIVEN, *suites.preempt(races.CONFIG))
CONTROL = "test_thread_fn"  # found by test_report_race.sh, or nothing is found


def _row(title: str, machine: str, role: str, *append: str, mib: int = 0) -> "pytest.ParameterSet":
    needs = guest(machine, config=races.CONFIG, role=role, mib=mib)
    return row(f"{title}, {machine} (kcsan)", machine, role, append, needs=needs, when=FULL)


@each(
    "machine, role, append",
    [
        # Helpers on all nodes, and more of them than a node has CPUs.
        *(_row("boot", machine, "boot") for machine in (SMT, "three-nodes", "cpus-64")),
        _row("KUnit", SMT, "kunit", *ARGUMENTS),
        _row("kselftests", SMT, "selftest", *ARGUMENTS),
        _row(
            *("kselftests of huge pages", hugepages.MACHINE, "selftest", *ARGUMENTS, "padlab_tests=huge"),
            mib=whole_mib(hugepages.MACHINE),
        ),
    ],
)
def test_races(machine: str, role: str, append: tuple[str, ...]) -> Outcome:
    """How tests end is not judged here: they take any report for a failure."""
    result = guests.boot(machine, "patched", races.CONFIG, role, append=append)
    reports = races.parse(result.dmesg.text)
    ours, table = races.our_functions(result.build), races.known().values()
    counted = [report for report in reports if races.counts(report, ours, table)]
    progress.note(f"{machine}: {len(reports)} reports of KCSAN, {len(counted)} of ours")
    problems = [f"KCSAN: {report.title}\n{report.text}" for report in counted]
    problems += [
        line for line in guests.trouble(result) if "BUG: KCSAN: " not in line and "status" not in line
    ]
    if result.guest.ktap and not guests.results(result).passed:
        problems.append("no test passed")
    return judge(problems, result.log)


@check(f"a race is reported, {SMT} (kcsan)", guest(SMT, config=races.CONFIG, role="selftest"), FULL)
def test_control() -> Outcome:
    """A race that is there is reported, and understood here."""
    append = (*ARGUMENTS, "padlab_only=test_report_race")
    result = guests.boot(SMT, "patched", races.CONFIG, "selftest", append=append)
    outcome = guests.results(result)
    if any(CONTROL in report.functions() for report in races.parse(result.dmesg.text)):
        return outcome
    return outcome + judge([f"no report has the race of {CONTROL}()"], result.log)
