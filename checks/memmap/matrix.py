# SPDX-License-Identifier: GPL-2.0-only
"""The matrix of boots: machine x config x command line, stock against patched.

A case boots both kernels and holds their memmaps against each other (oracle.py).
What else it asks for is in case.py.

The short set has each command line and each watcher of pages once; the full one has each
command line on every small machine, and the large machines.

Not here, and why:

 - KMSAN: it needs clang, and Kconfig has no deferred init with it.
"""

import re
from dataclasses import replace

from checks import expected
from checks.guests import ARM64, KMEMLEAK_OFF, SMALL, SMT
from checks.memmap import accepted, oracle
from checks.memmap.case import LITTLE, MANY_RANGES, PLAIN, Case
from padlab.kernel import kconfig
from padlab.vm import machine as machines

# Other struct pages, of 80 bytes, and of 64 of which x86-64 uses 56: no page may cost more
# instructions than stock's.
OTHER_CONFIGS = (kconfig.SPARSE, kconfig.NOMEMCG)
# Only built and booted with --full.
MORE_CONFIGS = (kconfig.KASAN, kconfig.FEATURES)

# Before the CPUs are up it takes more than a node's first section.
GROWING = ("trace_event=padata:*", "trace_buf_size=300M")

# In each boot: KASLR would put the image, and so what memblock allocates, at other places.
ALWAYS = {
    kconfig.DEBUG: (KMEMLEAK_OFF,),
    kconfig.USERS: ("nokaslr",),
    kconfig.UNACCEPTED: ("nogbpages", "nokaslr"),
    kconfig.UNACCEPTED_DEBUG: ("nogbpages", "nokaslr", KMEMLEAK_OFF),
}

# Of 2 MiB each.  A block is what the page allocator has at once.
_POOL = re.compile(r"\bhugepagesz=2M hugepages=(\d+)")
BLOCK_MIB = 4
BLOCK = 1 / 1024  # of a page

# A walk over the struct pages of many GiB holds all zone locks for a while.
LARGE_ARGS = ("rcupdate.rcu_cpu_stall_suppress=1",)


# Command lines for any machine, and the one of the short set.
COMMAND_LINES = (
    Case("kernelcore=50%", "node-without-cpus", ("kernelcore=50%",), says=(r"Movable zone start",)),
    Case("kernelcore=777771K", "holes", ("kernelcore=777771K",), says=(r"Movable zone start",)),
    Case("movable_node", SMT, ("movable_node",)),
    Case("mem= odd", "three-nodes", ("mem=4213001K",)),
    Case("gigantic pages", SMALL, ("hugepagesz=1G", "hugepages=2")),
    # Zone Movable begins at a multiple of 4 MiB, inside a section here.
    Case("movablecore=2560M", "holes", ("movablecore=2560M",), says=(r"Movable zone start",)),
    Case("numa=off", SMT, ("numa=off",)),
    Case("init_on_alloc=1", "one-cpu", ("init_on_alloc=1",)),
)

SHAPES = (
    # Of the gigantic pages, at [16G,17G), [15G,16G) and [14G,15G), the last one begins
    # in the zone below Movable, and all of its struct pages become of that zone.
    Case(
        "a gigantic page across the start of a zone",
        SMALL,
        ("movablecore=2560M", "hugepagesz=1G", "hugepages=3"),
        says=(r"Movable zone start", r"oracle zone 0 Movable .*contiguous=0"),
        stock_breaks=True,
    ),
    # Above the PCI hole there are 901 MiB: no block of 4 MiB ends there.
    Case("a zone that ends inside a block", "one-cpu", ("mem=4997M",)),
    Case("a zone that ends inside a pageblock", "one-cpu", ("mem=5116868K",)),
    Case("a deferred zone DMA32 that ends inside a block", "one-cpu", ("mem=2000004K",)),
    Case("one page in the last section", "one-cpu", ("mem=5111812K",)),
    Case("one page less than a section", "one-cpu", ("mem=5111804K",)),
    # Zone Normal has a section and 131 MiB.  The trace takes more than that before the CPUs
    # are up, so that nothing of the zone is left to deferred init.
    Case(
        "a zone that grew to its end",
        "one-cpu",
        ("mem=4355M", *GROWING),
        says=(r"oracle zone 0 Normal ",),
        never=(r"node 0 initialised",),
    ),
    Case("many ranges", LITTLE, (MANY_RANGES,), says=(r"oracle violations 0$",)),
)

