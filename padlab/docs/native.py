# SPDX-License-Identifier: GPL-2.0-only
"""Tables of native times: of struct pages and of huge pages, by CPU."""

from collections.abc import Iterable

from padlab.docs import records
from padlab.docs.form import Chart, Table, figure, ratio
from padlab.measure import zeroing
from padlab.measure.structpages import LIMIT, OURS, UML, USE_OURS, USERSPACE, USES
from padlab.vm.machine import plural

KIB_PER_MIB, KIB_PER_GIB = 1 << 10, 1 << 20
PAGES_PER_GIB = 1 << 18
THREADS = (1, 2, 4, 8, 16)
US_PER_MS = 1000
PAGES = {"1 GiB": (KIB_PER_GIB, "ms", US_PER_MS, 1), "2 MiB": (2 * KIB_PER_MIB, "us", 1, 0)}


def recorded() -> Table:
    names = {"bench.json": "struct pages", "hugepages.json": "huge pages"}
    columns = [(base, name) for base in ("6.12", "7.3") for name in names]
    commits = {
        (records.cpu(record), base, name): f"`{record['commit']}`, {record['date']}"
        for base, name in columns
        for record in records.of_all(base, name).values()
    }
    cpus = dict.fromkeys(cpu for cpu, _, _ in commits)
    rows = [[cpu, *(commits.get((cpu, *column), "") for column in columns)] for cpu in cpus]
    return Table(("commit and day", *(f"{names[name]}, {base}" for base, name in columns)), rows)


def bench_rows(record: records.Record, bench: str, part: str = "rows") -> list[records.Record]:
    of_program = records.find(record["benches"], bench=bench)
    return [] if of_program is None else of_program[part]


def _ns(record: records.Record, bench: str, threads: int) -> list[float | None]:
    """Of a page: stock's time, ours, and the machine's limit."""
    rows = bench_rows(record, bench)
    ways = ("stock", OURS, LIMIT)
    return [records.median(records.find(rows, threads=threads, way=way), "ns") for way in ways]


def _compared(times: list[float | None]) -> list[str]:
    stock, ours, limit = times
    return [figure(stock), figure(ours), ratio(ours, stock), figure(limit), ratio(ours, limit)]


COMPARED = ("patched", "of stock", "limit", "of limit")


def _threads(record: records.Record) -> list[int]:
    return sorted({row["threads"] for row in bench_rows(record, USERSPACE)})


def by_threads(base: str, slug: str, gib: str) -> Table:
    """Of one CPU, and what so much memory takes by that, in ms."""
    record = records.of_cpu(base, slug, "bench.json")
    rows = []
    for threads in _threads(record):
        times = _ns(record, USERSPACE, threads)
        whole = (figure(ns and ns * int(gib) * PAGES_PER_GIB / 1e6, 0) for ns in times[:2])
        rows.append([str(threads), *_compared(times), *whole])
    return Table(("threads", "stock, ns a page", *COMPARED, f"{gib} GiB: stock, ms", "patched, ms"), rows)


def threads_chart(base: str, slug: str, gib: str) -> Chart:
    table = by_threads(base, slug, gib)
    rows = [[cells[0], *cells[-2:]] for cells in table.rows]
    return Chart(
        ("threads", *table.head[-2:]), rows, f"struct pages of {gib} GiB: stock (upper line), patched", "ms"
    )


def gib_chart(base: str, slug: str) -> Chart:
    record = records.of_cpu(base, slug, "hugepages.json")
    stock = figure(_us(record, KIB_PER_GIB, 1, zeroing.STOCK, "us"), 0)
    rows = [
        [str(n), stock, figure(_us(record, KIB_PER_GIB, n, zeroing.OURS), 0)]
        for n in _threads_of_ours(record)
    ]
    return Chart(("threads", "stock", "ours"), rows, "1 GiB zeroed: stock (upper line), patched", "us")


