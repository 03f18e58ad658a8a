# SPDX-License-Identifier: GPL-2.0-only
"""Kselftests of the kernel by themselves: checks of ``./lab test`` that only run when they are named."""

from functools import partial

from padlab.check.base.guests import SMT
from padlab.check.base.runner import Check
from padlab.check.guest import suites
from padlab.core import paths
from padlab.kernel import kconfig
from padlab.measure import hugepages
from padlab.vm import boot as boots
from padlab.vm import machine

TESTS = paths.LINUX / "tools/testing/selftests/padata"
CONFIGS = (kconfig.PERF, kconfig.DEBUG)
MORE_CONFIGS = (kconfig.RT, kconfig.KCSAN)  # with --full
# Reports are of the kernel that has all of them; the realtime kernel has no transparent huge pages.
ONLY = {"report": (kconfig.DEBUG,), "huge": (kconfig.PERF, kconfig.DEBUG, kconfig.KCSAN)}
LIMIT_S = 900


def checks(everything: bool = False) -> list[Check]:
    """One for each test and kernel, such as ``test_kill (debug)``."""
    configs = (*CONFIGS, *MORE_CONFIGS) if everything else CONFIGS
    names = sorted(path.stem for path in TESTS.glob("test_*.sh"))
    return [
        _check(name, config)
        for name in names
        for config in configs
        if config in ONLY.get(kind(name), configs)
    ]


def kind(name: str) -> str:
    """Of a test: the first word of its name, which may say where it runs (suites.selftest())."""
    return name.split("_")[1]


def _check(name: str, config: kconfig.Config) -> Check:
    limit_s = LIMIT_S - kconfig.TEST_S + config.test_s
    run = partial(suites.selftest, name, config, "patched", limit_s)
    huge = kind(name) == "huge"
    guest = machine.load(hugepages.MACHINE if huge else SMT)
    mib = boots.host_mib(guest) + (guest.mib if huge else 0)
    return Check(f"{name} ({config})", run, limit_s, mib=mib, cpus=guest.cpus)
