# SPDX-License-Identifier: GPL-2.0-only
"""On a bare Debian: the README's commands, the packages of ./lab package, a kit."""

from checks.declare import FULL, Needs, check, each, row
from checks.install import fresh, installed, proof
from padlab.core import aptsuite
from padlab.core.outcome import Outcome

FRESH = Needs(3 * 3600, alone=True)


@check("packages of perf: installed, booted, removed", Needs(3600 + installed.BOOT_LIMIT_S, alone=True), FULL)
def test_packages() -> Outcome:
    return installed.of_perf()


@check(
    "packages with Debian's configuration for clouds: its system comes up, huge pages have helpers",
    Needs(4 * 3600, alone=True),
    FULL,
)
def test_cloud() -> Outcome:
    return installed.of_cloud()


@each(
    "suite",
    (
        row(f"the README's commands on a bare {suite}", suite, needs=FRESH, when=FULL)
        for suite in aptsuite.SUITES
    ),
)
def test_fresh(suite: str) -> Outcome:
    return fresh.proof(suite)


@check("a kit where nothing is installed", Needs(1800, alone=True), FULL)
def test_kit() -> Outcome:
    return proof.check()
