# SPDX-License-Identifier: GPL-2.0-only
"""``./lab kit --import FILE``: what a kit's run found is recorded in results/, judged and printed."""

from collections.abc import Iterator
from pathlib import Path

from checks import guests
from checks.memmap import oracle
from padlab.check.kit import form, times
from padlab.core import git, paths, progress, stats
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.measure import provenance, tools
from padlab.vm import channel, dmesg


def main(path: Path) -> int:
    run = times.read(path)
    progress.result(f"{run.host}: a run of {run.kit['run']}, with a kit of commit {run.kit['commit']}")
    if run.kit["commit"] != (here := git.commit()):
        progress.result(f"note: this commit is {here}; the records name that of the kit")
    for line in missing(run):
        progress.result(line)
    for base, name, record in times.records(run):
        progress.result(keep(run.slug, base, name, record))
    return show(list(outcomes(run.file)))


def missing(run: times.Run) -> Iterator[str]:
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


def show(outcomes: list[tuple[str, Outcome]]) -> int:
    maps = [outcome for name, outcome in outcomes if name.startswith(MAP)]
    if maps:
        same = sum(outcome.passed for outcome in maps)
        progress.result(f"memory maps: {same} of {len(maps)} are as stock's")
    for name, outcome in outcomes:
        if outcome.passed and name.startswith(MAP):
            continue
        said = "FAILED" if outcome.failures else "passed" if outcome.passed else "not complete"
        skipped = f", {len(outcome.skips)} skipped" if outcome.passed and outcome.skips else ""
        progress.result(f"{name}: {said}, {outcome.passed} passed{skipped}")
        for failure in outcome.failures:
            progress.result(f"  {failure}")
    return 1 if any(outcome.failures for _, outcome in outcomes) else 0


Said = tuple[dmesg.Dmesg, channel.Guest]
MAP = "memory map, "
CUT = Outcome(skips=("the guest was ended before its end",))


def outcomes(file: form.File) -> Iterator[tuple[str, Outcome]]:
    """By name; of native programs only those that say that something is wrong."""
    for section in file.of("natives"):
        said = tools.said(section.body.splitlines(), f"{section.words['program']}: ")
        if said.failure:
            yield section.name, judge([said.failure])
    for (role,), one in _guests(file, "tests", "role").items():
        yield role, _tested(*one)
    maps = _guests(file, "oracle", "machine", "kernel")
    for machine in dict.fromkeys(machine for machine, _ in maps):
        both = [maps[machine, kernel] for kernel in ("stock", "patched") if (machine, kernel) in maps]
        yield f"{MAP}{machine}", _mapped(*both) if len(both) == 2 else CUT


def _guests(file: form.File, kind: str, *keys: str) -> dict[tuple[str, ...], Said]:
    by = stats.group(file.of(kind), lambda section: tuple(section.words[key] for key in keys))
    bodies = {name: {one.words["of"]: one.body for one in same} for name, same in by.items()}
    return {
        name: (dmesg.parse(said.get("console", "")), channel.Guest(said.get("guest", "")))
        for name, said in bodies.items()
    }


def _trouble(log: dmesg.Dmesg, guest: channel.Guest) -> list[str]:
    return [*log.trouble, *guest.trouble, *([f"panic: {log.panic}"] if log.panic else [])]


def _tested(log: dmesg.Dmesg, guest: channel.Guest) -> Outcome:
    trouble = _trouble(log, guest)
    if guest.done is None:
        return judge(trouble) if trouble else CUT
    outcome = guests.of_guest(guest)
    # A failed case also makes its guest's status one.
    if guest.done and not trouble and not outcome.failures:
        trouble = [f"what ran in the guest ended with status {guest.done}"]
    return outcome if outcome.failures else outcome + judge(trouble)


def _mapped(stock: Said, patched: Said) -> Outcome:
    trouble = [problem for said in (stock, patched) for problem in _trouble(*said)]
    if trouble:
        return judge(trouble)
    if stock[1].done is None or patched[1].done is None:
        return CUT
    try:
        return judge(oracle.compare(oracle.parse(stock[1]), oracle.parse(patched[1])))
    except LabError as err:
        return judge([err.why])
