# SPDX-License-Identifier: GPL-2.0-only
"""The table of hooks: it counts right, docs/hooks.md has it, and it stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import hooktable

PATCH = """\
--- a/mm/a.c
+++ b/mm/a.c
@@ -1,3 +1,4 @@
 one
-two
+2
++++ not a header
 three
@@ -9,2 +10,1 @@
 nine
--- not a header
--- a/Documentation/a.rst
+++ b/Documentation/a.rst
@@ -1 +1,2 @@
 a
+b
--- a/lib/Kconfig.debug
+++ b/lib/Kconfig.debug
@@ -1 +1,2 @@
 a
+b
"""


def test_counts(tmp_path: Path) -> None:
    (tmp_path / "series").write_text("a.patch\n")
    (tmp_path / "a.patch").write_text(PATCH)
    table = hooktable.read(tmp_path)
    assert [(hook.file, hook.added, hook.removed) for hook in table] == [
        ("mm/a.c", 2, 2),
        ("Documentation/a.rst", 1, 0),
        ("lib/Kconfig.debug", 1, 0),
    ]
    assert [hooktable.added(table, part) for part in hooktable.PARTS] == [2, 1, 1]
    assert hooktable.removed(table) == 2
    assert "| **code** | | **2** | **2** |" in hooktable.markdown(table)


def patches_of(base: str) -> Path:
    return paths.ROOT / "patches" if base == paths.DEFAULT_BASE else paths.BASES / base / "patches"


@pytest.mark.parametrize("base", paths.bases())
def test_hooks_are_small(base: str) -> None:
    assert hooktable.added(hooktable.read(patches_of(base))) <= hooktable.MAX_ADDED[base]


@pytest.mark.parametrize("base", paths.bases())
def test_the_document_has_the_table(base: str) -> None:
    table = hooktable.markdown(hooktable.read(patches_of(base)))
    section = hooktable.section(hooktable.DOCUMENT.read_text(), base)
    assert table in section, f"docs/hooks.md: run ./lab refresh --base {base}"


DOCUMENT = """\
Before.

## Linux 1.2

{}
## Linux 7.3

Of 7.3:

{}
After.

## More

| other |
"""


@pytest.mark.parametrize("base", ["1.2", "7.3"])
def test_rewriting_the_document(tmp_path: Path, base: str) -> None:
    (tmp_path / "series").write_text("a.patch\n")
    (tmp_path / "a.patch").write_text(PATCH)
    document = tmp_path / "hooks.md"
    old = "| old |\n|---|\n| 1 |\n"
    document.write_text(DOCUMENT.format(old, old))
    assert hooktable.rewrite(document, tmp_path, base)
    table = hooktable.markdown(hooktable.read(tmp_path))
    assert document.read_text() == DOCUMENT.format(*(table if one == base else old for one in ("1.2", "7.3")))
    assert table.strip() in hooktable.section(document.read_text(), base)
    assert not hooktable.rewrite(document, tmp_path, base)


@pytest.mark.parametrize("text", ["", "| a |\n", "## Linux 1.2\n\nNone.\n\n## Linux 7.3\n\n| a |\n"])
def test_a_document_without_the_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "hooks.md").write_text(text)
    with pytest.raises(LabError, match="hooks.md: it has no table of Linux 1.2"):
        hooktable.rewrite(tmp_path / "hooks.md", tmp_path, "1.2")
