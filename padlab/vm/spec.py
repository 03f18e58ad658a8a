# SPDX-License-Identifier: GPL-2.0-only
"""What is booted: a machine, a kernel, and how."""

import math
from dataclasses import dataclass
from pathlib import Path

from padlab.kernel.kconfig import PERF, Config
from padlab.vm.machine import Machine

# On the command line: boot waits for deferred init at once, as stock's always does.
SYNC = "deferred_init=sync"


@dataclass(frozen=True)
class BootSpec:
    """What to boot.  ``threads`` is a value of deferred_init_threads=, checked before."""

    machine: Machine
    kernel: str
    config: Config = PERF
    threads: str | None = None
    exact: bool = False
    all_cpus: bool = False  # in exact mode: see qemu.command()
    shift: int = 0  # as well
    sync: bool = False  # see SYNC
    append: tuple[str, ...] = ()
    initrd: Path | None = None
    time_limit_s: float | None = None
    disk: Path | None = None  # as well
    gdb: bool = False  # waits for a debugger, and is not in time for anything

    @property
    def name(self) -> str:
        exact = "-exact" if self.exact else ""
        return f"{self.machine.name}-{self.kernel}-{self.config}{exact}"

    @property
    def limit_s(self) -> float:
        if self.gdb:
            return math.inf
        return self.time_limit_s or default_limit_s(self.machine, self.config, self.exact)

    def kernel_args(self) -> list[str]:
        threads = [f"deferred_init_threads={self.threads}"] if self.threads else []
        # What a part of the boot costs can be told where parts come one after the other.
        sync = [SYNC] if self.sync and self.kernel != "stock" else []
        return [*threads, *sync, *self.append]


def default_limit_s(machine: Machine, config: Config = PERF, exact: bool = False) -> float:
    """How long a boot may take, generously: several times what two slow cores need under TCG."""
    limit = 60 + machine.mib / 1024 * 0.4 + machine.cpus * 3
    limit *= config.slowness
    if exact:
        limit *= 2
    return limit
