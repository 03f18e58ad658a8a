# SPDX-License-Identifier: GPL-2.0-only
"""``./lab chart``: what a struct page costs, stock beside patched, as a picture for the README.

It is drawn from recorded results alone: instructions from growth.json of all bases, times
from bench.json of all bases and of all CPUs that it was recorded on.  Nothing is measured here.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from padlab.core import paths, plot, table
from padlab.core.errors import LabError
from padlab.measure import provenance, structpages

NAME = "chart.png"
# The goals of ./lab growth that are shown, and how they are called in the picture.
GOALS = {
    "a deferred page": "deferred page",
    "a page of the lower zones": "page below 4 GiB",
}
BENCHES = {"UML": "User-mode Linux", "userspace": "userspace"}

_WHAT = "drawing the chart"
_WIDTH, _HEIGHT, _MORE = 10.5, 6.0, 0.75  # inches; more for each group from the seventh on
_GROUPS = 6
_FILLER = re.compile(r"\(R\)| Processor| CPU| @.*")  # of CPUs' names
_STOCK, _PATCHED = "#a8a8a8", "#3b7dc4"


@dataclass(frozen=True)
class Recorded:
    """A file of results/ and the command that records it."""

    path: Path
    command: str
    data: dict[str, Any]


def main() -> int:
    """Draw, and say which files it was drawn from."""
    growths = {base: read(base, "growth.json", "growth --large") for base in paths.bases()}
    benches = {base: read_all(base, "bench.json", "bench") for base in paths.bases()}
    picture = draw(growths, benches)
    path = paths.RECORDED / NAME
    provenance.write(path, picture)
    out = table.console()
    for source in (*growths.values(), *itertools.chain(*benches.values())):
        out.print(f"drawn from {source.path}", markup=False, soft_wrap=True)
    out.print(f"recorded in {path}", markup=False, soft_wrap=True)
    return 0


def read(base: str, name: str, words: str) -> Recorded:
    """A result that a command has recorded for ``base``."""
    return _read(paths.results_of(base) / name, paths.command(words, base))


def read_all(base: str, name: str, words: str) -> list[Recorded]:
    """The same for what depends on the CPU: of each one."""
    command = paths.command(words, base)
    found = [_read(path, command) for path in provenance.of_cpus(name, base).values()]
    if not found:
        wanted = paths.results_of(base) / provenance.CPUS / "*" / name
        raise LabError(_WHAT, f"there is no {wanted}", f"record it with: {command}")
    return found


def _read(path: Path, command: str) -> Recorded:
    return Recorded(path, command, provenance.load(path, command, _WHAT))


@contextlib.contextmanager
def _known_form(source: Recorded) -> Iterator[None]:
    """What a file of an older form lacks is named, with the command that writes today's form."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError) as err:
        why = f"{source.path} has another form than today's ({type(err).__name__}: {err})"
        raise LabError(_WHAT, why, f"record it again with: {source.command}") from None


def draw(growths: Mapping[str, Recorded], benches: Mapping[str, Sequence[Recorded]]) -> bytes:
    """The picture: counted instructions on the left, native times on the right, by base and CPU."""
    bars: tuple[dict[str, list[plot.Bar]], dict[str, list[plot.Bar]]] = ({}, {})
    note = []
    for base, growth in growths.items():
        with _known_form(growth):
            bars[0].update(_of(f"Linux {base}", counted(growth.data)))
            note.append(f"Left, {base}: {_provenance(growth.data)}, QEMU {growth.data['qemu']}")
    for base, bench in ((base, one) for base, found in benches.items() for one in found):
        with _known_form(bench):
            bars[1].update(_of(f"Linux {base}, {named(bench.data)}", timed(bench.data)))
            rounds = _rows(bench.data)[0]["ns"]["n"]
            note.append(
                f"Right, {base}: {_provenance(bench.data)}; median, least and most of {rounds} rounds"
            )
    left = plot.Bars("Counted in exact mode", "guest instructions per page", bars[0])
    right = plot.Bars("Timed natively", "ns per struct page", bars[1])
    title = "What it costs to initialise a struct page and free its page"
    more = max(0, *(len(groups) - _GROUPS for groups in bars))
    inches = (_WIDTH, _HEIGHT + _MORE * more)
    return plot.figure([left, right], title, 2, inches, "\n".join(note))


def _of(what: str, groups: dict[str, list[plot.Bar]]) -> dict[str, list[plot.Bar]]:
    return {f"{name},\n{what}": bars for name, bars in groups.items()}


def named(data: dict[str, Any]) -> str:
    """The CPU of a result, in two lines."""
    name, _, which = data["host"].rpartition(",")[0].partition(" (family ")
    if not which:
        raise KeyError("the family of its CPU")
    return f"{_FILLER.sub('', name)},\nfamily {which.rstrip(')')}"


def _provenance(data: dict[str, Any]) -> str:
    return f"{data['command']}, {data['source']}, on {data['host']}"


def counted(data: dict[str, Any]) -> dict[str, list[plot.Bar]]:
    """Instructions per page, stock's and patched, of results/growth.json."""
    goals = {goal["name"]: goal for goal in data["goals"]}
    return {shown: _pair(goals[name]["stock"], goals[name]["patched"]) for name, shown in GOALS.items()}


def timed(data: dict[str, Any]) -> dict[str, list[plot.Bar]]:
    """Times per page, stock's and patched, of a bench.json: of each bench those with the most threads."""
    rows = {(row["bench"], row["threads"], row["way"]): row["ns"] for row in _rows(data)}
    most = {bench: threads for bench, threads, _way in sorted(rows)}
    return {
        f"{BENCHES[bench]}, {threads} thread{'s' * (threads > 1)}": _pair_of_ranges(
            *(rows[bench, threads, way] for way in ("stock", structpages.OURS))
        )
        for bench, threads in most.items()
    }


def _rows(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for bench in data["benches"] for row in bench["rows"]]


def _pair(stock: float, patched: float) -> list[plot.Bar]:
    return [
        plot.Bar(stock, f"stock {stock:.2f}", _STOCK),
        plot.Bar(patched, f"patched {patched:.2f} ({patched / stock:.2f} of stock)", _PATCHED),
    ]


def _pair_of_ranges(stock: dict[str, float], patched: dict[str, float]) -> list[plot.Bar]:
    return [
        plot.Bar(bar.value, bar.text, bar.color, ns["low"], ns["high"])
        for bar, ns in zip(_pair(stock["median"], patched["median"]), (stock, patched), strict=True)
    ]
