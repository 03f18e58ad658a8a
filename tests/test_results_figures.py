# SPDX-License-Identifier: GPL-2.0-only
"""The figures of docs/results.md that depend on the CPU, and those of all bases, are recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from padlab.core import paths
from padlab.measure import elapsed, provenance, zeroing
from tests import figures
from tests.figures import DEFAULT, STOCK_AND_OURS, Values, bench_row, check, gib_ms, natives, recorded, zeroed

TEXT = (paths.ROOT / "docs/results.md").read_text()
MAINLINE = "7.3"
KERNELS = ("stock", "patched")
Rows = dict[str, Values]

_TIME = re.compile(r"\d[\d.,]* (?:ns|us|ms)\b")
_OF_CPU = re.compile(rf"results/(?:[\d.]+/)?{provenance.CPUS}/([\w-]+)/")


def section(heading: str, start: str = "", end: str = "") -> str:
    """A section, or the part of it from ``start`` on, to ``end``."""
    text = TEXT[TEXT.index(f"\n## {heading}\n") + 1 :]
    text = text[: text.index("\n## ", 1)] if "\n## " in text else text
    text = text[text.index(start) :]
    return text[: text.index(end, 1)] if end else text


def sentences(text: str) -> str:
    return " ".join(" ".join(line for line in text.splitlines() if not line.startswith("|")).split())


def said_of(text: str, file: str) -> str:
    """The first paragraph that names a ``file``, which names its CPU, too."""
    return next(one for one in text.split("\n\n") if f"{file}`" in one)


def rows_of_cpus(text: str, name: str, base: str, values: Callable[[Any], Values]) -> Rows:
    """Of a table with a row for each CPU that the file is recorded on, named as the text names it."""
    found = provenance.of_cpus(name, base)
    rows: Rows = {}
    for said, _ in figures.rows_of_document(text):
        data = json.loads(found.pop(figures.slug_named(said, found)).read_text())
        rows[said] = [*values(data), *([f"`{data['commit']}`"] if "commit" in data else [])]
    assert not found, f"no row: {sorted(found)}"
    return rows


# Native times of struct pages


def under_uml(data: Any) -> Values:
    stock, ours, limit = bench_row(data, "UML", 1, figures.WITH_LIMIT)
    return [stock, ours, limit, ours / stock, ours / limit]


def ranges(text: str) -> Rows:
    rows = natives(recorded("bench.json", said=said_of(text, "bench.json")))
    found: Rows = {}
    for said, key in {
        "User-mode Linux, one CPU": ("UML", 1),
        "userspace, one thread": ("userspace", 1),
        "userspace, two threads, all CPUs": ("userspace", 2),
    }.items():
        stock, ours, limit = (rows[*key, way] for way in (*STOCK_AND_OURS, figures.WITH_LIMIT[-1]))
        times = [one["ns"][what] for one in (stock, ours, limit) for what in ("median", "low", "high")]
        found[said] = [*times, ours["ratio"]["value"], ours["of_limit"]["value"]]
    return found


# Huge pages


def one_gib(data: Any) -> Values:
    stock, one, two = gib_ms(data, "stock"), gib_ms(data, "ours"), gib_ms(data, "ours", 2)
    return [stock, one, two, one / stock, two / stock]


def two_mib(data: Any) -> Values:
    stock, one = zeroed(data, 2048, "stock"), zeroed(data, 2048, "ours")
    return [stock, one, one / stock]


def by_size(text: str) -> Rows:
    huge = recorded("hugepages.json", said=said_of(text, "hugepages.json"))
    found: Rows = {}
    for said, kib in {
        "1 GiB": 1 << 20,
        **{f"{mib} MiB": mib << 10 for mib in (32, 16, 8, 4, 2, 1)},
        "512 KiB": 512,
    }.items():
        rows = {
            (row["way"], row["threads"]): row["us"]["median"] for row in huge["native"] if row["kib"] == kib
        }
        ways = {way for way, threads in rows if threads == 1} - {"stock", zeroing.OURS}
        best = min(ways, key=lambda way: rows[way, 1])
        stock, one, two = (rows.get(key, 0.0) for key in (("stock", 1), ("ours", 1), ("ours", 2)))
        shares = [one / stock, *([two / stock, two / one] if two else [])]
        times = [stock, rows[best, 1], one, *([two] if two else [])]
        found[said] = [*times, *shares, f"({best})", *([] if two else ["as one"])]
    return found


def by_use(text: str) -> Rows:
    huge = recorded("hugepages.json", said=said_of(text, "hugepages.json"))
    rows = {(row["kib"], row["page"], row["how"], row["way"]): row for row in huge["native_first_use"]}
    places = {"at its start": lambda _kib: 0, "after a third": lambda kib: kib // 12, "at its end": last_page}
    found: Rows = {}
    for kib, size, wheres in ((2048, "2 MiB", list(places)), (64, "64 KiB", ["at its start"])):
        for where in wheres:
            for how in ("forward", "backward", "random"):
                stock, ours = (rows[kib, places[where](kib), how, way] for way in ("stock", "ours"))
                times = [one[what]["median"] for one in (stock, ours) for what in ("zero", "use", "both")]
                found[f"{size}, {where}, {how}"] = [*times, ours["of_stock"]["value"]]
    return found


def last_page(kib: int) -> int:
    return kib // 4 - 1


# The other base


def natives_of_mainline(data: Any) -> Values:
    return [
        time
        for bench, threads in (("UML", 1), ("userspace", 1), ("userspace", 2))
        for time in bench_row(data, bench, threads, STOCK_AND_OURS)
    ]


def huge_of_mainline(data: Any) -> Values:
    ways = (("stock", 1), ("ours", 1), ("ours", 2))
    sizes = [[zeroed(data, 2048, *way) for way in ways], [gib_ms(data, *way) for way in ways]]
    return [*sizes[0], *sizes[1], gib_ms(data, "split", 2)]


def threads_made(text: str, base: str) -> Rows:
    machines = recorded("starts.json", base, said_of(text, "starts.json"))["machines"]
    named = {4: "epyc-7551-kvm-small", 16: "epyc-7551-kvm", 64: "cpus-64"}
    found: Rows = {}
    for cpus, name in named.items():
        stock, ours = (machines[name][kernel] for kernel in KERNELS)
        if base == DEFAULT:
            found[f"`{name}`, {cpus} CPUs, {stock['queued']} helpers"] = [stock["made"], ours["made"]]
        else:
            found[f"{cpus} CPUs"] = [stock["queued"], stock["made"], ours["made"]]
    return found


# Instructions, which do not depend on the CPU


def with_ratio(stock: float, ours: float) -> list[float]:
    return [stock, ours, ours / stock]


def exactly(machine: str, what: str) -> list[float]:
    found = {one["name"]: one for one in recorded(f"compare-{machine}-exact.json")["figures"]}
    return with_ratio(*(found[what][kernel]["median"] for kernel in KERNELS))


def counted() -> Rows:
    growth = recorded("growth.json")
    goals = {one["name"]: with_ratio(*(one[kernel] for kernel in KERNELS)) for one in growth["goals"]}
    machines = {"16 GiB VM": "epyc-7551-kvm-small", "4 GiB on three nodes": "three-nodes"}
    boots, gib, critical = (growth[name] for name in ("boots", "per_gib", "critical_ms"))
    phases = {
        "deferred init": "deferred init",
        "`memblock_free_all()`: struct pages of reserved memory": "memblock retires",
        "hash tables are zeroed": "hash tables",
        "serial rest after deferred init": "serial rest after it",
        "memory blocks are registered": "memory blocks",
        "whole boot to init": "whole boot to init",
    }
    alone = ("struct pages, early", "memblock retires", "serial rest after it")
    sleeping = {size: [critical[kernel][f"memory-{size}"] for kernel in KERNELS] for size in (16, 256, 768)}
    times = [most / least for most, least in zip(sleeping[768], sleeping[16], strict=True)]
    return {
        "a deferred page, 64 GiB": goals["a deferred page"],
        "a deferred page, 16 GiB VM (`epyc-7551-kvm-small`)": exactly(
            "epyc-7551-kvm-small", "per deferred page"
        ),
        "a deferred page, 4 GiB on three unaligned nodes (`three-nodes`)": exactly(
            "three-nodes", "per deferred page"
        ),
        "a page of the lower zones, from memmap init to being free": goals["a page of the lower zones"],
        **{
            f"whole boot to init, {name}, millions": exactly(machine, "boot to init")
            for name, machine in reversed(machines.items())
        },
        **{
            f"whole boot to init, {size} GiB, millions": with_ratio(
                *(boots[kernel][f"memory-{size}"]["boot"] for kernel in KERNELS)
            )
            for size in (64, 256, 768)
        },
        **{row: with_ratio(*(gib[kernel][name] for kernel in KERNELS)) for row, name in phases.items()},
        "of that, serial: on one CPU only, without hash tables and memory blocks": with_ratio(
            *(sum(gib[kernel][name] for name in alone) for kernel in KERNELS)
        ),
        **{f"{size} GiB": with_ratio(*both) for size, both in sleeping.items()},
        "768 GiB relative to 16 GiB": with_ratio(*times),
    }


# What is checked: every table of a part of the document, row by row

HELPERS = section("Threads and locks", end="How often")
PAGES_OF_CPUS = section("Native times", end="The same with its range")
PAGES = section("Native times", "The same with its range")
GIB_OF_CPUS = section("Huge pages", end="| us to zero 2 MiB")
MIB_OF_CPUS = section("Huge pages", "| us to zero 2 MiB", "By size, on")
HUGE = section("Huge pages", "By size, on")
ON_ZEN_4 = section("Huge pages", "On an AMD EPYC (family 25, Zen 4)", "These times are without")
MAINLINE_HELPERS = section("Linux 7.3", "Threads made", "Struct pages, natively")
MAINLINE_PAGES = section("Linux 7.3", "Struct pages, natively", "Huge pages, natively")
MAINLINE_HUGE = section("Linux 7.3", "Huge pages, natively")
ELAPSED = section("Instructions", "By the host's clock", "What runs in parallel")
COUNTED = section("Instructions", end="By the host's clock")
PARTS: dict[str, tuple[str, Callable[[], Rows]]] = {
    "instructions": (COUNTED, lambda: counted()),
    "helpers": (HELPERS, lambda: threads_made(HELPERS, DEFAULT)),
    "struct pages of CPUs": (
        PAGES_OF_CPUS,
        lambda: rows_of_cpus(PAGES_OF_CPUS, "bench.json", DEFAULT, under_uml),
    ),
    "struct pages": (PAGES, lambda: ranges(PAGES)),
    "1 GiB of CPUs": (GIB_OF_CPUS, lambda: rows_of_cpus(GIB_OF_CPUS, "hugepages.json", DEFAULT, one_gib)),
    "2 MiB of CPUs": (MIB_OF_CPUS, lambda: rows_of_cpus(MIB_OF_CPUS, "hugepages.json", DEFAULT, two_mib)),
    "huge pages": (HUGE, lambda: {**by_size(HUGE), **by_use(HUGE)}),
    "helpers on 7.3": (MAINLINE_HELPERS, lambda: threads_made(MAINLINE_HELPERS, MAINLINE)),
    "struct pages on 7.3": (
        MAINLINE_PAGES,
        lambda: rows_of_cpus(MAINLINE_PAGES, "bench.json", MAINLINE, natives_of_mainline),
    ),
    "huge pages on 7.3": (
        MAINLINE_HUGE,
        lambda: rows_of_cpus(MAINLINE_HUGE, "hugepages.json", MAINLINE, huge_of_mainline),
    ),
}


@pytest.mark.parametrize("part", list(PARTS))
def test_tables(part: str) -> None:
    """A row that is not known here has figures from nowhere."""
    text, known_rows = PARTS[part]
    told, known = dict(figures.rows_of_document(text)), known_rows()
    assert list(told) == list(known)
    for row, cells in told.items():
        check(cells, known[row])


# Figures in sentences


def of_uses() -> list[str]:
    zen3, zen4 = uses_of(HUGE), uses_of(ON_ZEN_4)
    end = last_page(2048)
    huge = recorded("hugepages.json", said=said_of(HUGE, "hugepages.json"))
    assert all(0.98 < ratio < 1.02 for ratio in uses_at_end(huge))
    of_stock = [of_stock for page, _longer, of_stock in zen4 if page == end]
    return [
        f"takes up to {max(longer for _page, longer, _of_stock in zen3):.1f} times as long",
        f"take {min(of_stock):.2f} to {max(of_stock):.2f} of stock's time",
    ]


def uses_at_end(huge: Any) -> list[float]:
    """Of stock's time, pages of all sizes that were touched at their end."""
    return [
        row["of_stock"]["value"]
        for row in huge["native_first_use"]
        if row["way"] == "ours" and row["page"] == last_page(row["kib"])
    ]


