# SPDX-License-Identifier: GPL-2.0-only
"""The engine in userspace: built with sanitizers, run on random jobs, and on bugs it must find.

The programs are those of the patched tree's tools/testing/padata.  Bugs are mutants
(mutant.py) of copies of the engine, to show that the programs find them.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
_PREFIX = "padata_fuzz: "
# Kernels that place memory more at random than TSan's runtime can live with.
_TSAN_LAYOUT = "unexpected memory mapping"
_OK = re.compile(r"^ok: (?P<jobs>\d+) jobs, .*, seed (?P<seed>0x[0-9a-f]+)$")


@dataclass(frozen=True)
class Result:
    """A run of padata_fuzz.  ``failure`` is the guarantee that was broken, and by which job."""

    jobs: int = 0
    seed: str = ""
    failure: str = ""
    ended: bool = False  # it got to a last line, good or bad


def parse(lines: Iterable[str]) -> Result:
    said = tools.said(lines, _PREFIX)
    if said.failure:
        return Result(failure=said.failure, ended=True)
    good = next(filter(None, map(_OK.match, said.lines)), None)
    return Result(int(good["jobs"]), good["seed"], ended=True) if good else Result()


def problems(result: Result, jobs: int, status: int) -> list[str]:
    wrong = tools.Said((), (), result.failure, result.ended).problems(status)
    if result.ended and not result.failure and result.jobs < jobs:
        wrong.append(f"it did {result.jobs} jobs of {jobs}")
    return wrong


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
        status, lines = _run(program, [f"--jobs={jobs}"], log, step.update)
    result = parse(lines)
    if result.ended and not result.failure:
        progress.note(f"{SANITIZERS[sanitizer]}: {result.jobs} jobs, seed {result.seed}")
    return judge(problems(result, jobs, status), log)


def find(bug: mutants.Mutant) -> Outcome:
    """The program has to find ``bug`` whenever it runs, and to say so in one of few runs.

    A bug breaks more than one guarantee, and which one shows first is up to chance.
    """
    program = build(bug.build, bug)
    log = paths.base().logs / f"userspace-bug-{bug.name}.log"
    for _try in range(BUG_TRIES):
        status, result = attempt(program, log)
        if not status or re.search(bug.says, result.failure):
            break
    program.unlink()  # one is several MB
    if status and re.search(bug.says, result.failure):
        return Outcome(1)
    said = result.failure or f"nothing, in {result.jobs} jobs, and ended with status {status}"
    return judge([f"{bug.why}: it has to say '{bug.says}', and says {said}"], log)


def seen_by_find() -> str:
    table = [f"{bug.name} {bug.old} {bug.new} {bug.says}" for bug in bugs().values()]
    return digest([*native.marks(TOOL), *table, fingerprint(Path(__file__)) or ""])


def attempt(program: Path, log: Path) -> tuple[int, Result]:
    """What a program finds in the jobs that it has for a bug, and how it ends."""
    status, lines = _run(program, [f"--jobs={BUG_JOBS}", f"--stall={_STALL_S}"], log)
    return status, parse(lines)


def _run(
    program: Path, args: list[str], log: Path, on_line: Callable[[str], None] = lambda _line: None
) -> tuple[int, list[str]]:
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
            return status, lines
    why = "ThreadSanitizer cannot work with this kernel's memory layout"
    raise LabError(program.name, why, "set it: sysctl vm.mmap_rnd_bits=28", log=log)
