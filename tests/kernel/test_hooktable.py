# SPDX-License-Identifier: GPL-2.0-only
"""The table of hooks: it counts right, docs/hooks.md has it, and it stays small."""

from __future__ import annotations

from pathlib import Path

from padlab.core import paths
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


def test_hooks_are_small() -> None:
    assert hooktable.added(hooktable.read(paths.PATCHES)) <= hooktable.MAX_ADDED


def test_the_document_has_the_table() -> None:
    table = hooktable.markdown(hooktable.read(paths.PATCHES))
    assert table in hooktable.DOCUMENT.read_text(), "docs/hooks.md: run ./lab refresh"


def test_rewriting_the_document(tmp_path: Path) -> None:
    (tmp_path / "series").write_text("a.patch\n")
    (tmp_path / "a.patch").write_text(PATCH)
    document = tmp_path / "hooks.md"
    document.write_text("Before.\n\n| old |\n|---|\n| 1 |\n\nAfter.\n")
    assert hooktable.rewrite(document, tmp_path)
    table = hooktable.markdown(hooktable.read(tmp_path))
    assert document.read_text() == f"Before.\n\n{table}\nAfter.\n"
    assert not hooktable.rewrite(document, tmp_path)