def struct_pages(base: str) -> Table:
    """Of each CPU: the kernel's functions under User-mode Linux, and the program on 1 and on all CPUs."""
    rows = []
    for record in records.of_all(base, "bench.json").values():
        most = _threads(record)[-1]
        for bench, name, threads in (
            (UML, "User-mode Linux", 1),
            (USERSPACE, "userspace, one thread", 1),
            (USERSPACE, f"userspace, {most} threads", most),
        ):
            times = _ns(record, bench, threads)
            if times[0] is not None:
                rows.append([records.cpu(record), name, *_compared(times)])
    return Table(("ns per struct page", "where", "stock", *COMPARED), rows)


def uses(base: str) -> Table:
    """Of stock's time: plain stores, as ours has them there, and movnti."""
    benches = records.of_all(base, "bench.json").values()

    def of_stock(record: records.Record, use: str) -> str:
        rows = bench_rows(record, USERSPACE, "uses")
        stock, *others = (
            records.median(records.find(rows, use=use, way=way), "ns") for way in ("stock", USE_OURS, OURS)
        )
        return " / ".join(ratio(ns, stock) for ns in others)

    rows = [[name, *(of_stock(record, use) for record in benches)] for use, name in USES.items()]
    return Table(("ours / movnti, of stock", *map(records.cpu, benches)), rows)


def mail_struct_pages(base: str, slug: str) -> Table:
    record = records.of_cpu(base, slug, "bench.json")
    rows = [
        [plural(threads, "thread"), *map(figure, _ns(record, USERSPACE, threads))]
        for threads in _threads(record)
    ]
    return Table(("", "before", "after", "limit"), rows)


def _us(record: records.Record, kib: int, threads: int, way: str, key: str = "us") -> float | None:
    row = records.find(record["native"], kib=kib, threads=threads, way=way)
    return None if row is None or row.get(key) is None else records.median(row, key)


def _times(times: Iterable[float | None], divide: float, digits: int) -> list[str]:
    return [figure(us and us / divide, digits) for us in times]


def by_cpu(size: str, base: str) -> Table:
    """A page of that size on each CPU: stock, and ours by threads with the ratio."""
    kib, unit, divide, digits = PAGES[size]
    rows = []
    for record in records.of_all(base, "hugepages.json").values():
        stock = _us(record, kib, 1, zeroing.STOCK)
        cells = _times([stock], divide, digits)
        for threads in THREADS:
            us = _us(record, kib, threads, zeroing.OURS)
            cells.append(f"{figure(us / divide, digits)} ({ratio(us, stock)})" if us else "")
        rows.append([records.cpu(record), *cells])
    head = f"{size} zeroed, {unit} (of stock)"
    return Table((head, "stock", *(f"ours, {plural(threads, 'thread')}" for threads in THREADS)), rows)


WAYS = {
    zeroing.STOCK: "stock",
    "mainline": "extents of 32 MiB",
    "whole": "one instruction for all",
    zeroing.CLZERO: "CLZERO",
    zeroing.MOVNTI: "`movnti`",
    zeroing.OURS: "ours",
}


def ways(base: str) -> Table:
    rows = []
    for record in records.of_all(base, "hugepages.json").values():
        times = (_us(record, KIB_PER_GIB, 1, way) for way in WAYS)
        rows.append([records.cpu(record), *_times(times, US_PER_MS, 1)])
    return Table(("1 GiB by one thread, ms", *WAYS.values()), rows)


SECOND_PAYS, MORE_PAYS = 0.9, 0.95  # at most so much of the time with one, and with half as many


def break_even(base: str) -> Table:
    """From which size on a second thread pays, and how many pay for 1 GiB, with their CPU time."""
    rows = []
    for record in records.of_all(base, "hugepages.json").values():

        def us(kib: int, threads: int, key: str = "us", record: records.Record = record) -> float:
            return _us(record, kib, threads, zeroing.OURS, key) or 0

        sizes = sorted({row["kib"] for row in record["native"] if row["kib"] >= KIB_PER_MIB})
        pays = [kib for kib in sizes if us(kib, 2) <= SECOND_PAYS * us(kib, 1)]
        counts = [n for n in THREADS if us(KIB_PER_GIB, n)]
        most = 1
        while 2 * most in counts and us(KIB_PER_GIB, 2 * most) <= MORE_PAYS * us(KIB_PER_GIB, most):
            most *= 2
        stock = _us(record, KIB_PER_GIB, 1, zeroing.STOCK)
        figures = (ratio(us(KIB_PER_GIB, most, key), stock) for key in ("us", "cpu_us"))
        size = f"{pays[0] // KIB_PER_MIB:,} MiB" if pays else "none"
        rows.append([records.cpu(record), size, f"{most} of {counts[-1]}", *figures])
    more = ("threads that pay, 1 GiB", "time, of stock", "CPU time, of stock")
    return Table(("", "a second thread pays from", *more), rows)


