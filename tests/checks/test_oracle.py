# SPDX-License-Identifier: GPL-2.0-only
"""Reports of the memmap oracle: reading them, and what counts as a difference."""

import pytest

from checks.memmap import oracle
from padlab.core.errors import LabError
from padlab.vm import channel

FRESH = "fresh node=0 zone=Normal types=11 hash=5963eb804be6d197"
RESERVED = "reserved node=0 zone=Normal types=0 hash=8f3892ee788e6a4b"

REPORT = f"""\
kernel 6.12.117
oracle layout page_struct=64 block_order=10 pageblock_order=9 section_pages=32768 end=20000
oracle ram 100 20000
oracle run 0 4 mixed
oracle run 1000 60 {FRESH}
oracle run 10000 32 absent
oracle run 18000 30 {FRESH}
oracle run 1f800 2 {RESERVED}
oracle zone 0 Normal start=256 spanned=130816 present=98048 managed=96000 cma=0 reserved=2048 holes=256 free=92160 pcp=12 contiguous=1
oracle pageblocks 0 Normal unmovable=8 movable=183 reclaimable=1
oracle free 0 Normal movable 0 0 0 0 0 0 0 0 0 0 90
oracle violations 0
oracle walked 98304 pages 41 ms
done 0
"""


def read(text: str) -> oracle.Report:
    return oracle.parse(channel.Guest(text))


def changed(*changes: tuple[str, str]) -> oracle.Report:
    text = REPORT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read(text)


def differences(*changes: tuple[str, str], allowance: int = oracle.ALLOWANCE) -> list[str]:
    return oracle.compare(read(REPORT), changed(*changes), allowance)


def test_parse() -> None:
    report = read(REPORT)
    assert report.ram == [(0x100, 0x20000)]
    assert len(report.blocks) == 128
    assert report.blocks[4] == oracle.Block("fresh", FRESH.removeprefix("fresh "))
    assert report.blocks[127].kind == "reserved"
    assert report.zones[0, "Normal"]["present"] == 98048
    assert report.pageblocks[0, "Normal"] == {"unmovable": 8, "movable": 183, "reclaimable": 1}
    assert report.pages == 98304


def test_equal_reports_have_no_differences() -> None:
    assert oracle.compare(read(REPORT), read(REPORT), allowance=0) == []


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        (
            "oracle violations 0",
            "oracle violation overlap 2 (free block inside another) at 1400 1600\noracle violations 2",
            "patched: broken rule: overlap 2 (free block inside another) at 1400 1600",
        ),
        (
            f"run 18000 30 {FRESH}",
            f"run 18000 1 {FRESH.replace('=11', '=12')}\noracle run 18400 29 {FRESH}",
            "pfn 18000, 1 block(s): stock fresh",
        ),
        ("8f3892ee788e6a4b", "0000000000000001", "pfn 1f800, 2 block(s): stock reserved"),
        (
            f"run 18000 30 {FRESH}",
            f"run 18000 1 absent\noracle run 18400 29 {FRESH}",
            f"pfn 18000, 1 block(s): stock {FRESH}, patched absent",
        ),
    ],
)
def test_what_has_to_be_equal_whatever_the_allowance(old: str, new: str, difference: str) -> None:
    (line,) = differences((old, new), allowance=1000)
    assert line.startswith(difference)


@pytest.mark.parametrize("kind", ["partial", "reserved"])
def test_blocks_that_the_kernel_image_is_in_may_differ(kind: str) -> None:
    partial = f"{kind} node=0 zone=Normal types=0 hash="
    image = "kernel-image 01000000-01ffffff : Kernel code\ndone 0"

    def at(pfn: int, value: str) -> tuple[str, str]:
        left = 60 - (pfn - 0x1000) // 1024
        return (
            f"run 1000 60 {FRESH}",
            f"run 1000 {60 - left} {FRESH}\noracle run {pfn:x} 1 {partial}{value}\n"
            f"oracle run {pfn + 1024:x} {left - 1} {FRESH}",
        )

    def compared(pfn: int) -> list[str]:
        return oracle.compare(*(changed(at(pfn, value), ("done 0", image)) for value in ("1", "2")))

    assert compared(0x1C00) == []
    (line,) = compared(0x2000)
    assert line.startswith(f"pfn 2000, 1 block(s): stock {kind}")


def test_a_few_used_blocks_are_allowed_a_section_is_not() -> None:
    def used(blocks: int) -> list[str]:
        start = 0x18000 + blocks * 0x400
        return differences(
            (f"run 18000 30 {FRESH}", f"run 18000 {blocks} mixed\noracle run {start:x} {30 - blocks} {FRESH}")
        )

    assert used(oracle.ALLOWANCE) == []
    (line,) = used(oracle.ALLOWANCE + 1)
    assert f"{oracle.ALLOWANCE + 1} differ in kind" in line
    assert oracle.ALLOWANCE < 32768 // 1024  # blocks of a section


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("present=98048", "present=98047", "zone 0 Normal: present: stock 98048, patched 98047"),
        ("spanned=130816", "spanned=130815", "zone 0 Normal: spanned"),
        ("holes=256", "holes=255", "zone 0 Normal: holes"),
        ("contiguous=1", "contiguous=0", "zone 0 Normal: contiguous: stock 1, patched 0"),
        ("managed=96000", "managed=63232", "managed: stock 96000, patched 63232, more than"),
        ("movable=183 ", "movable=100 ", "pageblocks movable"),
        ("movable 0 0 0 0 0 0 0 0 0 0 90", "movable 0 0 0 0 0 0 0 0 0 0 9", "pages in the largest order"),
        ("ram 100 20000", "ram 100 1ffff", "ram differs"),
        ("page_struct=64", "page_struct=72", "layout differs"),
        ("cma=0", "cma=4", "zone 0 Normal: cma: stock 0, patched 4"),
    ],
)
def test_counters(old: str, new: str, problem: str) -> None:
    lines = differences((old, new))
    assert any(problem in line for line in lines), lines


@pytest.mark.parametrize(
    "text",
    [
        "",
        "oracle-failed insmod: 1\ndone 1\n",
        REPORT.split("oracle zone")[0],
        REPORT.replace("run 1000 60", "run 1400 60"),
        REPORT.replace("run 1000 60", "run 1000 6x"),
    ],
)
def test_damaged_reports_are_refused(text: str) -> None:
    with pytest.raises(LabError, match="memmap oracle"):
        read(text)


def test_rules_that_stock_is_known_to_break() -> None:
    good = read(REPORT)
    bad = changed(("oracle violations 0", "oracle violations 1\noracle violation link 1 at 3a0000"))
    assert oracle.compare(bad, bad, stock_breaks=True) == []
    assert oracle.compare(bad, bad) != []
    assert oracle.compare(good, bad, stock_breaks=True) != []
    assert oracle.compare(good, good, stock_breaks=True) == [
        "stock: breaks no rule, which it is known for here"
    ]
