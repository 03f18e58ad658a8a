# SPDX-License-Identifier: GPL-2.0-only
"""The figures in messages of the series of each base are those recorded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from padlab.core import paths
from padlab.measure import elapsed
from tests import figures
from tests.figures import (
    DEFAULT,
    STOCK_AND_OURS,
    WITH_LIMIT,
    Values,
    bench_row,
    check,
    gib_ms,
    recorded,
    two_of_one,
    zeroed,
)

MAINLINE = "7.3"
CPUS = ("epyc-7551-kvm-small", "epyc-7551-kvm", "cpus-64")
KERNELS = ("stock", "patched")
WAYS = (("stock", 1), ("ours", 1), ("ours", 2))
MESSAGES = {
    **{(DEFAULT, path.stem): path for path in sorted((paths.ROOT / "series").glob("*.msg"))},
    **{(MAINLINE, path.stem): path for path in sorted((paths.BASES / MAINLINE / "series").glob("*.msg"))},
}
# Instructions that are recorded beside times are those of any CPU.
EXACT_ON = "family 25, Zen 4"
Rows = list[tuple[str, Values]]
# Times in sentences that are not ours: of others' series, as their authors report them, one that is
# calculated, and a parameter.
NOT_OURS = {
    (DEFAULT, "08-mm-deferred-init"): ["10 ms"],
    (MAINLINE, "19-mm-deferred-wait"): ["10 ms"],
    (DEFAULT, "16-hugetlbfs-populate"): ["2 ms"],
    (MAINLINE, "cover-memmap"): ["97 ms"],
    (MAINLINE, "cover-deferred"): ["304 ms", "32 ms"],
}
_TIME = re.compile(r"\d[\d.,]* (?:ns|us|ms)\b")


def text_of(key: tuple[str, str]) -> str:
    return MESSAGES[key].read_text()


def said_before(text: str, row: str) -> str:
    """What is said of a row: the last paragraph before its table, whose lines are indented."""
    paragraphs = text[: text.index(row)].split("\n\n")
    return next(one for one in reversed(paragraphs) if one and not one.startswith(" "))


# Rows that count, which do not depend on the CPU


def of_parts(figure: str, *parts: str) -> list[float]:
    found = recorded("parts.json", MAINLINE)["figures"]
    return [found[part][figure] for part in parts]


def of_pages(*parts: str) -> Rows:
    pages = ("a deferred page", "a page of the lower zones", "boot to init, a GiB")
    return [(page, of_parts(page, *parts)) for page in pages]


def goal(name: str) -> list[float]:
    (found,) = (one for one in recorded("growth.json")["goals"] if one["name"] == name)
    return [found[kernel] for kernel in KERNELS]


def per_gib(name: str) -> list[float]:
    found = recorded("growth.json")["per_gib"]
    return [1e6 * found[kernel][name] for kernel in KERNELS]


def critical(base: str, gib: int) -> list[float]:
    found = recorded("growth.json", base)["critical_ms"]
    return [found[kernel][f"memory-{gib}"] for kernel in KERNELS]


def of_machine(machine: str) -> list[float]:
    """A deferred page of a machine."""
    found = {one["name"]: one for one in recorded(f"compare-{machine}-exact.json")["figures"]}
    return [found["per deferred page"][kernel]["median"] for kernel in KERNELS]


def counted() -> dict[tuple[str, str], Rows]:
    boots = recorded("growth.json")["boots"]
    small, large = critical(DEFAULT, 16), critical(DEFAULT, 768)
    return {
        (DEFAULT, "00-cover"): [
            ("a deferred page", goal("a deferred page")),
            ("a page below 4 GiB, until it is free", goal("a page of the lower zones")),
            ("boot to init, per GiB", per_gib("whole boot to init")),
            ("boot to init, 768 GiB, millions", [boots[kernel]["memory-768"]["boot"] for kernel in KERNELS]),
            (
                "with 16 GiB, beside that initcall",
                [most / least for most, least in zip(large, small, strict=True)],
            ),
        ],
        (DEFAULT, "07-mm-memmap-bulk"): [
            ("a page below 4 GiB, until it is free", goal("a page of the lower zones")),
            ("from deferred init to devtmpfs, per GiB", per_gib("serial rest after it")),
        ],
        (DEFAULT, "08-mm-deferred-init"): [
            ("64 GiB, one node", goal("a deferred page")),
            ("16 GiB, one node", of_machine("epyc-7551-kvm-small")),
            ("4 GiB, three unaligned nodes", of_machine("three-nodes")),
            *((f"{gib} GiB", critical(DEFAULT, gib)) for gib in (16, 256, 768)),
        ],
        (MAINLINE, "cover-engine"): of_pages("stock", "1-engine"),
        (MAINLINE, "cover-memmap"): of_pages("stock", "1-engine", "2-memmap"),
        (MAINLINE, "07-mm-memmap-bulk"): of_pages("stock", "2-memmap"),
        (MAINLINE, "08-mm-deferred-init"): of_pages("2-memmap", "3-deferred"),
        (MAINLINE, "cover-deferred"): of_pages("stock", "2-memmap", "3-deferred"),
        (MAINLINE, "19-mm-deferred-wait"): [(f"{gib} GiB", critical(MAINLINE, gib)) for gib in (16, 256)],
        (MAINLINE, "cover-async"): [
            *of_pages("stock", "3-deferred", "4-async"),
            *((f"{gib} GiB", critical(MAINLINE, gib)) for gib in (16, 256)),
        ],
    }


# Rows that depend on the CPU that their text names


def stores(said: str, base: str, names: dict[str, str]) -> Rows:
    huge = recorded("hugepages.json", base, said)
    return [(row, [gib_ms(huge, way)]) for row, way in names.items()]


def used(said: str) -> Rows:
    """Pages of 2 MiB that are zeroed and then used."""
    huge = recorded("hugepages.json", said=said)
    uses = [*huge["native_first_use"], *huge["native_dependent_reads"]]
    of = {(r["page"], r["how"], r["way"]): r for r in uses if r["kib"] == 2048}

    def pair(page: int, how: str, what: str) -> list[float]:
        return [of[page, how, way][what]["median"] for way in ("stock", "ours")]

    rows: Rows = []
    for where, page in {"at its start": 0, "after a third": 170}.items():
        rows.append((f"2 MiB, touched {where}", pair(page, "forward", "zero")))
        rows.append(("and half of it used from there on", pair(page, "forward", "both")))
        rows.append(("and half of it used at random", pair(page, "random", "both")))
    return [
        *rows,
        ("2 MiB, touched at its end", pair(511, "forward", "zero")),
        ("from what was read before", pair(511, "dependent", "both")),
        ("2 MiB, touched at its start, read so", pair(0, "dependent", "both")),
    ]


def threads_made(said: str) -> Rows:
    machines = recorded("starts.json", MAINLINE, said)["machines"]
    return [
        (f"{cpus} CPUs", [of["stock"]["queued"], *(of[kernel]["made"] for kernel in KERNELS)])
        for cpus, of in zip((4, 16, 64), (machines[name] for name in CPUS), strict=True)
    ]


def helpers(_said: str) -> Rows:
    found = recorded("hugepages.json", MAINLINE, EXACT_ON)["exact"]["helper"]
    kinds = [found[kind] for kind in ("boot", "task", "limited")]
    ends = [max(kind["end"] - found["boot"]["chunk"], 0) for kind in kinds]  # without the last chunk
    return [("for each chunk", [kind["chunk"] for kind in kinds]), ("when it leaves", ends)]


def of_threads(said: str, base: str) -> Rows:
    bench = recorded("bench.json", base, said)
    rows = {"one thread": 1, "two threads": 2}
    return [(row, bench_row(bench, "userspace", threads, WITH_LIMIT)) for row, threads in rows.items()]


def cover(said: str) -> Rows:
    bench = recorded("bench.json", said=said)
    return [
        ("User-mode Linux, one CPU", bench_row(bench, "UML", 1, STOCK_AND_OURS)),
        ("userspace, two threads", bench_row(bench, "userspace", 2, STOCK_AND_OURS)),
        ("what the memory takes, one CPU", bench_row(bench, "UML", 1, WITH_LIMIT[-1:])),
    ]


def folio(said: str) -> Rows:
    huge = recorded("hugepages.json", said=said)
    stock, one, two = gib_ms(huge, "stock"), gib_ms(huge, "ours"), gib_ms(huge, "ours", 2)
    return [("1 GiB, one thread", [stock, one]), ("1 GiB, two threads", ["n/a", two]), *used(said)]


def several(said: str) -> Rows:
    huge = recorded("hugepages.json", MAINLINE, said)
    sizes = {"2 MiB, us": (2048, 1), "1 GiB, ms": (1 << 20, 1000)}
    return [
        (row, [zeroed(huge, kib, way, threads, unit) for way, threads in WAYS])
        for row, (kib, unit) in sizes.items()
    ]


def timed(key: tuple[str, str], text: str) -> Rows:
    """Those of a message; the CPU is named by what is said before the first of them."""
    ways = {
        "rep stosb, extents of 32 MiB": "mainline",
        "CLZERO, 2 MiB and a fence at a time": "clzero",
        "this patch": "ours",
    }
    makers: dict[tuple[str, str], tuple[str, Any]] = {
        (DEFAULT, "00-cover"): ("  User-mode Linux", cover),
        (DEFAULT, "10-x86-memmap-bulk"): ("  one thread", lambda said: of_threads(said, DEFAULT)),
        (DEFAULT, "14-mm-folio-zero"): ("  1 GiB", folio),
        (DEFAULT, "15-x86-zero-pages"): (
            "  clear_page()",
            lambda said: stores(
                said,
                DEFAULT,
                {"clear_page(), page by page": "stock", "rep stosb, one for all": "whole", **ways},
            ),
        ),
        (MAINLINE, "10-x86-memmap-bulk"): ("  one thread", lambda said: of_threads(said, MAINLINE)),
        (MAINLINE, "15-x86-zero-pages"): (
            "  rep stosb",
            lambda said: stores(said, MAINLINE, {"rep stosb, one for all, as in stock": "stock", **ways}),
        ),
        (MAINLINE, "cover-engine"): ("  4 CPUs", threads_made),
        (MAINLINE, "cover-limits"): ("  for each chunk", helpers),
        (MAINLINE, "cover-huge-pages"): ("  2 MiB, us", several),
    }
    if key not in makers:
        return []
    first, maker = makers[key]
    rows: Rows = maker(said_before(text, first))
    return rows


def expected(key: tuple[str, str], text: str) -> Rows:
    return [*counted().get(key, []), *timed(key, text)]


@pytest.mark.parametrize("key", list(MESSAGES), ids="/".join)
def test_tables_of_a_message(key: tuple[str, str]) -> None:
    """A row that is not known here has figures from nowhere."""
    text = text_of(key)
    told, known = figures.rows_of_message(text), expected(key, text)
    assert sorted(what for what, _ in told) == sorted(what for what, _ in known)
    for what in dict.fromkeys(what for what, _ in told):
        values = [row for name, row in known if name == what]
        for cells, row in zip([row for name, row in told if name == what], values, strict=True):
            check(cells, row)


# Sentences


def prose() -> dict[tuple[str, str], list[str]]:
    """Message -> figures in its sentences."""
    old, new = ({"base": base, "said": text_of((base, "15-x86-zero-pages"))} for base in (DEFAULT, MAINLINE))
    huge, mainline = recorded("hugepages.json", **old), recorded("hugepages.json", **new)
    intel = recorded("hugepages.json", said=text_of((DEFAULT, "14-mm-folio-zero")).partition("Intel")[2])
    zen3 = recorded("hugepages.json", said=text_of((DEFAULT, "00-cover")))
    bare = gib_ms(mainline, "split", 2)
    return {
        (DEFAULT, "00-cover"): [
            f"zeroes 1 GiB in {gib_ms(zen3, 'ours'):.1f} ms instead of {gib_ms(zen3, 'stock'):.1f} ms",
            f"takes {read_at_random(zen3):.1f} times as long",
            f"{read_at_random(huge):.1f} times on the next generation (Zen 4)",
            kthreads(
                (DEFAULT, "00-cover"), "{} before and 0 after on 16 CPUs, {} before and 0 after on 64 CPUs"
            ),
        ],
        (DEFAULT, "02-padata-engine"): [
            kthreads((DEFAULT, "02-padata-engine"), "{} kthreads were created on 16 CPUs and {} on 64 CPUs")
        ],
        (DEFAULT, "08-mm-deferred-init"): grows(text_of((DEFAULT, "08-mm-deferred-init"))),
        (DEFAULT, "10-x86-memmap-bulk"): [*uses(DEFAULT), *few_of_old()],
        (DEFAULT, "14-mm-folio-zero"): [
            f"{gib_ms(huge, 'stock'):.1f} ms for 1 GiB",
            f"{gib_ms(intel, 'ours'):.1f} ms for 1 GiB with one thread and {gib_ms(intel, 'ours', 2):.1f} ms with two",
            f"the old loop took {gib_ms(intel, 'stock'):.1f} ms",
            f"{round(zen3['exact']['fault'], -2):,} instructions are executed",
            f"in {two_of_one(huge)[2048]:.2f} of the time on this machine, and in {two_of_one(zen3)[2048]:.2f} on its predecessor",
            second_thread(huge),
        ],
        (MAINLINE, "10-x86-memmap-bulk"): [*uses(MAINLINE), few_of_new()],
        (MAINLINE, "14-mm-folio-zero"): [
            f"{gib_ms(mainline, 'stock'):.1f} ms for 1 GiB",
            f"1 GiB takes one thread {gib_ms(mainline, 'ours'):.1f} ms and two {gib_ms(mainline, 'ours', 2):.1f} ms",
            f"2 MiB in {zeroed(mainline, 2048, 'ours', 2):.1f} us, and one in {zeroed(mainline, 2048, 'ours'):.1f} us",
        ],
        (MAINLINE, "15-x86-zero-pages"): [
            f"{zeroed(mainline, 4096, 'mainline'):.1f} us each and CLZERO {zeroed(mainline, 4096, 'clzero'):.1f} us",
        ],
        (MAINLINE, "cover-huge-pages"): [
            f"take {jobs_then_random('family 25, Zen 4'):.1f} times as long as in stock on that machine",
            f"and {jobs_then_random('family 25, Zen 3'):.1f} times on its predecessor (Zen 3)",
            f"need {bare:.1f} ms",
            f"{mainline['exact']['fault']:,} instructions",
        ],
    }


def kthreads(key: tuple[str, str], words: str) -> str:
    """What stock made while helpers of deferred init started, and that ours made none."""
    machines = recorded("starts.json", said=text_of(key))["machines"]
    assert not any(machines[name]["patched"]["made"] for name in CPUS)
    return words.format(*(machines[name]["stock"]["made"] for name in CPUS[1:]))


def jobs_then_random(cpu: str) -> float:
    return figures.jobs_then_random(recorded("hugepages.json", MAINLINE, cpu))[0]


def second_thread(huge: Any) -> str:
    """What large pages take with two threads, of what they take with one."""
    threads = {(row["kib"], row["threads"]): row for row in huge["native"] if row["way"] == "ours"}
    pairs = [(threads[kib, 1], two) for (kib, count), two in threads.items() if count == 2 and kib >= 4096]
    times = [ratio for kib, ratio in two_of_one(huge).items() if kib >= 4096]
    cpu = max(two["cpu_us"]["median"] / one["cpu_us"]["median"] for one, two in pairs)
    assert [two["kib"] for _one, two in pairs if not two["of_one"]["noise"]] == [1 << 20]
    return f"take {min(times):.2f} to {max(times):.2f} of the time of one, for up to {cpu:.1f} times the CPU time"


def read_at_random(huge: Any) -> float:
    """Of stock's time, with 2 MiB that were touched at their start, in an order that is read from them."""
    rows = {(row["kib"], row["page"], row["way"]): row for row in huge["native_dependent_reads"]}
    return float(rows[2048, 0, "ours"]["of_stock"]["value"])


