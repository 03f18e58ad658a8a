# SPDX-License-Identifier: GPL-2.0-only
"""A kernel that finds memory of the one before it, by kexec handover.

The kernel's own test (lib/test_kho.c) preserves folios with random bytes, and the next kernel's
restores them, for which their struct pages have to be as they should.  Only bases that say so have
it (expected.py).
"""

import re

from checks import guests
from checks.declare import FULL, check, guest
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import FEATURES
from padlab.vm import dmesg, machine

TITLE = "kexec handover: pages that were preserved"
CONFIG = FEATURES
# Nearly all memory is deferred; and the test preserves more than is not, in bytes.
MACHINE = "low-memory-1"
PRESERVED = 1 << 29
HANDOVER = ("kho=on", f"test_kho.max_mem={PRESERVED}")
RESTORED = "KHO restore succeeded"
BOOTS = 2  # of kernels, in one guest


@check(TITLE, guest(MACHINE, config=CONFIG, role="handover", boots=BOOTS), FULL)
def test_restores() -> Outcome:
    limit_s = BOOTS * guests.boot_limit_s(machine.load(MACHINE), CONFIG, "handover")
    result = guests.boot(MACHINE, "patched", CONFIG, "handover", append=HANDOVER, time_limit_s=limit_s)
    return judge(guests.trouble(result) + problems(result.dmesg.text), result.log)


def problems(console: str) -> list[str]:
    """What is wrong with what the two kernels say.  Pure."""
    if len(re.findall(dmesg.NODE_DONE, console)) != BOOTS:
        return ["not both kernels had struct pages to initialise"]
    return [] if RESTORED in console else ["what was preserved is not there, or nothing was"]
