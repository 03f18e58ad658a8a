# SPDX-License-Identifier: GPL-2.0-only
"""The machine that this runs on: its CPU, its free memory and disk, and how busy it is with other things."""

import os
import re
import resource
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from padlab.core.errors import LabError

STAT = Path("/proc/stat")
CPUINFO = Path("/proc/cpuinfo")
# From so much on, times measured meanwhile are those of a busy host.
MAX_STEAL = 0.02  # of all CPUs' time, taken by the host's hypervisor
MAX_OTHERS = 0.10  # of one CPU's time, used by other programs
MAX_SPREAD = 1.2  # most over median of a loop that always does the same


# As slugs have them.
_VENDORS = {"AuthenticAMD": "amd", "GenuineIntel": "intel"}


@dataclass(frozen=True)
class Cpu:
    """The first CPU of /proc/cpuinfo; what that lacks is "unknown".

    Virtual machines often hide the name of the model, so family and model are needed to tell
    one CPU from another.
    """

    vendor: str
    name: str
    family: str
    model: str

    def __str__(self) -> str:
        return f"{self.name} (family {self.family}, model {self.model})"

    @property
    def slug(self) -> str:
        words = (_VENDORS.get(self.vendor, self.vendor), "family", self.family, "model", self.model)
        return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")


def parse_cpu(text: str) -> Cpu:
    def field(name: str) -> str:
        match = re.search(rf"^{name}[ \t]*:[ \t]*(\S.*?)[ \t]*$", text, re.MULTILINE)
        return match[1] if match else "unknown"

    return Cpu(*map(field, ("vendor_id", "model name", "cpu family", "model")))


def cpu() -> str:
    """The CPU and how many there are, such as "AMD EPYC (family 26, model 2), 2 CPUs"."""
    return f"{parse_cpu(CPUINFO.read_text())}, {os.cpu_count()} CPUs"


def cpu_slug() -> str:
    """The folder of what is recorded on so many of such CPUs, such as "amd-family-26-model-2-2cpus"."""
    return f"{parse_cpu(CPUINFO.read_text()).slug}-{os.cpu_count()}cpus"


def is_rapids() -> bool:
    """Sapphire or Emerald Rapids, as in tools/testing/padata/x86_cpu.h."""
    return parse_cpu(CPUINFO.read_text()).slug in ("intel-family-6-model-143", "intel-family-6-model-207")


def free_mib() -> int:
    match = re.search(r"^MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(match[1]) >> 10 if match else 0


def check_room(where: Path, need: int, what: str) -> None:
    while not where.exists():
        where = where.parent
    free = shutil.disk_usage(where).free
    if free < need:
        why = (
            f"no room on disk: {free / (1 << 30):.1f} GiB free at {where}, {need / (1 << 30):.1f} GiB needed"
        )
        raise LabError(what, why, "free some space, or put the clone on another disk")


@dataclass(frozen=True)
class CpuTime:
    """Seconds since boot, of all CPUs; ``own`` is what this program and its children used."""

    busy: float
    steal: float
    own: float
    at: float


def cpu_time() -> CpuTime:
    hertz = os.sysconf("SC_CLK_TCK")
    busy, steal = parse_stat(STAT.read_text())
    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own = sum(times.ru_utime + times.ru_stime for times in usage)
    return CpuTime(busy / hertz, steal / hertz, own, time.monotonic())


def parse_stat(text: str) -> tuple[int, int]:
    """Ticks that all CPUs were busy, and that they were kept from running, of /proc/stat."""
    fields = [int(field) for field in text.splitlines()[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields[:8]
    return user + nice + system + irq + softirq, steal


def why_busy(
    before: CpuTime, after: CpuTime, reference: Sequence[float], cpus: int | None = None
) -> list[str]:
    """What shows that the host was busy, by CPU times and by those of a loop that always does the same."""
    elapsed = after.at - before.at
    cpus = cpus or os.cpu_count() or 1
    reasons = []
    steal = (after.steal - before.steal) / (elapsed * cpus)
    others = ((after.busy - before.busy) - (after.own - before.own)) / elapsed
    if steal > MAX_STEAL:
        reasons.append(f"{steal:.0%} of its CPU time stolen")
    if others > MAX_OTHERS:
        reasons.append(f"other programs used {others:.0%} of a CPU")
    if reference:
        spread = max(reference) / sorted(reference)[len(reference) // 2]
        if spread > MAX_SPREAD:
            reasons.append(f"a reference loop took up to {spread:.2f} of its usual time")
    return reasons
