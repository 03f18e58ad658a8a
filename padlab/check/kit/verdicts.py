# SPDX-License-Identifier: GPL-2.0-only
"""What a kit's run has tested, judged as ./lab test does; what its time has cut is skipped."""

from collections.abc import Iterator

from padlab.check.base import guests
from padlab.check.kit import form
from padlab.check.memmap import oracle
from padlab.core import stats
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.measure import tools
from padlab.vm import channel, dmesg

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
    """What guests said on both of their serial ports, by words of the sections' names."""
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
