# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel sizes by memory, beside deferred init, after it, and in stock."""

import re
from functools import partial

from padlab.check.base import guests
from padlab.check.deferred.beside import KERNEL, SLOW
from padlab.core.outcome import Outcome, judge
from padlab.vm.boot import SYNC, BootResult
from padlab.vm.dmesg import BOOT

MACHINES = (guests.SMALL, "three-nodes")

# Settings that are other in each boot, whatever the memory.
_OTHER = re.compile(
    r"kernel/random/|fs/(dentry-state|file-nr|inode-nr|inode-state|aio-nr)"
    r"|kernel/(pty/nr|ns_last_pid|cmdline|version|osrelease|hostname|tainted|panic_on_oops)"
    r"|kernel/sched_domain|vm/(stat_refresh|compact_memory|drop_caches)"
)
# What is sized by free pages is a little other in each boot.
_BY_FREE = ("fs/file-max", "vm/user_reserve_kbytes", "vm/admin_reserve_kbytes")
# Of stock's, whose image has another size, and of what is sized by free pages.
MAX_OFF = 0.002
# Settings that stock does not have.
_OURS = ("vm/huge_page_",)


def same(name: str, kernel: str = KERNEL, limit_s: float | None = None) -> Outcome:
    """What the kernel sizes by memory is the same whether boot waits or not, and as in stock."""
    boot = partial(guests.boot, name, role="sizes", limit=limit_s)
    stock, ours, waiting = boot("stock"), boot(kernel, append=(SLOW,)), boot(kernel, append=(SYNC,))
    problems = [f"beside the jobs: {text}" for text in differences(_told(waiting), _told(ours), 0)]
    problems += [f"against stock: {text}" for text in differences(_told(stock), _told(ours), MAX_OFF)]
    if BOOT not in ours.dmesg.waits or waiting.dmesg.waits:
        problems.append("boot waited, or did not, against what the command line says")
    return judge(problems, ours.log)


def _told(result: BootResult) -> dict[str, str]:
    pairs = (value.partition(" ") for value in result.guest.values("size"))
    sizes = {name: value.strip() for name, _, value in pairs if not name.startswith(_OURS)}
    return {name: value for name, value in sizes.items() if not _OTHER.match(name)}


def differences(theirs: dict[str, str], ours: dict[str, str], most: float) -> list[str]:
    """Settings that differ, numbers by more than ``most`` of theirs.  Pure."""
    different = [f"{name} is missing" for name in sorted(theirs.keys() ^ ours.keys())]
    for name in sorted(theirs.keys() & ours.keys()):
        if not _same(theirs[name], ours[name], MAX_OFF if name in _BY_FREE else most):
            different.append(f"{name}: {ours[name]}, not {theirs[name]}")
    return different


def _same(theirs: str, ours: str, most: float) -> bool:
    words, others = theirs.split(), ours.split()
    return len(words) == len(others) and all(map(partial(_near, most), words, others))


def _near(most: float, word: str, other: str) -> bool:
    try:
        a, b = (float(text.strip("(,)")) for text in (word, other))
    except ValueError:
        return word == other
    return abs(a - b) <= most * abs(a)
