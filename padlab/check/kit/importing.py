# SPDX-License-Identifier: GPL-2.0-only
"""``./lab kit --import FILE``: what a kit's run found is recorded in results/, judged and printed."""

from collections.abc import Iterator
from pathlib import Path

from padlab.check.kit import times, verdicts
from padlab.core import git, paths, progress, stats, table
from padlab.core.outcome import Outcome
from padlab.docs import boots, records
from padlab.measure import provenance, zeroing
from padlab.measure.structpages import OURS
from padlab.vm.machine import plural


def main(path: Path) -> int:
    """The exit status is 1 if something that was tested is wrong."""
    run = times.read(path)
    progress.result(f"{run.host}: a run of {run.kit['run']}, with a kit of commit {run.kit['commit']}")
    if run.kit["commit"] != (here := git.commit()):
        progress.result(f"note: this commit is {here}; the records name that of the kit")
    for line in missing(run):
        progress.result(line)
    grid = table.grid(("median", "n", "stock", "ours", "of stock"), left={"median"})
    for base, name, record in times.records(run):
        progress.result(keep(run.slug, base, name, record))
        for what, stock, ours in figures(name, record):
            of_stock = stats.ratio(stats.Summary(**stock), stats.Summary(**ours))
            both = (f"{summary['median']:,.1f}" for summary in (stock, ours))
            grid.add_row(f"{base}: {what}", str(ours["n"]), *both, table.marked(of_stock))
    outcomes = list(verdicts.outcomes(run.file))
    if grid.row_count:
        table.console().print(grid)
        progress.result(f"{table.OPEN}: the ranges overlap, or are not known: which one is faster is open")
    return show(outcomes)


def missing(run: times.Run) -> Iterator[str]:
    """What the file lacks, a line each."""
    if run.file.cut:
        yield f"left out, as the file ends in it: section {run.file.cut}"
    kinds = {section.kind for section in run.file.sections}
    if absent := [phase for phase in run.kit["phases"].split(",") if phase not in kinds]:
        yield f"nothing is there of: {', '.join(absent)}"
    if not run.file.ended:
        yield "the run was ended before its end: what is complete counts"


def keep(slug: str, base: str, name: str, record: times.Record) -> str:
    """Write a record; what came of it, in a line."""
    path = paths.results_of(base) / provenance.CPUS / slug / name
    text = provenance.to_text(record) + "\n"
    if path.exists():
        if path.read_text() == text:
            return f"{paths.shown(path)}: imported before, nothing is changed"
        command = provenance.load(path, "./lab bench", "importing").get("command", "")
        if command.startswith("./lab "):
            return f"{paths.shown(path)}: not replaced, it is of {command}; remove it to have the kit's"
    provenance.write(path, text)
    return f"{paths.shown(path)}: recorded"


def figures(name: str, record: times.Record) -> Iterator[tuple[str, times.Record, times.Record]]:
    """What was timed, with the summaries of stock's times and of ours."""
    if name == "bench.json":
        rows = record["benches"][0]["rows"]
        for threads, ours in _first_and_last(rows, OURS):
            if stock := records.find(rows, way="stock", threads=threads):
                yield f"a struct page, {plural(threads, 'thread')}, ns", stock["ns"], ours["ns"]
    elif name == "hugepages.json":
        rows = [row for row in record["native"] if row["kib"] == zeroing.GIB]
        for threads, ours in _first_and_last(rows, zeroing.OURS):
            if stock := records.find(rows, way=zeroing.STOCK, threads=1):
                yield f"1 GiB zeroed, {plural(threads, 'thread')}, us", stock["us"], ours["us"]
    else:
        for ours in record["boots"]:
            stock = records.find(record["boots"], gib=ours["gib"], kernel="stock")
            if stock and ours != stock:
                for key, what in boots.FIGURES.items():
                    yield f"{ours['gib']} GiB, {ours['boot']}, {what}, ms", stock[key], ours[key]


def _first_and_last(rows: list[times.Record], way: str) -> Iterator[tuple[int, times.Record]]:
    of_way = {row["threads"]: row for row in rows if row["way"] == way}
    return ((threads, of_way[threads]) for threads in sorted({min(of_way), max(of_way)} if of_way else ()))


def show(outcomes: list[tuple[str, Outcome]]) -> int:
    maps = [outcome for name, outcome in outcomes if name.startswith(verdicts.MAP)]
    if maps:
        same = sum(outcome.passed for outcome in maps)
        progress.result(f"memory maps: {same} of {len(maps)} are as stock's")
    for name, outcome in outcomes:
        if outcome.passed and name.startswith(verdicts.MAP):
            continue
        said = "FAILED" if outcome.failures else "passed" if outcome.passed else "not complete"
        skipped = f", {len(outcome.skips)} skipped" if outcome.passed and outcome.skips else ""
        progress.result(f"{name}: {said}, {outcome.passed} passed{skipped}")
        for failure in outcome.failures:
            progress.result(f"  {failure}")
    return 1 if any(outcome.failures for _, outcome in outcomes) else 0
