# SPDX-License-Identifier: GPL-2.0-only
"""The engine in userspace: built with sanitizers, run on random jobs, and on bugs it must find.

The patched tree's tools/testing/padata is built into ``build/userspace``, from
nothing whenever one of its sources changed.  ``tests/engine-bugs.toml`` has bugs
to seed into copies of the engine, to show that the programs find them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from padlab import hostpkgs, paths, progress, run, tree
from padlab.errors import LabError
from padlab.outcome import Outcome, judge

SANITIZERS = {"asan": "ASan and UBSan", "tsan": "TSan"}
BUGS = paths.TESTS / "engine-bugs.toml"
BUG_LIMIT_S = 10  # to find a bug in
_PLACE = paths.BUILD / "userspace"
_SOURCES = "tools/testing/padata"
_ENGINE = "kernel/padata_mt.c"
_PRIVATE = "kernel/padata_mt.h"
_HEADER = "include/linux/padata.h"
_STAMP = ".padlab-sources"
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
_HELPERS = re.compile(r"^helpers: (\d+) ran, (\d+) of them late, (\d+) were cancelled$")
_FAILED = re.compile(r"^FAILED: (?P<why>.*)$")


# What the program says


@dataclass(frozen=True)
class Helpers:
    """What became of the helpers of all jobs."""

    ran: int
    late: int
    cancelled: int


@dataclass(frozen=True)
class Result:
    """A run of padata_fuzz.  ``failure`` is the guarantee that was broken, and by which job."""

    jobs: int = 0
    seconds: float = 0.0
    rate: int = 0
    seed: str = ""
    helpers: Helpers | None = None
    failure: str = ""
    ended: bool = False  # it got to a last line, good or bad


def parse(lines: Iterable[str]) -> Result:
    """Read the program's output; sanitizers' reports in it are passed over."""
    helpers = None
    for line in lines:
        if not line.startswith(_PREFIX):
            continue
        text = line.removeprefix(_PREFIX).rstrip()
        if match := _FAILED.match(text):
            return Result(failure=match["why"], seed=_seed(match["why"]), helpers=helpers, ended=True)
        if match := _HELPERS.match(text):
            helpers = Helpers(*map(int, match.groups()))
        elif match := _OK.match(text):
            return Result(
                int(match["jobs"]),
                float(match["seconds"]),
                int(match["rate"]),
                match["seed"],
                helpers,
                ended=True,
            )
    return Result(helpers=helpers)


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


@dataclass(frozen=True)
class Bug:
    """A bug to seed, the build that finds it, and what that has to say."""

    name: str
    why: str
    build: str
    says: str
    old: str
    new: str


def parse_bugs(text: str) -> dict[str, Bug]:
    """Read tests/engine-bugs.toml."""
    bugs = {}
    for name, fields in tomllib.loads(text).items():
        try:
            bug = Bug(name, **fields)
        except TypeError:
            raise _bad_bug(name, "its fields are not those of the others") from None
        if bug.build not in SANITIZERS:
            raise _bad_bug(name, f"there is no build {bug.build!r}")
        bugs[name] = bug
    return bugs


def bugs() -> dict[str, Bug]:
    return parse_bugs(BUGS.read_text())


def seeded(bug: Bug, source: str) -> str:
    """The engine's source with ``bug``."""
    count = source.count(bug.old)
    if count != 1:
        raise _bad_bug(bug.name, f"its old text is {count} times in the engine, not once")
    return source.replace(bug.old, bug.new)


def _bad_bug(name: str, why: str) -> LabError:
    return LabError(f"bug {name}", why, f"correct it in {BUGS.relative_to(paths.ROOT)}")


# Building


def build(sanitizer: str, bug: Bug | None = None) -> Path:
    """The program with ``sanitizer``, of the engine as it is or with ``bug``."""
    hostpkgs.ensure("build")
    top = tree.ensure_tree("patched")
    _prepare(top)
    program = _PLACE / f"padata_fuzz-{sanitizer}{f'-{bug.name}' if bug else ''}"
    command = ["make", "-j2", "-C", top / _SOURCES, f"O={_PLACE}"]
    if bug:
        engine = _PLACE / "bugs" / f"{bug.name}.c"
        engine.parent.mkdir(exist_ok=True)
        engine.write_text(seeded(bug, (top / _ENGINE).read_text()))
        command += [f"ENGINE={engine}", f"VARIANT={bug.name}"]
    what = f"building {program.name}"
    run.run([*command, program], what=what, log=paths.LOGS / "userspace-build.log")
    return program


def _prepare(top: Path) -> None:
    """Drop what was built from other sources: make goes by times, which copies do not have."""
    files = [*sorted((top / _SOURCES).iterdir()), *(top / name for name in (_ENGINE, _PRIVATE, _HEADER))]
    compiler = subprocess.run(["gcc", "-v"], capture_output=True, text=True, check=False).stderr
    key = tree.digest([compiler, *(f"{file.name} {tree.fingerprint(file)}" for file in files)])
    stamp = _PLACE / _STAMP
    if stamp.exists() and stamp.read_text() == key:
        return
    shutil.rmtree(_PLACE, ignore_errors=True)
    _PLACE.mkdir(parents=True)
    stamp.write_text(key)


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
    status = run.stream(command, keep, what=what, env=env, log=log, timeout=_RUN_LIMIT_S, ok=range(-64, 256))
    return status, lines
