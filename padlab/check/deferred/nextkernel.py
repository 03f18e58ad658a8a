# SPDX-License-Identifier: GPL-2.0-only
"""A kernel that finds memory of the one before it, while its struct pages are initialised.

By kexec handover: the kernel's own test (lib/test_kho.c) preserves folios with random bytes, and the
next kernel's restores them, asking for their struct pages.  Only bases that say so have it (expected.py).

By a system that sleeps on its disk and resumes: a kernel that has just booted writes the image of the
one that slept over its own memory, struct pages with it.  What jobs of deferred init wrote after that
would be in the image's struct pages.  So resume waits for them first.
"""

import re
import tempfile
from pathlib import Path

from padlab.check.base import guests
from padlab.check.deferred import beside
from padlab.core import paths
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import FEATURES
from padlab.vm import dmesg, machine
from padlab.vm.boot import SYNC

CONFIG = FEATURES

# Nearly all memory is deferred; and the test preserves more than is not, in bytes.
HANDOVER_MACHINE = "low-memory-1"
PRESERVED = 1 << 29
# Of one CPU, with more than a hundred sections.
SLOW = "deferred_init_slow=200,1000000"
HANDOVER = ("kho=on", f"test_kho.max_mem={PRESERVED}", f"padlab_then={SLOW}", SYNC)
RESTORED = "KHO restore succeeded"

RESUME_MACHINE = guests.SMALL
# Of swap, which the image of a guest that does nothing fits into many times.
DISK_MIB = 2048
SLEEP = ("no_console_suspend", "hibernate=nocompress")
RESUME = (*SLEEP, "resume=/dev/vda", beside.SLOW)
# What the kernel says when it begins to read an image.
READS = r"PM: (?:hibernation: )?Loading (?:and decompressing )?image data"


def restores(kernel: str = beside.KERNEL, limit_s: float | None = None) -> Outcome:
    """All that was preserved is there, and it was asked for before all struct pages were."""
    # Two kernels boot in this one guest.
    limit_s = limit_s or 2 * guests.limit_s(machine.load(HANDOVER_MACHINE), CONFIG, "handover")
    result = guests.boot(HANDOVER_MACHINE, kernel, CONFIG, "handover", HANDOVER, limit_s)
    problems = guests.trouble(result) + restored_problems(result.dmesg.text)
    return judge(problems, result.log)


def restored_problems(console: str) -> list[str]:
    nodes = [match.start() for match in re.finditer(dmesg.NODE_DONE, console)]
    restored = console.find(RESTORED)
    if restored < 0:
        return ["what was preserved is not there, or nothing was"]
    if len(nodes) != 2 or not nodes[0] < restored < nodes[1]:
        return ["it was restored when all struct pages were there"]
    return []


def resumes(kernel: str = beside.KERNEL, limit_s: float | None = None) -> Outcome:
    """The kernel that resumes has initialised all struct pages, and the one that slept finds its memory."""
    paths.BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.BUILD, prefix="disk-") as folder:
        disk = Path(folder) / "swap"
        with disk.open("wb") as file:
            file.truncate(DISK_MIB << 20)
        slept, woke = (
            guests.boot(RESUME_MACHINE, kernel, CONFIG, "hibernate", args, limit_s, disk=disk)
            for args in (SLEEP, RESUME)
        )
    problems = guests.trouble(slept) + guests.trouble(woke)
    problems += resumed_problems(woke.dmesg.text, woke.guest.values("resumed"))
    return judge(problems, woke.log)


def resumed_problems(console: str, memory: list[str]) -> list[str]:
    reads = re.search(READS, console)
    if reads is None:
        return ["there was no image to resume from"]
    problems = [] if memory == ["whole"] else [f"memory is not what it was: {memory}"]
    if not re.search(dmesg.NODE_DONE, console[: reads.start()]):
        problems.append("resume did not wait for struct pages")
    return problems
