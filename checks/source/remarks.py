# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel's own checkers say of the series: nothing that they do not say of stock.

Remarks are told apart by file and text, without their line: what stock has in a file that
the series edits only moves.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from checks import guests
from checks.memmap import memmap
from checks.memmap.case import Case
from padlab.core import packages, paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import build as builds
from padlab.kernel import kconfig, mailseries, steps, tree
from padlab.kernel.kconfig import PERF
from padlab.kernel.steps import Step

TREE = steps.TREE
# Each has options of its own, and so code that is not compiled with the others.
CONFIGS = (kconfig.PERF, kconfig.DEBUG, kconfig.ARM64)
STRICT = ("W=1", "C=2", "CHECK=sparse")
_REMARK = re.compile(
    r"^(?P<file>[^\s:]+):\d+(?::\d+)?: (?P<text>(?:warning|error)\b.*)$"
    r"|^(?P<matched>[^\s:]+):\d+:\d+-\d+: (?P<rule>.*)$"  # Coccinelle
    r"|^(?P<object>\S+\.o): (?P<objtool>(?:warning|error): objtool\b.*)$"
    r"|^warning: (?P<kconfig>unmet direct dependencies detected for (?P<option>\w+))$",
    re.IGNORECASE,
)
_LINE, _OFFSET = re.compile(r"\bline \d+"), re.compile(r"\+0x[0-9a-f]+")
_GROUPS = ("file", "matched", "object", "option"), ("text", "rule", "objtool", "kconfig")


def parse(lines: Iterable[str], top: Path) -> set[str]:
    remarks = set()
    for line in lines:
        if match := _REMARK.match(line):
            name, text = (next(filter(None, match.group(*groups))) for groups in _GROUPS)
            name = name.removeprefix(f"{top}/").removeprefix("../")
            text = _LINE.sub("another line", _OFFSET.sub(" at another place", text))
            remarks.add(f"{name}: {text}")
    return remarks


def have(done: Sequence[Step]) -> Path:
    """The tree with these steps alone."""
    tree.VARIANTS[TREE] = steps.variant(done)
    return tree.ensure_tree(TREE)


def touched(*suffixes: str) -> list[str]:
    return sorted(name for name in mailseries.touched_files() if name.endswith(suffixes))


def said(config: kconfig.Config, done: Sequence[Step]) -> set[str]:
    """Of C files that the series adds or edits, with these steps of it."""
    top = have(done)
    guests.built("patched", config)  # which says what is compiled
    built = (name for name in touched(".c") if builds.is_built("patched", config, name))
    files = [name for name in built if (top / name).exists()]
    remarks = parse(builds.objects(TREE, config, files, STRICT), top)
    return {remark for remark in remarks if not _of_a_guard(remark, top)}


_IMBALANCE = re.compile(r"(?P<file>\S+): warning: context imbalance in '(?P<function>\w+)'")


def _of_a_guard(remark: str, top: Path) -> bool:
    """Whether it is about a lock that ends with its scope: sparse does not know cleanup attributes."""
    match = _IMBALANCE.match(remark)
    if match is None:
        return False
    text = (top / match["file"]).read_text()
    pattern = rf"^\w[^;{{}}]*\b{match['function']}\([^;{{}}]*\)\n{{$.*?^}}$"
    body = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    return body is not None and re.search(r"\b(scoped_)?guard\(", body[0]) is not None


def compilers(config: kconfig.Config) -> Outcome:
    """gcc with W=1, which has kernel-doc look at each file as well, and sparse."""
    packages.ensure("sparse")
    stock = said(config, [])
    new = said(config, steps.read_steps()) - stock
    return judge(sorted(new), paths.base().logs / f"objects-{TREE}-{config}.log")


# Each step of the mailable series by itself: all are built in TREE, one after the other, so that only what
# a step changes is compiled.

# Deferred init runs on each node, with stock's messages or ours, and leaves what stock's does.
BOOT = Case(
    "a step", guests.SMT, says=tuple(rf"node {node} (deferred pages )?initialised" for node in (0, 1))
)
# Modules that a kernel has from the step on that has their source.
_MODULES = {"padata_mt_kunit": "kernel/padata_mt_kunit.c", "test_padata_mt": "kernel/test_padata_mt.c"}


def each_step() -> Outcome:
    """It builds without a new warning, boots, and leaves the memory map as stock's."""
    packages.ensure("sparse")
    of_stock, all_steps = said(PERF, []), steps.read_steps()
    counts = range(1, len(all_steps) + 1)
    return sum((try_step(all_steps[:count], of_stock) for count in counts), Outcome())


def try_step(done: list[Step], of_stock: set[str]) -> Outcome:
    """The last of ``done``, on top of those before it; ``of_stock`` is what is said of stock."""
    subject = done[-1].subject
    try:
        top = have(done)
        build = guests.built(TREE, PERF)
        log = paths.base().logs / f"build-{TREE}-{PERF}.log"
        now = parse(log.read_text(errors="replace").splitlines(), top) | said(PERF, done)
        problems = [f"new: {remark}" for remark in sorted(now - of_stock)]
        problems += missing_modules(top, set(builds.modules(build)))
        booted = memmap.case(BOOT, TREE)
        problems += booted.failures
    except LabError as err:
        return Outcome(failures=(f"{subject}: {err}",), log=err.log)
    return judge([f"{subject}: {problem}" for problem in problems], booted.log)


def missing_modules(top: Path, built: set[str]) -> list[str]:
    there = (name for name, source in _MODULES.items() if (top / source).exists())
    return [f"no module {name}" for name in there if name not in built]
