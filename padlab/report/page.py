# SPDX-License-Identifier: GPL-2.0-only
"""``./lab report``: one HTML page of all recorded results, which needs no network and no other file.

Nothing is measured here.  What is not recorded has a line on the page, with the command that
records it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import jinja2
import vl_convert

from padlab.core import git, paths, progress
from padlab.core.errors import LabError
from padlab.measure import provenance
from padlab.measure.provenance import MissingError
from padlab.report import boots, natives, proof, recorded, threads
from padlab.report.figure import OTHER_FORM, Figure

NAME = "report.html"
TEMPLATE = Path(__file__).with_name("page.html")
MAX_BYTES = 3_000_000


@dataclass(frozen=True)
class Tile:
    """A ratio at the top of the page."""

    ratio: str
    what: str
    key: str  # of the figure that has it


def figures() -> list[tuple[str, list[Figure]]]:
    """All figures, in sections."""
    first, *others = boots.all_figures()
    return [
        ("Why", [first]),
        ("What a boot costs", others),
        ("At native speed", natives.all_figures()),
        ("Threads", threads.all_figures()),
        ("Proof", [proof.figure()]),
    ]


def tiles() -> list[Tile]:
    """What there is of them."""
    found = []
    for make in (_boot_tile, _page_tile, _huge_tile):
        try:
            found.append(make())
        except (MissingError, *OTHER_FORM):
            continue
    return found


def _boot_tile() -> Tile:
    ms = recorded.read(paths.DEFAULT_BASE, *boots.GROWTH).data["critical_ms"]
    most = list(ms["stock"])[-1]
    gib = most.removeprefix("memory-")
    ratio = ms["patched"][most] / ms["stock"][most]
    return Tile(f"{ratio:.2f}", f"of stock's boot with {gib} GiB, beside a driver that sleeps", "why")


def _page_tile() -> Tile:
    goals = recorded.read(paths.DEFAULT_BASE, *boots.GROWTH).data["goals"]
    goal = next(goal for goal in goals if goal["name"] == "a deferred page")
    return Tile(
        f"{goal['patched'] / goal['stock']:.2f}", "of stock's instructions for a deferred page", "pages"
    )


def _huge_tile() -> Tile:
    every = recorded.of_cpus(paths.DEFAULT_BASE, *natives.HUGE)
    host, one = next(iter(every.items()))
    us = {(row["kib"], row["way"], row["threads"]): row["us"]["median"] for row in one.data["native"]}
    ratio = us[1 << 20, "ours", 1] / us[1 << 20, "stock", 1]
    return Tile(f"{ratio:.2f}", f"of stock's time to zero 1 GiB with one thread on an {host}", "huge")


def html(sections: list[tuple[str, list[Figure]]]) -> str:
    """The page of these figures."""
    charts = {
        f"{figure.key}-{nr}": chart.spec
        for _, of in sections
        for figure in of
        for nr, chart in enumerate(figure.charts)
    }
    loader = jinja2.FileSystemLoader(TEMPLATE.parent)
    template = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined
    ).get_template(TEMPLATE.name)
    text: str = template.render(
        sections=sections,
        tiles=tiles(),
        charts=charts,
        script=vl_convert.javascript_bundle(),
        made=f"./lab report, commit {git.commit()}, {datetime.now(UTC).date().isoformat()}",
    )
    return text


def main(path: Path | None) -> int:
    """Write the page, and say what it lacks."""
    path = path or paths.BUILD / NAME
    sections = figures()
    text = html(sections)
    size = len(text.encode())
    if size >= MAX_BYTES:
        raise LabError(
            "the report", f"it has {size:,} bytes, {MAX_BYTES:,} is the limit", "leave out a figure"
        )
    provenance.write(path, text)
    missing = [line for _, of in sections for figure in of for line in figure.missing]
    for line in dict.fromkeys(missing):
        progress.note(f"left out, as {line}")
    progress.result(f"written: {path} ({size / 1e6:.1f} MB); open it in a browser")
    return 0
