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
    debug:...           the two before with the debug kernel, which takes longer

A detector builds what it needs with a mutant in it, or without one, and can then run.
Programs are built again only as far as the mutant makes that necessary, and kernels
mostly not at all (mutantkernel.py).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from padlab.check.base import guests
from padlab.check.deferred import besideplan, deferred
from padlab.check.guest import suites
from padlab.check.memmap import asked, matrix, memmap
from padlab.check.mutants import mutant, mutantkernel
from padlab.check.mutants.mutant import Mutant
from padlab.check.mutants.mutantkernel import PLACE, Kernel
from padlab.check.source import fences
from padlab.check.userspace import charge, fuzz, search, spin
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.once import once
from padlab.core.outcome import Outcome, judge
from padlab.kernel import build as builds
from padlab.kernel import native, tree
from padlab.kernel.content import digest, fingerprint
from padlab.kernel.owned import owned_files
from padlab.measure import structpages, zeroing
from padlab.vm import machine

TIERS = ("userspace", "uml", "kernel", "debug")
_TOP = PLACE / "tree"
_SELFTESTS = "tools/testing/selftests/padata/"
_KUNIT = ("kernel/padata_mt_kunit.c", "mm/memmap_bulk_kunit.c")
_MODULE = "lib/test_padata_mt.c"

# What was built, run for at most so many seconds; and a kernel booted, by its name.
Run = Callable[[float], Outcome]
Boot = Callable[[str, float], Outcome]


@dataclass(frozen=True)
class Booted:
    """A check that boots a kernel with mutants in it, made of ``base``."""

    config: str
    boot: Boot
    base: str = mutantkernel.PATCHED


@dataclass(frozen=True)
class Detector:
    """A check that may notice a mutant."""

    name: str
    tier: str
    build: Callable[[Mutant | None], Run]
    reads: Callable[[str], bool]  # whether it depends on an owned file
    faulty: bool = False  # whether it boots the faulty kernel

    @property
    def cost(self) -> tuple[int, int]:
        """Cheaper ones come first."""
        kinds = ("asan", "tsan", "fences", "deferred_init_threads", "memmap oracle", "placement", "kunit")
        kind = re.split("[,=]", self.name.removeprefix("debug:"))[0]
        return TIERS.index(self.tier), kinds.index(kind) if kind in kinds else len(kinds)

    def sources(self) -> str:
        """Changes when something does that its outcome depends on."""
        owned = [f"{name} {fingerprint(path)}" for name, path in owned_files().items() if self.reads(name)]
        if self.tier == "userspace":
            return digest(owned)
        patches = sorted(paths.PATCHES.glob("*.patch"))
        if self.faulty:
            patches += sorted((paths.CHECKS / "faults").glob("*.patch"))
        return digest([*owned, *(f"{path.name} {fingerprint(path)}" for path in patches)])


@once
def named(name: str) -> Detector:
    """The detector that a table calls ``name``."""
    known: dict[str, Callable[[str], Detector]] = {
        "asan": partial(_of_tool, fuzz.TOOL, partial(_fuzz, "asan")),
        "tsan": partial(_of_tool, fuzz.TOOL, partial(_fuzz, "tsan")),
        "stores": partial(_of_tool, structpages.TOOL, _stores),
        "zero": partial(_of_tool, zeroing.TOOL, _zero),
        "charge": partial(_of_tool, charge.TOOL, _charge),
        "kunit-uml": lambda name: Detector(name, "uml", _uml, partial(_kernel_reads, *_KUNIT)),
        "fences": lambda name: Detector(name, "kernel", _fences, _kernel_reads),
    }
    if name in known:
        return known[name](name)
    if name.startswith("model:"):
        return _of_model(name)
    return _of_boot(name) or _of_guest(name)


def _of_tool(tool: native.Tool, build: Callable[[Mutant | None], Run], name: str) -> Detector:
    parts = (tool.folder, *tool.sources)
    # Of the engine's programs the others have all but these.
    less = () if tool is fuzz.TOOL else ("padata_fuzz.c", "alone.c", "alone.h")

    def reads(file: str) -> bool:
        return file.startswith(parts) and not file.endswith(less)

    return Detector(name, "userspace", build, reads)


def _of_model(name: str) -> Detector:
    model = name.removeprefix("model:")
    if model not in spin.models():
        raise LabError(f"check {name}", "there is no such model", "see ./lab models --list")
    return Detector(name, "userspace", partial(_model, model), lambda file: file in search.ENGINE)


def _of_guest(name: str) -> Detector:
    config = "debug" if name.startswith("debug:") else "perf"
    tier = "debug" if config == "debug" else "kernel"
    kind = name.removeprefix("debug:")
    if kind == "kunit":
        run = partial(suites.kunit_of, config)
        return Detector(name, tier, partial(_boot, config, run), partial(_kernel_reads, *_KUNIT))
    if kind.startswith("test_") and (paths.LINUX / _SELFTESTS / f"{kind}.sh").exists():
        run = partial(suites.selftest, kind, config)
        programs = (_SELFTESTS + path.name for path in (paths.LINUX / _SELFTESTS).glob("*.[ch]"))
        parts = (f"{_SELFTESTS}{kind}.sh", _SELFTESTS + "functions.sh", _MODULE, *programs)
        return Detector(name, tier, partial(_boot, config, run), partial(_kernel_reads, *parts))
    raise LabError(
        f"check {name}",
        "no check of mutants has that name",
        "use one of those at the top of padlab/check/detectors.py",
    )