# With kernelcore=mirror, zone Normal spans all of a node, and memory of it that is not mirrored is of zone
# Movable: the zones overlap.  What stock does not get right, and ours does the same:
#
#  - Zone Movable begins at a multiple of a block.  What is not mirrored before that
#    is of zone Normal, whose present pages do not include it.
#  - Where zone Normal is deferred, nobody initialises what is deferred and below zone
#    Movable, and what is mirrored above is made Movable: deferred init knows only a
#    node's last zone.
#
# The kernels here take mirrored= as what firmware would say (checks/faults/).  Another base
# than 6.12 may get it right (expected.py).
_MIRROR = ("kernelcore=mirror",)
MIRRORED = (
    # Node 1 is not deferred: mirrored at its start, to an odd page; again in the middle,
    # for less than a block; and a last page.
    Case(
        "kernelcore=mirror",
        "mirrored",
        _MIRROR,
        mirrored=("0-0x140000000,0x140000000-0x142345000,0x144801000-0x144803000,0x147fff000-0x148000000",),
        says=(r"mirrored: \[mem 0x0*144801000", r"oracle zone 1 Movable ", r"oracle violations 1$"),
        stock_breaks=True,
    ),
    Case(
        "kernelcore=mirror, deferred",
        "mirrored",
        _MIRROR,
        mirrored=("0-0xc0000000,0x100000000-0x120003000,0x130000000-0x148000000",),
        says=(r"oracle zone 0 Movable ", r"oracle violation uninitialised 99328 "),
        stock_breaks=True,
    ),
    Case("kernelcore=mirror, nothing is", "mirrored", _MIRROR, says=("ignore kernelcore=mirror",)),
)

# ``blocks`` is printed by oracle.sh: memory blocks by state.
_ONLINED = r"^blocks +\d+ online *$"
# From guest/online: all pages of a memory block, or not all, were as they should be.
_NEW = r"memmap_online: pfn=\w+ pages=(\d+) "
_AS_NEW = _NEW + r"offline=\1 one_reference=\1 on_no_list=\1 in_zone=\1$"
_NOT_AS_NEW = _NEW + r"(?!offline=\1 one_reference=\1 on_no_list=\1 in_zone=\1$)"
HOTPLUG = (
    Case(
        "DIMMs online_movable",
        "dimms",
        ("padlab_online=online_movable",),
        says=(_ONLINED, r"zone 0 Movable .*present=262144 ", r"zone 1 Movable .*present=163840 ", _AS_NEW),
        never=(_NOT_AS_NEW,),
    ),
    Case(
        "DIMMs online",
        "dimms",
        ("padlab_online=online_kernel",),
        says=(_ONLINED, r"zone 1 Normal .*present=", _AS_NEW),
        never=(_NOT_AS_NEW,),
    ),
    Case(
        "DIMMs, memhp_default_state=online_movable",
        "dimms",
        ("memhp_default_state=online_movable",),
        says=(_ONLINED, r"zone 0 Movable .*present=262144 "),
    ),
    # Each has eight sections, which a job shares out.
    Case(
        "a DIMM of blocks of 1 GiB",
        "large-blocks",
        ("memhp_default_state=online_movable", *LARGE_ARGS),
        says=(r"Memory block size: 1024MB", _ONLINED, r"zone 0 Movable .*present=1048576 "),
    ),
    Case("DIMMs and movable_node", "dimms", ("movable_node", "memhp_default_state=online"), says=(_ONLINED,)),
    # Struct pages of a block lie in the block itself.
    Case(
        "DIMMs, memmap_on_memory=1",
        "dimms",
        ("memory_hotplug.memmap_on_memory=1", "padlab_online=online_movable"),
        says=(_ONLINED, _AS_NEW),
        never=(_NOT_AS_NEW,),
        short=False,
        stock_breaks=True,  # pages that hold struct pages are not managed, and not reserved
    ),
    Case("DIMMs that stay offline", "dimms", says=(r"^blocks .*offline",), short=False),
)

# What else has to do with pages that are new.
FEATURES = (
    Case(
        "hugetlb_free_vmemmap=on",
        SMT,
        ("hugetlb_free_vmemmap=on", "hugepages=8"),
        says=(r"KiB vmemmap can be freed for a 2.00 MiB page",),
        short=False,
    ),
    # The memmap of gigantic pages is given back before the jobs start: of the lowest, in two sections.
    Case(
        "gigantic pages, hugetlb_free_vmemmap=on",
        SMALL,
        ("hugetlb_free_vmemmap=on", "hugepagesz=1G", "hugepages=7"),
    ),
    # What is left grows on demand to its end, over sections that are all memmap.
    Case("gigantic pages, nearly all memory", SMALL, ("mem=16724M", "hugepagesz=1G", "hugepages=12")),
    Case("cma=", SMT, ("cma=300M",), kconfig.FEATURES, says=(r"cma: Reserved 300 MiB",), short=False),
    Case("page_alloc.shuffle=1", SMT, ("page_alloc.shuffle=1",), kconfig.FEATURES, short=False),
    Case("sysctl.vm.mem_profiling=1", LITTLE, ("sysctl.vm.mem_profiling=1",), kconfig.FEATURES, short=False),
)

# Struct pages of devices.  The second is of compound pages, most of whose struct pages are
# the same memory.
DEVICES = (
    Case("persistent memory", SMALL, ("memmap=2G!4G",), kconfig.USERS, says=(r"oracle run \w+ 512 device ",)),
    Case(
        "device DAX",
        SMALL,
        ("memmap=1G%4G-1+0xefffffff", "padlab_devdax=1"),
        kconfig.USERS,
        says=(r"oracle run \w+ 256 device ",),
    ),
)

