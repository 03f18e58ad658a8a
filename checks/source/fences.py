# SPDX-License-Identifier: GPL-2.0-only
"""Weakly ordered stores of the kernel, in its object code: is each of them followed by a fence?

CLZERO and non-temporal stores may become visible after plain stores that follow them.  No test notices that:
it takes the right moment on another CPU, and the emulator, which does not know CLZERO at all, orders all
stores.  So the code that was built is read: from each such store, every way to the end of its function has to
lead over a fence, or, if a function leaves that to its callers, every way from each call of it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from checks import guests
from padlab.core import packages, paths, process, progress
from padlab.core.outcome import Outcome, judge
from padlab.kernel.kconfig import PERF

# What each has to have of such stores.  That they are there is not seen otherwise, but by a clock.
OBJECTS = {
    "arch/x86/mm/zero_pages.o": {"clzero", "movnti"},
    "arch/x86/mm/copy_pages.o": {"movnti"},
    "arch/x86/mm/memmap_bulk.o": {"movnti"},
    "mm/memmap_bulk.o": set[str](),
    "mm/memmap_job.o": set[str](),
}
# Leaves the fence to its callers, mm/memmap_*.c, see the comment there.
UNFENCED = {"arch_memmap_stamp"}

_FUNCTION = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(?:(?:lock|rep|bnd|notrack|ds|cs)\s+)*(\S+)(.*)$")
_RELOCATION = re.compile(r"^\s*[0-9a-f]+: R_X86_64_P\w+\s+([\w.]+)")
_SECTION = re.compile(r"^Disassembly of section (\S+):$")
_TARGET = re.compile(r"([0-9a-f]+) <([^>+]+)(?:\+0x[0-9a-f]+)?>")
_WEAK = re.compile(r"^(clzero|movnt\w*|vmovnt\w*|movdir\w*)$")
_FENCE = {"sfence", "mfence"}
_END = {"ret", "retq", "jmp", "jmpq", "ud2"}


@dataclass
class Instruction:
    """One of them; ``target`` is an address of the same function, ``calls`` another function."""

    name: str
    target: int | None = None
    calls: str | None = None


@dataclass
class Function:
    name: str
    code: dict[int, Instruction] = field(default_factory=dict)

    def ways_on(self, at: int) -> Iterator[int | None]:
        """Where it goes on after ``at``; None: out of the function."""
        instruction = self.code[at]
        name, target = instruction.name, instruction.target
        if name.startswith("j") and (target is not None or instruction.calls):
            yield target
        if name not in _END:
            yield min((later for later in self.code if later > at), default=None)
        elif name.startswith(("ret", "jmp")) and target is None:
            yield None

    def leaves_unfenced(self, start: int) -> bool:
        """Is there a way from after ``start`` out of the function without a fence?"""
        seen: set[int] = set()
        todo = list(self.ways_on(start))
        while todo:
            at = todo.pop()
            if at is None or at not in self.code:
                return True
            if at not in seen and self.code[at].name not in _FENCE:
                seen.add(at)
                todo += self.ways_on(at)
        return False


def parse(lines: Iterable[str]) -> list[Function]:
    """The functions of ``objdump -dr --no-show-raw-insn``; patched-in alternatives are left out."""
    functions: list[Function] = []
    last: Instruction | None = None
    text = False
    for line in lines:
        if match := _SECTION.match(line):
            text = not match[1].startswith((".alt", ".static_call"))
        elif not text:
            continue
        elif match := _FUNCTION.match(line):
            functions.append(Function(match[2]))
        elif (match := _RELOCATION.match(line)) and last:
            # A jump into a section of alternatives is patched to one within the function.
            if last.name.startswith(("call", "j")) and not match[1].startswith("."):
                last.target, last.calls = None, match[1]
        elif match := _INSTRUCTION.match(line):
            name, last = match[2], Instruction(match[2])
            if name.startswith(("call", "j")) and (to := _TARGET.search(match[3])):
                within = to[2] == functions[-1].name and not name.startswith("call")
                last = Instruction(name, int(to[1], 16)) if within else Instruction(name, calls=to[2])
            functions[-1].code[int(match[1], 16)] = last
    return functions


def problems(functions: list[Function]) -> list[str]:
    """Functions that can return without a fence after a weakly ordered store, or a call of one.  Pure."""
    stores: dict[str, str] = {}
    while True:
        more = {}
        for function in functions:
            for at, instruction in function.code.items():
                store = instruction.calls if instruction.calls in stores else None
                if _WEAK.match(instruction.name):
                    store = instruction.name
                if store and function.name not in stores and function.leaves_unfenced(at):
                    more[function.name] = store
        if not more:
            break
        stores |= more
    unfenced = {name: store for name, store in stores.items() if name not in UNFENCED}
    return [f"{name}() may return after {store} without a fence" for name, store in unfenced.items()]


def missing(name: str, functions: list[Function]) -> list[str]:
    """Stores that object file ``name`` has to have and does not have.  Pure."""
    present = {instruction.name for function in functions for instruction in function.code.values()}
    return [f"{name} has no {store}" for store in sorted(OBJECTS[name] - present)]


def check(obj: Path | None = None) -> Outcome:
    """Every CLZERO and non-temporal store of page zeroing and struct pages, of what was built in ``obj``."""
    log = paths.base().logs / "fences.log"
    packages.ensure("build")
    obj = obj or guests.built("patched", PERF).obj
    functions, wrong = [], []
    for name in OBJECTS:
        command = ["objdump", "-dr", "--no-show-raw-insn", obj / name]
        read = parse(process.run(command, what=f"reading {name}", log=log).splitlines())
        wrong += missing(name, read)
        functions += read
    progress.note(f"{len(functions)} functions read")
    return judge(wrong + problems(functions), log)
