# SPDX-License-Identifier: GPL-2.0-only
"""What stock and patched share in the compiler cache: one autoconf.h."""

from pathlib import Path

import pytest

from padlab.kernel import kconfig
from tests.conftest import set_base, write_all

STOCK = "#define CONFIG_A 1\n#define CONFIG_KUNIT_MODULE 1\n#define CONFIG_Z 1\n"
PATCHED = (
    "#define CONFIG_A 1\n#define CONFIG_OURS_TEST_MODULE 1\n#define CONFIG_KUNIT_MODULE 1\n"
    "#define CONFIG_OURS 1\n#define CONFIG_Z 1\n"
)


def test_own_options_are_last_and_the_same() -> None:
    own = ("OURS", "OURS_TEST")
    shared = STOCK + "#define CONFIG_OURS 1\n#define CONFIG_OURS_TEST_MODULE 1\n"
    assert kconfig.options_last(STOCK, own, PATCHED) == shared
    assert kconfig.options_last(PATCHED, own, PATCHED) == shared
    assert kconfig.options_last(shared, own, shared) == shared


def test_what_is_not_of_the_series_makes_a_difference() -> None:
    assert kconfig.options_last(STOCK, (), PATCHED) == STOCK


def test_own_options_are_those_of_the_patches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "TEST_PADATA_MT" in kconfig.own_options()
    patch = "--- a/K\n+++ b/K\n@@ -1,2 +1,4 @@\n config OLD\n+config NEW\n+\tbool\n x\n"
    write_all(tmp_path, {"series": "a.patch\n", "a.patch": patch})
    set_base(monkeypatch, patches=tmp_path)
    assert kconfig.own_options() == {"NEW"}
