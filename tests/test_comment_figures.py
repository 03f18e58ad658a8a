# SPDX-License-Identifier: GPL-2.0-only
"""Times that comments of the kernel code give for CPUs are those recorded.

What was tried out once to choose a constant is not recorded, and not held here.
"""

from __future__ import annotations

import re
from typing import Any

from padlab.core import paths
from tests.figures import DEFAULT, gib_ms, recorded, two_of_one, zeroed

MAINLINE = "7.3"
ZEN4 = "family 25, Zen 4"
AMD = ("family 25, Zen 3", ZEN4, "family 26")
INTEL = "family 6, model 143"
MIB = 1 << 10  # in KiB
GIB = 1 << 20


def comments(path: str) -> str:
    """A file's text without the margin of comments, in a patch or not."""
    return " ".join(re.sub(r"^[+]? \* ?", "", (paths.ROOT / path).read_text(), flags=re.MULTILINE).split())


def huge(cpu: str, base: str = DEFAULT) -> Any:
    return recorded("hugepages.json", base, cpu)


def of_stock(kib: int) -> str:
    """What CLZERO takes, least and most of these CPUs."""
    ratios = [zeroed(huge(cpu), kib, "clzero") / zeroed(huge(cpu), kib, "stock") for cpu in AMD]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def test_of_folios() -> None:
    text = comments("linux/mm/folio_zero.c")
    ratios = [ratio for cpu in AMD for kib, ratio in two_of_one(huge(cpu)).items() if kib >= 4 * MIB]
    intel = two_of_one(huge(INTEL))[GIB]
    stock = [gib_ms(huge(cpu), "stock") for cpu in (*AMD, INTEL)]
    assert min(stock) == gib_ms(huge(ZEN4), "stock")
    assert max(stock) == gib_ms(huge(INTEL), "stock")
    assert f"{min(stock):.0f} ms (AMD Zen 4) to {max(stock):.0f} ms (Intel Sapphire Rapids) for 1 GiB" in text
    assert f"threads take {min(ratios):.2f} to {max(ratios):.2f} of its time from 4 MiB on" in text
    assert f"without CLZERO, they take {intel:.2f} for 1 GiB" in text


def test_of_clzero() -> None:
    text = comments("linux/arch/x86/mm/zero_pages.c")
    assert f"zeroes 1 GiB in {of_stock(GIB)} of the time that clear_page() takes" in text
    assert f"2 MiB in {of_stock(2 * MIB)}, but" in text


def test_on_mainline() -> None:
    text, found = comments("bases/7.3/owned/folio-zero.patch"), huge(ZEN4, MAINLINE)
    us = [zeroed(found, 4 * MIB, way) for way in ("clzero", "mainline")]
    ms = [gib_ms(found, way) for way in ("clzero", "stock")]
    assert f"4 MiB in {us[0]:.0f} us, where one string instruction takes {us[1]:.0f}" in text
    assert f"1 GiB in {ms[0]:.1f} ms instead of {ms[1]:.1f}" in text
    assert f"take {two_of_one(found)[GIB]:.1f} of the time that one takes" in text
