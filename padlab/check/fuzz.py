# SPDX-License-Identifier: GPL-2.0-only
"""The engine in userspace: built with sanitizers, run on random jobs, and on bugs it must find.

The programs are those of the patched tree's tools/testing/padata.
``tests/engine-bugs.toml`` has bugs to seed into copies of the engine, to show that
the programs find them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from padlab.core import paths, process, progress, toml
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import native, tree

SANITIZERS = {"asan": "ASan and UBSan", "tsan": "TSan"}
BUGS = paths.TESTS / "engine-bugs.toml"
BUG_LIMIT_S = 10  # to find a bug in
_TOOL = native.Tool("tools/testing/padata", native.ENGINE)
_ENGINE, _, _HEADER = native.ENGINE
_STALL_S = 5  # without progress, for bugs that hang
_RUN_LIMIT_S = 900
_PREFIX = "padata_fuzz: "
# Kernels that place memory more at random than TSan's runtime can live with.
_TSAN_LAYOUT = "unexpected memory mapping"
_OK = re.compile(
    r"^ok: (?P<jobs>\d+) jobs, (?P<callers>\d+) callers, (?P<helpers>\d+) helpers, "
    r"(?P<seconds>[\d.]+) s, (?P<rate>\d+) jobs/s, seed (?P<seed>0x[0-9a-f]+)$"
)
_PROGRESS = re.compile(r"^(?P<jobs>\d+) jobs in \d+ s$")
_FAILED = re.compile(r"^FAILED: (?P<why>.*)$")


# What the program says


@dataclass(frozen=True)
class Result:
    """A run of padata_fuzz.  ``failure`` is the guarantee that was broken, and by which job."""

    jobs: int = 0
    seconds: float = 0.0
    rate: int = 0
    seed: str = ""
    failure: str = ""
    ended: bool = False  # it got to a last line, good or bad


def parse(lines: Iterable[str]) -> Result:
    """Read the program's output; sanitizers' reports in it are passed over."""
    for line in lines:
        if not line.startswith(_PREFIX):
            continue
        text = line.removeprefix(_PREFIX).rstrip()
        if match := _FAILED.match(text):
            return Result(failure=match["why"], seed=_seed(match["why"]), ended=True)
        if match := _OK.match(text):
            return Result(
                int(match["jobs"]),
                float(match["seconds"]),
                int(match["rate"]),
                match["seed"],
                ended=True,
            )
    return Result()


def _seed(text: str) -> str:
    match = re.search(r"seed (0x[0-9a-f]+)$", text)
    return match[1] if match else ""


def jobs_so_far(line: str) -> int | None:
    """The number of jobs in a line of progress."""
    match = _PROGRESS.match(line.removeprefix(_PREFIX)) if line.startswith(_PREFIX) else None
    return int(match["jobs"]) if match else None


def problems(result: Result, jobs: int, status: int) -> list[str]:
    """What is wrong with a run that was to do ``jobs``."""
    if result.failure:
        return [result.failure]
    if not result.ended:
        return [f"it ended with status {status} and no result"]
    found = []
    if status:
        found.append(f"it says ok and ended with status {status}")
    if result.jobs < jobs:
        found.append(f"it did {result.jobs} jobs of {jobs}")
    return found


# Bugs


class _Entry(Struct, forbid_unknown_fields=True):
    """A table of tests/engine-bugs.toml: the build that finds the bug, what it says, and how to seed it."""

    why: str
    build: Literal["asan", "tsan"]
    says: str
    old: str
    new: str
    in_header: bool = False


@dataclass(frozen=True)
class Bug:
    """A bug to seed, into which file, the build that finds it, and what that has to say."""

    name: str
    why: str
    build: str
    says: str
    old: str
    new: str
    in_header: bool = False

    @property
    def file(self) -> str:
        return _HEADER if self.in_header else _ENGINE


def bugs(path: Path = BUGS) -> dict[str, Bug]:
    """The bugs by name."""
    entries = toml.load(path, dict[str, _Entry])
    return {name: Bug(name, **structs.asdict(entry)) for name, entry in entries.items()}


def seeded(bug: Bug, source: str) -> str:
    """The source of ``bug.file`` with ``bug``."""
    count = source.count(bug.old)
    if count != 1:
        raise LabError(
            f"bug {bug.name}",
            f"its old text is {count} times in {bug.file}, not once",
            f"correct it in {BUGS.relative_to(paths.ROOT)}",
        )
    return source.replace(bug.old, bug.new)


# Building


def build(sanitizer: str, bug: Bug | None = None) -> Path:
    """The program with ``sanitizer``, of the engine as it is or with ``bug``."""
    program = f"padata_fuzz-{sanitizer}"
    if bug is None:
        return native.make(_TOOL, program)
    source = paths.BUILD / "bugs" / f"{bug.name}{Path(bug.file).suffix}"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(seeded(bug, (tree.ensure_tree("patched") / bug.file).read_text()))
    variable = "HEADER" if bug.in_header else "ENGINE"
    return native.make(_TOOL, f"{program}-{bug.name}", f"{variable}={source}", f"VARIANT={bug.name}")


# Running


def fuzz(sanitizer: str, jobs: int) -> Outcome:
    """Random jobs under ``sanitizer``; nothing may be found."""
    program = build(sanitizer)
    log = paths.LOGS / f"userspace-{sanitizer}.log"
    with progress.step(f"engine in userspace, {SANITIZERS[sanitizer]}") as step:

        def show(line: str) -> None:
            done = jobs_so_far(line)
            if done is not None:
                step.update(f"{done} of {jobs} jobs")

        status, lines = _run(program, [f"--jobs={jobs}"], log, show)
    result = parse(lines)
    if result.ended and not result.failure:
        progress.note(
            f"{SANITIZERS[sanitizer]}: {result.jobs} jobs in {result.seconds:g} s, seed {result.seed}"
        )
    return judge(problems(result, jobs, status), log)


def find(bug: Bug) -> Outcome:
    """The program has to find ``bug``, and to say so."""
    program = build(bug.build, bug)
    log = paths.LOGS / f"userspace-bug-{bug.name}.log"
    limits = [f"--seconds={BUG_LIMIT_S}", f"--stall={_STALL_S}"]
    status, lines = _run(program, limits, log)
    program.unlink()  # one is several MB
    result = parse(lines)
    if status and re.search(bug.says, result.failure):
        return Outcome(1)
    said = result.failure or f"nothing, in {result.jobs} jobs, and ended with status {status}"
    return judge([f"{bug.why}: it has to say '{bug.says}', and says {said}"], log)


def _run(
    program: Path, args: list[str], log: Path, on_line: Callable[[str], None] = lambda _line: None
) -> tuple[int, list[str]]:
    status, lines = _run_once([program, *args], log, on_line)
    if any(_TSAN_LAYOUT in line for line in lines):
        status, lines = _run_once(["setarch", "-R", program, *args], log, on_line)
    if any(_TSAN_LAYOUT in line for line in lines):
        raise LabError(
            program.name,
            "ThreadSanitizer cannot work with this kernel's memory layout",
            "set it: sysctl vm.mmap_rnd_bits=28",
            log=log,
        )
    return status, lines


def _run_once(command: list[object], log: Path, on_line: Callable[[str], None]) -> tuple[int, list[str]]:
    """The exit status may be any: what the program says is to be judged."""
    lines: list[str] = []

    def keep(line: str) -> None:
        lines.append(line)
        on_line(line)

    # What the user has set for sanitizers does not count.
    env = {f"{name}_OPTIONS": "" for name in ("ASAN", "TSAN", "UBSAN")}
    what = f"running {Path(str(command[0])).name}"
    status = process.stream(
        command, keep, what=what, env=env, log=log, timeout=_RUN_LIMIT_S, ok=range(-64, 256)
    )
    return status, lines
