# SPDX-License-Identifier: GPL-2.0-only
"""Kernels that have mutants: one kernel with all that can be chosen (schema.py), and one for any other.

Each has a tree, which is the series with a patch, or the faulty kernel with it for checks that boot that one.
Which mutant it is to have decides the patch, or what is on the kernel's command line.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from checks.mutants import mutant, schema
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import content, tree

PATCHED, FAULTY = "patched", "faulty"  # what the mutants are put into
MANY = {PATCHED: "mutants", FAULTY: "faulty-mutants"}  # the trees
SINGLE = {PATCHED: "mutant", FAULTY: "faulty-mutant"}
for _name in (*MANY.values(), *SINGLE.values()):
    tree.VARIANTS[_name] = tree.Variant(linked=True)

# Those that do not compile, by number: the rest is built without them.
_bad: set[int] = set()


def place() -> Path:
    return paths.base().build / "mutants"


@dataclass(frozen=True)
class Kernel:
    """One that has a mutant, or none, if booted with ``args``."""

    name: str
    args: tuple[str, ...] = ()


def built(
    fault: mutant.Mutant | None, make: Callable[[str], object], *, alone: bool = False, base: str = PATCHED
) -> Kernel:
    """The kernel that has this mutant, after ``make`` has built it; an error if it does not compile.

    ``alone``: in its code there is to be no other one.  ``base``: PATCHED or FAULTY.
    """
    while True:
        kernel = _seed(fault, alone, base)
        try:
            make(kernel.name)
        except LabError as err:
            detail = err.detail if kernel.name == MANY[base] else []
            named = {int(match[1]) for line in detail for match in schema.CLONE.finditer(line)}
            if named <= _bad:
                raise
            _bad.update(named)
        else:
            return kernel


def _seed(fault: mutant.Mutant | None, alone: bool, base: str) -> Kernel:
    patch, numbers = _choices(frozenset(_bad), base)
    kernel = Kernel(MANY[base])
    if alone or (fault and fault.id not in numbers):
        kernel, patch = Kernel(SINGLE[base]), ""
        if fault:
            source = _source(fault.file, base)
            patch = schema.diff(fault.file, source, mutant.seeded(fault, source))
    elif fault:
        kernel = Kernel(MANY[base], (f"{schema.ARGUMENT}={numbers[fault.id]}",))
    patch_file = place() / f"{kernel.name}.patch"
    content.write(patch_file, patch)
    extra = (patch_file,) if patch else ()
    tree.VARIANTS[kernel.name] = replace(tree.VARIANTS[base], extra=extra, linked=True)
    return kernel


@functools.cache
def _choices(without: frozenset[int], base: str) -> tuple[str, dict[str, int]]:
    """A patch with all that can be chosen, and the number of each.

    In the faulty kernel the text of some is another one.  They are not for its checks.
    """
    numbered = {nr: fault for nr, fault in enumerate(mutant.all_of(), 1) if not fault.equivalent}
    files = sorted({fault.file for fault in numbered.values() if fault.file.endswith(".c")} | {schema.HOME})
    patch, numbers = "", {}
    for file in files:
        before = _source(file, base)
        here = {
            nr: fault
            for nr, fault in numbered.items()
            if fault.file == file and nr not in without and (base == PATCHED or before.count(fault.old) == 1)
        }
        after, chosen = schema.combined(before, here)
        patch += schema.diff(file, before, after + schema.DEFINED * (file == schema.HOME))
        numbers.update({here[nr].id: nr for nr in chosen})
    return patch, numbers


def _source(file: str, base: str) -> str:
    return Path(tree.ensure_tree(base), file).read_text()
