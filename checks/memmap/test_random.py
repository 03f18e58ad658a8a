# SPDX-License-Identifier: GPL-2.0-only
"""Machines and command lines drawn at random: is the memmap stock's on all of them?

Hypothesis draws them.  One that differs it shrinks to a simpler one, and tries again in the next run;
--hypothesis-seed=N draws the same again.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase

from checks import guests
from checks.declare import FULL, MAKING_S, Needs, check
from checks.memmap import matrix, oracle
from padlab.core import paths, progress
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from padlab.kernel.kconfig import DEBUG, NOMEMCG, PERF, SPARSE, Config
from padlab.vm import boot as boots
from padlab.vm.machine import Dimm, Machine, Node

MACHINES = 40
LIMIT_S = MAKING_S + MACHINES * 2 * 60 + 600  # with what shrinking takes
KERNELS = ("stock", "patched")
ROLE = "oracle"
# Most boots with the kernel that is measured, as it boots fastest.
CONFIGS = (PERF,) * 7 + (SPARSE, NOMEMCG, DEBUG)
MAX_MIB = 9 << 10
LITTLE_MIB = 2 << 10  # what slow paths write to is all of the guest's memory
ABOVE_HOLE = 4 << 30  # where memory goes on above the PCI hole
BELOW_MIB = 3 << 10  # what QEMU has below it, if there is more


@dataclass(frozen=True)
class Drawn:
    machine: Machine
    append: tuple[str, ...]
    config: Config

    def __str__(self) -> str:
        args = f", {' '.join(self.append)}" if self.append else ""
        return f"{self.machine.summary()} ({self.config}){args}"


def draw(dice: random.Random) -> Drawn:
    config = dice.choice(CONFIGS)
    machine = _machine(dice)
    words = [word for option in _options(dice, machine) for word in option.split()]
    return Drawn(machine, tuple(words), config)


def _machine(dice: random.Random) -> Machine:
    nodes = [Node(_mib(dice), dice.randrange(4)) for _ in range(dice.choice((1, 1, 2, 2, 3, 4)))]
    if sum(node.mib for node in nodes) < 700:
        nodes[0] = Node(700 + nodes[0].mib, nodes[0].cpus)
    threads = dice.choice((1, 1, 2))
    nodes = [Node(node.mib, node.cpus * threads) for node in nodes]
    if not any(node.cpus for node in nodes):
        nodes[-1] = Node(nodes[-1].mib, threads * dice.choice((1, 2, 4)))
    dimms = [
        Dimm(128 * (1 + dice.randrange(8)), dice.randrange(len(nodes)))
        for _ in range(dice.choice((0, 0, 0, 0, 1, 2)))
    ]
    below = dice.choice((None, None, 512 + dice.randrange(2048)))
    return Machine(
        name="drawn",
        description="drawn at random",
        kind="odd",
        threads_per_core=threads,
        below_4g_mib=below,
        nodes=tuple(nodes),
        dimms=tuple(dimms),
    )


def _mib(dice: random.Random) -> int:
    """Odd sizes, whole sections, and one page more or less is for memmap= and mem=."""
    return dice.choice(
        (
            128 * (2 + dice.randrange(14)),
            300 + dice.randrange(1500),
            64 + dice.randrange(200),
            1024 * (1 + dice.randrange(2)) + dice.choice((-1, 0, 1, 3)),
        )
    )


def _options(dice: random.Random, machine: Machine) -> Iterator[str]:
    """What is on the command line, none to three and holes."""
    mib = machine.mib
    part = 1 + dice.randrange(90)
    kib = dice.randrange(mib * 1024)
    choices = [
        f"kernelcore={part}%",
        f"kernelcore={kib}K",
        f"movablecore={part}%",
        f"movablecore={kib}K",
        "movable_node",
        f"mem={max(kib, 700 << 10)}K",
        f"hugepages={1 + dice.randrange(60)}",
        "numa=off",
        "init_on_alloc=1",
        "maxcpus=1",
        f"deferred_init_threads={dice.choice(('1', '3', '50%', '100'))}",
    ]
    if mib > 4096:
        choices.append(f"hugepagesz=1G hugepages={1 + dice.randrange(2)}")
    if mib <= LITTLE_MIB:
        choices.append("init_on_free=1")
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        yield choices.pop(dice.randrange(len(choices)))
    if machine.dimms:
        yield dice.choice(
            ("padlab_online=online_movable", "padlab_online=online_kernel", "memhp_default_state=online")
        )
    above = mib - (machine.below_4g_mib or BELOW_MIB)
    for _ in range(dice.choice((0, 0, 1, 4)) if above > 0 else 0):
        yield _hole(dice, above << 20)


def _hole(dice: random.Random, above: int) -> str:
    """Reserved in the middle of memory, by the page or not even that."""
    grain = dice.choice((1, 0x1000, 0x200000))
    size = dice.choice((0x1000, dice.randrange(1, 1 << 20), dice.randrange(1, 1 << 28)))
    size = max(size // grain, 1) * grain
    start = ABOVE_HOLE + dice.randrange(above) // grain * grain
    return f"memmap={size:#x}${start:#x}"


def problems(results: Sequence[boots.BootResult], allowance: int) -> list[str]:
    complaints = [f"{result.spec.kernel}: {line}" for result in results for line in guests.trouble(result)]
    if complaints:
        return complaints
    stock, ours = (oracle.parse(result.guest) for result in results)
    # Some of what is drawn breaks a rule in stock: then ours has to break the same.
    return oracle.compare(stock, ours, allowance, stock_breaks=bool(stock.violations))


def _boot(drawn: Drawn, kernel: str) -> boots.BootResult:
    append = (*drawn.append, *matrix.ALWAYS.get(drawn.config, ()))
    return guests.boot(drawn.machine, kernel, drawn.config, ROLE, append=append)


def differences(drawn: Drawn) -> list[str]:
    """What the kernels do not agree on, or complain of; it may be that neither can boot on this machine."""
    results, errors = [], []
    for kernel in KERNELS:
        try:
            results.append(_boot(drawn, kernel))
        except LabError as err:
            errors.append(err)
    if len({err.why for err in errors}) == 1 and len(errors) == len(KERNELS):
        progress.note(f"neither boots, {errors[0].why}")
        return []
    if errors:
        return [line for err in errors for line in (err.line(), *err.detail)]
    return problems(results, matrix.allowance(drawn.machine))


@settings(
    max_examples=MACHINES,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    database=DirectoryBasedExampleDatabase(paths.base().build / "hypothesis"),
)
@given(st.builds(draw, st.randoms(use_true_random=False)))
def _agree(drawn: Drawn) -> None:
    said = differences(drawn)
    progress.note(f"{drawn}: {'differs' if said else 'does not differ'}")
    assert not said, "\n".join([str(drawn), *said])


@check("memmap oracle, random machines", Needs(LIMIT_S, mib=MAX_MIB // 8), FULL)
def test_random_machines() -> Outcome:
    _agree()
    return Outcome(MACHINES)
