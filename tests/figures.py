# SPDX-License-Identifier: GPL-2.0-only
"""What is recorded, for tests that hold figures of documents and messages to it.

Results that depend on the CPU are those of the CPU that a text names, by its family and,
where that is not enough, its model or generation: "AMD EPYC (family 25, Zen 4)".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from padlab.core import paths
from padlab.measure import provenance, structpages

DEFAULT = paths.DEFAULT_BASE
# What cells hold beside figures is text that has to be there.
Values = Sequence[float | str]

_CODE = re.compile(r"`[^`]*`")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
_NAMED = re.compile(r"\bfamily (\d+)(?:, model (\d+))?(?:, (Zen \d))?")
# As in the kernel's bsp_init_amd().
_FAMILY_25 = {"Zen 3": (*range(0x10), *range(0x20, 0x60)), "Zen 4": (*range(0x10, 0x20), *range(0x60, 0xB0))}
# A row of a message: what it is, and figures to the end of the line.
_CELL = r"(?:[\d,.]*\d(?: (?:ms|us|ns))?|n/a)"
_ROW = re.compile(rf" {{2,}}(\S.*?) +({_CELL}(?: +{_CELL})*)")


def slug_named(said: str, slugs: Iterable[str]) -> str:
    """Of these CPUs, the one that a text names."""
    found = set()
    for family, model, zen in _NAMED.findall(" ".join(said.split())):
        fits = [slug for slug in slugs if _is_of(slug, family, model, zen)]
        assert len(fits) == 1, f"family {family}, {model or zen or 'no more'} is one of {fits} in: {said}"
        found.add(fits[0])
    assert len(found) == 1, f"not one CPU is named, but {sorted(found)}, in: {said}"
    return found.pop()


def _is_of(slug: str, family: str, model: str, zen: str) -> bool:
    match = re.fullmatch(rf"[a-z]+-family-{family}-model-(\d+)", slug)
    if not match or (model and model != match[1]):
        return False
    return family != "25" or not zen or int(match[1]) in _FAMILY_25[zen]


def recorded(name: str, base: str = DEFAULT, said: str = "") -> Any:
    """A result; ``said`` names the CPU of what depends on one."""
    path = paths.results_of(base) / name
    if provenance.is_of_cpu(name):
        found = provenance.of_cpus(name, base)
        path = found[slug_named(said, found)]
    return json.loads(path.read_text())


def check(line: str, values: Values) -> None:
    """All figures of a line are these, rounded to as many decimals as it has; `code` has none."""
    figures = [value for value in values if not isinstance(value, str)]
    cells = _NUMBER.findall(_CODE.sub("", line))
    for cell, value in zip(cells, figures, strict=True):
        assert cell == f"{value:,.{len(cell.partition('.')[2])}f}", f"{line}: recorded is {value}"
    for text in values:
        assert not isinstance(text, str) or text in line, f"{line}: recorded is {text}"


def rows_of_document(text: str) -> list[tuple[str, str]]:
    """Of tables in Markdown: the first cell of each row, and the others; without their headings."""
    rows = []
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        for line in table.splitlines()[2:]:
            first, _, rest = line.strip("| ").partition(" | ")
            rows.append((first, rest))
    return rows


def rows_of_message(text: str) -> list[tuple[str, str]]:
    """The same of tables in messages, which have nothing but spaces between their cells."""
    lines = [line for line in text.splitlines() if "  " in line.strip()]
    return [(found[1], found[2]) for found in map(_ROW.fullmatch, lines) if found]


def natives(data: Any) -> dict[tuple[str, int, str], Any]:
    """Of bench.json: rows by program, threads and way."""
    return {
        (row["bench"], row["threads"], row["way"]): row for bench in data["benches"] for row in bench["rows"]
    }


def zeroed(data: Any, kib: int, way: str, threads: int = 1, unit_us: float = 1) -> float:
    """Of hugepages.json: how long it takes to zero a page."""
    rows = {(row["kib"], row["way"], row["threads"]): row["us"]["median"] for row in data["native"]}
    return float(rows[kib, way, threads]) / unit_us


def gib_ms(data: Any, way: str, threads: int = 1) -> float:
    """Of hugepages.json: how many milliseconds it takes to zero 1 GiB."""
    return zeroed(data, 1 << 20, way, threads, 1000)


def two_of_one(data: Any) -> dict[int, float]:
    """Of hugepages.json: what two threads of ours take of the time of one, by KiB."""
    sizes = [row["kib"] for row in data["native"] if (row["way"], row["threads"]) == ("ours", 2)]
    return {kib: zeroed(data, kib, "ours", 2) / zeroed(data, kib, "ours") for kib in sizes}


def bench_row(data: Any, bench: str, threads: int, ways: Sequence[str]) -> list[float]:
    """Medians by way."""
    return [natives(data)[bench, threads, way]["ns"]["median"] for way in ways]


def jobs_then_random(data: Any) -> tuple[float, float]:
    """Of stock's time, 2 MiB that a job zeroed and that are then used at random: least and most by touched page."""
    rows = [row for row in data["native_first_use_job"] if (row["kib"], row["how"]) == (2048, "random")]
    ratios = [row["of_stock"]["value"] for row in rows if row["way"] == "ours"]
    return min(ratios), max(ratios)


STOCK_AND_OURS = ("stock", structpages.OURS)
WITH_LIMIT = (*STOCK_AND_OURS, structpages.LIMIT)
