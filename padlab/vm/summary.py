# SPDX-License-Identifier: GPL-2.0-only
"""One boot's figures: are all threads and all pages accounted for, and how long did it take?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

from padlab.core import table
from padlab.kernel import source
from padlab.kernel.arch import X86_64
from padlab.vm.dmesg import NodeLine
from padlab.vm.machine import PAGES_PER_MIB, Machine, plural

if TYPE_CHECKING:
    from padlab.vm.boot import BootResult

PAGES_PER_SECTION = 1 << 15  # 128 MiB
# Exact mode: one instruction is one virtual nanosecond.
INSTRUCTIONS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Threads:
    line: NodeLine
    expected: int

    @property
    def ok(self) -> bool:
        """A node with fewer sections than CPUs can put fewer threads to work."""
        told = self.line.threads
        if told is None or told == self.expected:
            return True
        sections = (self.line.pages or 0) // PAGES_PER_SECTION
        return 1 <= told < self.expected and told >= min(self.expected, sections)


@dataclass(frozen=True)
class Pages:
    """Where the machine's pages are.  All counts are the guest kernel's own.

    MemTotal is counted over memblock's ranges, before deferred init; a zone's managed pages are counted one
    free at a time, early or deferred.  They are equal only if every page was freed, and freed once.
    """

    machine: int  # of the machine as QEMU has it
    present: int  # in the kernel's memory map
    managed: int  # handed to the page allocator, by zone
    total: int  # MemTotal
    deferred: int | None  # by the node lines; stock does not say

    @property
    def early(self) -> int | None:
        return None if self.deferred is None else self.managed - self.deferred

    @property
    def ok(self) -> bool:
        in_order = self.machine >= self.present >= self.managed >= (self.deferred or 0)
        return self.managed == self.total and in_order


@dataclass(frozen=True)
class Report:
    result: BootResult
    threads: tuple[Threads, ...]
    pages: Pages | None  # None: the guest did not say

    @property
    def plain(self) -> bool:
        """Tests may have fewer CPUs than the machine, and do not say where its pages are."""
        initrd = self.result.spec.initrd
        return initrd is None or initrd.name.startswith("boot-")

    @property
    def ok(self) -> bool:
        pages_ok = self.pages is not None and self.pages.ok
        accounted_for = pages_ok and all(node.ok for node in self.threads)
        return self.result.exit == 0 and (accounted_for or not self.plain)

    @property
    def emulated(self) -> bool:
        """Then the guest's clock loses time (see watch.HostClock)."""
        return self.result.accel.emulated

    @property
    def deferred_ms(self) -> float | None:
        return self.result.clock.deferred_ms if self.emulated else self.result.deferred_ms

    @property
    def boot_ms(self) -> float | None:
        return self.result.clock.boot_ms if self.emulated else self.result.dmesg.boot_ms

    @property
    def instructions_per_page(self) -> float | None:
        """Exact mode only, and only where the kernel says its pages."""
        ms, pages = self.result.deferred_ms, self.pages
        if not self.result.accel.exact or ms is None or not (pages and pages.deferred):
            return None
        return ms * INSTRUCTIONS_PER_MS / pages.deferred

    def as_dict(self) -> dict[str, Any]:
        spec, dmesg, pages = self.result.spec, self.result.dmesg, self.pages
        return {
            "machine": spec.machine.name,
            "kernel": spec.kernel,
            "config": spec.config.name,
            "source_version": self.result.build.source_version or None,
            "release": dmesg.version,
            "accel": asdict(self.result.accel),
            "deferred_init_threads": spec.threads,
            "cpus": dmesg.cpus,
            "nodes": [{**asdict(node.line), "expected_threads": node.expected} for node in self.threads],
            "clock": "host" if self.emulated else "guest",
            "deferred_init_ms": self.deferred_ms,
            "boot_ms": self.boot_ms,
            "guest_deferred_init_ms": self.result.deferred_ms,
            "guest_boot_ms": dmesg.boot_ms,
            "instructions_per_page": self.instructions_per_page,
            "wall_s": round(self.result.wall_s, 3) or None,
            "pages": pages and {**asdict(pages), "early": pages.early},
            "accounted_for": self.ok,
            "warnings": list(self.result.trouble),
            "exit": self.result.exit,
            "log": str(self.result.log),
        }


