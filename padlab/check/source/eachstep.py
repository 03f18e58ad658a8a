# SPDX-License-Identifier: GPL-2.0-only
"""Each step of the mailable series by itself: it builds without a new warning, boots, and is right.

All are built in one tree (remarks.TREE), one after the other, so that only what a step
changes is compiled.  W=1 and sparse are for the C files that the series adds or edits.
"""

from pathlib import Path

from padlab.check.base import guests
from padlab.check.memmap import memmap
from padlab.check.memmap.asked import Case
from padlab.check.source import remarks
from padlab.core import packages, paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import build as builds
from padlab.kernel import steps as series
from padlab.kernel.kconfig import PERF

CONFIG = PERF
# Deferred init runs on each node, with stock's messages or ours, and leaves what stock's does.
BOOT = Case(
    "a step",
    guests.SMT,
    config=CONFIG,
    says=tuple(rf"node {node} (deferred pages )?initialised" for node in (0, 1)),
)
# Modules that a kernel has from the step on that has their source.
_MODULES = {"padata_mt_kunit": "kernel/padata_mt_kunit.c", "test_padata_mt": "lib/test_padata_mt.c"}


def check() -> Outcome:
    packages.ensure("sparse")
    of_stock = remarks.said(CONFIG, series.variant([]), *remarks.STRICT)
    steps = series.read_steps()
    total = Outcome()
    for count in range(1, len(steps) + 1):
        total += try_step(steps[:count], of_stock)
    return total


def try_step(steps: list[series.Step], of_stock: set[str]) -> Outcome:
    """The last of ``steps``, on top of those before it; ``of_stock`` is what is said of stock."""
    subject = steps[-1].subject
    try:
        variant = series.variant(steps)
        top = remarks.have(variant)
        build = guests.build(remarks.TREE, CONFIG)
        log = paths.LOGS / f"build-{remarks.TREE}-{CONFIG}.log"
        said = remarks.parse(log.read_text(errors="replace").splitlines(), top)
        said |= remarks.said(CONFIG, variant, *remarks.STRICT)
        problems = [f"new: {remark}" for remark in sorted(said - of_stock)]
        problems += missing_modules(top, set(builds.modules(build)))
        booted = memmap.case(BOOT, remarks.TREE)
        problems += booted.failures
    except LabError as err:
        return Outcome(failures=(f"{subject}: {err}",), log=err.log)
    return judge([f"{subject}: {problem}" for problem in problems], booted.log)


def missing_modules(top: Path, built: set[str]) -> list[str]:
    return [
        f"no module {name}"
        for name, source in _MODULES.items()
        if (top / source).exists() and name not in built
    ]
