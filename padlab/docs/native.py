# SPDX-License-Identifier: GPL-2.0-only
"""Tables of native times: of struct pages and of huge pages, by CPU."""

from __future__ import annotations

from collections.abc import Sequence

from padlab.docs import records
from padlab.docs.form import Table, figure, ratio
from padlab.docs.records import Record
from padlab.measure import zeroing
from padlab.measure.structpages import LIMIT, OURS, UML, USE_OURS, USERSPACE, USES

KIB_PER_MIB, KIB_PER_GIB = 1 << 10, 1 << 20
THREADS = (1, 2, 4, 8, 16)
US_PER_MS = 1000


def recorded() -> Table:
    """Which CPU was timed when, and at which commit."""
    cells_by_cpu: dict[str, list[str]] = {}
    columns = [(base, name) for base in ("6.12", "7.3") for name in ("bench.json", "hugepages.json")]
    for nr, (base, name) in enumerate(columns):
        for record in records.of_all(base, name).values():
            cells = cells_by_cpu.setdefault(records.cpu(record), [""] * len(columns))
            cells[nr] = f"`{record['commit']}`, {record['date']}"
    names = {"bench.json": "struct pages", "hugepages.json": "huge pages"}
    head = ("commit and day", *(f"{names[name]}, {base}" for base, name in columns))
    return Table(head, [[name, *cells] for name, cells in cells_by_cpu.items()])


# Struct pages


def bench_rows(record: Record, bench: str, part: str = "rows") -> list[Record]:
    """The rows of one of the programs, none if it was not run."""
    bench_record = records.find(record["benches"], bench=bench)
    return [] if bench_record is None else bench_record[part]


def _ns(record: Record, bench: str, threads: int, way: str) -> float | None:
    rows = bench_rows(record, bench)
    return records.median(records.find(rows, threads=threads, way=way), "ns")


def _threads(record: Record) -> list[int]:
    return sorted({row["threads"] for row in bench_rows(record, USERSPACE)})


def by_threads(base: str, slug: str, gib: str = "", least: str = "1") -> Table:
    """Of one CPU, from ``least`` to all threads; ``gib``: also what so much memory takes by that, in ms."""
    record = records.of_cpu(base, slug, "bench.json")
    head = ["threads", "stock, ns a page", "patched", "of stock", "limit", "of limit"]
    pages = int(gib or 0) * (1 << 18)
    head += [f"{gib} GiB: stock, ms", "patched, ms"] if gib else []
    rows = []
    for threads in (threads for threads in _threads(record) if threads >= int(least)):
        stock, ours, limit = (_ns(record, USERSPACE, threads, way) for way in ("stock", OURS, LIMIT))
        cells = [figure(stock), figure(ours), ratio(ours, stock), figure(limit), ratio(ours, limit)]
        if gib:
            cells += [figure(ns and ns * pages / 1e6, 0) for ns in (stock, ours)]
        rows.append([str(threads), *cells])
    return Table(head, rows)


def struct_pages(base: str) -> Table:
    """Of each CPU: the kernel's functions under User-mode Linux, and the program on 1 and on all CPUs."""
    rows = []
    for record in records.of_all(base, "bench.json").values():
        for bench, name, threads in (
            (UML, "User-mode Linux", 1),
            (USERSPACE, "userspace, one thread", 1),
            (USERSPACE, f"userspace, {_threads(record)[-1]} threads", _threads(record)[-1]),
        ):
            stock, ours, limit = (_ns(record, bench, threads, way) for way in ("stock", OURS, LIMIT))
            if stock is not None:
                cells = (figure(stock), figure(ours), ratio(ours, stock), figure(limit), ratio(ours, limit))
                rows.append([records.cpu(record), name, *cells])
    return Table(("ns per struct page", "where", "stock", "patched", "of stock", "limit", "of limit"), rows)


