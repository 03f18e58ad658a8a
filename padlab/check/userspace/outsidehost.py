# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the kernel tree that run on the host: memblock and VMAs, with stock's code and ours."""

from __future__ import annotations

import re
from dataclasses import dataclass

from padlab.core import paths, process
from padlab.core.outcome import Outcome
from padlab.kernel import othertests

KERNELS = ("stock", "patched")
LIMIT_S = 120
_OK = re.compile(r"^ok \d+ : (?P<name>.*): passed$", re.MULTILINE)
_SUM = re.compile(r"^(?P<all>\d+) tests run, (?P<passed>\d+) passed, (?P<failed>\d+) failed\.$", re.MULTILINE)


@dataclass(frozen=True)
class Suite:
    """A program of tools/testing, how it is built, and how it is called."""

    program: str
    variables: tuple[str, ...] = ()
    args: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return " ".join((self.program, *self.variables, *self.args))


SUITES = (
    Suite("memblock", (), ("-v",)),
    Suite("memblock", ("NUMA=1",), ("-v",)),
    Suite("memblock", ("NUMA=1",), ("-v", "-m")),
    Suite("vma"),
)


@dataclass(frozen=True)
class Ran:
    passed: int
    failed: int
    status: int


def parse(output: str, status: int) -> Ran:
    """memblock's tests end at the first that fails; those of VMAs are counted."""
    if match := _SUM.search(output):
        return Ran(int(match["passed"]), int(match["failed"]), status)
    return Ran(len(_OK.findall(output)), int(status != 0), status)


def run(suite: Suite, kernel: str) -> Ran:
    program = othertests.host_program(kernel, suite.program, *suite.variables)
    lines: list[str] = []
    what = f"{suite.name} of {kernel}"
    log = paths.LOGS / f"outside-{kernel}-{suite.name.replace(' ', '')}.log"
    # Any status: that of the other kernel may be the same.
    status = process.stream(
        [program, *suite.args], lines.append, what=what, log=log, timeout=LIMIT_S, ok=range(-64, 256)
    )
    return parse("\n".join(lines), status)


def problems(stock: Ran, patched: Ran) -> list[str]:
    """What is worse with our code, or shows that nothing was tested."""
    wrong = []
    if patched.passed < stock.passed or patched.failed > stock.failed:
        wrong.append(
            f"{patched.passed} passed, {patched.failed} failed, status {patched.status}; "
            f"with stock's code {stock.passed}, {stock.failed} and {stock.status}"
        )
    if not stock.passed:
        wrong.append("no test passed with stock's code")
    return wrong


def check() -> Outcome:
    outcome = Outcome()
    for suite in SUITES:
        stock, patched = (run(suite, kernel) for kernel in KERNELS)
        failures = tuple(f"{suite.name}: {problem}" for problem in problems(stock, patched))
        outcome += Outcome(patched.passed, failures)
    return outcome