def describe(result: BootResult) -> Report:
    spec, exact = result.spec, result.accel.exact
    expected = (expected_threads(spec.machine, line.node, spec.threads, exact) for line in result.dmesg.nodes)
    threads = map(Threads, result.dmesg.nodes, expected)
    return Report(result, tuple(threads), account(result))


def expected_threads(machine: Machine, node: int, threads: str | None, exact: bool = False) -> int:
    """How many threads a node's job gets: by default one for each of its CPUs, or cores if not on x86.

    Nodes without CPUs get those of another node; all distances are equal in
    these machines, which makes that the first with any.
    """
    if exact:
        cpus = 1
    else:
        own = machine.nodes[node].cpus if node < len(machine.nodes) else 0
        cpus = own or next(other.cpus for other in machine.nodes if other.cpus)
    if threads is None:
        return cpus if machine.arch is X86_64 else cpus // machine.threads_per_core
    if threads.endswith("%"):
        return threads_of_percent(int(threads[:-1]), cpus)
    return min(int(threads), cpus)


def threads_of_percent(percent: int, cpus: int) -> int:
    return max(1, (percent * cpus + 50) // 100)


def account(result: BootResult) -> Pages | None:
    nodes, zones, total = result.dmesg.nodes, result.guest.zones, result.guest.total_pages
    if total is None or not zones:
        return None
    told = [line.pages for line in nodes if line.pages is not None]
    return Pages(
        machine=result.spec.machine.mib * PAGES_PER_MIB,
        present=sum(present for present, _ in zones),
        managed=sum(managed for _, managed in zones),
        total=total,
        deferred=sum(told) if len(told) == len(nodes) else None,
    )


def show(report: Report) -> None:
    result, dmesg, spec = report.result, report.result.dmesg, report.result.spec
    console = table.console()
    for node in report.threads:
        console.print(node.line.text, markup=False)
    if not report.threads:
        console.print("no node deferred any page")

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    grid.add_row("machine", f"{spec.machine.name}: {spec.machine.summary()}")
    version = result.build.source_version
    package = f" ({source.name_of(version)})" if version else ""
    grid.add_row("kernel", f"{spec.kernel} {dmesg.version}, config {spec.config}{package}")
    grid.add_row("run under", result.accel.described)
    per_page = report.instructions_per_page
    count = "" if per_page is None else f", {per_page:.1f} instructions per page"
    grid.add_row("deferred init", _times(report, report.deferred_ms, result.deferred_ms) + count)
    for node in report.threads:
        grid.add_row(f"  node {node.line.node}", _threads(node, report.plain))
    if report.pages or report.plain:
        grid.add_row("pages", _pages(report))
    grid.add_row("boot", f"{_times(report, report.boot_ms, dmesg.boot_ms)}, from kernel start to init")
    if result.wall_s:
        grid.add_row("wall time", f"{result.wall_s:.1f} s")
    for line in result.trouble:
        grid.add_row("[red]warning[/]", table.plain(line))
    if result.exit:
        grid.add_row("[red]guest[/]", f"its init ended with status {result.exit}")
    grid.add_row("console log", table.plain(str(result.log)))
    console.print(grid)


def _times(report: Report, ours: float | None, guest: float | None) -> str:
    if not report.emulated:
        return _ms(ours)
    if ours is None and guest is not None:
        return f"{_ms(guest)} by the guest's clock, which loses ticks"
    return f"{_ms(ours)} by the host's clock ({_ms(guest)} by the guest's, which loses ticks)"


def _threads(node: Threads, plain: bool) -> str:
    line = node.line
    text = "" if line.pages is None else f"{line.pages:,} pages, "
    text += f"{line.ms} ms"
    if line.threads is not None:
        text += f", {plural(line.threads, 'thread')} of {node.expected} expected"
        if plain and line.threads != node.expected:
            text += " (a section each)" if node.ok else " [red](does not add up)[/]"
    return text


def _pages(report: Report) -> str:
    pages = report.pages
    if pages is None:
        return "[red]not accounted for: the guest did not report them[/]"
    text = (
        f"{pages.machine:,} in the machine, {pages.present:,} in the kernel's map\n{pages.managed:,} managed"
    )
    if pages.deferred is not None:
        text += f" = {pages.early:,} early + {pages.deferred:,} deferred"
    if pages.ok:
        return f"{text}, as MemTotal has it: [green]all accounted for[/]"
    return f"{text}, MemTotal has {pages.total:,}: [red]not all accounted for[/]"


def _ms(value: float | None) -> str:
    return "unknown (the console does not say)" if value is None else f"{value:,.1f} ms"