def uses_of(text: str) -> list[tuple[int, float, float]]:
    """Of 2 MiB: the touched page, how much longer it takes to use them, and both together of stock's time."""
    huge = recorded("hugepages.json", said=said_of(text, "hugepages.json"))
    rows = {(r["page"], r["how"], r["way"]): r for r in huge["native_first_use"] if r["kib"] == 2048}
    return [
        (page, one["use"]["median"] / rows[page, how, "stock"]["use"]["median"], one["of_stock"]["value"])
        for (page, how, way), one in rows.items()
        if way == "ours"
    ]


def of_readers() -> list[str]:
    zen3, zen4 = reads_of(HUGE), reads_of(ON_ZEN_4)
    return [
        f"{zen3[0]:.1f} to {zen3[1]:.1f} times as long as with stock, {zen3[2]:.2f} times at their end",
        f"with 512 KiB {zen3[3]:.1f} to {zen3[4]:.1f} times",
        f"takes {zen4[0]:.1f} to {zen4[1]:.1f} times as long as with stock if they are touched before,"
        f" {zen4[2]:.2f} times at their",
        f"with 512 KiB {zen4[3]:.1f} to {zen4[4]:.1f} times",
    ]


def reads_of(text: str) -> list[float]:
    """Of stock's time, 2 MiB touched at three places and 512 KiB at two, read in an order that is read from them."""
    huge = recorded("hugepages.json", said=said_of(text, "hugepages.json"))
    reads = {(row["kib"], row["page"]): row["of_stock"] for row in huge["native_dependent_reads"]}
    return [reads[key]["value"] for key in ((2048, 0), (2048, 170), (2048, 511), (512, 0), (512, 127))]


