// SPDX-License-Identifier: GPL-2.0-only
/*
 * copy_ways.c - ways to copy a folio that other kernels use, or could use
 *
 * As zero_ways.c.  The source of a folio is as far from the beginning of the memory's
 * second half as the folio is from that of its first half.
 */

#include <linux/folio_copy.h>
#include <linux/mm.h>

#include "zero_bench.h"
#include "zero_ways.h"

/* For non-temporal stores, followed by a fence. */
#define WEAK_EXTENT		(2UL << 20)

static char *source_of(const void *to)
{
	return (char *)to + options.mib * MIB;
}

static struct folio source_folio(const struct folio *folio)
{
	return (struct folio){ (struct page *)source_of(folio->pages), folio->order };
}

/* Unrolled as in arch/x86/mm/copy_pages.c, but without a table of exceptions. */
static void store_words(char *to, const char *from, unsigned long bytes)
{
	char *end = to + bytes;

	for (; to < end; to += 64, from += 64)
		asm volatile("mov (%1), %%r8\n\t"
			     "mov 8(%1), %%r9\n\t"
			     "mov 16(%1), %%r10\n\t"
			     "mov 24(%1), %%r11\n\t"
			     "movnti %%r8, (%0)\n\t"
			     "movnti %%r9, 8(%0)\n\t"
			     "movnti %%r10, 16(%0)\n\t"
			     "movnti %%r11, 24(%0)\n\t"
			     "mov 32(%1), %%r8\n\t"
			     "mov 40(%1), %%r9\n\t"
			     "mov 48(%1), %%r10\n\t"
			     "mov 56(%1), %%r11\n\t"
			     "movnti %%r8, 32(%0)\n\t"
			     "movnti %%r9, 40(%0)\n\t"
			     "movnti %%r10, 48(%0)\n\t"
			     "movnti %%r11, 56(%0)"
			     : : "r" (to), "r" (from) : "r8", "r9", "r10", "r11", "memory");

	/* The kernel needs this fence, too. */
	wmb();
}

static void copy_page(const struct folio *folio, unsigned long nr)
{
	struct page *page = folio_page(folio, nr);

	copy_by_string(page, source_of(page), PAGE_SIZE);
}

/* Up to 4 MiB pages by their distance from the one that is touched, the farthest first. */
void copy_stock(const struct folio *folio, unsigned long addr)
{
	unsigned long target = (addr & (folio_size(folio) - 1)) >> PAGE_SHIFT;
	unsigned long nr = folio_nr_pages(folio), away;

	for (away = nr; nr <= MAX_ORDER_NR_PAGES && away--;) {
		if (target + away < nr && away)
			copy_page(folio, target + away);
		if (target >= away)
			copy_page(folio, target - away);
	}
	for (away = 0; nr > MAX_ORDER_NR_PAGES && away < nr; away++)
		copy_page(folio, away);
}

void copy_whole(const struct folio *folio, unsigned long addr)
{
	copy_by_string(folio->pages, source_of(folio->pages), folio_size(folio));
}

static void copy_words(char *to, unsigned long bytes)
{
	unsigned long done;

	for (done = 0; done < bytes; done += WEAK_EXTENT)
		store_words(to + done, source_of(to + done), min(bytes - done, WEAK_EXTENT));
}

void copy_movnti(const struct folio *folio, unsigned long addr)
{
	copy_words((char *)folio->pages, folio_size(folio));
}

void copy_split(const struct folio *folio, unsigned long addr)
{
	split(folio, copy_words);
}

void copy_ours(const struct folio *folio, unsigned long addr)
{
	struct folio to = *folio, from = source_folio(folio);

	if (copy_user_large_folio(&to, &from, addr, NULL))
		bench_fail("the source cannot be read");
}

void copy_migrated(const struct folio *folio, unsigned long addr)
{
	struct folio to = *folio, from = source_folio(folio);

	if (folio_mc_copy_large(&to, &from))
		bench_fail("the source cannot be read");
}
