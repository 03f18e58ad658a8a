# SPDX-License-Identifier: GPL-2.0-only
"""``./lab margins``: the same checks many times: how often they fail, and what they use of their limits.

Each run is one of ./lab test by itself, so that nothing is kept from the one before.  On a
busy host as many processes as there are cores do nothing but run, beside it.
"""

from __future__ import annotations

import contextlib
import json as jsons
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from padlab.check import command
from padlab.core import paths, process, progress, table
from padlab.measure import provenance

RECORD = "margins.json"
LOADS = ("idle", "busy")
# A run that has used this much of a limit is one that a slower host may not end in time.
NEAR = 0.5
_BUSY = ("sh", "-c", "while :; do :; done")
_SHOWN_FAILURES = 3


@dataclass
class Margin:
    """One check under one load, or a part of it that has a time limit."""

    name: str
    load: str
    limit: float
    seconds: list[float] = field(default_factory=list)
    failed: int = 0
    failures: dict[str, int] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The most that a run used of the limit."""
        return max(self.seconds) / self.limit

    def add(self, seconds: float, failures: Sequence[str] = ()) -> None:
        self.seconds.append(seconds)
        self.failed += bool(failures)
        for failure in failures:
            self.failures[failure] = self.failures.get(failure, 0) + 1

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "load": self.load,
            "runs": len(self.seconds),
            "failed": self.failed,
            "failures": self.failures,
            "limit": self.limit,
            "seconds": {
                "least": min(self.seconds),
                "median": round(statistics.median(self.seconds), 3),
                "most": max(self.seconds),
            },
            "most of limit": round(self.share, 3),
        }


Margins = dict[tuple[str, str], Margin]


def add(margins: Margins, load: str, checks: Sequence[dict[str, Any]]) -> None:
    """One run, as ``./lab test --json`` has it."""
    for check in checks:
        name = check["name"]
        _of(margins, name, load, check["limit"]).add(check["seconds"], check["failed"])
        for part in check["parts"]:
            _of(margins, f"{part['name']} in {name}", load, part["limit"]).add(part["seconds"])


def _of(margins: Margins, name: str, load: str, limit: float) -> Margin:
    return margins.setdefault((name, load), Margin(name, load, limit))


# Running


@contextlib.contextmanager
def _loaded(load: str) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for _ in range(len(os.sched_getaffinity(0)) if load == "busy" else 0):
            stack.enter_context(process.spawn(_BUSY, what="a busy process", stdout=None))
        yield


def _run_once(globs: Sequence[str], full: bool, log: Path) -> list[dict[str, Any]]:
    with tempfile.NamedTemporaryFile(suffix=".json", dir=paths.BUILD) as file:
        args = [*globs, "--json", file.name, *(["--full"] if full else [])]
        cmd = [sys.executable, "-m", "padlab", "test", *args]
        process.run(cmd, what="./lab test", log=log, cwd=paths.ROOT, ok=(0, 1))
        found: list[dict[str, Any]] = jsons.loads(Path(file.name).read_text())
        return found


def main(globs: Sequence[str], runs: int, full: bool = False, json: bool = False) -> int:
    """The exit status is 1 if a check failed more than once."""
    command.checks(globs, full=full)  # a name that is none is said now
    start = time.monotonic()
    margins: Margins = {}
    for load in LOADS:
        with _loaded(load):
            for nr in range(1, runs + 1):
                with progress.step(f"{load} host, run {nr} of {runs}"):
                    add(margins, load, _run_once(globs, full, paths.LOGS / f"margins-{load}-{nr}.log"))
    _record(margins)
    if json:
        print(jsons.dumps([margin.as_dict() for margin in margins.values()], indent=2))
    else:
        _show(margins, time.monotonic() - start)
    return 1 if any(margin.failed > 1 for margin in margins.values()) else 0


def _record(margins: Margins) -> None:
    """What is known of other checks stays."""
    path = provenance.path_of(RECORD)
    known = jsons.loads(path.read_text())["margins"] if path.exists() else []
    new = [margin.as_dict() for margin in margins.values()]
    kept = [one for one in known if (one["name"], one["load"]) not in margins]
    made = provenance.of_native("./lab margins")
    for one in new:
        one |= {key: made[key] for key in ("host", "commit", "date")}
    everything = sorted([*kept, *new], key=lambda one: (one["name"], one["load"]))
    provenance.write_json(path, {"command": made["command"], "source": made["source"], "margins": everything})


def _show(margins: Margins, elapsed: float) -> None:
    names = ["check", "host", "runs", "failed", "least", "median", "most", "of limit"]
    grid = table.grid(names, left={"check", "host"})
    for margin in sorted(margins.values(), key=lambda margin: margin.share, reverse=True):
        seconds = margin.as_dict()["seconds"]
        times = [f"{seconds[key]:.0f} s" for key in ("least", "median", "most")]
        cells = [margin.name, margin.load, str(len(margin.seconds)), str(margin.failed), *times]
        grid.add_row(*map(table.plain, cells), f"{100 * margin.share:.0f} %")
    table.console().print(grid)
    for margin in margins.values():
        for failure, count in list(margin.failures.items())[:_SHOWN_FAILURES]:
            progress.result(f"failed {count} times, {margin.name}, {margin.load} host: {failure}")
    near = sum(margin.share > NEAR for margin in margins.values())
    progress.result(f"{near} over {100 * NEAR:.0f} % of their limits, took {progress.seconds(elapsed)}")