def of_helpers() -> list[str]:
    huge = recorded("hugepages.json", said=said_of(HUGE, "hugepages.json"))
    exact, helper = huge["exact"], huge["exact"]["helper"]
    share, last = (helper["chunk_more"] / 1000 / zeroed(huge, kib, "clzero") for kib in (4096, 512))
    leaves = helper["task"]["end"] - helper["boot"]["chunk"]
    return [
        f"{helper['task']['chunk'] - helper['boot']['chunk']:,} instructions more for each chunk",
        f"{helper['chunk_more']:,} if the task has a `cpu.max` at two levels",
        f"its last chunk not counted, {leaves:,} and {helper['end_more']:,} (",
        f"{share:.1%}".replace("%", " %"),
        f"{last:.0%}".replace("%", " %") + " of that for one of 512 KiB",
        f"executes {exact['fault']:,} instructions, {exact['job']:,} of them",
    ]


def of_boots() -> list[str]:
    text = section("Threads and locks", "The form of")
    said = said_of(text, "sweep-epyc-7551-kvm.csv")
    boots = recorded("compare-epyc-7551-kvm-small.json", said=said)
    (init,) = (one for one in boots["figures"] if one["name"] == "deferred init")
    stock, ours = (init[kernel]["median"] for kernel in KERNELS)
    low, high = (init["patched"][end] for end in ("low", "high"))
    return [
        f"{stock:.0f} ms with stock and {ours:.0f} ms with ours",
        f"from {low:.0f} to {high:.0f} ms",
        swept(said),
    ]


