# SPDX-License-Identifier: GPL-2.0-only
"""The memmap after boot, of one kernel and held against stock's (oracle.py)."""

import functools
import re

from checks import guests
from checks.memmap import matrix, oracle
from checks.memmap.case import Case, lacks
from padlab.core import host
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import PERF, Config
from padlab.vm.boot import BootResult
from padlab.vm.channel import Guest

# What memory is accepted by (checks/faults/).
UNIT_BYTES = 2 << 20
# Blocks, by stock: looks for a free page, until there are watermarks and something to accept.
MAX_ACCEPTED_MORE = 256


def boot(name: str, kernel: str, append: tuple[str, ...] = (), config: Config = PERF) -> BootResult:
    if kernel == "stock":
        return _boot_stock(name, append, config)
    return guests.boot(name, kernel, config, "oracle", append=append)


@functools.cache
def _boot_stock(name: str, append: tuple[str, ...], config: Config) -> BootResult:
    return guests.boot(name, "stock", config, "oracle", append=append)


def report(result: BootResult, expected: str = "") -> oracle.Report:
    """``expected``: what the kernel has to complain of, and of nothing else."""
    trouble = guests.trouble(result)
    if expected:
        others = [line for line in trouble if expected not in line]
        trouble = others if len(others) < len(trouble) else [f"no report of {expected}", *trouble]
    if trouble:
        what = f"memmap of {result.spec.machine.name} ({result.spec.kernel})"
        raise LabError(what, trouble[0], "see the console", log=result.log, detail=trouble)
    return oracle.parse(result.guest)


def case(wanted: Case, ours: str = "patched") -> Outcome:
    """Stock and ``ours`` agree, and that one went the way that it should."""
    need, free = wanted.host_mib(), host.free_mib()
    if need > free:
        return Outcome(skips=(f"needs {need} MiB of host memory, {free} are free",))
    append = (*wanted.append, *matrix.ALWAYS.get(wanted.config, ()))
    append += tuple(f"mirrored={ranges}" for ranges in wanted.mirrored)
    faults = wanted.mirrored or wanted.config.faults
    kernels = ("mirrored", "faulty") if faults else ("stock", ours)
    stock, result = (boot(wanted.machine, kernel, append, wanted.config) for kernel in kernels)
    theirs, memmap = (report(one, wanted.reports) for one in (stock, result))
    more = accepted_more(stock.guest, result.guest)
    allowance = wanted.allowance + min(max(more, 0), MAX_ACCEPTED_MORE)
    differences = oracle.compare(theirs, memmap, allowance, wanted.stock_breaks)
    differences += available_problems(stock.dmesg.text, result.dmesg.text)
    if more < -wanted.allowance:
        differences.append(f"{-more} blocks are accepted that are not in stock")
    return judge(differences + lacks(wanted, result), result.log)


def available_problems(stock: str, ours: str) -> list[str]:
    """Whether both kernels have as much memory when boot goes on after deferred init."""
    told = [re.search(r"Memory: (\d+)K/\d+K available", text) for text in (stock, ours)]
    if not all(told):
        return ["the kernel does not say how much memory is available"]
    kib = [int(match[1]) for match in told if match]
    if abs(kib[0] - kib[1]) * 1024 < oracle.ALLOWANCE * oracle.BLOCK_BYTES:
        return []
    return [f"{kib[1]} KiB were available when boot went on, {kib[0]} in stock"]


def accepted_more(stock: Guest, ours: Guest) -> int:
    """Blocks that stock has accepted and ours has not, where memory has to be accepted: stock's boot accepts
    more than it uses.
    """
    left = [
        int(line.split()[1])
        for guest in (stock, ours)
        for line in guest.values("accept")
        if line.startswith("left ")
    ]
    if len(left) == 1:
        raise LabError(
            "memmap oracle", "one of the kernels does not say what it has accepted", "see guest.log"
        )
    return (left[1] - left[0]) * UNIT_BYTES // oracle.BLOCK_BYTES if left else 0