def _threads_of_ours(record: records.Record) -> list[int]:
    return sorted({row["threads"] for row in record["native"] if row["way"] == zeroing.OURS})


def sizes(base: str, slug: str) -> Table:
    record = records.of_cpu(base, slug, "hugepages.json")
    threads = _threads_of_ours(record)
    rows = []
    for kib in sorted({row["kib"] for row in record["native"] if row["kib"] >= KIB_PER_MIB}):
        stock = _us(record, kib, 1, zeroing.STOCK)
        cpu_time = _us(record, kib, threads[-1], zeroing.OURS, "cpu_us")
        ratios = [ratio(_us(record, kib, n, zeroing.OURS), stock) for n in threads]
        size = f"{kib // KIB_PER_GIB} GiB" if kib >= KIB_PER_GIB else f"{kib // KIB_PER_MIB} MiB"
        rows.append([size, figure(stock, 0), *ratios, ratio(cpu_time, stock)])
    heads = (f"ours, {plural(n, 'thread')}, of stock" for n in threads)
    return Table(("size", "stock, us", *heads, "CPU time of the most, of stock"), rows)


def copies(base: str) -> Table:
    """Pages of 2 MiB and 1 GiB that are copied, on each CPU where that was timed."""
    rows = []
    for record in records.of_all(base, "hugepages.json").values():
        of_copies = {"native": record.get("native_copies", [])}
        for kib, size, divide in ((2 * KIB_PER_MIB, "2 MiB, us", 1), (KIB_PER_GIB, "1 GiB, ms", US_PER_MS)):
            stock = _us(of_copies, kib, 1, zeroing.STOCK)
            ours = [_us(of_copies, kib, 1, way) for way in (zeroing.OURS, zeroing.MIGRATED)]
            ours += [_us(of_copies, kib, n, zeroing.OURS) for n in (2, 8)]
            cells = [f"{figure(us / divide, 1)} ({ratio(us, stock)})" if us else "" for us in ours]
            if stock:
                rows.append([records.cpu(record), size, *_times([stock], divide, 1), *cells])
    return Table(("", "size", "stock", "ours", "ours, migrated", "ours, 2 threads", "ours, 8 threads"), rows)


MAIL_WAYS = {
    "6.12 stock": "clear_page(), page by page",
    "7.3 stock": "rep stosb, one for all, as in stock",
    "mainline": "rep stosb, extents of 32 MiB",
    "whole": "rep stosb, one for all",
    zeroing.CLZERO: "CLZERO, 2 MiB and a fence at a time",
    zeroing.MOVNTI: "movnti",
    zeroing.OURS: "this patch",
}


def mail_ways(base: str, slug: str, *ways: str) -> Table:
    record = records.of_cpu(base, slug, "hugepages.json")
    rows = []
    for way in ways:
        name = MAIL_WAYS[f"{base} {way}" if way == zeroing.STOCK else way]
        rows.append([name, *_times([_us(record, KIB_PER_GIB, 1, way)], US_PER_MS, 1)])
    return Table(("", "ms"), rows)


def mail_zeroing(base: str, slug: str) -> Table:
    record = records.of_cpu(base, slug, "hugepages.json")
    threads = _threads_of_ours(record)
    rows = []
    for kib, name, divide in ((2 * KIB_PER_MIB, "2 MiB, us", 1), (KIB_PER_GIB, "1 GiB, ms", US_PER_MS)):
        times = [_us(record, kib, 1, zeroing.STOCK), *(_us(record, kib, n, zeroing.OURS) for n in threads)]
        rows.append([name, *_times(times, divide, 1)])
    return Table(("", "stock", *(plural(n, "thread") for n in threads)), rows)
