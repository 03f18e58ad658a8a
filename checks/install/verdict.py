# SPDX-License-Identifier: GPL-2.0-only
"""What a kit's run found: memory maps that are not as stock's, and what native programs say is wrong."""

from collections.abc import Iterator, Mapping

from checks.memmap import oracle
from padlab.core import progress, stats
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kit import form, importing
from padlab.measure import tools
from padlab.vm import channel, dmesg

CUT = Outcome(skips=("a guest was ended before its end",))


def show(file: form.File) -> int:
    """Print it; the exit status."""
    total = sum((outcome.named(name) for name, outcome in outcomes(file)), Outcome())
    progress.result(f"memory maps that are as stock's: {total.passed}")
    for line in (*total.failures, *total.skips):
        progress.result(line)
    return 1 if total.failures else 0


def outcomes(file: form.File) -> Iterator[tuple[str, Outcome]]:
    for section in file.of("natives"):
        said = tools.said(section.body.splitlines(), f"{section.words['program']}: ")
        if said.failure:
            yield section.name, judge([said.failure])
    for machine, sections in stats.group(file.of("oracle"), lambda one: one.words["machine"]).items():
        bodies = {f"{one.words['kernel']} {one.words['of']}": one.body for one in sections}
        yield f"memory map, {machine}", _compared(bodies)


def _compared(bodies: Mapping[str, str]) -> Outcome:
    """``bodies``: what each kernel's console and its guest have, as far as the run came."""
    logs = [dmesg.parse(bodies.get(f"{kernel} console", "")) for kernel in importing.KERNELS]
    guests = [channel.Guest(bodies.get(f"{kernel} guest", "")) for kernel in importing.KERNELS]
    trouble = [line for log in logs for line in (*log.trouble, *filter(None, [log.panic]))]
    trouble += [line for guest in guests for line in guest.trouble]
    if trouble:
        return judge(trouble)
    if any(guest.done is None for guest in guests):
        return CUT
    try:
        stock, patched = map(oracle.parse, guests)
        return judge(oracle.compare(stock, patched))
    except LabError as err:
        return judge([err.why])
