# SPDX-License-Identifier: GPL-2.0-only
"""Running QEMU until a guest comes to its end, telling how it ended, and when its console lines came.

Console and channel are files that are read while they grow, not pipes: nothing
here can slow the guest down, and the logs are whole whatever ends the run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from padlab.core import process, progress
from padlab.core.errors import LabError
from padlab.vm import channel, dmesg
from padlab.vm import dmesg as messages
from padlab.vm.dmesg import Dmesg

_MARKS = {
    "start": re.compile(dmesg.LINUX_VERSION.encode()),
    "smp": re.compile(dmesg.SMP_DONE.encode()),
    "node": re.compile(dmesg.NODE_DONE.encode()),
    "init": re.compile(dmesg.RUN_INIT.encode()),
}


@dataclass
class HostClock:
    """When console lines came, by the host's clock; times are of any monotonic one, in seconds.

    Until late in boot an emulated guest's time stamps are held back to its timer ticks, of which it
    loses most when its CPUs outnumber the host's: it may call half a minute 0.7 seconds.
    """

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
        return self._between("smp", "node" if "node" in self._came else "smp")

    @property
    def boot_ms(self) -> float | None:
        return self._between("start", "init")

    def _between(self, first: str, last: str) -> float | None:
        if first not in self._came or last not in self._came:
            return None
        return round(1000 * (self._came[last] - self._came[first]), 1)


# A boot's logs, in its folder.
CONSOLE, GUEST, QEMU = "console.log", "guest.log", "qemu.log"
LOGS = (CONSOLE, GUEST)

TAIL_LINES = 20
_TAIL_BYTES = 4096
# Short, since lines are timed by when they are seen (HostClock).
_POLL_S = 0.004
# From the last word, of the guest or of a kernel that still has something to do, to QEMU's exit.
_EXIT_GRACE_S = 15.0
_PANIC = re.compile(messages.PANIC)


@dataclass(frozen=True)
class End:
    """How QEMU's run ended: by itself with ``status``, or (None) by being stopped."""

    status: int | None
    timed_out: bool = False


class _Tail:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._end = b""

    def read(self) -> bytes:
        new = self._file.read()
        self._end = self._end[-_TAIL_BYTES:] + new
        return new

    @property
    def end(self) -> str:
        return self._end.decode(errors="replace")


def run(
    cmd: list[str], what: str, folder: Path, limit_s: float, show: Callable[[str], None], clock: HostClock
) -> End:
    deadline = time.monotonic() + limit_s
    last_word: float | None = None
    shown = "starting"
    with (
        (folder / QEMU).open("w") as qemu_log,
        (folder / CONSOLE).open("a+b") as console_log,
        (folder / GUEST).open("a+b") as guest_log,
        # A lab that is killed outright must not leave gigabytes of QEMU behind.
        process.spawn(["setpriv", "--pdeathsig", "KILL", *cmd], what=what, stdout=qemu_log) as proc,
    ):
        console, guest = _Tail(console_log), _Tail(guest_log)
        while True:
            status = proc.poll()
            new, now = console.read(), time.monotonic()
            if new:
                clock.feed(new, now)
                shown = _last_line(console.end)
                if last_word is not None or _PANIC.search(console.end):
                    last_word = now
            if guest.read():
                shown = _last_line(guest.end)
                if channel.Guest(guest.end).done is not None:
                    last_word = last_word or now
            show(shown)
            if status is not None:
                return End(status)
            if last_word is not None and now > last_word + _EXIT_GRACE_S:
                return End(None)
            if now > deadline:
                return End(None, timed_out=True)
            time.sleep(_POLL_S)


def _last_line(text: str) -> str:
    lines = map(messages.interesting, reversed(text.splitlines()))
    return next((line[:60] for line in lines if line), "")


def check_end(what: str, end: End, dmesg: Dmesg, guest: channel.Guest, limit_s: float, folder: Path) -> int:
    """The guest's exit status if it came to its end; else a LabError with the end of its console."""
    if guest.done is not None and dmesg.panic is None:
        return guest.done
    log = folder / CONSOLE
    lines = [line for line in dmesg.text.splitlines() if line.strip()][-TAIL_LINES:]
    todo = "the end of its console is below"
    if dmesg.panic is not None:
        why = f"the kernel panicked: {dmesg.panic.rstrip('.')}"
    elif end.timed_out:
        why = f"the guest was not done within {progress.seconds(limit_s)}, and was ended"
    elif end.status:
        log = folder / QEMU
        own = log.read_text(errors="replace").splitlines()
        why = f"{process.describe_status(['QEMU'], end.status)}: {own[-1] if own else 'no message'}"
        todo = "the QEMU command is in the log's folder"
    else:
        why = "the guest stopped before it was done"
        if guest.cut:
            why += f", in the middle of a line of its report: '{guest.cut[:60]}'"
        elif guest.lines:
            why += f"; the last that it reported is '{' '.join(guest.lines[-1])[:60]}'"
    if not lines:
        todo = "its console is empty: no kernel message came"
    raise LabError(what, why, todo, log=log, detail=lines)
