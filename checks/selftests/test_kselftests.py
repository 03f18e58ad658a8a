# SPDX-License-Identifier: GPL-2.0-only
"""The kselftests of the series, all of a kind in one guest, or one by itself if it is named."""

from collections.abc import Iterator

import pytest

from checks import guests
from checks.declare import FULL, MAKING_S, NAMED, Needs, each, guest, host_mib, row, whole_mib
from checks.guests import ARM64, KMEMLEAK_OFF, SMT
from checks.selftests import suites
from padlab.core import paths
from padlab.core.outcome import Outcome, judge
from padlab.kernel import kconfig
from padlab.kernel.kconfig import DEBUG, KASAN, PERF, RT, Config
from padlab.measure import hugepages
from padlab.vm.spec import How

TESTS = sorted(path.stem for path in (paths.LINUX / "tools/testing/selftests/padata").glob("test_*.sh"))
HUGE = hugepages.MACHINE
CACHES = "caches"  # nodes with more than one last-level cache
TIME = "two-cpus"  # whose clock counts instructions
TIME_LIMIT_S = 600
SINGLE_LIMIT_S = 900
# The kernels for tests whose name's first word is one of these, which then says how they are run.
# Reports are of the kernel that has all of them; the realtime kernel has no transparent huge pages.
ONLY = {"report": (DEBUG,), "contract": (DEBUG,), "huge": (PERF, DEBUG, kconfig.KCSAN)}


def _row(
    title: str, *values: object, machine: str, config: Config, when: str = "", mib: int = 0
) -> "pytest.ParameterSet":
    needs = guest(machine, config=config, role="selftest", mib=mib)
    return row(title, config, *values, needs=needs, when=when)


@each(
    "config, append",
    [
        _row(f"kselftests, {SMT} (rt)", (), machine=SMT, config=RT, when=FULL),
        _row(f"kselftests, {SMT} (debug)", (), machine=SMT, config=DEBUG, when=FULL),
        _row(f"kselftests, {SMT} (perf)", (), machine=SMT, config=PERF),
        # They would bring the last CPU online, which the arm64 kernel cannot.
        _row("kselftests, arm64", ("maxcpus=8",), machine=ARM64, config=kconfig.ARM64, when=FULL),
        # Faults of allocations, a disk in memory, core scheduling.
        _row(
            f"kselftests that need a debug kernel, {SMT} (debug)",
            ("padlab_only=test_no_memory,test_core_sched",),
            machine=SMT,
            config=DEBUG,
        ),
        # Deferred init, then jobs that zero huge pages.
        _row(
            f"huge pages, {SMT} (kasan)",
            ("padlab_only=test_huge_pages",),
            machine=SMT,
            config=KASAN,
            when=FULL,
        ),
    ],
)
def test_kselftests(config: Config, append: tuple[str, ...]) -> Outcome:
    return suites.run(config, "selftest", *append)


def _of_kinds() -> Iterator["pytest.ParameterSet"]:
    """Those that want a machine or a kernel of their own."""
    for config, when in ((DEBUG, FULL), (PERF, "")):
        title = f"kselftests of huge pages, {HUGE} ({config})"
        yield _row(title, "huge", "", machine=HUGE, config=config, when=when, mib=whole_mib(HUGE))
        title = f"kselftests of where helpers go, {CACHES} ({config})"
        yield _row(title, "caches", "test_helper_cpus", machine=CACHES, config=config, when=when)
        title = f"kselftests that measure time, {TIME} ({config})"
        needs = Needs(MAKING_S + TIME_LIMIT_S, host_mib(TIME))
        yield row(title, config, "time", "", needs=needs, when=when)
    title = f"kselftests that provoke reports, {SMT} (debug)"
    yield _row(title, "report", "", machine=SMT, config=DEBUG)
    for name in (name for name in TESTS if name.startswith("test_contract_")):
        # Each in a boot of its own: lockdep makes one report.
        title = f"kselftest that provokes a report, {name}, {SMT} (debug)"
        yield _row(title, "contract", name, machine=SMT, config=DEBUG)


def _singles() -> Iterator["pytest.ParameterSet"]:
    for name in TESTS:
        kind = name.split("_")[1]
        machine, mib = (HUGE, whole_mib(HUGE)) if kind == "huge" else (SMT, 0)
        for config in ONLY.get(kind, (PERF, DEBUG, RT, kconfig.KCSAN)):
            limit_s = SINGLE_LIMIT_S - kconfig.TEST_S + config.test_s
            needs = guest(machine, config=config, role="selftest", mib=mib, limit_s=limit_s)
            yield row(f"{name} ({config})", config, kind, name, needs=needs, when=NAMED)


@each("config, kind, only", [*_of_kinds(), *_singles()])
def test_kselftests_of(config: Config, kind: str, only: str) -> Outcome:
    """``only`` one of them, if that is said."""
    tests = f"padlab_only={only}" if only else f"padlab_tests={kind}"
    if kind == "time":
        # A clock of instructions, to which the host's load is nothing, 8 ns each: time then goes by about
        # as fast as they are emulated.  A debug kernel executes so many more that the commands by which a
        # test looks at its figures would take a tenth of the time that these are about: 2 ns each there.
        how = How(exact=True, all_cpus=True, shift=1 if config.checks else 3, time_limit_s=TIME_LIMIT_S)
        how["append"] = ("loglevel=7", tests, KMEMLEAK_OFF)
        return suites.judged(guests.boot(TIME, "patched", config, "selftest", **how))
    if kind in ("report", "contract"):  # they look for reports themselves: no other boot may have any
        append = ("maxcpus=7", tests, KMEMLEAK_OFF)
        return guests.results(guests.boot(SMT, "patched", config, "selftest", append=append))
    if machine := {"huge": HUGE, "caches": CACHES}.get(kind):
        result = guests.boot(machine, "patched", config, "selftest", append=(tests,))
        outcome = guests.results(result)
        # The guest has all that its tests need, so none is skipped unnoticed.
        return outcome + judge([*outcome.skips, *guests.trouble(result)], result.log)
    return suites.run(config, "selftest", tests)
