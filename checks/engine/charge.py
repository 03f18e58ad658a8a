# SPDX-License-Identifier: GPL-2.0-only
"""CPU time of helpers, in userspace: kernel/sched/charge.c as it is, on random task groups.

Times that tests measure in a guest have tolerances, behind which a slice that is lost or
given back twice can hide.  Here each one is counted.
"""

from pathlib import Path

from padlab.core import paths, progress
from padlab.core.outcome import Outcome
from padlab.kernel import native
from padlab.measure import tools

PROGRAM = "charge_check"
TOOL = native.Tool("tools/testing/sched_charge", ("kernel/sched/charge.c", "kernel/sched/charge.h"))


def check() -> Outcome:
    return check_program(native.make(TOOL, PROGRAM))


def check_program(program: Path) -> Outcome:
    log = paths.base().logs / "charge-check.log"
    what = "CPU time of helpers in userspace"
    lines = tools.run(program, what=what, log=log, limit_s=tools.CHECK_LIMIT_S).lines
    for line in lines:
        progress.note(line)
    return Outcome(sum(line.startswith("checked ") for line in lines), log=log)
