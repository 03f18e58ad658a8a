# SPDX-License-Identifier: GPL-2.0-only
"""The table of core edits: it counts right, and it stays small."""

from pathlib import Path

import pytest

from padlab.core import paths
from padlab.docs import source

MAX_ADDED = 411  # lines of the kernel's own code
# What comes after them: copies, memory that arrives later, or has to be accepted.
LATER = ("folio-copy", "copy-pages", "memmap-device", "memmap-hotplug.", "mm-accept-")
MAX_ADDED_LATER = 41

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
    table = source.read_edits(tmp_path)
    assert [(edit.file, edit.added, edit.removed) for edit in table] == [
        ("mm/a.c", 2, 2),
        ("Documentation/a.rst", 1, 0),
        ("lib/Kconfig.debug", 1, 0),
    ]
    assert source.count(table, source.CODE) == (2, 2)
    assert source.count(table, source.TESTS) == source.count(table, source.DOCS) == (1, 0)


@pytest.mark.parametrize("base", paths.bases())
def test_core_edits_are_small(base: str) -> None:
    table = source.read_edits(paths.Base.named(base).patches)
    later = [edit for edit in table if any(name in edit.patch for name in LATER)]
    others = [edit for edit in table if edit not in later]
    assert source.count(others, source.CODE)[0] <= MAX_ADDED
    assert source.count(later, source.CODE)[0] <= MAX_ADDED_LATER
