# SPDX-License-Identifier: GPL-2.0-only
"""When console lines came, by the host's clock.

Until late in boot an emulated guest's time stamps are held back to its timer
ticks, of which it loses most when its CPUs outnumber the host's: it may call
half a minute 0.7 seconds.  The host's clock loses nothing.
"""

import re
from dataclasses import dataclass, field

from padlab.vm import dmesg

_MARKS = {
    "start": re.compile(dmesg.LINUX_VERSION.encode()),
    "smp": re.compile(dmesg.SMP_DONE.encode()),
    "node": re.compile(dmesg.NODE_DONE.encode()),
    "init": re.compile(dmesg.RUN_INIT.encode()),
}


@dataclass
class HostClock:
    """Fed with the console as it comes; times are of any monotonic clock, in seconds."""

    _came: dict[str, float] = field(default_factory=dict)
    _rest: bytes = b""

    def feed(self, data: bytes, now: float) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            for name, pattern in _MARKS.items():
                # The last node line ends deferred init.
                if (name == "node" or name not in self._came) and pattern.search(line):
                    self._came[name] = now

    @property
    def deferred_ms(self) -> float | None:
        """From the last message before deferred init to the last node line."""
        return self._between("smp", "node" if "node" in self._came else "smp")

    @property
    def boot_ms(self) -> float | None:
        """From the kernel's first message to its starting init."""
        return self._between("start", "init")

    def _between(self, first: str, last: str) -> float | None:
        if first not in self._came or last not in self._came:
            return None
        return round(1000 * (self._came[last] - self._came[first]), 1)
