# SPDX-License-Identifier: GPL-2.0-only
"""What stock and patched share in the compiler cache: one autoconf.h."""

from pathlib import Path

from padlab.kernel import kconfig

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


def test_own_options_are_those_of_the_patches(tmp_path: Path) -> None:
    (tmp_path / "series").write_text("a.patch\n")
    (tmp_path / "a.patch").write_text(
        "--- a/K\n+++ b/K\n@@ -1,2 +1,4 @@\n config OLD\n+config NEW\n+\tbool\n x\n"
    )
    assert kconfig.own_options(tmp_path) == {"NEW"}
    assert "TEST_PADATA_MT" in kconfig.own_options()
