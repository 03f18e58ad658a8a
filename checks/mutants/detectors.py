# SPDX-License-Identifier: GPL-2.0-only
"""The checks that mutants are tried on, by the names that ./lab test has for them.

Those in userspace, of the object code and under User-mode Linux are listed here.  Of the others, which boot,
any will do: it boots a kernel with the mutant instead (guests.booting_instead()).

A detector builds what it needs with a mutant in it, or without one, and can then run.  Programs and kernels
are built again only as far as the mutant makes that necessary.
"""

import contextlib
import functools
import io
import itertools
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from checks import ARGUMENTS, guests, names, processes
from checks.engine import fuzz, programs, search, spin
from checks.mutants import mutant, mutantkernel
from checks.selftests import suites
from checks.source import fences
from padlab.core import paths
from padlab.core.outcome import Outcome, judge
from padlab.kernel import build as builds
from padlab.kernel import native, tree
from padlab.kernel.content import digest, fingerprint, write
from padlab.kernel.kconfig import PERF
from padlab.kernel.owned import owned_files

TIERS = ("userspace", "uml", "kernel", "debug")
_HEADERS = ("include/linux", "kernel", "mm")  # what programs include beside the owned files
_SELFTESTS = "tools/testing/selftests/padata/"
_SOME_CPUS = "kernel/test_padata_mt_cpus.h"
_KUNIT = ("kernel/padata_mt_kunit.c", _SOME_CPUS, "mm/memmap_bulk_kunit.c")
_MODULE = ("kernel/test_padata_mt.c", _SOME_CPUS)

UML = "KUnit, one CPU (UML)"
FENCES = "weakly ordered stores are fenced"
FUZZ = {f"engine in userspace, {name}": sanitizer for sanitizer, name in fuzz.SANITIZERS.items()}

# What was built, run for at most so many seconds.
Run = Callable[[float], Outcome]


@dataclass(frozen=True)
class Detector:
    name: str
    tier: str
    build: Callable[[mutant.Mutant | None], Run]
    reads: Callable[[str], bool]  # whether it depends on an owned file
    faulty: bool = False  # whether it boots the faulty kernel

    def sources(self) -> str:
        """Changes when something does that its outcome depends on."""
        marks = [f"{name} {fingerprint(path)}" for name, path in owned_files().items() if self.reads(name)]
        patches = [] if self.tier == "userspace" else sorted(paths.base().patches.glob("*.patch"))
        if self.faulty:
            patches += sorted((paths.CHECKS / "faults").glob("*.patch"))
        return digest([*marks, *(f"{path.name} {fingerprint(path)}" for path in patches)])


@functools.cache
def named(name: str) -> Detector:
    if name in FUZZ:
        return Detector(name, "userspace", partial(_fuzz, FUZZ[name]), _read_by_program(fuzz.TOOL))
    if checker := programs.CHECKERS.get(name):
        return Detector(name, "userspace", partial(_programs, checker), _read_by_program(checker.tool))
    if name == UML:
        return Detector(name, "uml", _uml, _read_by_kernel(*_KUNIT))
    if name == FENCES:
        return Detector(name, "kernel", _fences, _read_by_kernel())
    item = _items().get(name)
    if item is None:
        raise names.unknown(name, _items(), "test", "check")
    if name.startswith("models: "):
        model = item.callspec.params["search"].model
        return Detector(name, "userspace", partial(_model, model), lambda file: file in search.ENGINE)
    return _of_guest(name, item)


@functools.cache
def _items() -> dict[str, Any]:
    items: dict[str, Any] = {}

    class Collector:
        def pytest_itemcollected(self, item: pytest.Item) -> None:
            items[processes.name(item)] = item

    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*ARGUMENTS, "--collect-only", str(paths.CHECKS)], [Collector()])
    return items


def _of_guest(name: str, item: Any) -> Detector:
    needs = processes.needs(item)
    reads: tuple[str, ...] = ()
    if name.startswith("KUnit"):
        reads = _KUNIT
    elif name.startswith("test_") or "kselftests" in name:
        folder = paths.LINUX / _SELFTESTS
        programs = (_SELFTESTS + path.name for path in folder.glob("*.[ch]"))
        alone = [value for value in item.callspec.params.values() if str(value).startswith("test_")]
        scripts = (path.name for path in folder.glob("*.sh"))
        scripts = (script for script in scripts if not alone or script in (f"{alone[0]}.sh", "functions.sh"))
        reads = (*(_SELFTESTS + script for script in scripts), *_MODULE, *programs)
    tier = "kernel" if needs.config is PERF else "debug"
    return Detector(name, tier, partial(_boot, item), _read_by_kernel(*reads), needs.kernel == "faulty")


