# SPDX-License-Identifier: GPL-2.0-only
"""What compilers and the kernel's checkers say of the series' source that they do not say of stock's."""

import pytest

from checks.declare import FULL, QUICK, Needs, check, each, row
from checks.source import checkers, fences, remarks, robot
from checks.source.robot import OtherConfig
from padlab.core.outcome import Outcome
from padlab.kernel.kconfig import Config

QUICK_NEEDS = Needs(300)
NEEDS = Needs(3600)
ALONE = Needs(3600, alone=True)  # in one tree
STEPS_NEEDS = Needs(3 * 3600, alone=True)


@each(
    "name",
    [
        row("kernel-doc says nothing new", "kernel-doc", needs=QUICK_NEEDS, when=QUICK),
        row("Coccinelle says nothing new", "coccinelle", needs=NEEDS, when=FULL),
        row("Sphinx says nothing new of the manuals", "htmldocs", needs=NEEDS, when=FULL),
    ],
)
def test_checkers(name: str) -> Outcome:
    return checkers.check(name)


@each(
    "config",
    (
        row(
            f"gcc with W=1 and sparse say nothing new ({config})",
            config,
            needs=ALONE,
            when=FULL if nr else "",
        )
        for nr, config in enumerate(remarks.CONFIGS)
    ),
)
def test_compilers(config: Config) -> Outcome:
    return remarks.compilers(config)


@check("weakly ordered stores are fenced", ALONE)
def test_fences() -> Outcome:
    return fences.check()


@check("each step of the series builds without a new warning, and boots", STEPS_NEEDS, FULL)
def test_steps() -> Outcome:
    return remarks.each_step()


def _robot(what: str, config: OtherConfig) -> "pytest.ParameterSet":
    return row(f"{what}, {config}: no new warning", config, needs=ALONE, when=FULL)


@each("config", [_robot("random configuration", config) for config in robot.RANDOM])
def test_random_configuration(config: OtherConfig) -> Outcome:
    return robot.check(config)


@each("config", [_robot("cross compiler", config) for config in robot.CROSS])
def test_cross_compiler(config: OtherConfig) -> Outcome:
    return robot.check(config)
