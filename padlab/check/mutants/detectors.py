# SPDX-License-Identifier: GPL-2.0-only
"""The checks that mutants are tried on, by the names that checks/mutants/ uses.

From the cheapest:

    asan, tsan          userspace: the engine, random jobs for some seconds
    stores, zero        userspace: struct pages, huge pages
    charge              userspace: CPU time of helpers
    model:NAME          userspace: the engine or its task back end under the model checker
    kunit-uml           KUnit under User-mode Linux
    fences              the kernel's object code: weakly ordered stores
    deferred_init_threads=, placement, memmap oracle, ...
                        boots, which ./lab test calls the same; of the faulty kernel with
                        mutants, if it is the faulty kernel that the check boots
    kunit               KUnit in a guest
    test_NAME           a guest in which that kselftest runs and nothing else
    caches:test_NAME    the same with several caches in a node
    debug:...           the two before with the debug kernel, which takes longer

A detector builds what it needs with a mutant in it, or without one, and can then run.  Programs are built
again only as far as the mutant makes that necessary, and kernels mostly not at all (mutantkernel.py).
"""

import itertools
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from padlab.check.base import expected, guests
from padlab.check.deferred import deferred, nextkernel
from padlab.check.guest import suites
from padlab.check.memmap import matrix, memmap
from padlab.check.mutants import mutant, mutantkernel
from padlab.check.source import fences
from padlab.check.userspace import charge, fuzz, search, spin
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.core.threads import once
from padlab.kernel import build as builds
from padlab.kernel import native, tree
from padlab.kernel.content import digest, fingerprint, write
from padlab.kernel.kconfig import DEBUG, PERF, Config
from padlab.kernel.owned import owned_files
from padlab.measure import structpages, zeroing

TIERS = ("userspace", "uml", "kernel", "debug")
_TOP = mutantkernel.PLACE / "tree"
_HEADERS = ("include/linux", "kernel", "mm")  # what programs include beside the owned files
_SELFTESTS = "tools/testing/selftests/padata/"
_SOME_CPUS = "kernel/test_padata_mt_cpus.h"
_KUNIT = ("kernel/padata_mt_kunit.c", _SOME_CPUS, "mm/memmap_bulk_kunit.c")
_MODULE = ("kernel/test_padata_mt.c", _SOME_CPUS)

# What was built, run for at most so many seconds; and a kernel booted, by its name.
Run = Callable[[float], Outcome]
Boot = Callable[[str, float], Outcome]
Problems = list[str] | tuple[str, ...]


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
        patches = [] if self.tier == "userspace" else sorted(paths.PATCHES.glob("*.patch"))
        if self.faulty:
            patches += sorted((paths.CHECKS / "faults").glob("*.patch"))
        return digest([*marks, *(f"{path.name} {fingerprint(path)}" for path in patches)])


@once
def named(name: str) -> Detector:
    if name in fuzz.SANITIZERS:
        return Detector(name, "userspace", partial(_fuzz, name), _read_by_program(fuzz.TOOL))
    if name in _PROGRAMS:
        tool = _PROGRAMS[name][0]
        return Detector(name, "userspace", partial(_programs, *_PROGRAMS[name]), _read_by_program(tool))
    if name.startswith("model:"):
        model = name.removeprefix("model:")
        if model not in spin.models():
            raise LabError(f"check {name}", "there is no such model", "see ./lab models --list")
        return Detector(name, "userspace", partial(_model, model), lambda file: file in search.ENGINE)
    if name == "kunit-uml":
        return Detector(name, "uml", _uml, _read_by_kernel(*_KUNIT))
    if name == "fences":
        return Detector(name, "kernel", _fences, _read_by_kernel())
    return _of_boots().get(name) or _of_guest(name)


@once
def _of_boots() -> dict[str, Detector]:
    """Checks that boot, which ./lab test has by the same names."""
    detectors = [
        _booted(case.title, case.config, partial(memmap.case, case))
        for case in matrix.cases(True)
        if not case.mirrored
    ]
    for name in deferred.MACHINES:
        detectors.append(_booted(f"placement, {name}", PERF, partial(deferred.placed, name)))
    for value in deferred.PARAMETERS:
        detectors.append(_booted(value.title, value.config, partial(deferred.parameter, value)))
    if expected.table().handover:
        detectors.append(_booted(nextkernel.TITLE, nextkernel.CONFIG, nextkernel.restores))
    detectors += [
        _booted("memmap oracle, a zone that grew on demand", PERF, memmap.grown),
        _booted("memmap oracle, no page left for the jobs", PERF, memmap.none_left, faulty=True),
    ]
    return {detector.name: detector for detector in detectors}


def _booted(name: str, config: Config, boot: Boot, faulty: bool = False) -> Detector:
    build = partial(_boot, config, boot, base=mutantkernel.FAULTY if faulty else mutantkernel.PATCHED)
    return Detector(name, "kernel" if config is PERF else "debug", build, _read_by_kernel(), faulty)


