# SPDX-License-Identifier: GPL-2.0-only
"""A figure of the report: a chart, its figures as a table, and what recorded them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from padlab.measure.provenance import MissingError
from padlab.report import recorded
from padlab.report.charts import Spec
from padlab.report.recorded import Recorded

# What a file of an older form leads to.
OTHER_FORM = (
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    ValueError,
    ArithmeticError,
    StopIteration,
)


@dataclass(frozen=True)
class Chart:
    """One drawing of a figure; ``title`` if there are several."""

    spec: Spec
    title: str = ""


@dataclass(frozen=True)
class Figure:
    """``text`` says what is to be seen; ``missing`` which results there are not, each with its command."""

    key: str
    title: str
    text: str
    charts: tuple[Chart, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    sources: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    predicted: bool = False


@dataclass(frozen=True)
class Part:
    """What a figure is made of, of one base or file."""

    charts: tuple[Chart, ...]
    rows: tuple[tuple[str, ...], ...]
    sources: tuple[Recorded, ...]


Rows = Sequence[tuple[str, ...]]
Draw = Callable[[str, Any], tuple[list[Chart], Rows]]


def by_cpu(base: str, name: str, words: str, draw: Draw) -> Part:
    """A file of each CPU that it was recorded on, drawn by ``draw``, which is given host and figures."""
    every = recorded.of_cpus(base, name, words)
    made: list[Chart] = []
    rows: list[tuple[str, ...]] = []
    for host, one in every.items():
        recorded.take(one.path, one.command)
        more, told = draw(host, one.data)
        made += more
        rows += told
    return Part(tuple(made), tuple(rows), tuple(every.values()))


def gathered(
    key: str,
    title: str,
    text: str,
    columns: Sequence[str],
    parts: Sequence[Callable[[], Part]],
    predicted: bool = False,
) -> Figure:
    """A figure of all parts that have been recorded.  The others are named, with what records them."""
    made: list[Part] = []
    missing: list[str] = []
    for part in parts:
        try:
            made.append(part())
        except MissingError as err:
            missing.append(f"{err.why}: {err.command}")
        except OTHER_FORM:
            name, command = recorded.taken[-1]
            missing.append(f"{name} has another form than today's: {command}")
    return Figure(
        key,
        title,
        text,
        tuple(chart for part in made for chart in part.charts),
        tuple(columns),
        tuple(row for part in made for row in part.rows),
        tuple(dict.fromkeys(source.source() for part in made for source in part.sources)),
        tuple(missing),
        predicted,
    )
