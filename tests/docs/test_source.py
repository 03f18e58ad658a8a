# SPDX-License-Identifier: GPL-2.0-only
"""The table of core edits stays small."""

import pytest

from padlab.core import paths
from padlab.docs import source

MAX_ADDED = 411  # lines of the kernel's own code
# What comes after them: copies, memory that arrives later, or has to be accepted.
LATER = ("folio-copy", "copy-pages", "memmap-device", "memmap-hotplug.", "mm-accept-")
MAX_ADDED_LATER = 41


@pytest.mark.parametrize("base", paths.bases())
def test_core_edits_are_small(base: str) -> None:
    table = source.read_edits(paths.Base.named(base).patches)
    later = [edit for edit in table if any(name in edit.patch for name in LATER)]
    others = [edit for edit in table if edit not in later]
    assert source.count(others, source.CODE)[0] <= MAX_ADDED
    assert source.count(later, source.CODE)[0] <= MAX_ADDED_LATER
