# SPDX-License-Identifier: GPL-2.0-only
"""Weakly ordered stores in object code, and whether a fence follows."""

from checks.source import fences

# As objdump prints it: a loop of stores, and what comes after it.
ZERO = """\
Disassembly of section .text:

0000000000000000 <zero_contiguous>:
   0:\ttest   %al,%al
   2:\tjne    14 <zero_contiguous+0x14>
   4:\tjmp    9 <zero_contiguous+0x9>
\t\t\t5: R_X86_64_PC32\t.altinstr_aux-0x4
   9:\tclzero
   c:\tcmp    %rcx,%rdx
   e:\tjb     9 <zero_contiguous+0x9>
  10:\t{fence}
  13:\tret
  14:\trep stos %al,%es:(%rdi)
  16:\tret

0000000000000020 <zero_user_pages_uncached>:
  20:\tjmp    0 <zero_contiguous>

Disassembly of section .altinstr_replacement:

0000000000000000 <.altinstr_replacement>:
   0:\tmovnti %rax,(%rdi)
"""
STAMP = """\
Disassembly of section .text:

0000000000000000 <arch_memmap_stamp>:
   0:\tmovnti %rax,(%rdi)
   4:\tret

0000000000000010 <memmap_init_pages>:
  10:\tcall   15 <memmap_init_pages+0x5>
\t\t\t11: R_X86_64_PLT32\tarch_memmap_stamp-0x4
  15:\ttest   %rax,%rax
  18:\tje     {where}
  1a:\tmfence
  1d:\tret

0000000000000030 <memmap_other>:
  30:\tcall   10 <memmap_init_pages>
  35:\tret
"""


def problems(zero: str = "sfence", where: str = "1a <memmap_init_pages+0xa>") -> list[str]:
    texts = ZERO.format(fence=zero), STAMP.format(where=where)
    return fences.problems([function for text in texts for function in fences.parse(text.splitlines())])


def test_fenced() -> None:
    assert problems() == []


def test_no_fence() -> None:
    assert problems(zero="nop") == [
        "zero_contiguous() may return after clzero without a fence",
        "zero_user_pages_uncached() may return after zero_contiguous without a fence",
    ]


def test_a_way_around_the_fence() -> None:
    assert problems(where="1d <memmap_init_pages+0xd>") == [
        "memmap_init_pages() may return after arch_memmap_stamp without a fence",
        "memmap_other() may return after memmap_init_pages without a fence",
    ]


def test_a_jump_to_another_function_is_a_way_out() -> None:
    assert problems(where="30 <memmap_other>")[0].startswith("memmap_init_pages() may return")


def test_an_object_without_its_stores_is_a_failure() -> None:
    zero, stamp = (fences.parse(text.splitlines()) for text in (ZERO.format(fence="sfence"), STAMP))
    assert fences.missing("arch/x86/mm/memmap_bulk.o", stamp) == []
    assert fences.missing("arch/x86/mm/zero_pages.o", zero) == ["arch/x86/mm/zero_pages.o has no movnti"]
    assert len(fences.missing("arch/x86/mm/zero_pages.o", [])) == 2
