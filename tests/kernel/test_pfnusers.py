# SPDX-License-Identifier: GPL-2.0-only
"""Calls that get from a pfn to a struct page are found in source, and have verdicts."""

from pathlib import Path

import pytest

from padlab.core import paths
from padlab.kernel import pfnusers
from padlab.kernel.pfnusers import Verdict
from tests.conftest import write_all

SOURCE = """\
struct page *pfn_to_online_page(unsigned long pfn);
/* pfn_valid(pfn) is
   for_each_valid_pfn() */
#define first_page(pfn)		\\
	pfn_to_page(pfn)
#define pfn_folio(pfn) page_folio(to_page(pfn))
static __always_inline int pfn_valid(unsigned long pfn)
{
	return to_pfn_valid(pfn);
}

static struct folio *
used(unsigned long pfn)
{
#define SHIFT 1
	if (pfn_valid(pfn))	// pfn_to_page(pfn)
		walk(pfn_to_page(pfn));
	return page_folio(virt_to_page(phys_to_virt(pfn)));
}
"""


def test_finds_calls_by_function() -> None:
    assert list(pfnusers.calls(SOURCE)) == [("first_page", 5), ("used", 16), ("used", 17), ("used", 18)]


def test_scans_what_can_be_built(tmp_path: Path) -> None:
    built = {f"{folder}/a.c" for folder in ("mm", "drivers/net", "arch/x86/mm", "arch/arm64/mm")}
    others = {f"{folder}/a.c" for folder in ("arch/sparc/mm", "tools/mm", "obj-perf", ".pc/mm")}
    write_all(tmp_path, dict.fromkeys(built | others, SOURCE))
    found = pfnusers.scan(tmp_path)
    assert {file for file, _ in found} == built and found["mm/a.c", "used"] == 16


@pytest.mark.parametrize(("base", "gone"), [("6.12", "gone"), ("7.3", "later")])
def test_says_what_is_new_and_what_is_gone(base: str, gone: str) -> None:
    verdicts = {"asks": Verdict("", {"a.c: f gone@6.12 later@7.3": "", "b.c@5.0: new": ""})}
    assert pfnusers.problems({("a.c", "f"): 1, ("b.c", "new"): 7}, verdicts, base) == [
        "b.c:7: new() has no verdict",
        f"a.c: {gone}() has a verdict, but no such call",
    ]


@pytest.mark.parametrize("base", paths.bases())
def test_none_has_two_verdicts(base: str) -> None:
    known = [use for use, _ in pfnusers.listed(pfnusers.read(), base)]
    assert known and len(known) == len(set(known))