def _read_by_program(tool: native.Tool) -> Callable[[str], bool]:
    """Whether a file is one of those that programs of ``tool`` are made of."""
    # Of the engine's programs the others have all but these.
    less = () if tool is fuzz.TOOL else ("padata_fuzz.c", "alone.c", "alone.h")
    return lambda file: file.startswith((tool.folder, *tool.sources)) and not file.endswith(less)


def _read_by_kernel(*tests: str) -> Callable[[str], bool]:
    """Whether a file is part of the kernel, or one of the ``tests`` that a check runs."""
    return lambda file: file in tests or not file.startswith(("tools/", *_MODULE, *_KUNIT))


def _fuzz(sanitizer: str, fault: mutant.Mutant | None) -> Run:
    program = fuzz.build(sanitizer, fault)
    log = paths.base().logs / f"mutant-{sanitizer}.log"

    def run(_limit_s: float) -> Outcome:
        status, result = fuzz.attempt(program, log)
        if fault:
            program.unlink()  # one is several MB
        return judge(fuzz.problems(result, 1, status), log)

    return run


def _programs(checker: programs.Checker, fault: mutant.Mutant | None) -> Run:
    """The first of several programs is built now, so that what does not compile is known."""
    top, place = _bare_tree(fault), mutantkernel.place() / Path(checker.tool.folder).name
    make = partial(native.make_by_times, checker.tool, top=top, place=place)
    make(checker.programs[0])

    def run(_limit_s: float) -> Outcome:
        outcomes = (checker.judge(make(name)) for name in checker.programs)
        problems = (problem for outcome in outcomes for problem in outcome.failures)
        return judge(itertools.islice(problems, 1))

    return run


def _bare_tree(fault: mutant.Mutant | None) -> Path:
    """The owned files, with a mutant, and headers of the kernel.  What changes gets a new time."""
    top = mutantkernel.place() / "tree"
    for name, path in owned_files().items():
        text = path.read_text()
        text = mutant.seeded(fault, text) if fault and fault.file == name else text
        write(top / name, text)
    whole = tree.ensure_tree("patched")
    if not (top / "tools/scripts").exists():
        shutil.copytree(whole / "tools/scripts", top / "tools/scripts")
    for header in (header for folder in _HEADERS for header in (whole / folder).glob("*.h")):
        place = top / header.relative_to(whole)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(header)
    return top


def _model(model: str, fault: mutant.Mutant | None) -> Run:
    if fault is None:
        program = search.build("jobs")
    else:
        in_task = fault.file == search.TASK
        variant = spin.Variant(fault.why, model, "", fault.old, fault.new, in_task)
        program = spin.build("mutant", variant)

    return lambda _limit_s: search.check(program, model, "mutant")


def _uml(fault: mutant.Mutant | None) -> Run:
    log = paths.base().logs / "mutant-uml-build.log"
    args = ["build", "--build_dir=obj-uml"]
    kernel = mutantkernel.seed(fault)
    builds.kunit_uml("building User-mode Linux", args, "kunit-uml.config", log=log, kernel=kernel)
    return _run(kernel, lambda: suites.kunit_uml("exec"))


def _fences(fault: mutant.Mutant | None) -> Run:
    obj = guests.built(mutantkernel.seed(fault), PERF).obj
    return lambda _limit_s: fences.check(obj)


def _boot(item: Any, fault: mutant.Mutant | None) -> Run:
    needs = processes.needs(item)
    kernel = guests.built(mutantkernel.seed(fault, needs.kernel), needs.config).kernel
    return _run(kernel, lambda: item.obj(**item.callspec.params), needs.kernel)


def _run(kernel: str, check: Callable[[], Outcome], base: str = mutantkernel.PATCHED) -> Run:
    """An oops is the end: what it leaves locked would keep a guest until its time is up."""

    def run(limit_s: float) -> Outcome:
        with guests.booting_instead(guests.Instead(base, kernel, ("oops=panic",), limit_s)):
            return check()

    return run