def grows(said: str) -> list[str]:
    """What a GiB adds to a boot by the host's clock, with an initcall that sleeps and without one."""
    sleeps = recorded("elapsed.json", said=said)["initcall sleeps"]
    (goes_on, waits, before), (goes_on_0, waits_0, before_0) = (
        [sleeps[sleep]["ms_per_gib"][way] for way in (elapsed.BESIDE, elapsed.WAITING, "stock")]
        for sleep in ("2000 ms", "0 ms")
    )
    return [
        f"adds {goes_on:.2f} ms to that boot; {waits:.2f} ms with deferred_init=sync, and {before:.2f} ms before",
        f"it adds {goes_on_0:.2f}, {waits_0:.2f} and {before_0:.2f} ms",
    ]


def past_the_cache(base: str, *uses: str, cpu: str = "") -> list[float]:
    """Of the time with plain stores, what is not freed together would take with movnti."""
    bench = recorded("bench.json", base, cpu or text_of((base, "10-x86-memmap-bulk")))
    rows = {(row["use"], row["way"]): row for one in bench["benches"] for row in one["uses"]}
    return [rows[use, "movnti"]["ns"]["median"] / rows[use, "ours"]["ns"]["median"] for use in uses]


# Uses of pages whose number does not grow with memory.
FEW = ("early", "early_large", "reserved")


