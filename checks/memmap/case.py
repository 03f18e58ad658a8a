# SPDX-License-Identifier: GPL-2.0-only
"""A case of the matrix (matrix.py), and what its boots lack of what it asks for.

It is looked for on the patched kernel's console, and in what the guest says: ``says`` must
be there, ``never`` must not.
"""

import re
from dataclasses import dataclass

from checks.memmap import oracle
from padlab.kernel.kconfig import PERF, Config
from padlab.vm import boot as boots
from padlab.vm import machine as machines

# For what writes to all of the guest's memory, and so takes as much of the host's.
LITTLE = "little"

# 140 holes of a page each.  The array that memblock has at first is for 128 ranges, so it
# gets a new one, of memory that is given back when memblock retires.
MANY_RANGES = "memmap=" + ",".join(f"4K${256 + n}M" for n in range(140))

PLAIN = "plain"  # a machine as it is


@dataclass(frozen=True)
class Case:
    name: str
    machine: str
    append: tuple[str, ...] = ()
    config: Config = PERF
    says: tuple[str, ...] = ()  # regular expressions
    never: tuple[str, ...] = ()
    seen_per_page: float = 0  # trace events for each deferred page, at least
    short: bool = True
    allowance: int = oracle.ALLOWANCE
    stock_breaks: bool = False  # the oracle's rules, and ours should break the same
    reports: str = ""  # one that both have to have: a fault of stock
    mirrored: tuple[str, ...] = ()  # memory that is, if any: kernels that can be made to believe it

    @property
    def title(self) -> str:
        usual = machines.load(self.machine).config
        config = "" if self.config == usual else f" ({self.config})"
        name = "" if self.name == PLAIN else f", {self.name}"
        return f"memmap oracle, {self.machine}{name}{config}"

    def host_mib(self) -> int:
        """What its boots take of the host's memory, one after the other."""
        machine = machines.load(self.machine)
        return boots.host_mib(machine) + (machine.mib if self.machine == LITTLE else 0)


def lacks(case: Case, result: boots.BootResult) -> list[str]:
    text = f"{result.dmesg.text}\n{result.guest.text}"
    wrong = [f"the console does not say: {said}" for said in case.says if not re.search(said, text, re.M)]
    wrong += [f"the console says: {said}" for said in case.never if re.search(said, text, re.M)]
    pages = sum(node.pages or 0 for node in result.dmesg.nodes)
    events, least = result.guest.number("events") or 0, case.seen_per_page
    if least and (not pages or events < least * pages):
        wrong.append(f"{events} trace events, less than {least} for each of {pages} deferred pages")
    return wrong
