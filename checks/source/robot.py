# SPDX-License-Identifier: GPL-2.0-only
"""What a maintainer's build robot would find: warnings with configurations that nobody here uses."""

from checks.source import remarks
from padlab.core import progress
from padlab.core.outcome import Outcome, judge
from padlab.kernel import otherconfigs, tree
from padlab.kernel.otherconfigs import OtherConfig


def check(config: OtherConfig) -> Outcome:
    """Stock is only asked if there is something to be said: it has to say it, too."""
    ours, built = _said(config, "patched")
    if ours:
        ours -= _said(config, "stock")[0]
    progress.note(f"{config}: {len(built)} files of the series are compiled")
    return judge(sorted(ours) if built else ["no file of the series is compiled"], config.log("patched"))


def _said(config: OtherConfig, kernel: str) -> tuple[set[str], list[str]]:
    """The remarks, and the files that are compiled."""
    top = tree.ensure_tree(kernel)
    there = (name for name in remarks.touched(".c") if (top / name).exists())
    files = [name for name in there if not name.startswith("tools/")]
    built, lines = otherconfigs.compile_objects(config, kernel, files)
    failed = (name for name in built if not otherconfigs.is_compiled(config, kernel, name))
    return remarks.parse(lines, top) | {f"{name}: it does not compile" for name in failed}, built
