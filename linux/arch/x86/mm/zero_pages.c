// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86: zero many pages at once.
 *
 * Page by page, the CPU starts over each time, and has to guess that more will follow.
 * Where that is slower, one instruction is given the whole length here, or CLZERO is
 * used, which does not read the line first.
 */

#include <linux/cpufeature.h>
#include <linux/folio_zero.h>
#include <linux/kmsan-checks.h>
#include <linux/mm.h>

#include <asm/barrier.h>
#include <asm/page.h>

/*
 * CLZERO zeroes a cache line, which is 64 bytes on every CPU that has the instruction.
 * If it were less on another CPU, old contents would remain, so the size is checked.
 */
#define CLZERO_BYTES	64

static void zero_bytes(void *to, unsigned long bytes)
{
	asm volatile("rep stosb"
		     : "+D" (to), "+c" (bytes)
		     : "a" (0)
		     : "memory");
}

static void zero_words(void *to, unsigned long bytes)
{
	unsigned long words = bytes / sizeof(long);

	asm volatile("rep stosq"
		     : "+D" (to), "+c" (words)
		     : "a" (0)
		     : "memory");
}

static void zero_pages_one_by_one(void *to, unsigned long nr)
{
	for (; nr; nr--, to += PAGE_SIZE)
		clear_page(to);
}

/*
 * CLZERO is ordered like a non-temporal store: it may become visible later than
 * plain stores that follow it.  sfence makes these wait.  It pairs with whatever
 * orders the reader of the page after the store that published it: the lock of the
 * page table, or the walk that found the entry there; the folio's lock or uptodate
 * flag in a page cache.  Without it, old contents could be seen through the mapping.
 *
 * The loop is 12 bytes, so that it lies within a cache line if it is aligned to 16.  On
 * an AMD EPYC (Zen 3), a loop that crosses one takes up to 7 % longer.  The kernel does
 * not align loops.  Binutils before 2.26 do not know CLZERO.  Unrolling gains nothing.
 */
static void zero_lines(void *to, unsigned long bytes)
{
	void *end = to + bytes;

	asm volatile(".p2align 4\n"
		     "1:	.byte 0x0f, 0x01, 0xfc	# clzero\n"
		     "	add %[line], %[to]\n"
		     "	cmp %[end], %[to]\n"
		     "	jb 1b"
		     : [to] "+&a" (to)
		     : [end] "r" (end), [line] "i" (CLZERO_BYTES)
		     : "memory", "cc");

	/* Pairs with whoever is given the pages next, see above. */
	wmb();
}

/*
 * Choose how to zero.  CLZERO neither reads what it overwrites nor leaves it in the
 * cache.  On AMD EPYCs (Zen 3 to 5) it zeroes 1 GiB in 0.31 to 0.40 of the time that
 * clear_page() takes, and 2 MiB in 0.18 to 0.33, but what is used of them right after
 * that comes from memory.
 *
 * For what is used soon, and on CPUs without CLZERO, the choice is that of clear_page(),
 * but for all pages at once.  On Zen 5 and some hosts with Zen 4 this takes 0.5 to 0.6 of
 * the time that page by page takes, and as long on others.  On Zen 3 it gains nothing, and
 * takes up to 5 % longer; only extents larger than the last-level cache gain there, and
 * none of those is used soon.
 */
static void zero_contiguous(struct page *page, unsigned long nr, bool used_soon)
{
	void *to = page_address(page);
	unsigned long bytes = nr * PAGE_SIZE;
	bool at_once = !used_soon || !cpu_feature_enabled(X86_FEATURE_ZEN3);
	unsigned long i;

	/* KMSAN's metadata may be contiguous for no more than a page. */
	for (i = 0; i < nr; i++)
		kmsan_unpoison_memory(to + i * PAGE_SIZE, PAGE_SIZE);

	if (!used_soon && cpu_feature_enabled(X86_FEATURE_CLZERO) &&
	    boot_cpu_data.x86_clflush_size == CLZERO_BYTES)
		zero_lines(to, bytes);
	else if (at_once && cpu_feature_enabled(X86_FEATURE_ERMS))
		zero_bytes(to, bytes);
	else if (at_once && cpu_feature_enabled(X86_FEATURE_REP_GOOD))
		zero_words(to, bytes);
	else
		zero_pages_one_by_one(to, nr);
}

/* All of a folio is contiguous in the kernel's mapping of it. */
void zero_user_pages(struct page *page, unsigned long addr, unsigned long nr)
{
	zero_contiguous(page, nr, true);
}

void zero_user_pages_uncached(struct page *page, unsigned long addr, unsigned long nr)
{
	zero_contiguous(page, nr, false);
}
