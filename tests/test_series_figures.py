# SPDX-License-Identifier: GPL-2.0-only
"""The figures in messages of a base whose series is in parts, and in docs/results.md, are those recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from padlab.core import paths
from padlab.measure import structpages

BASE = "7.3"
CPUS = ("epyc-7551-kvm-small", "epyc-7551-kvm", "cpus-64")
KERNELS = ("stock", "patched")
WAYS = (("mainline", 1), ("whole", 1), ("ours", 1), ("ours", 2))


def recorded(name: str) -> Any:
    return json.loads((paths.RECORDED / BASE / name).read_text())


def of_parts(figure: str, *parts: str) -> list[float]:
    figures = recorded("parts.json")["figures"]
    return [figures[part][figure] for part in parts]


def threads_made(machine: str) -> list[float]:
    found = recorded("starts.json")["machines"][machine]
    return [found["stock"]["queued"], *(found[kernel]["made"] for kernel in KERNELS)]


def zeroed(kib: int, unit_us: int, ways: Sequence[tuple[str, int]] = WAYS) -> list[float]:
    """How long it takes to zero a page, by way and number of threads."""
    rows = {(row["kib"], row["way"], row["threads"]): row for row in recorded("hugepages.json")["native"]}
    return [rows[kib, *way]["us"]["median"] / unit_us for way in ways]


def tables() -> dict[str, dict[str, list[float]]]:
    """Message -> the beginning of a row -> what its cells are."""
    pages = ("a deferred page", "a page of the lower zones", "boot to init, a GiB")
    helper = recorded("hugepages.json")["exact"]["helper"]
    critical = recorded("growth.json")["critical_ms"]
    stores = {
        "rep stosb, page by page": "stock",
        "rep stosb, extents of 32 MiB": "mainline",
        "rep stosb, one for all": "whole",
        "CLZERO, 2 MiB and a fence at a time": "clzero",
        "this patch": "ours",
    }
    return {
        "15-x86-zero-pages": {row: zeroed(1 << 20, 1000, [(way, 1)]) for row, way in stores.items()},
        "cover-engine": {
            **{f"{made} CPUs": threads_made(name) for made, name in zip((4, 16, 64), CPUS, strict=True)},
            **{page: of_parts(page, "stock", "1-engine") for page in pages},
        },
        "cover-memmap": {page: of_parts(page, "stock", "1-engine", "2-memmap") for page in pages},
        "07-mm-memmap-bulk": {page: of_parts(page, "stock", "2-memmap") for page in pages},
        "cover-deferred": {page: of_parts(page, "stock", "2-memmap", "3-deferred") for page in pages},
        "cover-async": {
            **{page: of_parts(page, "stock", "3-deferred", "4-async") for page in pages},
            **{f"{gib} GiB": [critical[kernel][f"memory-{gib}"] for kernel in KERNELS] for gib in (16, 256)},
        },
        "cover-limits": {
            "for each chunk": [helper[kind]["chunk"] for kind in ("boot", "task", "limited")],
            "when it begins": [helper[kind]["begin"] for kind in ("boot", "task", "limited")],
            "when it leaves": [helper[kind]["end"] for kind in ("boot", "task", "limited")],
        },
        "cover-huge-pages": {
            "2 MiB, us": zeroed(2048, 1),
            "1 GiB, ms": zeroed(1 << 20, 1000),
        },
    }


def of_both_bases() -> dict[str, list[float]]:
    """Rows of docs/results.md: stock and ours on 6.12, stock and ours on 7.3."""
    growth = json.loads((paths.RECORDED / "growth.json").read_text())
    boots = growth["boots"]
    goals = {goal["name"]: [goal[kernel] for kernel in KERNELS] for goal in growth["goals"]}

    def grown(kernel: str, *keys: str) -> float:
        small, large = (boots[kernel][f"memory-{gib}"] for gib in (64, 256))
        for key in keys:
            small, large = small[key], large[key]
        return float(large - small)

    pages = grown("patched", "pages")
    last = ("stock", list(recorded("parts.json")["figures"])[-1])
    return {
        "a deferred page": [
            *(1e6 * grown(kernel, "phases", "deferred init") / pages for kernel in KERNELS),
            *of_parts("a deferred page", *last),
        ],
        "a page of the lower zones": [
            *goals["a page of the lower zones"],
            *of_parts("a page of the lower zones", *last),
        ],
        "boot to init, a GiB": [
            *(1e6 * grown(kernel, "boot") / 192 for kernel in KERNELS),
            *of_parts("boot to init, a GiB", *last),
        ],
    }


def test_of_both_bases_and_of_all_parts() -> None:
    text = (paths.ROOT / "docs/results.md").read_text()
    section = text[text.index("\n## Linux 7.3\n") :]
    parts = list(recorded("parts.json")["figures"])
    for row, values in of_both_bases().items():
        lines = [line for line in section.splitlines() if line.startswith(f"| {row} |")]
        for line, told in zip(lines, (values, of_parts(row, *parts)), strict=True):
            check(line, [cell.strip() for cell in line.strip("|").split("|")][1:], told)


def of_natives() -> dict[str, list[float]]:
    """Rows of docs/results.md."""
    rows = {
        (row["bench"], row["threads"], row["way"]): row["ns"]["median"]
        for bench in recorded("bench.json")["benches"]
        for row in bench["rows"]
    }
    titles = {
        "UML, 1 thread": ("UML", 1),
        "userspace, 1 thread": ("userspace", 1),
        "userspace, 2 threads": ("userspace", 2),
    }
    return {
        **{row: [rows[*key, way] for way in ("stock", structpages.OURS)] for row, key in titles.items()},
        "2 MiB, us": zeroed(2048, 1),
        "1 GiB, ms": zeroed(1 << 20, 1000),
    }


@pytest.mark.parametrize("row", list(of_natives()))
def test_of_native_times(row: str) -> None:
    text = (paths.ROOT / "docs/results.md").read_text()
    section = text[text.index("\n## Linux 7.3\n") :]
    (line,) = (line for line in section.splitlines() if line.startswith(f"| {row} |"))
    check(line, [cell.strip() for cell in line.strip("|").split("|")][1:], of_natives()[row])


def check(line: str, cells: Sequence[str], values: Sequence[float]) -> None:
    for cell, value in zip(cells, values, strict=True):
        assert cell == f"{value:,.{len(cell.partition('.')[2])}f}", f"{line}: recorded is {value}"


def prose() -> dict[str, list[str]]:
    """Message -> figures in its sentences."""
    (stock, ours) = zeroed(2048, 1, [("mainline", 1), ("ours", 1)])
    (bare,) = zeroed(1 << 20, 1000, [("split", 2)])
    return {
        "15-x86-zero-pages": [f"stock takes {stock:.1f} us", f"this patch {ours:.1f} us"],
        "cover-huge-pages": [
            f"need {bare:.1f} ms",
            f"{recorded('hugepages.json')['exact']['fault']:,} instructions",
        ],
    }


@pytest.mark.parametrize("message", list(prose()))
def test_in_the_sentences_of_a_message(message: str) -> None:
    text = (paths.BASES / BASE / "series" / f"{message}.msg").read_text()
    assert [figure for figure in prose()[message] if figure not in " ".join(text.split())] == []


@pytest.mark.parametrize("message", list(tables()))
def test_of_a_message(message: str) -> None:
    text = (paths.BASES / BASE / "series" / f"{message}.msg").read_text()
    for row, values in tables()[message].items():
        (line,) = (line.strip() for line in text.splitlines() if line.strip().startswith(row))
        check(line, line.removeprefix(row).split(), values)
