# SPDX-License-Identifier: GPL-2.0-only
"""What stock and patched share in the compiler cache: one autoconf.h, and which objects are not the same."""

from pathlib import Path

import pytest

from padlab.kernel import autoconf, sharing
from padlab.kernel.build import Build
from padlab.kernel.kconfig import PERF

STOCK = "#define CONFIG_A 1\n#define CONFIG_KUNIT_MODULE 1\n#define CONFIG_Z 1\n"
PATCHED = (
    "#define CONFIG_A 1\n#define CONFIG_OURS_TEST_MODULE 1\n#define CONFIG_KUNIT_MODULE 1\n"
    "#define CONFIG_OURS 1\n#define CONFIG_Z 1\n"
)


def test_own_options_are_last_and_the_same() -> None:
    own = ("OURS", "OURS_TEST")
    shared = STOCK + "#define CONFIG_OURS 1\n#define CONFIG_OURS_TEST_MODULE 1\n"
    assert autoconf.options_last(STOCK, own, PATCHED) == shared
    assert autoconf.options_last(PATCHED, own, PATCHED) == shared
    assert autoconf.options_last(shared, own, shared) == shared


def test_what_is_not_of_the_series_makes_a_difference() -> None:
    assert autoconf.options_last(STOCK, (), PATCHED) == STOCK


def test_own_options_are_those_of_the_hooks(tmp_path: Path) -> None:
    (tmp_path / "series").write_text("a.patch\n")
    (tmp_path / "a.patch").write_text(
        "--- a/K\n+++ b/K\n@@ -1,2 +1,4 @@\n config OLD\n+config NEW\n+\tbool\n x\n"
    )
    assert autoconf.own_options(tmp_path) == {"NEW"}
    assert "TEST_PADATA_MT" in autoconf.own_options()


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
    assert sorted(sharing.unshared(patched, stock)) == ["mm/generated.o", "mm/header.o", "new.o"]
