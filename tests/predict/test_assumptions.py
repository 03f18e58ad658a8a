# SPDX-License-Identifier: GPL-2.0-only
"""The table of assumptions: what is made of it, and every way to get it wrong."""

import re
from pathlib import Path

import pytest

from padlab.core.errors import LabError
from padlab.predict import assumptions, simulate


def changed(folder: Path, key: str, line: str) -> Path:
    """The table with ``line`` for ``key``, of both kernels."""
    text, count = re.subn(rf"^{key} = .*$", line, assumptions.TABLE.read_text(), flags=re.MULTILINE)
    # In both kernels, and where Intel's stores are other ones.
    assert count == 2 + key.startswith("page_ratio")
    (folder / "assumptions.toml").write_text(text)
    return folder / "assumptions.toml"


def test_kernels(tmp_path: Path) -> None:
    kernels = assumptions.load(changed(tmp_path, "page_ratio_range", "page_ratio_range = [0.25, 4]"))
    assert kernels.stock.chunk_end is simulate.stock_chunk_end
    assert kernels.ours.chunk_end is simulate.our_chunk_end
    assert [ours.page_ratio for ours in kernels.ours_span] == [0.25, 4]
    assert kernels.ours_stock_stores.bytes_per_page == kernels.stock.bytes_per_page
    assert kernels.ours_stock_stores.chunk_end is kernels.ours.chunk_end


def test_a_cost_may_be_nothing(tmp_path: Path) -> None:
    assert assumptions.load(changed(tmp_path, "lock_ns", "lock_ns = 0")).stock.lock_ns == 0


# Whatever the figures are: they change when somebody measures.
@pytest.mark.parametrize(
    ("key", "line", "why"),
    [
        ("page_ratio", "page_ration = 1", "stock: object contains unknown field `page_ration`"),
        ("page_ratio", "page_ratio = 0", "stock.page_ratio: expected `float` > 0"),
        ("chunks", 'chunks = "free"', "stock.chunks: invalid enum value 'free'"),
        ("first_us", "first_us = -1", "stock.first_us: expected `float` >= 0"),
    ],
)
def test_faults_are_named(tmp_path: Path, key: str, line: str, why: str) -> None:
    with pytest.raises(LabError) as error:
        assumptions.load(changed(tmp_path, key, line))
    assert str(error.value).startswith("assumptions.toml: ") and why in str(error.value)