# What has to see pages that are freed, or made, sees what it does in stock.
WATCHERS = (
    Case("page_poison=1 init_on_free=1", LITTLE, ("page_poison=1", "init_on_free=1"), kconfig.DEBUG),
    Case("init_on_free=1", LITTLE, ("init_on_free=1",), says=(r"heap free:on",)),
    Case("debug_pagealloc=on", LITTLE, ("debug_pagealloc=on",), kconfig.DEBUG),
    # An event for each block.
    Case("mm_page_free traced", LITTLE, ("trace_event=kmem:mm_page_free",), seen_per_page=BLOCK),
    # Each page is given a reference when it is made and loses it when it is free.
    Case(
        "page_ref_set traced", LITTLE, ("trace_event=page_ref:page_ref_set",), kconfig.DEBUG, seen_per_page=2
    ),
    # page_owner gets to see no page that is freed here.  Its key is set when page_ext
    # is there (page_ext_init()), which is after deferred init; it then looks for pages
    # that were allocated before.  With early_page_ext that is earlier, but nothing is
    # deferred (defer_init()), and memblock has retired, too (mm_core_init()).
    Case(
        "page_owner=on",
        SMT,
        ("page_owner=on",),
        kconfig.DEBUG,
        says=(r"(?s)node \d+ initialised.*bytes of page_ext.*page owner found early allocated",),
    ),
    Case(
        "page_owner=on early_page_ext",
        SMT,
        ("page_owner=on", "early_page_ext"),
        kconfig.DEBUG,
        says=(r"page owner found early allocated",),
        never=(r"node \d+ initialised",),
    ),
    Case(PLAIN, LITTLE, (), kconfig.KASAN, short=False),
    # It sees whether memblock is asked when it has retired.  Stock does so in a
    # place that the series leaves as it is: node_dev_init() has memblock look for the node of each page.
    Case(
        "many ranges",
        LITTLE,
        (MANY_RANGES,),
        kconfig.KASAN,
        reports=" in memblock_search_pfn_nid+",  # free, or another object by now
        short=False,
    ),
    # A block of the page allocator is all of a section.
    Case("pages of 64 KiB", ARM64, (), kconfig.ARM64_64K, says=(r" section_pages=8192 ",), short=False),
    # sizeof(struct page) is 80.
    Case(PLAIN, SMT, (), kconfig.SPARSE, says=(r"oracle layout page_struct=80 ",), short=False),
    Case(PLAIN, "slivers", (), kconfig.SPARSE, says=(r"oracle layout page_struct=80 ",), short=False),
)

DEBUG = (
    Case(PLAIN, SMT, (), kconfig.DEBUG),
    Case(PLAIN, "slivers", (), kconfig.DEBUG, short=False),
    Case(
        "DIMMs online_movable",
        "dimms",
        ("padlab_online=online_movable",),
        kconfig.DEBUG,
        says=(_ONLINED, _AS_NEW),
        never=(_NOT_AS_NEW,),
        short=False,
    ),
)


# Struct pages are poisoned until they are initialised.  By EFI, what firmware had comes back later.
USERS = (
    *(
        Case(PLAIN, name, (), kconfig.USERS, says=(r"efi: EFI v2",))
        for name in ("efi-512m", "efi-2", "efi-3", "efi-6")
    ),
    Case(PLAIN, SMT, (), kconfig.USERS),
)


def cases(full: bool) -> list[Case]:
    """What ``./lab test`` boots, or with ``full`` all there is."""
    every = list(map(machines.load, machines.names()))
    small = [machine for machine in every if machine.small]
    # Another architecture needs a stock kernel of its own.
    table = [Case(PLAIN, one.name, config=one.config) for one in small if full or not one.arch.foreign]
    table += [*COMMAND_LINES, *SHAPES, *MIRRORED, *HOTPLUG, *FEATURES, *DEVICES, *WATCHERS, *DEBUG]
    table += accepted.CASES
    if full:
        for case in COMMAND_LINES:
            # Whether there is a movable zone, or room for pages, is up to the machine.
            others = (one for one in small if one.name != case.machine)
            table += [
                replace(case, machine=one.name, config=one.config, says=(), short=False) for one in others
            ]
        # Those with EFI have users' kernels.
        large = (one for one in every if not (one.small or one.firmware))
        table += [Case(PLAIN, one.name, LARGE_ARGS, short=False, allowance=allowance(one)) for one in large]
    return [_of_base(case) for case in table if full or case.short]


def _of_base(case: Case) -> Case:
    other = expected.table().cases.get(case.title)
    return replace(case, says=other.says, stock_breaks=other.stock_breaks) if other else case


def allowance(machine: machines.Machine) -> int:
    """Blocks that may be in use in one kernel alone: each CPU caches pages of its own.

    Boots of 72 CPUs differed by 18.  Which blocks a pool of huge pages takes is up to the threads
    that fill it side by side: boots of stock, with 128 blocks in a pool, differed by up to 35.
    """
    pool = _POOL.search(" ".join(machine.append))
    blocks = int(pool[1]) * 2 // BLOCK_MIB if pool else 0
    return max(oracle.ALLOWANCE, machine.cpus // 2) + blocks
