# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the kernel tree that nobody here wrote, as programs.

``checks/selftests/others.toml`` lists those that run in guests: kselftests, built from stock's tree, so that
stock and patched run the same programs.  tools/testing/memblock runs on the host, and is built once for each
kernel, whose code it contains.  Makefiles write next to their sources, so all is built in copies.
"""

import os
import shutil
from pathlib import Path

from msgspec import Struct

from padlab.core import packages, paths, process, progress, toml
from padlab.kernel import content, tree
from padlab.kernel.arch import X86_64

PROGRAMS = "selftests/others.toml"
PACKAGES = ("build", "others")

_RECIPE = "1"  # change when the way of building changes
_KSELFTESTS = "tools/testing/selftests"
_KSELFTEST_PARTS = ("tools", "scripts", "mm/gup_test.h", "drivers/iommu/iommufd/iommufd_test.h")
_HOST_PARTS = ("tools", "mm", "lib", "include", "arch/x86/include")
# khugepaged.c of 6.12.117 uses this and does not include kselftest.h, which defines it.
_MISSING = "EXTRA_CFLAGS=-DKSFT_SKIP=4"


class Program(Struct, forbid_unknown_fields=True):
    """A table of programs.toml.  Its name has its suite, a folder of the kselftests."""

    run: str  # a command line in that folder
    limit_s: int = 120  # several times what it takes in an emulated guest
    pages: int = 256  # of 2 MiB, in the pool of hugetlbfs
    gigantic: int = 0  # pages of 1 GiB there: only for the first programs of a suite
    needs: tuple[str, ...] = ()  # programs that a script calls

    @property
    def built(self) -> list[str]:
        first = self.run.split(" && ")[-1].split()[0].removeprefix("./")
        return [*([] if first.endswith(".sh") else [first]), *self.needs]


def programs() -> dict[str, Program]:
    """By suite and name, as in ``mm/cow``; those of the base in use."""
    return toml.load(paths.CHECKS / PROGRAMS, dict[str, Program], paths.over(PROGRAMS))


def suite_of(name: str) -> str:
    return name.split("/")[0]


def kselftests() -> Path:
    packages.ensure(*PACKAGES)
    top = tree.ensure_tree("stock")
    place = _place("kselftests")
    wanted: dict[str, list[str]] = {}
    for name, program in programs().items():
        wanted.setdefault(suite_of(name), []).extend(program.built)

    def fill() -> None:
        headers = place / "headers"
        with progress.step("building kselftests"):
            _make(top, f"O={headers}", "headers", log="others-headers.log")
            copy = _copy(top, _KSELFTEST_PARTS, place / "tree")
            for suite, names in wanted.items():
                _suite(copy / _KSELFTESTS / suite, place / "out" / suite, headers, names)
        shutil.rmtree(copy)

    content.make(place, [*_parts("stock"), str(wanted)], fill)
    return place / "out"


def _suite(folder: Path, out: Path, headers: Path, names: list[str]) -> None:
    out.mkdir(parents=True)
    for script in sorted(folder.glob("*.sh")):
        shutil.copy(script, out)
    if not names:
        return
    _make(
        folder,
        f"OUTPUT={out}",
        f"KHDR_INCLUDES=-isystem {headers}/usr/include",
        "USERLDFLAGS=-static -s",
        _MISSING,
        *(str(out / name) for name in dict.fromkeys(names)),
        log=f"others-{folder.name}.log",
    )


def memblock(kernel: str, *variables: str) -> Path:
    packages.ensure(*PACKAGES)
    top = tree.ensure_tree(kernel)
    name = "-".join(("memblock", kernel, *variables)).replace("=", "")
    place = _place(name)

    def fill() -> None:
        with progress.step(f"building memblock's tests of {kernel}"):
            folder = _copy(top, _HOST_PARTS, place / "tree") / "tools/testing/memblock"
            _make(folder, "CC=gcc", *variables, "main", log=f"others-{name}.log")
        (folder / "main").rename(place / "main")
        shutil.rmtree(place / "tree")

    content.make(place, _parts(kernel), fill)
    return place / "main"


def _place(name: str) -> Path:
    return paths.base().build / "native/others" / name


def _parts(kernel: str) -> list[str]:
    return [_RECIPE, tree.content_key(kernel), X86_64.identity]


def _copy(top: Path, names: tuple[str, ...], place: Path) -> Path:
    place.mkdir(exist_ok=True)
    command = ["cp", "-a", "--reflink=auto", "--parents", "-t", place, *names]
    process.run(command, what=f"copying parts of {top.name}", cwd=top)
    return place


def _make(folder: Path, *args: str, log: str) -> None:
    jobs = len(os.sched_getaffinity(0))
    command = ["make", "-s", f"-j{jobs}", "-C", folder, *args]
    process.run(command, what=f"building {folder.name}", log=paths.base().logs / log)
