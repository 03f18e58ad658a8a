# SPDX-License-Identifier: GPL-2.0-only
"""What is booted: a machine, a kernel, and how."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from padlab.kernel.kconfig import PERF, Config
from padlab.vm.machine import Machine


class How(TypedDict, total=False):
    """What a boot may have that most have not, as keyword parameters."""

    threads: str | None  # a value of deferred_init_threads=, checked before
    exact: bool  # count instructions
    all_cpus: bool  # in exact mode: see qemu.command()
    shift: int  # as well
    append: tuple[str, ...]  # more kernel arguments
    time_limit_s: float | None
    disk: Path | None  # see qemu.command()
    gdb: bool  # waits for a debugger, and is not in time for anything
    prealloc: bool  # its memory is provided before it starts


@dataclass(frozen=True)
class BootSpec:
    machine: Machine
    kernel: str
    config: Config = PERF
    threads: str | None = None
    exact: bool = False
    all_cpus: bool = False
    shift: int = 0
    append: tuple[str, ...] = ()
    initrd: Path | None = None
    time_limit_s: float | None = None
    disk: Path | None = None
    gdb: bool = False
    prealloc: bool = False

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
        return [*threads, *self.append]


def default_limit_s(machine: Machine, config: Config = PERF, exact: bool = False) -> float:
    """How long a boot may take, generously: several times what two slow cores need under TCG."""
    limit = 60 + machine.mib / 1024 * 0.4 + machine.cpus * 3
    limit *= config.slowness
    if exact:
        limit *= 2
    return limit