@once
def _boots() -> dict[str, Booted]:
    """Checks that ./lab test has by the same names."""
    plain = [asked.Case("plain", name, config=machine.load(name).config) for name in memmap.small_machines()]
    found = {
        one.title.removesuffix(", plain"): Booted(one.config, partial(memmap.case, one))
        for one in (*plain, *matrix.cases(True))
        if not one.mirrored
    }
    found |= {
        f"placement, {name}": Booted("perf", partial(deferred.placed, name)) for name in deferred.MACHINES
    }
    found |= {one.title: Booted(one.config, partial(deferred.parameter, one)) for one in deferred.PARAMETERS}
    grown = {"memmap oracle, a zone that grew on demand": Booted("perf", memmap.grown)}
    return found | grown | _beside()


def _beside() -> dict[str, Booted]:
    """Beside deferred init, nearly all with the faulty kernel."""
    interrupted = "memmap oracle, allocation in interrupts meanwhile"
    return {
        interrupted: Booted("perf", memmap.interrupted, mutantkernel.FAULTY),
        **{
            one.title: Booted(
                one.config, one.run, mutantkernel.FAULTY if one.faulty else mutantkernel.PATCHED
            )
            for one in besideplan.checks()
        },
    }


def _of_boot(name: str) -> Detector | None:
    one = _boots().get(name)
    if one is None:
        return None
    tier = "kernel" if one.config == "perf" else "debug"
    run = partial(_boot, one.config, one.boot, base=one.base)
    return Detector(name, tier, run, _kernel_reads, faulty=one.base == mutantkernel.FAULTY)


def _kernel_reads(*args: str) -> bool:
    """Whether the kernel depends on the last of ``args``, or the check does: one of the others."""
    *more, file = args
    tests = ("tools/", _MODULE, *_KUNIT)
    return file in more or not file.startswith(tests)


# Programs


def _fuzz(sanitizer: str, one: Mutant | None) -> Run:
    program = fuzz.build(sanitizer, one)
    log = paths.LOGS / f"mutant-{sanitizer}.log"

    def run(_limit_s: float) -> Outcome:
        status, result = fuzz.attempt(program, log)
        if one:
            program.unlink()  # one is several MB
        return judge(fuzz.problems(result, 1, status), log)

    return run


def _stores(one: Mutant | None) -> Run:
    return _programs(structpages.TOOL, structpages.CHECKS, structpages.check_program, one)


def _zero(one: Mutant | None) -> Run:
    def check(program: Path) -> tuple[str, ...]:
        return zeroing.check_program(program).failures

    return _programs(zeroing.TOOL, zeroing.CHECKS, check, one)


def _charge(one: Mutant | None) -> Run:
    def check(program: Path) -> tuple[str, ...]:
        return charge.check_program(program).failures

    return _programs(charge.TOOL, (charge.PROGRAM,), check, one)


def _programs(
    tool: native.Tool,
    names: tuple[str, ...],
    check: Callable[[Path], list[str] | tuple[str, ...]],
    one: Mutant | None,
) -> Run:
    """The first of several programs is built now, so that what does not compile is known."""
    top = _bare_tree(one)
    place = PLACE / Path(tool.folder).name
    make = partial(native.make_by_times, tool, top=top, place=place)
    make(names[0])

    def problems() -> Iterator[str]:
        for name in names:
            yield from check(make(name))

    return lambda _limit_s: judge([first] if (first := next(problems(), None)) else [])


def _bare_tree(one: Mutant | None) -> Path:
    """The owned files, with a mutant, and nothing else of the kernel.  What changes gets a new time."""
    for name, path in owned_files().items():
        text = path.read_text()
        _write(_TOP / name, mutant.seeded(one, text) if one and one.file == name else text)
    scripts = tree.ensure_tree("stock") / "tools/scripts"
    if not (_TOP / "tools/scripts").exists():
        shutil.copytree(scripts, _TOP / "tools/scripts")
    return _TOP


def _write(place: Path, text: str) -> None:
    if not place.exists() or place.read_text() != text:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def _model(model: str, one: Mutant | None) -> Run:
    if one is None:
        program = search.build("jobs")
    else:
        program = spin.Building("mutant", spin.variant_of(one.file, one.old, one.new))()

    def run(_limit_s: float) -> Outcome:
        result, status, log = search.run(program, model, "mutant")
        return judge(search.problems(result, "", status), log)

    return run


# Kernels


def _uml(one: Mutant | None) -> Run:
    log = paths.LOGS / "mutant-uml-build.log"
    args = ["build", "--build_dir=obj-uml"]

    def make(kernel: str) -> None:
        builds.kunit_uml("building User-mode Linux", args, "kunit-uml.config", log=log, kernel=kernel)

    kernel = mutantkernel.built(one, make)
    return _run(kernel, lambda name, limit_s: suites.kunit_uml(name, "exec", int(limit_s)))


def _fences(one: Mutant | None) -> Run:
    kernel = mutantkernel.built(one, lambda name: guests.build(name, "perf"), alone=True)
    return lambda _limit_s: fences.check(guests.build(kernel.name, "perf").obj)


def _boot(config: str, boot: Boot, one: Mutant | None, base: str = mutantkernel.PATCHED) -> Run:
    return _run(mutantkernel.built(one, lambda name: guests.build(name, config), base=base), boot)


def _run(kernel: Kernel, boot: Boot) -> Run:
    """An oops is the end: what it leaves locked would keep a guest until its time is up."""

    def run(limit_s: float) -> Outcome:
        with guests.with_arguments(*kernel.args, "oops=panic"):
            return boot(kernel.name, limit_s)

    return run
