# SPDX-License-Identifier: GPL-2.0-only
"""The memmap oracle: what boot made of memory, in one kernel and against another.

A guest of role "oracle" loads guest/oracle/memmap_oracle.c before anything else happens in user space.  Its
report has rules that one kernel broke by itself, and a signature for each block of the largest page order, by
position.  Two kernels are compared block by block:

 - blocks that are free as a whole and as boot left them, in both kernels, must
   have equal signatures: every word of every struct page, the pageblock types;
 - so must blocks that are reserved as a whole in both, and those that are reserved
   in part, but for the kernel's image, which is not the same program;
 - blocks without struct pages must be the same ones.

What cannot be equal is where memory is used: the kernels are not the same program, and helper threads race
for pages.  That part is bounded, by ALLOWANCE.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from padlab.core.errors import LabError
from padlab.vm.channel import Guest

# Blocks of the largest order (4 MiB) that may be in use in one kernel and not in the other.  Boots on the
# small machines, of one kernel or of both, differ by 0 to 8, most with many CPUs, each of which caches free
# pages.  Twice that is allowed, which is half a section, the least that deferred init works on.
ALLOWANCE = 16
BLOCK_BYTES = 4 << 20

ZoneId = tuple[int, str]  # node, zone name
FreeLists = dict[tuple[int, str, str], list[int]]  # by zone and migratetype; pages by order


@dataclass(frozen=True)
class Block:
    kind: str  # see class_names in memmap_oracle.c
    signature: str = ""


@dataclass
class Report:
    layout: dict[str, str] = field(default_factory=dict)
    ram: list[tuple[int, int]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    zones: dict[ZoneId, dict[str, int]] = field(default_factory=dict)
    pageblocks: dict[ZoneId, dict[str, int]] = field(default_factory=dict)
    free: FreeLists = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    pages: int = 0
    image: list[tuple[int, int]] = field(default_factory=list)  # bytes, as in /proc/iomem

    @property
    def block_pages(self) -> int:
        return 1 << int(self.layout["block_order"])


def parse(guest: Guest) -> Report:
    report = Report()
    try:
        for line in guest.values("oracle"):
            _oracle_line(report, line)
        for line in guest.values("kernel-image"):
            start, end = line.split()[0].split("-")
            report.image.append((int(start, 16), int(end, 16)))
    except (ValueError, KeyError, IndexError) as err:
        raise LabError("memmap oracle", f"its report cannot be read: {err!r}", "see guest.log") from err
    if not report.pages:
        why = "; ".join(guest.values("oracle-failed")) or "the guest printed no whole report"
        raise LabError("memmap oracle", why, "see guest.log and console.log of the boot")
    return report


def _oracle_line(report: Report, line: str) -> None:
    key, _, rest = line.partition(" ")
    words = rest.split()
    match key:
        case "layout":
            report.layout = dict(_pairs(words))
        case "ram":
            report.ram.append((int(words[0], 16), int(words[1], 16)))
        case "run":
            start, count = int(words[0], 16), int(words[1])
            if start != len(report.blocks) * report.block_pages:
                raise ValueError(f"run at {words[0]} does not follow the one before")
            report.blocks += [Block(words[2], " ".join(words[3:]))] * count
        case "zone":
            report.zones[_zone(words)] = {k: int(v) for k, v in _pairs(words[2:])}
        case "pageblocks":
            report.pageblocks[_zone(words)] = {k: int(v) for k, v in _pairs(words[2:])}
        case "free":
            report.free[(*_zone(words), words[2])] = [int(n) for n in words[3:]]
        case "violation":
            report.violations.append(rest)
        case "walked":
            report.pages = int(words[0])


def _pairs(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        key, _, value = word.partition("=")
        yield key, value


def _zone(words: list[str]) -> ZoneId:
    return int(words[0]), words[1]


def compare(
    stock: Report, patched: Report, allowance: int = ALLOWANCE, stock_breaks: bool = False
) -> list[str]:
    """A line for each; ``stock_breaks``: stock is known to break rules, and ours should break the same."""
    of_stock, of_ours = stock.violations, patched.violations
    differences = []
    if not stock_breaks or of_stock != of_ours or not of_stock:
        differences = [f"stock: broken rule: {rule}" for rule in of_stock]
        differences += [f"patched: broken rule: {rule}" for rule in of_ours]
    if stock_breaks and not of_stock:
        differences.append("stock: breaks no rule, which it is known for here")
    for what in ("layout", "ram"):
        ours, theirs = getattr(patched, what), getattr(stock, what)
        if ours != theirs:
            differences.append(f"{what} differs: stock {theirs}, patched {ours}")
    if stock.layout == patched.layout:
        differences += _blocks(stock, patched, allowance)
        differences += _zones(stock, patched, allowance)
    return differences


def _has_image(report: Report, block: int) -> bool:
    size = report.block_pages * 4096
    return any(start < (block + 1) * size and end >= block * size for start, end in report.image)


def _blocks(stock: Report, patched: Report, allowance: int) -> list[str]:
    differences = []
    if len(stock.blocks) != len(patched.blocks):
        return [f"blocks: stock has {len(stock.blocks)}, patched {len(patched.blocks)}"]
    pairs = zip(stock.blocks, patched.blocks, strict=True)
    pos = 0
    for (ours, theirs), group in groupby(pairs):
        count = len(list(group))
        where = f"pfn {pos * stock.block_pages:x}, {count} block(s)"
        pos += count
        # How much of a block its own image takes is each kernel's own affair.
        alike = ours.kind == theirs.kind and ours.kind in ("partial", "reserved")
        if alike and count == 1 and (_has_image(stock, pos - 1) or _has_image(patched, pos - 1)):
            continue
        absent = (ours.kind == "absent") != (theirs.kind == "absent")
        if absent or (ours.kind == theirs.kind and ours.signature != theirs.signature):
            differences.append(
                f"{where}: stock {ours.kind} {ours.signature}, patched {theirs.kind} {theirs.signature}"
            )
    # Memory that only one of the two has used.
    moved = sum(ours.kind != theirs.kind for ours, theirs in zip(stock.blocks, patched.blocks, strict=True))
    if moved > allowance:
        differences.append(f"blocks: {moved} differ in kind, more than the {allowance} that may")
    return differences


def _zones(stock: Report, patched: Report, allowance: int) -> list[str]:
    if stock.zones.keys() != patched.zones.keys():
        return [f"zones: stock {sorted(stock.zones)}, patched {sorted(patched.zones)}"]
    differences = []
    pages = allowance * stock.block_pages
    for zone, a in stock.zones.items():
        b = patched.zones[zone]
        differences += [
            f"zone {_name(zone)}: {key}: stock {a[key]}, patched {b[key]}"
            for key in ("start", "spanned", "present", "cma", "holes", "contiguous")
            if a[key] != b[key]
        ]
        differences += _bounded(zone, a, b, pages, ("managed", "free"))
        a, b = stock.pageblocks[zone], patched.pageblocks[zone]
        differences += _bounded(zone, a, b, 2 * allowance, a, "pageblocks ")
    return differences + _free_pages(stock.free, patched.free, pages)


def _bounded(
    zone: ZoneId, a: dict[str, int], b: dict[str, int], bound: int, keys: Iterable[str], what: str = ""
) -> list[str]:
    return [
        f"zone {_name(zone)}: {what}{key}: stock {a[key]}, patched {b[key]}, more than {bound} apart"
        for key in keys
        if abs(a[key] - b[key]) > bound
    ]


def _free_pages(a: FreeLists, b: FreeLists, bound: int) -> list[str]:
    """Free lists: pages in blocks of the largest order, and in all others.

    How the rest is split among the smaller orders says nothing: one page taken
    from a large block leaves one of each order.
    """
    differences = []
    for key in a.keys() | b.keys():
        for orders, part in ((slice(-1, None), "largest order"), (slice(0, -1), "smaller orders")):
            ours = _pages(a.get(key, []), orders)
            theirs = _pages(b.get(key, []), orders)
            if abs(ours - theirs) > bound:
                differences.append(
                    f"zone {_name(key)}: free pages in the {part}: stock {ours}, "
                    f"patched {theirs}, more than {bound} apart"
                )
    return sorted(differences)


def _pages(counts: list[int], orders: slice) -> int:
    return sum([n << order for order, n in enumerate(counts)][orders])


def _name(zone: Iterable[object]) -> str:
    return " ".join(str(part) for part in zone)
