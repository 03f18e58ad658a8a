# SPDX-License-Identifier: GPL-2.0-only
"""The checks of ``./lab test`` that boot users' kernels (configs/users.config).

In all of them struct pages are poisoned until they are initialised.  By EFI, what firmware had
comes back while boot goes on.
"""

from collections.abc import Callable, Iterator
from functools import partial

from padlab.check.base import guests
from padlab.check.base.guests import SMT
from padlab.check.base.runner import Check
from padlab.check.memmap import asked, memmap
from padlab.check.users import poison, used
from padlab.core.outcome import Outcome
from padlab.vm import boot as boots
from padlab.vm import machine

MAKING_S = 120  # an image for a guest, and its modules
EFI = ("efi-512m", "efi-2", "efi-3", "efi-6")
# Elsewhere in each boot, the image would be in other blocks.
ARGS = ("nokaslr",)

CASES = (
    *(asked.Case("plain", name, ARGS, used.CONFIG, says=(r"efi: EFI v2",)) for name in EFI),
    asked.Case("plain", SMT, ARGS, used.CONFIG),
)


def checks(everything: bool) -> Iterator[Check]:
    """Boots of both kernels; ``everything`` adds what uses them."""
    for case in CASES:
        yield _guest(case.title, partial(memmap.case, case), case.machine, boots_each=2)
    if everything:
        yield _guest("who reads struct pages without asking is seen", poison.check, SMT)
        boots_each = 2 * used.KERNELS
        yield _guest("what users' kernels have is used, as in stock", used.check, used.MACHINE, boots_each)


def _guest(name: str, run: Callable[[], Outcome], target: str, boots_each: int = 1) -> Check:
    """A check that boots a machine some times, one after the other."""
    loaded = machine.load(target)
    limit_s = MAKING_S + boots_each * guests.limit_s(loaded, used.CONFIG, "boot")
    return Check(name, run, limit_s, mib=boots.host_mib(loaded), cpus=loaded.cpus)
