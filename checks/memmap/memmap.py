# SPDX-License-Identifier: GPL-2.0-only
"""The memmap after boot: the same as stock's (oracle.py), in each case of matrix.py, or not, with a fault."""

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

# What a broken build does wrong, and what the oracle has to say of it: one of some, of each tuple.
# A block that is freed twice counts twice.  It lies inside another free block, or somebody has
# allocated it before the oracle looks, and then there are pages in use inside of one.
FAULTS = {
    "skip-section": (("uninitialised 65536",),),  # one section on each of two nodes
    "free-twice": (("broken rule: managed 2 ",), ("rule: overlap ", "rule: free_ref ")),
    "wrong-type": (("types=22",),),
}
GROWN = "one-cpu"
# What memory is accepted by (checks/faults/).
UNIT_BYTES = 2 << 20


def _boot(name: str, kernel: str, config: Config, append: tuple[str, ...]) -> BootResult:
    if kernel == "stock":
        return _of_stock(name, config, append)
    return guests.boot(name, kernel, config, "oracle", append=append)


@functools.cache
def _of_stock(name: str, config: Config, append: tuple[str, ...]) -> BootResult:
    return guests.boot(name, "stock", config, "oracle", append=append)


def _memmap(name: str, kernel: str, append: tuple[str, ...] = ()) -> oracle.Report:
    return _report(_boot(name, kernel, PERF, append))


def _report(result: BootResult, expected: str = "") -> oracle.Report:
    """``expected``: the report that the kernel has to have, and no other."""
    trouble = guests.trouble(result)
    if expected:
        others = [line for line in trouble if expected not in line]
        trouble = others if len(others) < len(trouble) else [f"no report of {expected}", *trouble]
    if trouble:
        what = f"memmap of {result.spec.machine.name} ({result.spec.kernel})"
        raise LabError(what, trouble[0], "see the console", log=result.log, detail=trouble)
    return oracle.parse(result.guest)


def grown() -> Outcome:
    """Before SMP, something wants more than the node's first section: the zone has to grow.

    On one CPU, where it is the same memory every time.
    """
    ours, plain = (_boot(GROWN, "patched", PERF, args) for args in (matrix.GROWING, ()))
    problems = oracle.compare(_memmap(GROWN, "stock", append=matrix.GROWING), _report(ours))
    left, all_pages = (sum(node.pages or 0 for node in result.dmesg.nodes) for result in (ours, plain))
    if left >= all_pages:
        problems.append(f"the zone did not grow: {left} pages were left to initialise, {all_pages} else")
    return judge(problems)


def case(wanted: Case, ours: str = "patched") -> Outcome:
    """Stock and ``ours`` agree, and that one went the way that it should."""
    need, free = wanted.host_mib(), host.free_mib()
    if need > free:
        return Outcome(skips=(f"needs {need} MiB of host memory, {free} are free",))
    append = (*wanted.append, *matrix.ALWAYS.get(wanted.config, ()))
    append += tuple(f"mirrored={ranges}" for ranges in wanted.mirrored)
    faults = wanted.mirrored or wanted.config.faults
    kernels = ("mirrored", "faulty") if faults else ("stock", ours)
    result = _boot(wanted.machine, kernels[1], wanted.config, append)
    stock = _boot(wanted.machine, kernels[0], wanted.config, append)
    theirs, memmap = (_report(one, wanted.reports) for one in (stock, result))
    more = accepted_more(stock.guest, result.guest)
    differences = oracle.compare(theirs, memmap, wanted.allowance + max(more, 0), wanted.stock_breaks)
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
        [int(line.split()[1]) for line in guest.values("accept") if line.startswith("left ")]
        for guest in (stock, ours)
    ]
    return sum((b - a) * UNIT_BYTES // oracle.BLOCK_BYTES for a, b in zip(*left, strict=True))


def none_left() -> Outcome:
    """All struct pages are initialised by allocations, before the jobs are ready."""
    result = _boot(guests.SMT, "faulty", PERF, ("deferred_init_fault=grown",))
    problems = oracle.compare(_memmap(guests.SMT, "stock"), _report(result))
    left = [node.pages for node in result.dmesg.nodes if node.pages]
    return judge(problems + [f"{pages} pages were left for a job" for pages in left], result.log)


def fault(name: str) -> Outcome:
    """The oracle is silent without a fault, and names the one that there is."""
    append = (f"deferred_init_fault={name}",) if name else ()
    differences = oracle.compare(_memmap(guests.SMT, "stock"), _memmap(guests.SMT, "faulty", append=append))
    if not name:
        return judge(differences)
    said = "\n".join(differences) or "nothing"
    missing = [some for some in FAULTS[name] if not any(text in said for text in some)]
    return judge([f"the oracle does not say {' or '.join(some)} but {said}" for some in missing])