def gains(*ratios: float) -> str:
    return f"would gain {100 * (1 - max(ratios)):.0f} to {100 * (1 - min(ratios)):.0f} %"


def few_of_old() -> list[str]:
    early, large, reserved = past_the_cache(DEFAULT, *FEW)
    others = [past_the_cache(DEFAULT, *FEW, cpu=cpu) for cpu in ("family 25, Zen 3", "family 26")]
    return [
        f"reserved pages {reserved:.2f} times, and early ones {min(early, large):.2f} to {max(early, large):.2f} times",
        f"early and reserved ones {gains(*others[0], *others[1])}",
    ]


def few_of_new() -> str:
    return f"Early and reserved pages {gains(*past_the_cache(MAINLINE, *FEW))}"


def uses(base: str) -> list[str]:
    hotplug, singly = past_the_cache(base, "hotplug", "singly")
    return [
        f"hotplug of 128 MiB would take {hotplug:.1f} times as long",
        f"blocks that are freed one by one {singly:.1f} times",
    ]


def said_in_sentences(text: str) -> str:
    """Without tables, which are indented by two columns; an item of a list goes on after three."""
    lines = (line for line in text.splitlines() if not re.match(r"  (?! \S)", line))
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize("key", list(MESSAGES), ids="/".join)
def test_sentences_of_a_message(key: tuple[str, str]) -> None:
    """All figures that are known are there, and no time that is not."""
    text, known = said_in_sentences(text_of(key)), prose().get(key, [])
    assert [figure for figure in known if figure not in text] == []
    sources: Sequence[str] = [*known, *NOT_OURS.get(key, [])]
    assert [time for time in _TIME.findall(text) if not any(time in source for source in sources)] == []


