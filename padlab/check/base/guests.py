# SPDX-License-Identifier: GPL-2.0-only
"""What the checks that boot share: builds and images made once, and what a guest said judged.

Checks run in several threads: what is made for one of them is made once, and the others wait for it.
"""

import re
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from padlab.check.base import ktap
from padlab.core import process
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.core.threads import once
from padlab.kernel import build as builds
from padlab.kernel import kconfig, tree
from padlab.vm import boot as boots
from padlab.vm import channel, initramfs, machine

# Four CPUs on one node; and eight on two, which the rest of the checks use.
SMALL = "epyc-7551-kvm-small"
SMT = "smt-numa"
# The same of other architectures, which they are called after; s390x has one node.
ARM64 = "arm64"
S390X = "s390x"

# The memmap is the same without it, and a boot a good deal shorter.
KMEMLEAK_OFF = "kmemleak=off"

TEST_ROLES = ("kunit", "selftest")
TESTS_TAKE = 8  # times the limit of a boot

# Different images have programs and modules in common.
_making = threading.Lock()
_building = threading.Lock()

# What a thread has on the command line of changing kernels.
_arguments: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())


def with_arguments(*args: str) -> AbstractContextManager[None]:
    """In the with block, changing kernels (tree.Variant) that this thread boots have ``args``."""
    return process.during(_arguments, args)


def arguments(kernel: str) -> tuple[str, ...]:
    return _arguments.get() if tree.is_changing(kernel) else ()


_build_once = once(builds.ensure_build)


def build(kernel: str, config: kconfig.Config) -> builds.Build:
    if not tree.is_changing(kernel):
        return _build_once(kernel, config)
    with _building:
        return builds.ensure_build(kernel, config)


def built(kernel: str, config: kconfig.Config) -> builds.Build:
    """For what needs a build: that it failed has been told by its own check.

    Without that one the build is made now, which is not to count as time of what needs it.
    """
    try:
        with process.scope().apart():
            return build(kernel, config)
    except LabError as err:
        raise LabError(
            f"{kernel} ({config})", f"its build failed: {err.why}", err.todo, log=err.log
        ) from None


def ready(kernel: str, role: str, config: kconfig.Config = kconfig.PERF) -> tuple[builds.Build, Path]:
    build = built(kernel, config)
    with _making:
        return build, initramfs.ensure(build, role)


def machine_of(config: kconfig.Config) -> str:
    """With eight CPUs, for kernels with that configuration."""
    return config.arch.name if config.arch.foreign else SMT


def limit_s(target: machine.Machine, config: kconfig.Config, role: str, exact: bool = False) -> float:
    """How long a boot may take: tests go on for some minutes after it."""
    boot_s = boots.default_limit_s(target, config, exact)
    return max(TESTS_TAKE * boot_s, boot_s + config.test_s) if role in TEST_ROLES else boot_s


def boot(
    target: str | machine.Machine,
    kernel: str,
    config: kconfig.Config = kconfig.PERF,
    role: str = "boot",
    append: tuple[str, ...] = (),
    limit: float | None = None,
    **how: Any,
) -> boots.BootResult:
    """``target``: by its name if it is in machines/; ``limit``: in seconds, if not what such a boot has.

    ``how`` is what else a BootSpec has.
    """
    target = machine.load(target) if isinstance(target, str) else target
    made = ready(kernel, role, config)
    limit = limit or limit_s(target, config, role, how.get("exact", False))
    append = (*append, *arguments(kernel))
    if role == "selftest" and config.test_s != kconfig.TEST_S:
        append = (*append, f"padlab_limit={config.test_s}")
    return boots.boot_ready(target, made, append=append, time_limit_s=limit, **how)


def trouble(result: boots.BootResult) -> list[str]:
    problems = [*result.dmesg.trouble, *(f"the guest says: {value}" for value in result.guest.trouble)]
    if result.spec.config.watched:
        checked = set(result.guest.values("checked"))
        wanted = {"kmemleak", "lockdep"} - ({"kmemleak"} if KMEMLEAK_OFF in result.spec.append else set())
        problems += [f"the guest did not check {what}" for what in sorted(wanted - checked)]
    if result.exit and not problems:
        problems.append(f"what ran in the guest ended with status {result.exit}")
    return problems


def reports(result: boots.BootResult) -> tuple[str, ...]:
    """What kernel and programs complain of, however these ended."""
    return (*result.dmesg.trouble, *result.guest.trouble)


def new_reports(stock: Iterable[str], patched: Iterable[str]) -> list[str]:
    of_stock = {_masked(report) for report in stock}
    return [report for report in dict.fromkeys(patched) if _masked(report) not in of_stock]


def _masked(report: str) -> str:
    return re.sub(r"0x[0-9a-f]+|(?<=pfn:)[0-9a-f]+|\d+", "N", report)


def results(result: boots.BootResult) -> Outcome:
    return Outcome(log=result.guest_log) + of_guest(result.guest)


def of_guest(guest: channel.Guest) -> Outcome:
    total = Outcome()
    for name, lines in guest.ktap.items():
        total += ktap.parse(lines, patched_tree()).named(name)
    return total


@once
def patched_tree() -> Path:
    return tree.ensure_tree("patched")
