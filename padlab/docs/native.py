# SPDX-License-Identifier: GPL-2.0-only
"""Tables of times, by CPU: of struct pages and of huge pages, natively, and of boots."""

from collections.abc import Iterator, Mapping

from padlab.core import stats
from padlab.docs import records
from padlab.docs.form import Chart, Table, figure, ratio
from padlab.docs.records import Record
from padlab.measure import structpages
from padlab.measure.structpages import UML, USERSPACE, USES
from padlab.measure.zeroing import CLZERO, GIB, MIGRATED, MOVNTI, OURS, STOCK
from padlab.vm.machine import plural

MIB = 1 << 10  # as GIB, in KiB
PAGES_PER_GIB = 1 << 18
THREADS = (1, 2, 4, 8, 16)


def recorded() -> Table:
    names = {"bench.json": "struct pages", "hugepages.json": "huge pages"}
    columns = [(base, name) for base in ("6.12", "7.3") for name in names]
    commits: dict[str, dict[tuple[str, str], str]] = {}
    for base, name in columns:
        for record in records.of_all(base, name).values():
            commit = f"`{record['commit']}`, {record['date']}"
            commits.setdefault(records.cpu(record), {})[base, name] = commit
    rows = [[cpu, *(of_cpu.get(column, "") for column in columns)] for cpu, of_cpu in commits.items()]
    return Table(("commit and day", *(f"{names[name]}, {base}" for base, name in columns)), rows)


def _benches(base: str) -> list[Record]:
    return list(records.of_all(base, "bench.json").values())


def _of_bench(record: Record, bench: str, part: str = "rows") -> list[Record]:
    return next((of_program[part] for of_program in record["benches"] if of_program["bench"] == bench), [])


def _ns(record: Record, bench: str = USERSPACE) -> dict[int, list[float | None]]:
    """Of a page, by threads: stock's time, ours, and the machine's limit."""
    by = {(row["threads"], row["way"]): row["ns"]["median"] for row in _of_bench(record, bench)}
    ways = (STOCK, structpages.OURS, structpages.LIMIT)
    return {threads: [by.get((threads, way)) for way in ways] for threads in sorted({key[0] for key in by})}


def _compared(times: list[float | None]) -> list[str]:
    stock, ours, limit = times
    return [figure(stock), figure(ours), ratio(ours, stock), figure(limit), ratio(ours, limit)]


COMPARED = ("patched", "of stock", "limit", "of limit")


def by_threads(base: str, slug: str, gib: str) -> Table:
    """Of one CPU, and what so much memory takes by that, in ms."""
    rows = []
    for threads, times in _ns(records.of_cpu(base, slug, "bench.json")).items():
        whole = (figure(ns and ns * int(gib) * PAGES_PER_GIB / 1e6, 0) for ns in times[:2])
        rows.append([str(threads), *_compared(times), *whole])
    return Table(("threads", "stock, ns a page", *COMPARED, f"{gib} GiB: stock, ms", "patched, ms"), rows)


def threads_chart(base: str, slug: str, gib: str) -> Chart:
    table = by_threads(base, slug, gib)
    rows = [[cells[0], *cells[-2:]] for cells in table.rows]
    title = f"struct pages of {gib} GiB: stock (upper line), patched"
    return Chart(("threads", *table.head[-2:]), rows, title, "ms")


def struct_pages(base: str) -> Table:
    """Of each CPU: the kernel's functions under User-mode Linux, and the program on 1 and on all CPUs."""
    rows = []
    for record in _benches(base):
        uml, userspace = _ns(record, UML), _ns(record)
        most = max(userspace)
        of = {"User-mode Linux": uml.get(1), "userspace, one thread": userspace[1]}
        of[f"userspace, {most} threads"] = userspace[most]
        rows += [[records.cpu(record), name, *_compared(times)] for name, times in of.items() if times]
    return Table(("ns per struct page", "where", "stock", *COMPARED), rows)


def uses(base: str) -> Table:
    """Of stock's time: plain stores, as ours has them there, and movnti."""
    benches = _benches(base)
    rows = [[name] for name in USES.values()]
    for record in benches:
        ns = {(row["use"], row["way"]): row["ns"]["median"] for row in _of_bench(record, USERSPACE, "uses")}
        for row, use in zip(rows, USES, strict=True):
            ways = (structpages.USE_OURS, structpages.OURS)
            row.append(" / ".join(ratio(ns.get((use, way)), ns.get((use, STOCK))) for way in ways))
    return Table(("ours / movnti, of stock", *map(records.cpu, benches)), rows)


