# SPDX-License-Identifier: GPL-2.0-only
"""Who gets from a pfn to a struct page in a whole kernel tree, and whether each has a verdict.

``checks/pfn-users.toml`` has the verdicts, with rows of a file with functions, and why.
``NAME@BASE`` there is a function, or a file, of that base alone.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from padlab.core import paths, process, toml

LIST = paths.CHECKS / "pfn-users.toml"
_ARCHES = ("arch/x86", "arch/arm64")
_NOT_BUILT = {"arch", "Documentation", "samples", "scripts", "tools", "usr"}
_NAMES = (
    "(__)?pfn_to_page|pfn_t_to_page|phys_to_page|pfn_folio|pfn_to_nid|pfn_to_online_page",
    "pfn_valid|for_each_valid_pfn|online_(device_)?section|online_section_nr|walk_system_ram_range",
    r"virt_to_(head_)?(page|folio)\((__va|phys_to_virt)|deferred_init_(pfns|wait)",
)
_CALL = rf"\b({'|'.join(_NAMES)}) ?\("  # for grep, too

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DEFINE = re.compile(r"#\s*define\s+(\w+)")
_FUNCTION = re.compile(r"(?:[A-Za-z_][^;=(]*[\s*])?([A-Za-z_]\w*)\s*\(")

Use = tuple[str, str]  # a file, and a function or macro in it


class Verdict(Struct, frozen=True, forbid_unknown_fields=True):
    means: str
    calls: dict[str, str]


def read() -> dict[str, Verdict]:
    return toml.load(LIST, dict[str, Verdict])


def uses_of(row: str, base: str) -> Iterator[Use]:
    file, _, functions = row.partition(": ")
    file, _, of_file = file.partition("@")
    for name in functions.split():
        function, _, only = name.partition("@")
        if (only or of_file or base) == base:
            yield file, function


def listed(verdicts: dict[str, Verdict], base: str) -> list[tuple[Use, str]]:
    return [(use, name) for name, one in verdicts.items() for row in one.calls for use in uses_of(row, base)]


def calls(source: str) -> Iterator[tuple[str, int]]:
    """The function around each call, and the line; no declarations and definitions of what is called."""
    function = macro = ""
    code = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), source)
    for number, line in enumerate(code.splitlines(), 1):
        definition = _FUNCTION.match(line)
        if match := _DEFINE.match(line):
            macro = match[1]
        elif definition and not macro:
            function = definition[1]
        for call in re.finditer(_CALL, line):
            if call[1] != (macro or function) and not (definition and line.endswith(";")):
                yield macro or function, number
        if not line.endswith("\\"):
            macro = ""


def scan(tree: Path) -> dict[Use, int]:
    """The first line of each use in what of the tree can be built on x86-64 or arm64."""
    tops = {path.name for path in tree.iterdir() if path.is_dir()} - _NOT_BUILT
    folders = [top for top in sorted(tops) if not top.startswith((".", "obj-"))]
    command = ["grep", "-rlE", "--include=*.[ch]", _CALL, *folders, *_ARCHES]
    found: dict[Use, int] = {}
    for file in process.run(command, what="grep", cwd=tree).splitlines():
        for function, line in calls((tree / file).read_text(errors="replace")):
            found.setdefault((file, function), line)
    return dict(sorted(found.items()))


def problems(found: dict[Use, int], verdicts: dict[str, Verdict], base: str) -> list[str]:
    known = {use for use, _ in listed(verdicts, base)}
    new = [f"{use[0]}:{line}: {use[1]}() has no verdict" for use, line in found.items() if use not in known]
    gone = [f"{file}: {name}() has a verdict, but no such call" for file, name in known - found.keys()]
    return [*new, *sorted(gone)]
