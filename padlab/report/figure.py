# SPDX-License-Identifier: GPL-2.0-only
"""A figure of the report: a chart, its figures as a table, and what recorded them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
    missing: tuple[str, ...] = ()


Rows = Sequence[tuple[str, ...]]
Draw = Callable[[str, Any], tuple[list[Chart], Rows]]


def by_cpu(base: str, name: str, words: str, draw: Draw) -> Part:
    """A file of each CPU that it was recorded on, drawn by ``draw``, which is given host and figures."""
    made: list[Chart] = []
    rows: list[tuple[str, ...]] = []
    sources: list[Recorded] = []
    missing: list[str] = []
    for slug, read in recorded.readers(base, name, words).items():
        with _noting(missing):
            one = read()
            more, told = draw(one.made.get("host", slug), one.data)
            made += more
            rows += told
            sources.append(one)
    return Part(tuple(made), tuple(rows), tuple(sources), tuple(missing))


@contextmanager
def _noting(missing: list[str]) -> Iterator[None]:
    """What cannot be read or drawn becomes a line of ``missing``, with what records it."""
    try:
        yield
    except MissingError as err:
        missing.append(f"{err.why}: {err.command}")
    except OTHER_FORM:
        name, command = recorded.taken[-1]
        missing.append(f"{name} has another form than today's: {command}")


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
        with _noting(missing):
            made.append(part())
    missing += [line for part in made for line in part.missing]
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
