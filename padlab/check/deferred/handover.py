# SPDX-License-Identifier: GPL-2.0-only
"""Kexec handover: memory that one kernel preserves for the next, which asks for its struct pages.

The kernel's own test (lib/test_kho.c) preserves folios with random bytes, and the next kernel's
restores them while its struct pages are initialised.  Only bases that say so have it
(expected.py).
"""

import re

from padlab.check.base import guests
from padlab.check.deferred import beside
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import FEATURES
from padlab.vm import dmesg, machine
from padlab.vm.boot import SYNC

CONFIG = FEATURES
ROLE = "handover"
TITLE = "kexec handover: pages that were preserved"
# Nearly all memory is deferred; and the test preserves more than is not, in bytes.
MACHINE = "low-memory-1"
PRESERVED = 1 << 29
# Of one CPU, with more than a hundred sections.
SLOW = "deferred_init_slow=200,1000000"
ARGS = ("kho=on", f"test_kho.max_mem={PRESERVED}", f"padlab_then={SLOW}", SYNC)
RESTORED = "KHO restore succeeded"


def restores(kernel: str = beside.KERNEL, limit_s: float | None = None) -> Outcome:
    """All that was preserved is there, and it was asked for before all struct pages were."""
    # Two kernels boot in this one guest.
    limit_s = limit_s or 2 * guests.limit_s(machine.load(MACHINE), CONFIG, ROLE)
    result = guests.boot(MACHINE, kernel, CONFIG, ROLE, ARGS, limit_s)
    problems = guests.trouble(result) + restored_problems(result.dmesg.text)
    return judge(problems, result.log)


def restored_problems(console: str) -> list[str]:
    """What is wrong with the second of two boots on a console.  Pure."""
    nodes = [match.start() for match in re.finditer(dmesg.NODE_DONE, console)]
    restored = console.find(RESTORED)
    if restored < 0:
        return ["what was preserved is not there, or nothing was"]
    if len(nodes) != 2 or not nodes[0] < restored < nodes[1]:
        return ["it was restored when all struct pages were there"]
    return []
