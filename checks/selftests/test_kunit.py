# SPDX-License-Identifier: GPL-2.0-only
"""KUnit: the engine, the back ends and struct pages, under User-mode Linux and in guests."""

import pytest

from checks.declare import FULL, Needs, check, each, guest, row
from checks.guests import ARM64, S390X, SMT
from checks.selftests import suites
from padlab.core.outcome import Outcome
from padlab.kernel import kconfig
from padlab.kernel.kconfig import DEBUG, PERF, RT, Config


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
    return suites.kunit(config)


@check("KUnit, pages that are refused (debug)", guest(SMT, config=DEBUG, role="kunit"))
def test_kunit_refused() -> Outcome:
    return suites.kunit_refused()
