# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel's own checkers say of the series: nothing that they do not say of stock.

Remarks are told apart by file and text, without their line: what stock has in a file that
the series edits only moves.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from padlab.check.base import guests
from padlab.core import packages, paths
from padlab.core.outcome import Outcome, judge
from padlab.kernel import build as builds
from padlab.kernel import kconfig, mailseries, steps, tree

TREE = steps.TREE
# Each has options of its own, and so code that is not compiled with the others.
CONFIGS = (kconfig.PERF, kconfig.DEBUG, kconfig.ARM64)
STRICT = ("W=1", "C=2", "CHECK=sparse")
_REMARK = re.compile(
    r"^(?P<file>[^\s:]+):\d+(?::\d+)?: (?P<text>(?:warning|error)\b.*)$"
    r"|^(?P<matched>[^\s:]+):\d+:\d+-\d+: (?P<rule>.*)$",  # Coccinelle
    re.IGNORECASE,
)
_LINE = re.compile(r"\bline \d+")


def parse(lines: Iterable[str], top: Path) -> set[str]:
    """The remarks in the output of a compiler or checker that ran on the tree ``top``."""
    remarks = set()
    for line in lines:
        if match := _REMARK.match(line):
            name = (match["file"] or match["matched"]).removeprefix(f"{top}/").removeprefix("../")
            remarks.add(f"{name}: {_LINE.sub('another line', match['text'] or match['rule'])}")
    return remarks


def have(variant: tree.Variant) -> Path:
    """Give the tree what ``variant`` has of the series; return it."""
    tree.VARIANTS[TREE] = variant
    return tree.ensure_tree(TREE)


def touched(*suffixes: str) -> list[str]:
    return sorted(name for name in mailseries.touched_files() if name.endswith(suffixes))


def said(config: kconfig.Config, variant: tree.Variant, *variables: str) -> set[str]:
    """Of C files that the series adds or edits, with what ``variant`` has of it; for make ``variables``."""
    top = have(variant)
    guests.built("patched", config)  # which says what is compiled
    files = [name for name in touched(".c") if builds.is_built("patched", config, name)]
    files = [name for name in files if (top / name).exists()]
    remarks = parse(builds.objects(TREE, config, files, variables), top)
    return {remark for remark in remarks if not _of_a_guard(remark, top)}


_IMBALANCE = re.compile(r"(?P<file>\S+): warning: context imbalance in '(?P<function>\w+)'")


def _of_a_guard(remark: str, top: Path) -> bool:
    """Whether it is about a lock that ends with its scope: sparse does not know cleanup attributes."""
    match = _IMBALANCE.match(remark)
    if match is None:
        return False
    text = (top / match["file"]).read_text()
    body = re.search(
        rf"^\w[^;{{}}]*\b{match['function']}\([^;{{}}]*\)\n{{$.*?^}}$", text, re.MULTILINE | re.DOTALL
    )
    return body is not None and re.search(r"\b(scoped_)?guard\(", body[0]) is not None


def compilers(config: kconfig.Config) -> Outcome:
    """gcc with W=1, which has kernel-doc look at each file as well, and sparse."""
    packages.ensure("sparse")
    stock, ours = (said(config, steps.variant(of_series), *STRICT) for of_series in ([], steps.read_steps()))
    return judge(sorted(ours - stock), paths.LOGS / f"objects-{TREE}-{config}.log")
