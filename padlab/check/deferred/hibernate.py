# SPDX-License-Identifier: GPL-2.0-only
"""A system that sleeps on its disk and resumes while its struct pages are initialised.

To resume, a kernel that has just booted writes the image of the one that slept over its own memory,
struct pages with it.  What jobs of deferred init wrote after that would be in the image's
struct pages.  So resume waits for them first.
"""

import re
import tempfile
from pathlib import Path

from padlab.check.base import guests
from padlab.check.deferred import beside
from padlab.core import paths
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import FEATURES
from padlab.vm import dmesg

CONFIG = FEATURES
MACHINE = guests.SMALL
TITLE = "resume: waits for deferred init"
# Of swap, which the image of a guest that does nothing fits into many times.
DISK_MIB = 2048
ARGS = ("no_console_suspend", "hibernate=nocompress")
RESUME = ("resume=/dev/vda", beside.SLOW)
# What the kernel says when it begins to read an image.
READS = r"PM: (?:hibernation: )?Loading (?:and decompressing )?image data"


def resumes(kernel: str = beside.KERNEL, limit_s: float | None = None) -> Outcome:
    """The kernel that resumes has initialised all struct pages, and the one that slept finds its memory."""
    paths.BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.BUILD, prefix="disk-") as folder:
        disk = Path(folder) / "swap"
        with disk.open("wb") as file:
            file.truncate(DISK_MIB << 20)
        slept, woke = (
            guests.boot(MACHINE, kernel, CONFIG, "hibernate", (*ARGS, *args), limit_s, disk)
            for args in ((), RESUME)
        )
    problems = guests.trouble(slept) + guests.trouble(woke)
    problems += resumed_problems(woke.dmesg.text, woke.guest.values("resumed"))
    return judge(problems, woke.log)


def resumed_problems(console: str, memory: list[str]) -> list[str]:
    """What is wrong with a boot that was to resume, and with the memory ``found``.  Pure."""
    reads = re.search(READS, console)
    if reads is None:
        return ["there was no image to resume from"]
    problems = [] if memory == ["whole"] else [f"memory is not what it was: {memory}"]
    if not re.search(dmesg.NODE_DONE, console[: reads.start()]):
        problems.append("resume did not wait for struct pages")
    return problems