def uses(base: str) -> Table:
    """Of stock's time: plain stores, as ours has them there, and movnti."""
    every = records.of_all(base, "bench.json")
    rows = []
    for use, name in USES.items():
        cells = []
        for record in every.values():
            timed = bench_rows(record, USERSPACE, "uses")
            stock, *others = (
                records.median(records.find(timed, use=use, way=way), "ns")
                for way in ("stock", USE_OURS, OURS)
            )
            cells.append(" / ".join(ratio(ns, stock) for ns in others))
        rows.append([name, *cells])
    return Table(("ours / movnti, of stock", *map(records.cpu, every.values())), rows)


def mail_struct_pages(base: str, slug: str) -> Table:
    """For a message: one CPU, by threads."""
    record = records.of_cpu(base, slug, "bench.json")
    rows = [
        [
            _threads_of(threads),
            *(figure(_ns(record, USERSPACE, threads, way)) for way in ("stock", OURS, LIMIT)),
        ]
        for threads in _threads(record)
    ]
    return Table(("", "before", "after", "limit"), rows)


def _threads_of(threads: int) -> str:
    return f"{threads} thread{'s' * (threads > 1)}"


# Huge pages


def _us(record: Record, kib: int, threads: int, way: str, key: str = "us") -> float | None:
    row = records.find(record["native"], kib=kib, threads=threads, way=way)
    return None if row is None or row.get(key) is None else records.median(row, key)


def _by_cpu(base: str, kib: int, unit: str, divide: float, digits: int) -> Table:
    """A page of that size on each CPU: stock, and ours by threads with the ratio."""
    rows = []
    for record in records.of_all(base, "hugepages.json").values():
        stock = _us(record, kib, 1, zeroing.STOCK)
        cells = [figure(stock and stock / divide, digits)]
        for threads in THREADS:
            us = _us(record, kib, threads, zeroing.OURS)
            cells.append(f"{figure(us / divide, digits)} ({ratio(us, stock)})" if us else "")
        rows.append([records.cpu(record), *cells])
    return Table((unit, "stock", *(f"ours, {_threads_of(threads)}" for threads in THREADS)), rows)


def gib_page(base: str) -> Table:
    return _by_cpu(base, KIB_PER_GIB, "1 GiB zeroed, ms (of stock)", US_PER_MS, 1)


def huge_page(base: str) -> Table:
    return _by_cpu(base, 2 * KIB_PER_MIB, "2 MiB zeroed, us (of stock)", 1, 0)


WAYS = {
    zeroing.STOCK: "stock",
    "mainline": "extents of 32 MiB",
    "whole": "one instruction for all",
    zeroing.CLZERO: "CLZERO",
    zeroing.MOVNTI: "`movnti`",
    zeroing.OURS: "ours",
}


def ways(base: str) -> Table:
    """1 GiB by one thread, in each way that there is, in ms."""
    every = records.of_all(base, "hugepages.json").values()
    rows = []
    for record in every:
        times = [_us(record, KIB_PER_GIB, 1, way) for way in WAYS]
        rows.append([records.cpu(record), *(figure(us and us / US_PER_MS, 1) for us in times)])
    return Table(("1 GiB by one thread, ms", *WAYS.values()), rows)


def sizes(base: str, slug: str) -> Table:
    """Of one CPU, by size: stock, ours by threads as a ratio, and CPU time of the most threads."""
    record = records.of_cpu(base, slug, "hugepages.json")
    threads = sorted({row["threads"] for row in record["native"] if row["way"] == zeroing.OURS})
    rows = []
    for kib in sorted({row["kib"] for row in record["native"] if row["kib"] >= KIB_PER_MIB}):
        stock = _us(record, kib, 1, zeroing.STOCK)
        cpu_time = _us(record, kib, threads[-1], zeroing.OURS, "cpu_us")
        ratios = [ratio(_us(record, kib, n, zeroing.OURS), stock) for n in threads]
        rows.append([_size(kib), figure(stock, 0), *ratios, ratio(cpu_time, stock)])
    heads = [f"ours, {_threads_of(n)}, of stock" for n in threads]
    return Table(("size", "stock, us", *heads, "CPU time of the most, of stock"), rows)


def _size(kib: int) -> str:
    for unit, name in ((KIB_PER_GIB, "GiB"), (KIB_PER_MIB, "MiB")):
        if kib >= unit:
            return f"{kib // unit} {name}"
    return f"{kib} KiB"


