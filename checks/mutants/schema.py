# SPDX-License-Identifier: GPL-2.0-only
"""Many mutants in one kernel, which is told on its command line which of them it is to have.

To build a kernel takes longer than to boot it.  So each function that has mutants is there
once more for each of them, with the fault, and begins with a branch to the one that is
asked for: lab_mutant=NUMBER.  What is not within a function cannot be chosen so.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from checks.mutants.mutant import Mutant

ARGUMENT = "lab_mutant"
HOME = "mm/memmap_bulk.c"  # of the variable
_DECLARED = f"extern unsigned int {ARGUMENT};\n"
DEFINED = f"""
unsigned int {ARGUMENT};

static int __init {ARGUMENT}_setup(char *str)
{{
	return kstrtouint(str, 0, &{ARGUMENT});
}}
early_param("{ARGUMENT}", {ARGUMENT}_setup);
"""

_BODY = re.compile(r"^\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"(\w+)\(")
CLONE = re.compile(r"\w__mutant(\d+)")  # in what the compiler says
_BEFORE = ("#", "/*", " *", "*/", "}", "__setup(", "EXPORT_")  # lines before a function begin so


@dataclass(frozen=True)
class Function:
    """A function as its source has it: text[start:end], whose body begins at ``body``."""

    name: str
    start: int
    body: int
    end: int


def functions(source: str) -> Iterator[Function]:
    """Those that are written as in the kernel: the braces of a body begin a line."""
    for match in _BODY.finditer(source):
        start = match.start()
        while start:
            line = source.rfind("\n", 0, start - 1) + 1
            text = source[line : start - 1]
            if not text or text.startswith(_BEFORE) or text.endswith((";", "*/", "\\")):
                break
            start = line
        if name := _NAME.search(source, start, match.start()):
            yield Function(name[1], start, match.start(), match.end())


def _parameters(header: str) -> list[str]:
    inside = header[header.index("(") + 1 : header.rindex(")")]
    names = [part.split("[")[0].replace("*", " ").split()[-1] for part in inside.split(",")]
    return [] if names == ["void"] else names


def combined(source: str, numbered: Mapping[int, Mutant]) -> tuple[str, set[int]]:
    chosen: set[int] = set()
    text, at = [_DECLARED], 0
    places = {number: source.index(fault.old) for number, fault in numbered.items()}
    for function in functions(source):
        numbers = [
            number
            for number, start in places.items()
            if function.body <= start and start + len(numbered[number].old) <= function.end
        ]
        if not numbers:
            continue
        chosen.update(numbers)
        header = source[function.start : function.body]
        arguments = ", ".join(_parameters(header))
        text.append(source[at : function.start])
        text += [_clone(source, function, number, numbered[number]) for number in numbers]
        text.append(header + "{\n")
        text += [
            f"\tif ({ARGUMENT} == {number})\n\t\treturn {function.name}__mutant{number}({arguments});\n"
            for number in numbers
        ]
        at = function.body + 2
    return "".join([*text, source[at:]]), chosen


def _clone(source: str, function: Function, number: int, fault: Mutant) -> str:
    start = source.index(fault.old)
    body = source[function.body : start] + fault.new + source[start + len(fault.old) : function.end]
    header = source[function.start : function.body].replace("__weak", "")
    header = header.replace(f"{function.name}(", f"{function.name}__mutant{number}(", 1)
    return ("" if header.startswith("static ") else "static ") + header + body + "\n"


def diff(file: str, before: str, after: str) -> str:
    return "".join(
        difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{file}", f"b/{file}")
    )