def swept(said: str) -> str:
    found = provenance.of_cpus("sweep-epyc-7551-kvm.csv", DEFAULT)
    lines = found[figures.slug_named(said, found)].read_text().splitlines()
    names, *rows = (line.split(",") for line in lines if not line.startswith("#"))
    medians = [float(row[names.index("deferred_init_median_ms")]) for row in rows]
    return f"from {min(medians):.0f} to {max(medians):.0f} ms"


def of_mainline() -> list[str]:
    (low3, high3), (low4, high4) = (
        figures.jobs_then_random(recorded("hugepages.json", MAINLINE, cpu))
        for cpu in ("family 25, Zen 3", "family 25, Zen 4")
    )
    earlier = ["11.4 ms at once, 11.8 ms with one", "11.6 ms with two"]  # of a commit that is named
    return [
        f"{low3:.2f} to {high3:.2f} times as long as with stock 7.3 on Zen 3",
        f"{low4:.2f} to {high4:.2f} times on Zen 4",
        *earlier,
    ]


# Times that comments of folio_zero.c have, as docs/results.md says.
BY_HAND = ("39 to 41 ms", "16 to 18 ms", "36 to 40 ms", "14.0 to 18.3 ms", "34.5 to 38.1 ms")
SENTENCES: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "struct pages": (PAGES, list),
    "huge pages": (HUGE, lambda: [*of_uses(), *of_readers(), *of_helpers(), *BY_HAND]),
    "boots": (section("Threads and locks", "The form of"), of_boots),
    "struct pages on 7.3": (MAINLINE_PAGES, list),
    "huge pages on 7.3": (MAINLINE_HUGE, of_mainline),
}


