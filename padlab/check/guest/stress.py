# SPDX-License-Identifier: GPL-2.0-only
"""stress-ng on the debug kernel: no report, and no stressor that stock passes fails."""

from padlab.check.base import guests
from padlab.check.others import outside
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import DEBUG
from padlab.vm.boot import BootResult

CONFIG = DEBUG
# Not outside.MACHINE: pages of 1 GiB at boot are the end of stock's kernel if it checks page
# flags (VM_BUG_ON_PAGE in hugetlb_folio_init_tail_vmemmap()).
MACHINE = guests.SMT
ROLE = "stress"
SECONDS = 20  # for each stressor
STRESSORS = 8  # and one that only newer versions have
LIMIT_S = 1800

# What stress-ng ends with.
_GOOD = 0
_WORDS = {1: "wrong use", 2: "failed", 3: "no resources", 4: "not to be had here", 124: "did not end"}


def problems(stock: dict[str, int], patched: dict[str, int]) -> list[str]:
    """What is worse on patched, or did not run on stock."""
    wrong = [f"{name}: stock: {_word(status)}" for name, status in stock.items() if status != _GOOD]
    wrong += [
        f"{name}: patched: {_word(status)}, and passes on stock"
        for name, status in patched.items()
        if status != _GOOD and stock.get(name) == _GOOD
    ]
    for kernel, ran in (("stock", stock), ("patched", patched)):
        if len(ran) < STRESSORS:
            wrong.append(f"{kernel}: {len(ran)} of {STRESSORS} stressors ran")
    return wrong


def _word(status: int) -> str:
    return f"{_WORDS.get(status, 'ended')} (status {status})"


def _boot(kernel: str) -> BootResult:
    """With jobs on all huge pages."""
    append = ["hugepages=256", f"padlab_seconds={SECONDS}", guests.KMEMLEAK_OFF]
    if kernel == "patched":
        append.append(f"padlab_threshold={outside.LEAST_KIB}")
    return guests.boot(MACHINE, kernel, CONFIG, ROLE, tuple(append), LIMIT_S)


def check() -> Outcome:
    stock, patched = _boot("stock"), _boot("patched")
    wrong = problems(outside.statuses(stock.guest), outside.statuses(patched.guest))
    outcome = judge([*wrong, *guests.trouble(patched)], patched.log)
    return outcome + Outcome(sum(status == _GOOD for status in outside.statuses(patched.guest).values()))
