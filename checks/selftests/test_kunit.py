# SPDX-License-Identifier: GPL-2.0-only
"""KUnit: the engine, the back ends and struct pages, under User-mode Linux and in guests."""

import pytest

from checks import guests
from checks.declare import FULL, Needs, check, each, guest, row
from checks.guests import ARM64, S390X, SMT
from checks.selftests import suites
from padlab.core.outcome import Outcome, judge
from padlab.kernel import kconfig
from padlab.kernel.kconfig import DEBUG, PERF, RT, Config

# Suites that are part of a kernel run at boot, but only if asked for.
ENABLED = "kunit.enable=1"
# What the kernel says of a page that it does not take back.
REFUSED = "BUG: Bad page state"


def _row(machine: str, config: Config, when: str = "", name: str = "") -> "pytest.ParameterSet":
    needs = guest(machine, config=config, role="kunit")
    return row(name or f"KUnit, {machine} ({config})", config, needs=needs, when=when)


@check("KUnit, one CPU (UML)", Needs(3600, alone=True))
def test_kunit_uml() -> Outcome:
    return suites.kunit_uml()


@each(
    "config",
    [
        _row(SMT, RT, FULL),
        _row(SMT, PERF),
        _row(SMT, DEBUG),
        _row(ARM64, kconfig.ARM64, name="KUnit, arm64"),
        _row(S390X, kconfig.S390X, FULL, "KUnit, s390x"),
    ],
)
def test_kunit(config: Config) -> Outcome:
    return suites.run(config, "kunit", ENABLED)


@check("KUnit, pages that are refused (debug)", guest(SMT, config=DEBUG, role="kunit"))
def test_kunit_refused() -> Outcome:
    """In a boot of its own: such a page taints the kernel, and switches lockdep off."""
    append = (ENABLED, "kunit.filter_glob=memmap_bulk", "memmap_bulk_kunit.refused=1")
    result = guests.boot(SMT, "patched", DEBUG, "kunit", append=append)
    outcome, reports = guests.results(result), result.dmesg.trouble
    problems = [line for line in reports if not line.startswith(REFUSED)]
    problems += [line for line in outcome.skips if "refused" in line]
    if not reports:
        problems.append("no page was refused")
    return outcome + judge(problems, result.log)
