# SPDX-License-Identifier: GPL-2.0-only
"""Functions of stock that the series does something beside are what they were.

``checks/stock-functions.toml`` has them: file, function, a digest of the function's text,
and what in the series to look at when it changes.
"""

import re
from pathlib import Path
from typing import Annotated

import pytest
from msgspec import Meta, Struct

from padlab.core import paths, toml
from padlab.kernel.content import digest


class Function(Struct, frozen=True, forbid_unknown_fields=True):
    file: str
    name: str
    digest: Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$")]
    look_at: str

    def digest_in(self, stock: Path) -> str:
        path = stock / self.file
        text = text_of(path.read_text(errors="replace"), self.name) if path.exists() else None
        return digest([text])[:16] if text else "(there is no such function)"


def functions() -> list[Function]:
    return toml.load(paths.table("stock-functions.toml"), dict[str, list[Function]])["function"]


def text_of(source: str, name: str) -> str | None:
    """A function's definition without comments, or None if there is not exactly one."""
    code = re.sub(r"/\*.*?\*/", " ", source, flags=re.DOTALL)
    # From the name to the first brace that closes in the first column.
    pattern = rf"^(?:[A-Za-z_][^;{{}}()#]*?[\s*])?{re.escape(name)}\([^;{{}}]*\)\s*^\{{.*?^\}}"
    definitions = re.findall(pattern, code, re.MULTILINE | re.DOTALL)
    return " ".join(definitions[0].split()) if len(definitions) == 1 else None


@pytest.mark.series
@pytest.mark.usefixtures("kernel_tree")
def test_stock_is_what_it_was() -> None:
    stock = paths.base().trees / "stock"
    changed = [
        f"{one.file}: {one.name}(): look at {one.look_at}, then let its digest be {one.digest_in(stock)}"
        for one in functions()
        if one.digest_in(stock) != one.digest
    ]
    assert changed == []


@pytest.mark.series
def test_what_to_look_at_is_there() -> None:
    for one in functions():
        name, _, function = one.look_at.partition(": ")
        assert f"{function.removesuffix('()')}(" in (paths.ROOT / name).read_text(), one.look_at


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


def test_the_text_of_a_definition_without_comments() -> None:
    start = "static inline bool free_it(struct page *page, unsigned long nr)"
    assert text_of(SOURCE, "free_it") == f"{start} {{ if (nr) {{ free_it(page, nr - 1); }} return true; }}"
    assert text_of(SOURCE, "other") == "int other(void) { free_it(NULL, 1); }"
    assert text_of(SOURCE, "free") is None