def mail_struct_pages(base: str, slug: str) -> Table:
    times = _ns(records.of_cpu(base, slug, "bench.json"))
    rows = [[plural(threads, "thread"), *map(figure, of)] for threads, of in times.items()]
    return Table(("", "before", "after", "limit"), rows)


# Huge pages: microseconds by size in KiB, threads and way.
Zeroed = Mapping[tuple[int, int, str], float]


def _us(record: Record, key: str = "us", part: str = "native") -> Zeroed:
    rows = record[part] if part == "native" else record.get(part, ())
    return {(row["kib"], row["threads"], row["way"]): row[key]["median"] for row in rows}


def _zeroed(base: str, slug: str) -> Zeroed:
    return _us(records.of_cpu(base, slug, "hugepages.json"))


def _hugepages(base: str) -> Iterator[tuple[str, Record]]:
    return ((records.cpu(record), record) for record in records.of_all(base, "hugepages.json").values())


def _threads_of_ours(us: Zeroed) -> list[int]:
    return sorted({threads for _kib, threads, way in us if way == OURS})


def _ms(us: float | None, digits: int = 1) -> str:
    return figure(us and us / 1000, digits)


# By size of a page: its KiB, the unit, how many microseconds that is, and digits.
SIZES = {"2 MiB": (2 * MIB, "us", 1, 0), "1 GiB": (GIB, "ms", 1000, 1)}


def by_cpu(size: str, base: str) -> Table:
    """A page of that size on each CPU: stock, and ours by threads with the ratio."""
    kib, unit, divide, digits = SIZES[size]
    rows = []
    for cpu, record in _hugepages(base):
        us = _us(record)
        stock = us[kib, 1, STOCK]
        ours = (us.get((kib, threads, OURS)) for threads in THREADS)
        cells = (f"{figure(us / divide, digits)} ({ratio(us, stock)})" if us else "" for us in ours)
        rows.append([cpu, figure(stock / divide, digits), *cells])
    head = f"{size} zeroed, {unit} (of stock)"
    return Table((head, "stock", *(f"ours, {plural(threads, 'thread')}" for threads in THREADS)), rows)


def gib_chart(base: str, slug: str) -> Chart:
    us = _zeroed(base, slug)
    stock = figure(us[GIB, 1, STOCK], 0)
    rows = [[str(n), stock, figure(us.get((GIB, n, OURS)), 0)] for n in _threads_of_ours(us)]
    return Chart(("threads", "stock", "ours"), rows, "1 GiB zeroed: stock (upper line), patched", "us")


WAYS = {
    STOCK: "stock",
    "mainline": "extents of 32 MiB",
    "whole": "one instruction for all",
    CLZERO: "CLZERO",
    MOVNTI: "`movnti`",
    OURS: "ours",
}


def ways(base: str) -> Table:
    rows = [[cpu, *(_ms(_us(record).get((GIB, 1, way))) for way in WAYS)] for cpu, record in _hugepages(base)]
    return Table(("1 GiB by one thread, ms", *WAYS.values()), rows)


SECOND_PAYS, MORE_PAYS = 0.9, 0.95  # at most so much of the time with one, and with half as many


def break_even(base: str) -> Table:
    """From which size on a second thread pays, and how many pay for 1 GiB, with their CPU time."""
    rows = []
    for cpu, record in _hugepages(base):
        us, cpu_us = _us(record), _us(record, "cpu_us")
        sizes = sorted({kib for kib, threads, way in us if kib >= MIB and (threads, way) == (2, OURS)})
        pays = [kib for kib in sizes if us[kib, 2, OURS] <= SECOND_PAYS * us[kib, 1, OURS]]
        counts = [n for n in THREADS if (GIB, n, OURS) in us]
        most = 1
        while 2 * most in counts and us[GIB, 2 * most, OURS] <= MORE_PAYS * us[GIB, most, OURS]:
            most *= 2
        figures = (ratio(times[GIB, most, OURS], us[GIB, 1, STOCK]) for times in (us, cpu_us))
        size = f"{pays[0] // MIB:,} MiB" if pays else "none"
        rows.append([cpu, size, f"{most} of {counts[-1]}", *figures])
    more = ("threads that pay, 1 GiB", "time, of stock", "CPU time, of stock")
    return Table(("", "a second thread pays from", *more), rows)


