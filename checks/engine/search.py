# SPDX-License-Identifier: GPL-2.0-only
"""Searching a model: the programs of checks/engine/models, what spin's search prints, and traces.

Each program has spin's search in it and some models, of which MODEL in its environment names one.  It stops
at the first error and leaves a trail, along which it can go again and tell each step.
"""

import contextlib
import functools
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from padlab.core import exclusive, packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import native
from padlab.kernel.arch import X86_64
from padlab.kernel.content import Stamp, copy, fingerprint
from padlab.kernel.owned import owned_files

SOURCES = paths.CHECKS / "engine/models"
GROUPS = ("build", "models")
TASK = "kernel/padata_mt_task.c"
ENGINE = (*native.ENGINE, TASK, "kernel/sched/charge.h")
LIMIT_S = 900
NO_ERROR = "no error"
_TRAIL = "search.pml.trail"
_DEPTH = 10_000  # steps; a model that has more is not searched to its end
_HASH_BITS = 22
_STATES = re.compile(r"^\s*(\d+) states, stored$", re.MULTILINE)
_ERRORS = re.compile(r"errors: (\d+)$", re.MULTILINE)
_FAILED = re.compile(r"^model: failed: (?P<why>.*)$", re.MULTILINE)
_PC = re.compile(r"at pc (0x[0-9a-f]+)")
# What makes a search less than one of all states.
_CUT_SHORT = ("max search depth too small", "pan: out of memory", "hash table exhausted")


@dataclass(frozen=True)
class Result:
    """A search.  ``found`` is the error, ``cut`` why it is not one of all states."""

    states: int = 0
    found: str = NO_ERROR
    ended: bool = False
    cut: str = ""


def parse(text: str) -> Result:
    states, errors, failed = _STATES.search(text), _ERRORS.search(text), _FAILED.search(text)
    found = failed["why"] if failed else NO_ERROR
    if errors and int(errors[1]) and not failed:
        found = "an error of spin's own"
    nr_states = int(states[1]) if states else 0
    cut = next((sign for sign in _CUT_SHORT if sign in text), "")
    return Result(nr_states, found, errors is not None and nr_states > 0, cut)


def problems(result: Result, says: str, status: int) -> list[str]:
    if not result.ended:
        return [f"it ended with status {status} and no result"]
    if says and not re.search(says, result.found):
        return [f"it has to find '{says}', and finds {result.found}"]
    if says:
        return []
    wrong = [] if result.found == NO_ERROR else [result.found]
    return wrong + ([f"not all states were searched: {result.cut}"] if result.cut else [])


def _place() -> Path:
    return paths.base().build / "models"


def build(program: str, **variables: object) -> Path:
    """Have the Makefile of checks/engine/models make ``program``; make's variables are in capitals."""
    packages.ensure(*GROUPS)
    place = _place()
    target = place / program
    engine = {name: owned_files()[name] for name in ENGINE}
    linux = place / "linux"  # all of it in one folder, of any base
    command = ["make", "-s", "-C", SOURCES, f"O={place}", f"LINUX={linux}", "CC=gcc"]
    command += [f"{name}={value}" for name, value in variables.items()]
    files = [*sorted(path for path in SOURCES.iterdir() if path.suffix != ".toml"), *engine.values()]
    parts = [X86_64.identity, spin_version(), *(f"{file} {fingerprint(file)}" for file in files)]
    stamp = Stamp(place / ".padlab-sources", parts)
    with exclusive.alone(place.with_name(f".{place.name}.lock")), contextlib.ExitStack() as making:
        if not (stamp.matches() and linux.exists()):
            shutil.rmtree(place, ignore_errors=True)
            for name, path in engine.items():
                copy(path, linux / name)
        making.enter_context(stamp.renewed())
        process.run([*command, target], what=f"building model {program}", log=_log(program, "-build"))
    return target


def _log(name: str, part: str = "") -> Path:
    return paths.base().logs / f"models-{name}{part}.log"


def check(program: Path, model: str, name: str, says: str = "") -> Outcome:
    """Search ``model``, which has to find ``says``, or nothing.

    The log, called after ``name``, also has the trace of an error.
    """
    log, folder = _log(name), _place() / "runs" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines: list[str] = []
    command, env = [program, f"-m{_DEPTH}", f"-w{_HASH_BITS}"], {"MODEL": model}
    what = f"searching {name}"
    status = process.stream(
        command, lines.append, what=what, cwd=folder, env=env, log=log, timeout=LIMIT_S, ok=process.ANY
    )
    result = parse("\n".join(lines))
    result = replace(result, found=_placed(program, [result.found])[0])
    if (folder / _TRAIL).exists():
        text = "".join(f"{line}\n" for line in _placed(program, trace(program, model, folder)))
        with log.open("a") as file:
            file.write(f"\nThe steps that lead to it:\n{text}")
    progress.note(f"{name}: {result.states:,} states")
    return judge(problems(result, says, status), log)


def trace(program: Path, model: str, folder: Path) -> list[str]:
    """Go again along the trail in ``folder``: a line for each step."""
    env = {"MODEL": model, "MODEL_TRACE": "1"}
    command = [program, "-r", _TRAIL]
    out = process.run(command, what=f"tracing {model}", cwd=folder, env=env, ok=process.ANY)
    return [line.removeprefix("model: ") for line in out.splitlines() if line.startswith("model: ")]


def _placed(program: Path, lines: Iterable[str]) -> list[str]:
    """``lines`` with places in the source for those in the program."""

    def place(match: re.Match[str]) -> str:
        # The instruction before the one that the call returns to.
        pc = hex(int(match[1], 16) - 1)
        out = process.run(["addr2line", "-e", program, pc], what="asking for a line of the source")
        return f"at {Path(out.split()[0]).name}"

    return [_PC.sub(place, line) for line in lines]


@functools.cache
def spin_version() -> str:
    packages.ensure(*GROUPS)
    out = process.run(["spin", "-V"], what="asking for spin's version")
    match = re.search(r"Version (\S+)", out)
    if match is None:
        raise LabError("spin", "spin -V names no version", "install Debian's: apt-get install spin")
    return f"spin {match[1]}"
