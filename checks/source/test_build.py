# SPDX-License-Identifier: GPL-2.0-only
"""Kernels build, and what a second one of a configuration costs.

A kernel that few checks need is only in --full: from nothing each takes minutes.
"""

import re
from functools import cache

from checks import guests
from checks.declare import FULL, Needs, each, row
from checks.memmap import matrix
from checks.selftests import races
from padlab.core import progress
from padlab.core.outcome import Outcome, judge
from padlab.kernel import kconfig
from padlab.kernel.build import Build
from padlab.kernel.content import fingerprint
from padlab.kernel.kconfig import DEBUG, KASAN, OTHERS, PERF, RT, USERS, Config

MOST_UNSHARED = 60
BUILD = Needs(3600, alone=True)
# In an .o.cmd of kbuild.
_SOURCE = re.compile(r"^source_\S+ := (\S+)$", re.MULTILINE)
_READ = re.compile(r"^  (\S+) \\?$", re.MULTILINE)

KERNELS = [
    *((kernel, config) for config in (PERF, DEBUG) for kernel in ("stock", "patched")),
    *(("faulty", PERF), ("mirrored", PERF), ("patched", kconfig.ARM64)),
    *(("stock", USERS), ("patched", USERS)),
    *(("mirrored", kconfig.UNACCEPTED), ("faulty", kconfig.UNACCEPTED)),
]
MORE_KERNELS = [
    *(("stock", kconfig.ARM64), ("patched", kconfig.S390X)),
    *(("patched", config) for config in (KASAN, RT, races.CONFIG)),
    *(("patched", OTHERS), ("stock", OTHERS)),
    *(
        (kernel, config)
        for config in (*matrix.OTHER_CONFIGS, *matrix.MORE_CONFIGS)
        for kernel in ("stock", "patched")
    ),
]
_WHEN = dict.fromkeys(KERNELS, "") | {kernel: FULL for kernel in MORE_KERNELS if kernel not in KERNELS}


@each(
    "kernel, config",
    (
        row(f"build {kernel} ({config})", kernel, config, needs=BUILD, when=when)
        for (kernel, config), when in _WHEN.items()
    ),
)
def test_build(kernel: str, config: Config) -> Outcome:
    guests.built(kernel, config)
    return Outcome(1)


@each(
    "config",
    (
        row(f"stock and patched share all but {MOST_UNSHARED} objects ({config})", config, needs=Needs(3600))
        for config in (PERF, DEBUG)
    ),
)
def test_shared(config: Config) -> Outcome:
    """No core edit is in a header that most files include."""
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