def sizes(base: str, slug: str) -> Table:
    record = records.of_cpu(base, slug, "hugepages.json")
    us, cpu_us = _us(record), _us(record, "cpu_us")
    threads = _threads_of_ours(us)
    rows = []
    for kib in sorted({kib for kib, *_ in us if kib >= MIB}):
        stock = us.get((kib, 1, STOCK))
        times = [*(us.get((kib, n, OURS)) for n in threads), cpu_us.get((kib, threads[-1], OURS))]
        size = f"{kib // GIB} GiB" if kib >= GIB else f"{kib // MIB} MiB"
        rows.append([size, figure(stock, 0), *(ratio(time, stock) for time in times)])
    heads = (f"ours, {plural(n, 'thread')}, of stock" for n in threads)
    return Table(("size", "stock, us", *heads, "CPU time of the most, of stock"), rows)


def copies(base: str) -> Table:
    """Pages of 2 MiB and 1 GiB that are copied, on each CPU where that was timed."""
    columns = {"ours": (1, OURS), "ours, migrated": (1, MIGRATED)}
    columns |= {f"ours, {n} threads": (n, OURS) for n in (2, 8)}
    rows = []
    for cpu, record in _hugepages(base):
        us = _us(record, part="native_copies")
        for kib, size, divide in ((2 * MIB, "2 MiB, us", 1), (GIB, "1 GiB, ms", 1000)):
            if stock := us.get((kib, 1, STOCK)):
                times = [us.get((kib, *column)) for column in columns.values()]
                cells = (
                    f"{figure(time / divide, 1)} ({ratio(time, stock)})" if time else "" for time in times
                )
                rows.append([cpu, size, figure(stock / divide, 1), *cells])
    return Table(("", "size", "stock", *columns), rows)


MAIL_WAYS = {
    "6.12 stock": "clear_page(), page by page",
    "7.3 stock": "rep stosb, one for all, as in stock",
    "mainline": "rep stosb, extents of 32 MiB",
    "whole": "rep stosb, one for all",
    CLZERO: "CLZERO, 2 MiB and a fence at a time",
    MOVNTI: "movnti",
    OURS: "this patch",
}


def mail_ways(base: str, slug: str, *ways: str) -> Table:
    us = _zeroed(base, slug)
    names = {way: MAIL_WAYS[f"{base} {way}" if way == STOCK else way] for way in ways}
    return Table(("", "ms"), [[name, _ms(us.get((GIB, 1, way)))] for way, name in names.items()])


def mail_zeroing(base: str, slug: str) -> Table:
    us = _zeroed(base, slug)
    threads = _threads_of_ours(us)
    columns = [(1, STOCK), *((n, OURS) for n in threads)]
    of_2_mib = [us.get((2 * MIB, *column)) for column in columns]
    of_gib = [us.get((GIB, *column)) for column in columns]
    rows = [
        ["2 MiB, us", *(figure(time, 1) for time in of_2_mib)],
        ["1 GiB, ms", *map(_ms, of_gib)],
    ]
    return Table(("", "stock", *(plural(n, "thread") for n in threads)), rows)


# Boots with many CPUs, that were timed.
KERNELS = ("stock", "patched")
FIGURES = {"deferred_ms": "the node's line", "boot_ms": "kernel's start to init"}


def _by_size(base: str, slug: str) -> dict[int, list[Record]]:
    recorded = records.of_cpu(base, slug, "boots.json")["boots"]
    in_order = sorted(recorded, key=lambda row: (row["gib"], KERNELS.index(row["kernel"])))
    return stats.group(in_order, lambda row: row["gib"])


def _ranged(summary: Record) -> str:
    return f"{summary['median']:,.0f} ({summary['low']:,.0f} to {summary['high']:,.0f})"


def boots(base: str, slug: str) -> Table:
    rows = []
    for gib, kernels in _by_size(base, slug).items():
        for key, name in FIGURES.items():
            stock, ours = (kernel[key] for kernel in kernels)
            of_stock = ratio(ours["median"], stock["median"])
            rows.append([f"{gib} GiB, {name}", _ranged(stock), _ranged(ours), of_stock])
    return Table(("ms, median (least to most)", *KERNELS, "of stock"), rows)


def mail_boots(base: str, slug: str) -> Table:
    rows = [
        [f"{gib} GiB, ms", *(figure(kernel["deferred_ms"]["median"], 0) for kernel in kernels)]
        for gib, kernels in _by_size(base, slug).items()
    ]
    return Table(("", "before", "after"), rows)


def boots_by_threads(base: str, slug: str) -> Table:
    sweep = records.of_cpu(base, slug, "boots.json")["threads"]
    rows = [[f"{sweep[0]['gib']} GiB, ms", *(_ranged(boot["deferred_ms"]) for boot in sweep)]]
    return Table(("threads", *(str(boot["threads"]) for boot in sweep)), rows)
