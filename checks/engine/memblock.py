# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own tests of memblock, which run on the host: with stock's code and ours."""

import re

from padlab.core import paths, process
from padlab.core.outcome import Outcome
from padlab.kernel import others

LIMIT_S = 120
# What make is given, and the program.
RUNS = (((), ("-v",)), (("NUMA=1",), ("-v",)), (("NUMA=1",), ("-v", "-m")))
_OK = re.compile(r"^ok \d+ : .*: passed$", re.MULTILINE)


def run(kernel: str, variables: tuple[str, ...], args: tuple[str, ...]) -> tuple[int, int]:
    """How many tests pass, and the exit status: the first that fails is the end."""
    program = others.memblock(kernel, *variables)
    lines: list[str] = []
    name = "".join(("memblock", *variables, *args))
    log = paths.base().logs / f"{name}-{kernel}.log"
    # Any status: that of the other kernel may be the same.
    command = [program, *args]
    status = process.stream(command, lines.append, what=name, log=log, timeout=LIMIT_S, ok=process.ANY)
    return passed("\n".join(lines)), status


def passed(output: str) -> int:
    return len(_OK.findall(output))


def problems(stock: tuple[int, int], patched: tuple[int, int]) -> list[str]:
    if not stock[0]:
        return ["no test passed with stock's code"]
    if patched[0] < stock[0] or (patched[1] and not stock[1]):
        return [f"{patched[0]} passed, status {patched[1]}; with stock's code {stock[0]} and {stock[1]}"]
    return []


def check() -> Outcome:
    outcome = Outcome()
    for variables, args in RUNS:
        stock, patched = (run(kernel, variables, args) for kernel in ("stock", "patched"))
        failures = tuple(f"memblock {variables}: {problem}" for problem in problems(stock, patched))
        outcome += Outcome(patched[0], failures)
    return outcome
