# SPDX-License-Identifier: GPL-2.0-only
"""The engine in userspace: built with sanitizers, run on random jobs, and on bugs it must find.

The programs are those of the patched tree's tools/testing/padata.  Bugs are mutants
(mutant.py) of copies of the engine, to show that the programs find them.
"""

import re
from collections.abc import Callable
from pathlib import Path

from checks.mutants import mutant as mutants
from padlab.core import paths, process, progress
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import native, tree
from padlab.kernel.content import digest, fingerprint, write
from padlab.measure import tools

SANITIZERS = {"asan": "ASan and UBSan", "tsan": "TSan"}
BUGS = "engine"
BUG_JOBS = 200_000  # to find a bug in
BUG_TRIES = 4
TOOL = native.Tool("tools/testing/padata", native.ENGINE)
_STALL_S = 5  # without progress, for bugs that hang
_RUN_LIMIT_S = 900
# Kernels that place memory more at random than TSan's runtime can live with.
_TSAN_LAYOUT = "unexpected memory mapping"
_DONE = re.compile(r"(\d+) jobs, .*, seed 0x[0-9a-f]+$")


def done(said: tools.Said) -> int:
    match = _DONE.match(said.end)
    return int(match[1]) if match else 0


def problems(said: tools.Said, jobs: int, status: int) -> list[str]:
    wrong = said.problems(status)
    return wrong if wrong or done(said) >= jobs else [f"it did {done(said)} jobs of {jobs}"]


def bugs() -> dict[str, mutants.Mutant]:
    """Those that say how they are found, by name."""
    return {bug.name: bug for bug in mutants.of_table(BUGS) if bug.says}


def build(sanitizer: str, bug: mutants.Mutant | None = None) -> Path:
    program = f"padata_fuzz-{sanitizer}"
    if bug is None:
        return native.make(TOOL, program)
    source = paths.base().build / "bugs" / f"{bug.name}{Path(bug.file).suffix}"
    write(source, mutants.seeded(bug, (tree.ensure_tree("patched") / bug.file).read_text()))
    return native.make(TOOL, f"{program}-{bug.name}", f"ENGINE={source}", f"VARIANT={bug.name}")


def fuzz(sanitizer: str, jobs: int) -> Outcome:
    """Random jobs under ``sanitizer``; nothing may be found."""
    program = build(sanitizer)
    log = paths.base().logs / f"userspace-{sanitizer}.log"
    with progress.step(f"engine in userspace, {SANITIZERS[sanitizer]}, {jobs} jobs") as step:
        status, said = _run(program, [f"--jobs={jobs}"], log, step.update)
    progress.note(f"{SANITIZERS[sanitizer]}: {said.end}")
    return judge(problems(said, jobs, status), log)


def find(bug: mutants.Mutant) -> Outcome:
    """The program has to find ``bug`` whenever it runs, and to say so in one of few runs.

    A bug breaks more than one guarantee, and which one shows first is up to chance.
    """
    program = build(bug.build, bug)
    log = paths.base().logs / f"userspace-bug-{bug.name}.log"
    for _try in range(BUG_TRIES):
        status, said = attempt(program, log)
        if not status or re.search(bug.says, said.failure):
            break
    program.unlink()  # one is several MB
    if status and re.search(bug.says, said.failure):
        return Outcome(1)
    failure = said.failure or f"nothing, in {done(said)} jobs, and ended with status {status}"
    return judge([f"{bug.why}: it has to say '{bug.says}', and says {failure}"], log)


def seen_by_find() -> str:
    table = [f"{bug.name} {bug.old} {bug.new} {bug.says}" for bug in bugs().values()]
    return digest([*native.marks(TOOL), *table, fingerprint(Path(__file__)) or ""])


def attempt(program: Path, log: Path) -> tuple[int, tools.Said]:
    """What a program finds in the jobs that it has for a bug, and how it ends."""
    return _run(program, [f"--jobs={BUG_JOBS}", f"--stall={_STALL_S}"], log)


def _run(
    program: Path, args: list[str], log: Path, on_line: Callable[[str], None] = lambda _line: None
) -> tuple[int, tools.Said]:
    """The exit status may be any: what the program says is to be judged."""
    what = f"running {program.name}"
    # What the user has set for sanitizers does not count.
    env = {f"{name}_OPTIONS": "" for name in ("ASAN", "TSAN", "UBSAN")}
    for how in ([], ["setarch", "-R"]):
        lines: list[str] = []

        def keep(line: str, lines: list[str] = lines) -> None:
            lines.append(line)
            on_line(line)

        command = [*how, program, *args]
        status = process.stream(
            command, keep, what=what, env=env, log=log, timeout=_RUN_LIMIT_S, ok=process.ANY
        )
        if not any(_TSAN_LAYOUT in line for line in lines):
            return status, tools.said(lines, "padata_fuzz: ")
    why = "ThreadSanitizer cannot work with this kernel's memory layout"
    raise LabError(program.name, why, "set it: sysctl vm.mmap_rnd_bits=28", log=log)
