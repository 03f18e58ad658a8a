# SPDX-License-Identifier: GPL-2.0-only
"""What users' kernels have around memory (configs/users.config) is used, in stock and in ours.

A guest (padlab/guest/users.sh) has memory come and go, fail, and be that of a device; it is
followed by a kernel without firmware in between, and that one by a crash kernel.  Both kernels
have to get the same out of it, which is what is to come out, and ours must report nothing that
stock does not: that of 6.12.117 gives back huge pages whose struct pages are not as they should be,
after hugetlb_free_vmemmap=on (vmemmap_restore_pte() copies the flags of the first).
"""

from collections.abc import Iterable

from checks import guests
from checks.declare import FULL, check, guest
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import USERS
from padlab.vm import machine

MACHINE = "users"
CONFIG = USERS
KERNELS = 3  # that boot in a guest
GIB = 1 << 18  # in pages
HUGE_PAGES = 128
# Of a huge page, seven of eight pages of struct pages are given back.
GIVEN_BACK = 7 * HUGE_PAGES

EXPECTED = {
    "virtio-mem-at-boot": f"{GIB // 4}",
    "virtio-mem-grown": f"{GIB}",
    "virtio-mem-online": f"{3 * GIB // 4}",
    "virtio-mem-shrunk": "0",
    "balloon-inflated": f"{GIB}",
    "balloon-deflated": f"{GIB}",
    "pages-reported": "some",
    "poisoned": "HardwareCorrupted: 16 kB",
    "unpoisoned": "HardwareCorrupted: 12 kB",
    "huge-pages": f"{HUGE_PAGES}",
    "huge-pages-memmap": f"-{GIVEN_BACK}",
    "huge-pages-given-back": "0",
    # Whole memory blocks; the rest holds their struct pages.
    "pmem-as-memory": f"{3 * GIB // 8}",
    "kexec": "0",  # no crash kernel yet
    "crash-kernel": "has the memory of the one before",
}


@check(
    "what users' kernels have is used, as in stock", guest(MACHINE, config=CONFIG, boots=2 * KERNELS), FULL
)
def test_used() -> Outcome:
    limit_s = KERNELS * guests.boot_limit_s(machine.load(MACHINE), CONFIG, "users")
    stock, ours = (
        guests.boot(MACHINE, kernel, CONFIG, "users", time_limit_s=limit_s) for kernel in ("stock", "patched")
    )
    wrong = [f"stock: {problem}" for problem in problems(stock.guest.values("did"))]
    wrong += problems(ours.guest.values("did"))
    return judge(wrong + guests.new_reports(guests.trouble(stock), guests.trouble(ours)), ours.guest_log)


def problems(lines: Iterable[str]) -> list[str]:
    told = {name: value for name, _, value in (line.partition(" ") for line in lines)}
    missed = {name: value for name, value in EXPECTED.items() if told.get(name) != value}
    return [f"{name}: {told.get(name, 'not tried')}, not {value}" for name, value in missed.items()]
