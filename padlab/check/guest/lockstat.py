# SPDX-License-Identifier: GPL-2.0-only
"""How often zone->lock is taken during deferred init.

Lockdep's trace events record each acquisition from early boot on, and printk's the message
before deferred init and the node lines, which say where it begins and ends.  The guest counts
(guest/locks.sh): a trace of a whole boot is long.
"""

from padlab.core.errors import LabError
from padlab.kernel.kconfig import DEBUG
from padlab.vm.boot import BootResult

# Only a kernel with lockdep has the first of these events.
CONFIG = DEBUG
# One CPU, so that the only helper is the thread that starts the job, and nobody else
# allocates meanwhile.
MACHINE = "memory-64"
APPEND = ("trace_event=lock:lock_acquire,printk:console", "trace_buf_size=250M")

# Stock takes it for each block of 4 MiB: about 15,500 times.  Ours for each section.
MOST = 600


def taken(result: BootResult) -> int:
    count = result.guest.number("zone-lock")
    if count is None:
        raise LabError(
            "zone->lock",
            "the trace does not have deferred init from its start to its end",
            f"give trace_buf_size= more (now {APPEND[-1]})",
            log=result.guest_log,
        )
    return count


def problems(stock: int, patched: int, most: int = MOST) -> list[str]:
    """What is wrong with the numbers of the two kernels."""
    wrong = []
    if patched > most:
        wrong.append(f"zone->lock was taken {patched} times, more than {most}; stock {stock}")
    if not 0 < patched <= stock:
        wrong.append(f"zone->lock was taken {patched} times, stock {stock}: that is not its whole count")
    return wrong
