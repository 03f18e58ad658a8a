# SPDX-License-Identifier: GPL-2.0-only
"""Cases of the matrix with memory that a confidential guest accepts before it uses it.

The kernels have a fake of the hardware (checks/faults/), which takes 20 us for each 2 MiB.  A page that is
used before is not mapped.
"""

from collections.abc import Iterator

from checks import guests
from checks.memmap.case import LITTLE, MANY_RANGES, Case
from checks.memmap.oracle import ALLOWANCE
from padlab.kernel import kconfig

_UNACCEPTED = "fake_unaccepted=1G,20000"
_LAZY, _EAGER = "accept_memory=lazy", "accept_memory=eager"
_NONE_LEFT = r"accept left 0$"


def _accept(
    name: str, machine: str, *args: str, start: str = _UNACCEPTED, short: bool = False
) -> Iterator[Case]:
    """Lazily, when nearly all is left after boot, and eagerly."""
    for mode, says in ((_LAZY, r" unaccepted node="), (_EAGER, _NONE_LEFT)):
        title = f"{mode}, {name}" if name else mode
        # Blocks that a job has accepted are behind others on their list: what boot uses lies elsewhere.
        allowance = ALLOWANCE if mode == _LAZY else 2 * ALLOWANCE
        how = (start, mode, *args)
        yield Case(title, machine, how, kconfig.UNACCEPTED, says=(says,), short=short, allowance=allowance)


CASES = (
    *_accept("", "one-cpu", short=True),
    *_accept("", guests.SMALL, short=True),
    *_accept("", "three-nodes"),
    *_accept("", guests.SMT),
    *_accept("", "holes"),
    # A block of the page allocator has two units, of which one is to be accepted.
    *_accept("half of a block", guests.SMALL, start="fake_unaccepted=1026M,20000"),
    # Nothing of the first section of a zone is accepted, nor of the last one.
    *_accept("all above 16 MiB", "one-cpu", start="fake_unaccepted=64M,20000"),
    *_accept("gigantic pages", guests.SMALL, "hugepagesz=1G", "hugepages=3"),
    *_accept("cma=", guests.SMT, "cma=300M"),
    *_accept("movablecore=2560M", "holes", "movablecore=2560M"),
    *_accept(
        "DIMMs online_movable", "dimms", "padlab_online=online_movable", start="fake_unaccepted=512M,20000"
    ),
    *_accept("init_on_free=1", LITTLE, "init_on_free=1", start="fake_unaccepted=512M,20000"),
    *_accept(
        "mm_page_free traced", LITTLE, "trace_event=kmem:mm_page_free", start="fake_unaccepted=512M,20000"
    ),
    *_accept("many ranges", LITTLE, MANY_RANGES, start="fake_unaccepted=512M,20000"),
)