@pytest.mark.parametrize("part", list(SENTENCES))
def test_sentences(part: str) -> None:
    """All figures that are known are there, and no time that is not."""
    text, known_figures = SENTENCES[part]
    told, known = sentences(text), known_figures()
    assert [figure for figure in known if figure not in told] == []
    assert [time for time in _TIME.findall(told) if not any(time in figure for figure in known)] == []


# Times of boots

WAYS = {
    "stock": "stock",
    "ours, boot waits at once": elapsed.WAITING,
    "ours, boot continues": elapsed.BESIDE,
}


def elapsed_rows() -> Iterator[tuple[str, str, list[float]]]:
    """The first two cells of each row, and the figures that follow."""
    data = recorded("elapsed.json", said=ELAPSED)["initcall sleeps"]
    for said, sleep in {"2 s": "2000 ms", "no": "0 ms"}.items():
        for name, way in WAYS.items():
            medians = [data[sleep]["boots"][way][f"memory-{gib}"]["median"] for gib in elapsed.SIZES_GIB]
            yield name, said, [*medians, data[sleep]["ms_per_gib"][way]]


def test_elapsed_times() -> None:
    told = figures.rows_of_document(ELAPSED)
    for (name, cells), (known, said, values) in zip(told, elapsed_rows(), strict=True):
        assert (name, cells.partition(" | ")[0]) == (known, said)
        check(cells.partition(" | ")[2], values)
    for sleep in recorded("elapsed.json", said=ELAPSED)["initcall sleeps"].values():
        assert f"{sleep['ratio']:.3f}" in ELAPSED


# Of both bases and all parts, which does not depend on the CPU


def of_parts(figure: str, *parts: str) -> list[float]:
    found = recorded("parts.json", MAINLINE)["figures"]
    return [found[part][figure] for part in parts]


def of_both_bases() -> dict[str, list[float]]:
    """Rows: stock and ours on 6.12, stock and ours on 7.3."""
    both = [recorded("growth.json"), recorded("growth.json", MAINLINE)]

    def goal(name: str, unit: float = 1) -> list[float]:
        found = [one for growth in both for one in growth["goals"] if one["name"] == name]
        return [one[kernel] / unit for one in found for kernel in KERNELS]

    return {
        "a deferred page, 64 GiB": goal("a deferred page"),
        "a page of the lower zones": goal("a page of the lower zones"),
        "boot to init, a GiB": goal("whole boot to init, a GiB", 1e-6),
    }


def test_of_both_bases_and_of_all_parts() -> None:
    parts = recorded("parts.json", MAINLINE)["figures"]
    told = figures.rows_of_document(section("Linux 7.3"))
    for row, values in of_both_bases().items():
        check(next(cells for name, cells in told if name == row), values)
    for row in parts["stock"]:
        check([cells for name, cells in told if name == row][-1], of_parts(row, *parts))


# CPUs


def test_every_cpu_is_in_the_table_of_cpus() -> None:
    slugs = {
        path.name for base in paths.bases() for path in (paths.results_of(base) / provenance.CPUS).iterdir()
    }
    table = figures.rows_of_document(TEXT.partition("\nContents:")[0])
    told = {cells.partition("`")[2].partition("`")[0]: name for name, cells in table}
    assert set(told) == slugs
    assert all(figures.slug_named(name, slugs) == slug for slug, name in told.items())


def test_a_file_is_of_the_cpu_that_is_named_beside_it() -> None:
    named = [one for one in TEXT.split("\n\n") if _OF_CPU.search(one) and "(family " in one]
    assert len(named) > 5
    for one in named:
        slugs = set(_OF_CPU.findall(one))
        assert slugs == {figures.slug_named(one, slugs)}


def test_every_result_says_the_cpu_of_its_folder() -> None:
    for base in paths.bases():
        for path in (paths.results_of(base) / provenance.CPUS).glob("*/*.json"):
            host = json.loads(path.read_text())["host"]
            assert figures.slug_named(host, [path.parent.name]) == path.parent.name
