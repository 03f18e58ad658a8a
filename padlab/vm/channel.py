# SPDX-License-Identifier: GPL-2.0-only
"""What the guest says, apart from kernel messages: the file behind its second serial port.

Init and the roles (padlab/guest) write lines of a key and a value::

    cpus 4
    ktap test_limits ok 1 - the caller's CPUs
    trace   kworker/4:0-57   [004] .N...  0.794980: padata_mt_chunk: job=4 start=0 end=1024
    done 0

The last is init's "done", with the status of what ran.  A guest that dies before,
or whose last line is cut, has not come to its end.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from padlab.vm import trace

_DONE = re.compile(r"^done (\d+)\n\Z", re.MULTILINE)
_ZONE = re.compile(r"\d+ \S+ present (?P<present>\d+) managed (?P<managed>\d+)")


@dataclass(frozen=True)
class Guest:
    text: str

    @cached_property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Every whole line in order, as key and value.  A value keeps its leading blanks."""
        whole = self.text[: self.text.rfind("\n") + 1]
        return tuple((key, value) for key, _, value in (x.partition(" ") for x in whole.splitlines()))

    @property
    def cut(self) -> str:
        return self.text[self.text.rfind("\n") + 1 :]

    @cached_property
    def _by_key(self) -> dict[str, list[str]]:
        values: dict[str, list[str]] = {}
        for key, value in self.lines:
            values.setdefault(key, []).append(value)
        return values

    def values(self, key: str) -> list[str]:
        return self._by_key.get(key, [])

    def value(self, key: str) -> str | None:
        values = self.values(key)
        return values[-1] if values else None

    def number(self, key: str) -> int | None:
        value = self.value(key)
        return int(value) if value and value.isdecimal() else None

    @property
    def done(self) -> int | None:
        """The exit status of what ran in the guest, if that is the last that it said."""
        match = _DONE.search(self.text)
        return int(match[1]) if match else None

    @cached_property
    def trouble(self) -> tuple[str, ...]:
        return tuple(self.values("trouble"))

    @cached_property
    def ktap(self) -> dict[str, list[str]]:
        """The output of each test that was run, whether it printed any or not."""
        outputs: dict[str, list[str]] = {name: [] for name in self.values("running")}
        for value in self.values("ktap"):
            name, _, line = value.partition(" ")
            outputs.setdefault(name, []).append(line)
        return outputs

    @cached_property
    def trace(self) -> trace.Trace:
        return trace.parse(self.values("trace"))

    @cached_property
    def zones(self) -> list[tuple[int, int]]:
        """Present and managed pages of each populated zone, as /proc/zoneinfo had them after boot."""
        matches = filter(None, map(_ZONE.fullmatch, self.values("zone")))
        return [(int(zone["present"]), int(zone["managed"])) for zone in matches]

    @property
    def total_pages(self) -> int | None:
        kib = self.number("memtotal-kib")
        return None if kib is None else kib // 4
