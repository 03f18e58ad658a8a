# SPDX-License-Identifier: GPL-2.0-only
"""The compiler: asked once which one it is, for whatever is built and recorded."""

import functools
import re

from padlab.core import packages, process
from padlab.core.errors import LabError
from padlab.kernel.arch import X86_64, Arch

_VERSION = re.compile(r"^gcc version (?P<number>\S+) (?P<package>\(.*\))", re.MULTILINE)


@functools.cache
def identity(arch: Arch = X86_64) -> str:
    """All that it says about itself: two compilers never share objects unnoticed."""
    packages.ensure("build", *arch.packages)
    return process.run([arch.compiler, "-v"], what="asking for the compiler's version")


def name() -> str:
    """For people and results: ``gcc 12.2.0 (Debian 12.2.0-14+deb12u1)``."""
    match = _VERSION.search(identity())
    if match is None:
        raise LabError("compiler", "gcc -v names no version", "install Debian's gcc: apt-get install gcc")
    return f"gcc {match['number']} {match['package'].strip()}"
