# SPDX-License-Identifier: GPL-2.0-only
"""The checks of ``./lab test`` that build kernels, or look at their source."""

import re
from collections.abc import Iterator
from functools import cache, partial

from padlab.check.base import guests
from padlab.check.base.runner import Check
from padlab.check.fresh import installed
from padlab.check.guest import races
from padlab.check.memmap import matrix
from padlab.check.source import checkers, remarks
from padlab.core import progress
from padlab.core.outcome import Outcome, judge
from padlab.kernel import kconfig
from padlab.kernel.build import Build
from padlab.kernel.content import fingerprint
from padlab.kernel.kconfig import DEBUG, KASAN, OUTSIDE, PERF, RT, USERS, Config

SOURCE_LIMIT_S = 300
MOST_UNSHARED = 60
BUILD_LIMIT_S = 3600
STEPS_LIMIT_S = 3 * 3600
CLOUD_LIMIT_S = 4 * 3600
# In an .o.cmd of kbuild.
_SOURCE = re.compile(r"^source_\S+ := (\S+)$", re.MULTILINE)
_READ = re.compile(r"^  (\S+) \\?$", re.MULTILINE)


def sources(everything: bool = False) -> Iterator[Check]:
    """The kernel's checkers of source on the files of the series."""
    yield Check("kernel-doc says nothing new", partial(checkers.check, "kernel-doc"), SOURCE_LIMIT_S)
    if everything:
        yield Check("Coccinelle says nothing new", partial(checkers.check, "coccinelle"), BUILD_LIMIT_S)
        yield Check(
            "Sphinx says nothing new of the manuals", partial(checkers.check, "htmldocs"), BUILD_LIMIT_S
        )


def kernels(everything: bool) -> Iterator[Check]:
    """A kernel that few checks need is only in --full: from nothing each takes minutes."""
    kernels = [(kernel, config) for config in (PERF, DEBUG) for kernel in ("stock", "patched")]
    kernels += [("faulty", PERF), ("mirrored", PERF), ("patched", kconfig.ARM64)]
    kernels += [("stock", USERS), ("patched", USERS)]
    if everything:
        kernels += [("stock", kconfig.ARM64), ("patched", kconfig.S390X)]
        kernels += [("patched", config) for config in (KASAN, RT, races.CONFIG)]
        kernels += [("patched", OUTSIDE), ("stock", OUTSIDE)]
        others = (*matrix.OTHER_CONFIGS, *matrix.MORE_CONFIGS)
        kernels += [(kernel, config) for config in others for kernel in ("stock", "patched")]
    for kernel, config in dict.fromkeys(kernels):
        run = partial(_build, kernel, config)
        yield Check(f"build {kernel} ({config})", run, BUILD_LIMIT_S, alone=True)


def _build(kernel: str, config: Config) -> Outcome:
    guests.build(kernel, config)
    return Outcome(1)


def shared() -> Iterator[Check]:
    """No hook is in a header that most files include: what a second kernel of a configuration costs."""
    for config in (PERF, DEBUG):
        name = f"stock and patched share all but {MOST_UNSHARED} objects ({config})"
        yield Check(name, partial(_shared, config), BUILD_LIMIT_S)


def _shared(config: Config) -> Outcome:
    objects = unshared(guests.built("patched", config), guests.built("stock", config))
    progress.note(f"{len(objects)} objects of patched ({config}) are not those of stock")
    if len(objects) <= MOST_UNSHARED:
        return Outcome(1)
    return judge([f"{len(objects)} objects are to be compiled anew:", *objects])


def unshared(patched: Build, stock: Build) -> list[str]:
    """Objects of ``patched``, by their paths, for which a file was read that ``stock`` has not so.

    By what kbuild noted of each.  They have to be compiled once stock has been built; any other is in
    ccache (build.py, kconfig.py).
    """

    @cache
    def differs(name: str) -> bool:
        return fingerprint(patched.obj / name) != fingerprint(stock.obj / name)

    found = []
    for path in sorted(patched.obj.rglob(".*.o.cmd")):
        command = path.read_text(errors="replace")
        files = (*_SOURCE.findall(command), *_READ.findall(command))
        if any(differs(file) for file in files if not file.startswith(("/", "$"))):
            name = path.with_name(path.name.removeprefix(".").removesuffix(".cmd"))
            found.append(str(name.relative_to(patched.obj)))
    return found


def compilers(everything: bool) -> Iterator[Check]:
    """Alone, since all are in one tree."""
    for config in remarks.CONFIGS if everything else remarks.CONFIGS[:1]:
        run = partial(remarks.compilers, config)
        yield Check(f"gcc with W=1 and sparse say nothing new ({config})", run, BUILD_LIMIT_S, alone=True)
    if everything:
        name = "each step of the series builds without a new warning, and boots"
        yield Check(name, remarks.each_step, STEPS_LIMIT_S, alone=True)


def installing(everything: bool) -> Iterator[Check]:
    if everything:
        limit_s = BUILD_LIMIT_S + installed.BOOT_LIMIT_S
        yield Check("packages of perf: installed, booted, removed", installed.of_perf, limit_s, alone=True)
        name = "packages with Debian's configuration for clouds: its system comes up, huge pages have helpers"
        yield Check(name, installed.of_cloud, CLOUD_LIMIT_S, alone=True)