def _of_guest(name: str) -> Detector:
    caches = name.startswith("caches:")
    kind = name.removeprefix("debug:").removeprefix("caches:")
    config = DEBUG if name.startswith("debug:") else PERF
    reads: tuple[str, ...]
    if kind == "kunit":
        boot, reads = partial(suites.kunit, config), _KUNIT
    elif name == "debug:kunit-refused":
        boot, reads = partial(suites.kunit_refused), _KUNIT
    elif kind.startswith("test_") and (paths.LINUX / _SELFTESTS / f"{kind}.sh").exists():
        boot = partial(suites.on_caches if caches else suites.selftest, kind, config)
        programs = (_SELFTESTS + path.name for path in (paths.LINUX / _SELFTESTS).glob("*.[ch]"))
        reads = (f"{_SELFTESTS}{kind}.sh", f"{_SELFTESTS}functions.sh", *_MODULE, *programs)
    else:
        todo = f"use one of those at the top of {paths.shown(Path(__file__))}"
        raise LabError(f"check {name}", "no check of mutants has that name", todo)
    tier = "kernel" if config is PERF else "debug"
    return Detector(name, tier, partial(_boot, config, boot), _read_by_kernel(*reads))


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
    log = paths.LOGS / f"mutant-{sanitizer}.log"

    def run(_limit_s: float) -> Outcome:
        status, result = fuzz.attempt(program, log)
        if fault:
            program.unlink()  # one is several MB
        return judge(fuzz.problems(result, 1, status), log)

    return run


# The tool, its programs, and what runs one of them.
_PROGRAMS: dict[str, tuple[native.Tool, Sequence[str], Callable[[Path], Problems]]] = {
    "stores": (structpages.TOOL, structpages.CHECKS, structpages.check_program),
    "zero": (zeroing.TOOL, zeroing.CHECKS, lambda program: zeroing.check_program(program).failures),
    "charge": (charge.TOOL, (charge.PROGRAM,), lambda program: charge.check_program(program).failures),
}


def _programs(
    tool: native.Tool, names: Sequence[str], check: Callable[[Path], Problems], fault: mutant.Mutant | None
) -> Run:
    """The first of several programs is built now, so that what does not compile is known."""
    top = _bare_tree(fault)
    make = partial(native.make_by_times, tool, top=top, place=mutantkernel.PLACE / Path(tool.folder).name)
    make(names[0])

    def run(_limit_s: float) -> Outcome:
        problems = (problem for name in names for problem in check(make(name)))
        return judge(itertools.islice(problems, 1))

    return run


def _bare_tree(fault: mutant.Mutant | None) -> Path:
    """The owned files, with a mutant, and headers of the kernel.  What changes gets a new time."""
    for name, path in owned_files().items():
        text = path.read_text()
        text = mutant.seeded(fault, text) if fault and fault.file == name else text
        write(_TOP / name, text)
    whole = tree.ensure_tree("patched")
    if not (_TOP / "tools/scripts").exists():
        shutil.copytree(whole / "tools/scripts", _TOP / "tools/scripts")
    for header in (header for folder in _HEADERS for header in (whole / folder).glob("*.h")):
        place = _TOP / header.relative_to(whole)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(header)
    return _TOP


def _model(model: str, fault: mutant.Mutant | None) -> Run:
    if fault is None:
        program = search.build("jobs")
    else:
        in_task = fault.file == search.TASK
        variant = spin.Variant(fault.why, model, "", fault.old, fault.new, in_task)
        program = spin.build("mutant", variant)

    def run(_limit_s: float) -> Outcome:
        result, status, log = search.run(program, model, "mutant")
        return judge(search.problems(result, "", status), log)

    return run


def _uml(fault: mutant.Mutant | None) -> Run:
    log = paths.LOGS / "mutant-uml-build.log"
    args = ["build", "--build_dir=obj-uml"]

    def make(kernel: str) -> None:
        builds.kunit_uml("building User-mode Linux", args, "kunit-uml.config", log=log, kernel=kernel)

    kernel = mutantkernel.built(fault, make)
    return _run(kernel, lambda name, limit_s: suites.kunit_uml(name, "exec", int(limit_s)))


def _fences(fault: mutant.Mutant | None) -> Run:
    kernel = mutantkernel.built(fault, lambda name: guests.build(name, PERF), alone=True)
    return lambda _limit_s: fences.check(guests.build(kernel.name, PERF).obj)


def _boot(config: Config, boot: Boot, fault: mutant.Mutant | None, base: str = mutantkernel.PATCHED) -> Run:
    return _run(mutantkernel.built(fault, lambda name: guests.build(name, config), base=base), boot)


def _run(kernel: mutantkernel.Kernel, boot: Boot) -> Run:
    """An oops is the end: what it leaves locked would keep a guest until its time is up."""

    def run(limit_s: float) -> Outcome:
        with guests.with_arguments(*kernel.args, "oops=panic"):
            return boot(kernel.name, limit_s)

    return run
