# SPDX-License-Identifier: GPL-2.0-only
"""Which objects a patched kernel cannot have from the compiler cache."""

from pathlib import Path

import pytest

from checks.source import test_build as building
from padlab.kernel.build import Build
from padlab.kernel.kconfig import PERF


@pytest.fixture
def builds(tmp_path: Path) -> tuple[Build, Build]:
    """Two that differ in a header; one has a file more."""
    made = []
    for kernel, text in (("patched", "two"), ("stock", "one")):
        top = tmp_path / kernel
        obj = top / "obj-perf"
        (obj / "mm").mkdir(parents=True)
        (obj / "include/generated").mkdir(parents=True)
        (top / "a.h").write_text(text)
        (top / "b.h").write_text("same")
        (obj / "include/generated/g.h").write_text(text)
        made.append(Build(kernel, PERF, top, obj, obj / "bzImage", "1", "6.12"))
    return made[0], made[1]


def cmd(build: Build, name: str, *files: str) -> None:
    listed = "".join(f"  {file} \\\n" for file in files)
    text = f"savedcmd_{name} := gcc\n\nsource_{name} := ../b.h\n\ndeps_{name} := \\\n{listed}\n{name}: $(deps_{name})\n"
    path = build.obj / name
    (path.parent / f".{path.name}.cmd").write_text(text)


def test_objects_that_read_what_differs(builds: tuple[Build, Build]) -> None:
    patched, stock = builds
    cmd(patched, "mm/same.o", "../b.h", "/usr/include/x.h", "$(wildcard include/config/SMP)")
    cmd(patched, "mm/header.o", "../b.h", "../a.h")
    cmd(patched, "mm/generated.o", "include/generated/g.h")
    cmd(patched, "new.o", "../new.c")
    (patched.tree / "new.c").write_text("new")
    assert sorted(building.unshared(patched, stock)) == ["mm/generated.o", "mm/header.o", "new.o"]
