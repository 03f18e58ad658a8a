# SPDX-License-Identifier: GPL-2.0-only
"""What the checks that boot share: kernels and images, each made once, and what a guest said judged.

Each check is a process of its own.  What several need is made by the first, under a file lock.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from padlab.core import exclusive, paths, process
from padlab.core.outcome import Outcome
from padlab.kernel import build as builds
from padlab.kernel import kconfig, tree
from padlab.vm import boot as boots
from padlab.vm import ktap, machine
from padlab.vm.spec import How, default_limit_s

# Four CPUs on one node; and eight on two, which the rest of the checks use.
SMALL = machine.SMALL
SMT = "smt-numa"
# The same of other architectures, which they are called after; s390x has one node.
ARM64 = "arm64"
S390X = "s390x"

# The memmap is the same without it, and a boot a good deal shorter.
KMEMLEAK_OFF = "kmemleak=off"

TEST_ROLES = ("kunit", "selftest")
TESTS_TAKE = 8  # times the limit of a boot


@dataclass(frozen=True)
class Instead:
    """What is booted in place of ``kernel``: one with a fault, for mutants."""

    kernel: str
    other: str
    args: tuple[str, ...]
    limit_s: float


_instead: Instead | None = None


@contextmanager
def booting_instead(what: Instead) -> Iterator[None]:
    global _instead
    _instead = what
    try:
        yield
    finally:
        _instead = None


def instead_of(kernel: str) -> Instead | None:
    return _instead if _instead and _instead.kernel == kernel else None


@contextmanager
def _making() -> Iterator[None]:
    """One process builds at a time; how long that takes, or another one, is no time of the check.

    Kernels share the configuration of patched (build.py), and images programs and modules.
    """
    with process.apart(), exclusive.alone(paths.base().build / ".making.lock"):
        yield


def built(kernel: str, config: kconfig.Config) -> builds.Build:
    with _making():
        return builds.ensure_build(kernel, config)


def ready(kernel: str, role: str, config: kconfig.Config = kconfig.PERF) -> boots.Ready:
    with _making():
        return boots.prepare(kernel, config, role)


def machine_of(config: kconfig.Config) -> str:
    """With eight CPUs, for kernels with that configuration."""
    return config.arch.name if config.arch.foreign else SMT


def boot_limit_s(target: machine.Machine, config: kconfig.Config, role: str, exact: bool = False) -> float:
    """How long a boot may take: tests go on for some minutes after it."""
    boot_s = default_limit_s(target, config, exact)
    return max(TESTS_TAKE * boot_s, boot_s + config.test_s) if role in TEST_ROLES else boot_s


def boot(
    target: str | machine.Machine,
    kernel: str,
    config: kconfig.Config = kconfig.PERF,
    role: str = "boot",
    **how: Unpack[How],
) -> boots.BootResult:
    """``target``: by its name if it is in machines/; ``role`` of its initramfs: what runs in the guest."""
    target = machine.load(target) if isinstance(target, str) else target
    more: tuple[str, ...] = ()
    how.setdefault("time_limit_s", boot_limit_s(target, config, role, how.get("exact", False)))
    if other := instead_of(kernel):
        kernel, more, how["time_limit_s"] = other.other, other.args, other.limit_s
    if role == "selftest" and config.test_s != kconfig.TEST_S:
        more += (f"padlab_limit={config.test_s}",)
    how["append"] = (*how.get("append", ()), *more)
    return boots.boot(target, ready(kernel, role, config), **how)


def trouble(result: boots.BootResult) -> list[str]:
    problems = [*result.dmesg.trouble, *(f"the guest says: {value}" for value in result.guest.trouble)]
    if result.spec.config.watched:
        checked = set(result.guest.values("checked"))
        wanted = {"kmemleak", "lockdep"} - ({"kmemleak"} if KMEMLEAK_OFF in result.spec.append else set())
        problems += [f"the guest did not check {what}" for what in sorted(wanted - checked)]
    if result.exit and not problems:
        problems.append(f"what ran in the guest ended with status {result.exit}")
    return problems


def new_reports(stock: Iterable[str], patched: Iterable[str]) -> list[str]:
    of_stock = {_masked(report) for report in stock}
    return [report for report in dict.fromkeys(patched) if _masked(report) not in of_stock]


def _masked(report: str) -> str:
    return re.sub(r"0x[0-9a-f]+|(?<=pfn:)[0-9a-f]+|\d+", "N", report)


def results(result: boots.BootResult) -> Outcome:
    return Outcome(log=result.guest_log) + ktap.of_guest(result.guest, patched_tree())


@functools.cache
def patched_tree() -> Path:
    return tree.ensure_tree("patched")
