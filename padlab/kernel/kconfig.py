# SPDX-License-Identifier: GPL-2.0-only
"""Kernel configurations: what each is merged from, how its kernels are built and run, and what came out.

A fragment of the same name in the base's own folder is merged after that of configs/, and
has what the base's Linux calls otherwise.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from padlab.core import paths
from padlab.kernel import content, coreedits
from padlab.kernel.arch import ARM64 as ARM64_ARCH
from padlab.kernel.arch import S390X as S390X_ARCH
from padlab.kernel.arch import X86_64, Arch

UNKNOWN = "not available"
# How long one kselftest may take, as in their settings: one that hangs is to be ended by that.
TEST_S = 600
AUTOCONF = "include/generated/autoconf.h"
_OPTION = re.compile(r"^\+(?:menu)?config (\w+)$", re.MULTILINE)
_DEFINE = re.compile(r"^#define CONFIG_(\w+?)(?:_MODULE)? ")


@dataclass(frozen=True)
class Config:
    """A configuration that kernels are built with; its name stands for it in texts and file names."""

    name: str
    fragments: tuple[str, ...] = ()  # of configs/, after perf.config: "debug" is debug.config
    arch: Arch = X86_64
    compilations: int = 900  # of a build from nothing, to draw the progress against
    make: tuple[str, ...] = ()  # targets and variables of make, besides image and modules
    slowness: int = 1  # how many times the time limit of perf's boots
    test_s: int = TEST_S  # on the slowest, one took 608 s, beside another guest on two slow cores
    checks: bool = False  # as it goes, and its threads may be preempted anywhere
    faults: bool = False  # it has options that only kernels with checks/faults/ have

    def __str__(self) -> str:
        return self.name

    @property
    def watched(self) -> bool:
        return "debug" in self.fragments

    def files(self, series: bool) -> list[Path]:
        """What it is merged from, for a kernel that has the series, and so more options, or has not."""
        names = [self.arch.fragment, "perf.config", *(f"{name}.config" for name in self.fragments)]
        fragments = [paths.CONFIGS / name for name in names]
        if series:
            more = [path.with_name(f"patched-{path.name}") for path in fragments]
            fragments += [paths.CONFIGS / "patched.config", *filter(Path.exists, more)]
        return [path for fragment in fragments for path in (fragment, *_own(fragment.name))]


PERF = Config("perf")
DEBUG = Config("debug", ("debug",), compilations=920, slowness=4, checks=True)
RT = Config("rt", ("debug", "rt"), compilations=920, slowness=8, test_s=2 * TEST_S)
KASAN = Config("kasan", ("kasan",), compilations=920)
FEATURES = Config("features", ("features",), compilations=920)
SPARSE = Config("sparse", ("sparse",))
NOMEMCG = Config("nomemcg", ("nomemcg",))
UNACCEPTED = Config("unaccepted", ("unaccepted",), compilations=950, faults=True)
UNACCEPTED_DEBUG = Config(
    "unaccepted-debug", ("debug", "unaccepted"), compilations=1050, slowness=4, checks=True, faults=True
)
OTHERS = Config("others", ("others",), compilations=1000)
USERS = Config("users", ("users",), compilations=1330)
GDB = Config("gdb", ("gdb",), make=("scripts_gdb",))
ARM64 = Config("arm64", arch=ARM64_ARCH, compilations=820)
ARM64_64K = Config("arm64-64k", ("arm64-64k",), arch=ARM64_ARCH, compilations=820)
S390X = Config("s390x", arch=S390X_ARCH, compilations=700)
# KCSAN leaves out the scheduler's files: here, not ours.
KCSAN = Config(
    "kcsan",
    ("kcsan",),
    compilations=920,
    make=("KCSAN_SANITIZE_charge.o=y",),
    slowness=8,
    test_s=2 * TEST_S,
    checks=True,
)


def _own(name: str) -> list[Path]:
    own = paths.base().find(f"configs/{name}")
    return [own] if own else []


def kunit_config(name: str) -> Path:
    """The options that kunit.py is given, in one file: what the base has otherwise comes last."""
    shared, own = paths.CONFIGS / name, _own(name)
    if not own:
        return shared
    merged = paths.base().build / "configs" / name
    content.write(merged, "".join(path.read_text() for path in (shared, *own)))  # the last one counts
    return merged


def parse_config(text: str) -> dict[str, str]:
    """option -> value of a .config or fragment; "n" when it says "is not set"."""
    lines = re.findall(r"^(?:(CONFIG_\w+)=(.*)|# (CONFIG_\w+) is not set)$", text, re.MULTILINE)
    return {name or off: value if name else "n" for name, value, off in lines}


def lost_options(fragments: list[str], config: str) -> list[str]:
    """The options that ``config`` does not have as ``fragments`` ask; a later fragment wins."""
    wanted: dict[str, str] = {}
    for fragment in fragments:
        wanted |= parse_config(fragment)
    got = parse_config(config)
    return [
        f"{name}: {value} asked for, {got.get(name, UNKNOWN)} came out"
        for name, value in wanted.items()
        if got.get(name, "n") != value
    ]


def own_options() -> frozenset[str]:
    folder = paths.base().patches
    texts = (content.read(folder / name) for name in coreedits.read_series(folder))
    return frozenset(option for text in texts for option in _OPTION.findall(text))


def options_last(header: str, options: Collection[str], series_header: str) -> str:
    """AUTOCONF's text with the lines of ``options`` at its end, as that of a kernel with the series has them.

    ccache knows an object by all headers that were read for it, and that one is read for all.  So in
    stock and patched of one configuration it has to be the same: nothing in stock refers to them.
    """

    def is_own(line: str) -> bool:
        match = _DEFINE.match(line)
        return bool(match and match[1] in options)

    rest = [line for line in header.splitlines() if not is_own(line)]
    last = sorted(line for line in series_header.splitlines() if is_own(line))
    return "\n".join([*rest, *last]) + "\n"
