# SPDX-License-Identifier: GPL-2.0-only
"""The kselftests of the series, all of a kind in one guest, or one by itself if it is named."""

from collections.abc import Iterator

import pytest

from checks.declare import FULL, MAKING_S, NAMED, Needs, check, each, guest, host_mib, row, whole_mib
from checks.guests import ARM64, SMT
from checks.selftests import suites
from padlab.core.outcome import Outcome
from padlab.kernel import kconfig
from padlab.kernel.kconfig import DEBUG, KASAN, PERF, RT, Config
from padlab.measure import hugepages

SINGLE_LIMIT_S = 900
# Reports are of the kernel that has all of them; the realtime kernel has no transparent huge pages.
ONLY = {
    **dict.fromkeys(suites.REPORTING, (DEBUG,)),
    "huge": (PERF, DEBUG, kconfig.KCSAN),
}


def _row(
    title: str, *values: object, machine: str, config: Config, when: str = "", mib: int = 0
) -> "pytest.ParameterSet":
    needs = guest(machine, config=config, role="selftest", mib=mib)
    return row(title, *values, config, needs=needs, when=when)


@each(
    "config",
    [
        _row(f"kselftests, {SMT} (rt)", machine=SMT, config=RT, when=FULL),
        _row(f"kselftests, {SMT} (debug)", machine=SMT, config=DEBUG, when=FULL),
        _row(f"kselftests, {SMT} (perf)", machine=SMT, config=PERF),
        _row("kselftests, arm64", machine=ARM64, config=kconfig.ARM64, when=FULL),
    ],
)
def test_kselftests(config: Config) -> Outcome:
    return suites.selftests(config)


def _of_kinds() -> Iterator["pytest.ParameterSet"]:
    """Those that want a machine or a kernel of their own."""
    for config, when in ((DEBUG, FULL), (PERF, "")):
        huge, mib = hugepages.MACHINE, whole_mib(hugepages.MACHINE)
        title = f"kselftests of huge pages, {huge} ({config})"
        yield _row(title, "huge", "", machine=huge, config=config, when=when, mib=mib)
        title = f"kselftests of where helpers go, {suites.CACHES} ({config})"
        yield _row(title, "caches", "test_helper_cpus", machine=suites.CACHES, config=config, when=when)
        title = f"kselftests that measure time, {suites.TIME} ({config})"
        needs = Needs(MAKING_S + suites.TIME_LIMIT_S, host_mib(suites.TIME))
        yield row(title, "time", "", config, needs=needs, when=when)
    title = f"kselftests that provoke reports, {SMT} (debug)"
    yield _row(title, "report", "", machine=SMT, config=DEBUG)
    for name in suites.CONTRACTS:
        title = f"kselftest that provokes a report, {name}, {SMT} (debug)"
        yield _row(title, "contract", name, machine=SMT, config=DEBUG)


@each("kind, only, config", _of_kinds())
def test_kselftests_of(kind: str, only: str, config: Config) -> Outcome:
    return suites.selftests_of(kind, config, only)


@check(f"kselftests that need a debug kernel, {SMT} (debug)", guest(SMT, config=DEBUG, role="selftest"))
def test_debugging() -> Outcome:
    return suites.selftests(DEBUG, suites.DEBUGGING)


@check(f"huge pages, {SMT} (kasan)", guest(SMT, config=KASAN, role="selftest"), FULL)
def test_kasan() -> Outcome:
    return suites.kasan()


def _singles() -> Iterator["pytest.ParameterSet"]:
    for path in sorted(suites.TESTS.glob("test_*.sh")):
        name, kind = path.stem, suites.kind_of(path.stem)
        machine = hugepages.MACHINE if kind == "huge" else SMT
        mib = whole_mib(machine) if kind == "huge" else 0
        for config in (PERF, DEBUG, RT, kconfig.KCSAN):
            if config in ONLY.get(kind, (config,)):
                limit_s = SINGLE_LIMIT_S - kconfig.TEST_S + config.test_s
                needs = guest(machine, config=config, role="selftest", mib=mib, limit_s=limit_s)
                yield row(f"{name} ({config})", name, config, needs=needs, when=NAMED)


@each("name, config", _singles())
def test_kselftest(name: str, config: Config) -> Outcome:
    return suites.selftest(name, config)
