# SPDX-License-Identifier: GPL-2.0-only
"""Functions of stock that the series does something beside are what they were."""

from pathlib import Path

import pytest

from padlab.core import paths
from padlab.kernel import stockcode

SOURCE = """\
static int other(void);
/* free_it(page) frees it. */
static inline bool
free_it(struct page *page,
	unsigned long nr)
{
	if (nr) {
		free_it(page, nr - 1);	/* again */
	}
	return true;
}

int other(void)
{
	free_it(NULL, 1);
}
"""


def test_finds_a_definition() -> None:
    text = stockcode.text_of(SOURCE, "free_it")
    assert text is not None
    assert text.startswith("static inline bool free_it(struct page *page, unsigned long nr) { if (nr) {")
    assert text.endswith("return true; }")
    assert stockcode.text_of(SOURCE, "other") == "int other(void) { free_it(NULL, 1); }"
    assert stockcode.text_of(SOURCE, "free") is None


def test_sees_changes_of_code_alone(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    entry = stockcode.Function("a.c", "free_it", stockcode.digest_of(tmp_path, "a.c", "free_it"), "b.c")
    assert stockcode.changed(tmp_path, [entry]) == []

    (tmp_path / "a.c").write_text(SOURCE.replace("/* again */", "").replace("NULL, 1", "NULL, 2"))
    assert stockcode.changed(tmp_path, [entry]) == []

    (tmp_path / "a.c").write_text(SOURCE.replace("nr - 1", "nr - 2"))
    (line,) = stockcode.changed(tmp_path, [entry])
    assert line.startswith("stock changed a.c: free_it(): look at b.c, then let its digest be ")

    (tmp_path / "a.c").write_text("")
    (line,) = stockcode.changed(tmp_path, [entry])
    assert line.endswith("(there is no such function)")


@pytest.mark.series
@pytest.mark.usefixtures("kernel_tree")
def test_stock_is_what_it_was() -> None:
    assert stockcode.changed(paths.base().trees / "stock", stockcode.read()) == []


@pytest.mark.series
def test_what_to_look_at_is_there() -> None:
    for one in stockcode.read():
        name, _, function = one.look_at.partition(": ")
        assert f"{function.removesuffix('()')}(" in (paths.ROOT / name).read_text(), one.look_at
