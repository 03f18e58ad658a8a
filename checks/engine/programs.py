# SPDX-License-Identifier: GPL-2.0-only
"""Programs that check code of the kernel in userspace, and say what they have checked."""

import re
from dataclasses import dataclass
from pathlib import Path

from padlab.core import paths, progress
from padlab.core.outcome import Outcome
from padlab.kernel import native
from padlab.measure import structpages, tools, zeroing

LIMIT_S = 300  # a program that takes so long hangs, or the machine is very slow
_NOT_HERE = re.compile(r"^store \w+: not on this CPU$")


@dataclass(frozen=True)
class Checker:
    """Programs of a tool, and how each line begins that one has to say, of what it has checked."""

    tool: native.Tool
    programs: tuple[str, ...]
    checked: tuple[str, ...] = ("checked ",)
    args: tuple[str, ...] = ()
    says: str = ""  # the name that all of them say they have, if they do

    def run(self) -> Outcome:
        return sum((self.judge(native.make(self.tool, name)) for name in self.programs), Outcome())

    def judge(self, program: Path) -> Outcome:
        """A case for each line, which all have to be there."""
        log = paths.base().logs / f"{program.name}.log"
        lines = tools.run(
            program, *self.args, what=program.name, log=log, says=self.says, limit_s=LIMIT_S
        ).lines
        for line in lines:
            progress.note(line)
        missing = [what for what in self.checked if not any(line.startswith(what) for line in lines)]
        return Outcome(
            sum(line.startswith(self.checked) for line in lines),
            tuple(f"{program.name} says nothing that begins with '{what}'" for what in missing),
            tuple(filter(_NOT_HERE.match, lines)),
            log,
        )


# Of struct pages by their size, as the Makefile has them.
_SIZES = ("", "-56", "-72", "-80", "-96", "-virtual")
CHECKERS = {
    "struct pages in userspace, all ways": Checker(
        structpages.TOOL,
        tuple(f"memmap_bench{size}" for size in _SIZES),
        ("stores: ", "states: ", "outcome: "),
        ("--check",),
        "memmap_bench",
    ),
    # With each store that the CPU has, and with the functions of architectures that have none of their own.
    "huge pages in userspace are zeroed": Checker(
        zeroing.TOOL, ("zero_check", "zero_check-generic", "copy_check")
    ),
    "CPU time of helpers in userspace": Checker(
        native.Tool("tools/testing/sched_charge", ("kernel/sched/charge.c", "kernel/sched/charge.h")),
        ("charge_check",),
    ),
}
