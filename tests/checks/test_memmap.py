# SPDX-License-Identifier: GPL-2.0-only
"""What the memory map's cases ask for beside the oracle."""

import re
from types import SimpleNamespace

import pytest

from checks.memmap import memmap
from padlab.core.errors import LabError

SAYS = "[    0.1] Memory: {}K/4193784K available (18432K kernel code, 0K cma-reserved)\n"


def test_available_memory_may_differ_by_what_the_kernels_are() -> None:
    stock = SAYS.format(3128996)
    assert memmap.available_problems(stock, SAYS.format(3128996 - 60000)) == []
    for kib in (3128996 - 131072, 3128996 + 131072):  # a section
        (problem,) = memmap.available_problems(stock, SAYS.format(kib))
        assert problem == f"{kib} KiB were available when boot went on, 3128996 in stock"
    assert memmap.available_problems(stock, "Linux version 6.12") != []


TROUBLE = "BUG: KASAN: use-after-free in f+0x1/0x2"


@pytest.mark.parametrize(
    ("trouble", "expected", "why"),
    [
        ([], "", None),
        ([TROUBLE], "", "BUG: KASAN"),
        ([TROUBLE], "use-after-free in f", None),
        ([TROUBLE, "WARNING: x"], "use-after-free in f", "WARNING: x"),
        ([], "use-after-free in f", "no report of use-after-free in f"),
    ],
)
def test_kernels_have_the_report_that_they_are_known_for_and_no_other(
    monkeypatch: pytest.MonkeyPatch, trouble: list[str], expected: str, why: str | None
) -> None:
    spec = SimpleNamespace(machine=SimpleNamespace(name="little"), kernel="stock")
    monkeypatch.setattr(memmap.guests, "trouble", lambda result: trouble)
    monkeypatch.setattr(memmap.oracle, "parse", lambda guest: "parsed")
    result = SimpleNamespace(spec=spec, log=None, guest=None)
    if why is None:
        assert memmap.report(result, expected) == "parsed"
    else:
        with pytest.raises(LabError, match=re.escape(why)):
            memmap.report(result, expected)