@pytest.mark.parametrize("key", [key for key in MESSAGES if key[0] == DEFAULT], ids="/".join)
def test_no_message_has_figures_of_another_base(key: tuple[str, str]) -> None:
    if figures.rows_of_message(text_of(key)) or prose().get(key):
        assert (MAINLINE, key[1]) in MESSAGES, f"7.3 has no message {key[1]} of its own"


class TestReaders:
    """The tests above see what they should."""

    def test_rows(self, tmp_path: Path) -> None:
        text = "Words 12\n\n      stock   ours\n  1 GiB, one thread   45.5 ms  12.3 ms\n    b  n/a  1,500\n  x=1 y=2\n"
        assert figures.rows_of_message(text) == [
            ("1 GiB, one thread", "45.5 ms  12.3 ms"),
            ("b", "n/a  1,500"),
        ]

    def test_a_figure_that_is_not_recorded(self) -> None:
        check("1,234 and 0.5", [1234.4, 0.46])
        for line in ("1,235 and 0.5", "1,234", "1,234 and 0.5 and 7"):
            with pytest.raises((AssertionError, ValueError)):
                check(line, [1234.4, 0.46])

    def test_the_cpu_that_is_named(self) -> None:
        slugs = ["amd-family-26-model-2", "intel-family-6-model-106", "intel-family-6-model-143"]
        assert figures.slug_named("an AMD EPYC (family\n26, Zen 5)", slugs) == slugs[0]
        assert figures.slug_named("an Intel Xeon (family 6, model 143)", slugs) == slugs[2]
        slugs += ["amd-family-25-model-1", "amd-family-25-model-17"]
        assert figures.slug_named("an AMD EPYC (family 25, Zen 3)", slugs) == "amd-family-25-model-1"
        assert figures.slug_named("an AMD EPYC (family 25,\nZen 4)", slugs) == "amd-family-25-model-17"
        assert figures.slug_named("family 25, model 1", slugs) == "amd-family-25-model-1"
        for text in ("an AMD EPYC", "family 6", "family 26 and family 6, model 143", "family 25"):
            with pytest.raises(AssertionError):
                figures.slug_named(text, slugs)
