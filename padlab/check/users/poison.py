# SPDX-License-Identifier: GPL-2.0-only
"""Who reads a struct page that is not initialised, without asking, is seen.

In users' kernels it is poisoned.  A task of checks/faults/test-beside.patch reads one while the
jobs of deferred init are slow: without a report of it, no other check here would see a driver
that does.
"""

import re

from padlab.check.base import guests
from padlab.check.base.guests import SMT
from padlab.check.deferred import beside
from padlab.check.users import used
from padlab.core.outcome import Outcome, judge

ARGS = ("test_careless", beside.SLOW)
SEEN = "is uninitialized and poisoned"
_REPORTS = re.compile(r"kernel BUG at include/linux/|Oops: ")


def check() -> Outcome:
    """It is reported, and nothing else is."""
    result = guests.boot(SMT, beside.KERNEL, used.CONFIG, append=ARGS)
    reports = [line for line in guests.trouble(result) if not _REPORTS.search(line)]
    return judge(reports + problems(result.dmesg.text), result.log)


def problems(console: str) -> list[str]:
    """What is wrong with what a console says.  Pure."""
    return [] if SEEN in console else ["a struct page that is not initialised is read, and nobody says so"]
