# SPDX-License-Identifier: GPL-2.0-only
"""Trees that have a mutant: the series with a patch, or the faulty kernel for checks that boot that one."""

import difflib
from dataclasses import replace
from pathlib import Path

from checks.mutants import mutant
from padlab.core import paths
from padlab.kernel import content, tree

PATCHED = "patched"
MUTANT = {PATCHED: "mutant", "faulty": "faulty-mutant"}  # what mutants are put into, and the trees
for _name in MUTANT.values():
    tree.VARIANTS[_name] = tree.Variant(linked=True)


def place() -> Path:
    return paths.base().build / "mutants"


def seed(fault: mutant.Mutant | None, base: str = PATCHED) -> str:
    """The name of the kernel ``base`` with the mutant, which is to be built."""
    if fault is None:
        return base
    name, file = MUTANT[base], fault.file
    source = Path(tree.ensure_tree(base), file).read_text()
    before, after = (text.splitlines(True) for text in (source, mutant.seeded(fault, source)))
    patch = place() / f"{name}.patch"
    content.write(patch, "".join(difflib.unified_diff(before, after, f"a/{file}", f"b/{file}")))
    variant = tree.VARIANTS[base]
    tree.VARIANTS[name] = replace(variant, extra=(*variant.extra, patch), linked=True)
    return name
