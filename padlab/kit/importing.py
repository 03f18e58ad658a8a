# SPDX-License-Identifier: GPL-2.0-only
"""``./lab kit --import FILE``: what a kit's run timed is recorded in results/."""

from collections.abc import Iterator
from pathlib import Path

from padlab.core import git, paths, progress
from padlab.kit import times
from padlab.measure import provenance


def main(path: Path) -> times.Run:
    run = times.read(path)
    progress.result(f"{run.host}: a run of {run.kit['run']}, with a kit of commit {run.kit['commit']}")
    if run.kit["commit"] != (here := git.commit()):
        progress.result(f"note: this commit is {here}; the records name that of the kit")
    for line in missing(run):
        progress.result(line)
    for base, name, record in times.records(run):
        progress.result(_keep(paths.Base.named(base).results / provenance.CPUS / run.slug / name, record))
    return run


def missing(run: times.Run) -> Iterator[str]:
    kinds = {section.kind for section in run.file.sections}
    if absent := [phase for phase in run.kit["phases"].split(",") if phase not in kinds]:
        yield f"nothing is there of: {', '.join(absent)}"
    if not run.file.ended:
        yield "the run was ended before its end: what is complete counts"


def _keep(path: Path, record: times.Record) -> str:
    """Write a record; what came of it, in a line."""
    old = provenance.load(path, "./lab bench", "importing").get("command", "") if path.exists() else ""
    if old.startswith("./lab "):
        return f"{paths.shown(path)}: not replaced, it is of {old}; remove it to have the kit's"
    provenance.write(path, provenance.to_text(record) + "\n")
    return f"{paths.shown(path)}: recorded"