def first_use(base: str, slug: str) -> Table:
    """2 MiB zeroed and then used, and the same with reads that depend on each other."""
    record = records.of_cpu(base, slug, "hugepages.json")
    kib = 2 * KIB_PER_MIB
    rows = []
    for part, how in (*(("native_first_use", how) for how in ("forward", "backward", "random")),
                      ("native_dependent_reads", "dependent")):  # fmt: skip
        timed = [row for row in record[part] if (row["kib"], row["how"]) == (kib, how)]
        for page, place in zip(sorted({row["page"] for row in timed}), PLACES, strict=True):
            of = {row["way"]: row for row in timed if row["page"] == page}
            cells = [_parts(of["stock"]), _parts(of["ours"])]
            rows.append([f"{place}, {HOW[how]}", *cells, figure(of["ours"]["of_stock"]["value"])])
    heads = ("stock: zeroed, used, both", "ours: zeroed, used, both", "ratio")
    return Table(("2 MiB, us: touched, then used", *heads), rows)


PLACES = ("at its start", "after a third", "at its end")
HOW = {
    "forward": "forward",
    "backward": "backward",
    "random": "at random",
    "dependent": "all by dependent reads",
}


def _parts(row: Record) -> str:
    return ", ".join(figure(records.median(row, part), 0) for part in ("zero", "use", "both"))


# Of messages


def mail_ways(base: str, slug: str, *names: str) -> Table:
    """For a message: 1 GiB by one thread in these ways."""
    record = records.of_cpu(base, slug, "hugepages.json")
    rows = []
    for name in names:
        us = _us(record, KIB_PER_GIB, 1, name)
        rows.append([MAIL_WAYS.get((base, name)) or MAIL_WAYS["", name], figure(us and us / US_PER_MS, 1)])
    return Table(("", "ms"), rows)


MAIL_WAYS = {
    ("6.12", zeroing.STOCK): "clear_page(), page by page",
    ("7.3", zeroing.STOCK): "rep stosb, one for all, as in stock",
    ("", "mainline"): "rep stosb, extents of 32 MiB",
    ("", "whole"): "rep stosb, one for all",
    ("", zeroing.CLZERO): "CLZERO, 2 MiB and a fence at a time",
    ("", zeroing.MOVNTI): "movnti",
    ("", zeroing.OURS): "this patch",
}


def mail_zeroing(base: str, slug: str) -> Table:
    """For a message: 2 MiB and 1 GiB, stock and ours by threads."""
    record = records.of_cpu(base, slug, "hugepages.json")
    threads = sorted({row["threads"] for row in record["native"] if row["way"] == zeroing.OURS})
    rows = []
    for kib, name, divide in ((2 * KIB_PER_MIB, "2 MiB, us", 1), (KIB_PER_GIB, "1 GiB, ms", US_PER_MS)):
        times: Sequence[float | None] = [
            _us(record, kib, 1, zeroing.STOCK),
            *(_us(record, kib, n, zeroing.OURS) for n in threads),
        ]
        rows.append([name, *(figure(us and us / divide, 1) for us in times)])
    return Table(("", "stock", *(_threads_of(n) for n in threads)), rows)


def mail_first_use(base: str, slug: str) -> Table:
    """For a message: 2 MiB touched, alone and with what uses it, in us."""
    record = records.of_cpu(base, slug, "hugepages.json")
    rows = []
    for page, place in zip((0, 170, 511), PLACES, strict=True):
        for part, how, key, name in (
            ("native_first_use", "forward", "zero", f"2 MiB, touched {place}"),
            ("native_first_use", "forward", "both", "  and half of it used from there on"),
            ("native_first_use", "random", "both", "  and half of it used at random"),
            ("native_dependent_reads", "dependent", "both", "  and all read, dependent reads"),
        ):
            of = [records.find(record[part], kib=2048, page=page, how=how, way=w) for w in ("stock", "ours")]
            rows.append([name, *(figure(records.median(row, key), 0) for row in of)])
    return Table(("us", "before", "after"), rows)
