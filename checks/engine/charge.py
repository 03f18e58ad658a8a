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
LOG = paths.LOGS / "charge-check.log"
TOOL = native.Tool("tools/testing/sched_charge", ("kernel/sched/charge.c", "kernel/sched/charge.h"))


def check() -> Outcome:
    return check_program(native.make(TOOL, PROGRAM))


def check_program(program: Path) -> Outcome:
    lines = tools.run(
        program, what="CPU time of helpers in userspace", log=LOG, limit_s=tools.CHECK_LIMIT_S
    ).lines
    for line in lines:
        progress.note(line)
    return Outcome(sum(line.startswith("checked ") for line in lines), log=LOG)
