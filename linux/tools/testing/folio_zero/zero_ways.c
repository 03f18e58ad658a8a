// SPDX-License-Identifier: GPL-2.0-only
/*
 * zero_ways.c - ways to zero a folio that other kernels use, or could use
 *
 * The ways are written out, with the instruction that the kernel would choose on this
 * CPU, but without the kernel's function calls.
 */

#include <limits.h>

#include "zero_kernel.h"
#include "zero_ways.h"

#define CACHE_LINE		64
#define MAINLINE_EXTENT		(32UL << 20)
/* In pages, on either side of the one that was touched. */
#define STOCK_RADIUS		2
/* For CLZERO and for non-temporal stores, each followed by a fence. */
#define WEAK_EXTENT		(2UL << 20)

static void clzero(char *to, unsigned long bytes)
{
	char *end = to + bytes;

	for (; to < end; to += CACHE_LINE)
		asm volatile(".byte 0x0f, 0x01, 0xfc" : : "a" (to) : "memory");

	/* The kernel needs this fence, too. */
	wmb();
}

/* Non-temporal.  Unrolled: a loop over words takes three times as long. */
static void store_words(char *to, unsigned long bytes)
{
	char *end = to + bytes;

	for (; to < end; to += CACHE_LINE)
		asm volatile("movnti %1, (%0)\n\t"
			     "movnti %1, 8(%0)\n\t"
			     "movnti %1, 16(%0)\n\t"
			     "movnti %1, 24(%0)\n\t"
			     "movnti %1, 32(%0)\n\t"
			     "movnti %1, 40(%0)\n\t"
			     "movnti %1, 48(%0)\n\t"
			     "movnti %1, 56(%0)"
			     : : "r" (to), "r" (0UL) : "memory");

	/* The kernel needs this fence, too. */
	wmb();
}

static void in_extents(void (*zero)(char *to, unsigned long bytes), char *to, unsigned long bytes)
{
	unsigned long done;

	for (done = 0; done < bytes; done += WEAK_EXTENT)
		zero(to + done, min(bytes - done, WEAK_EXTENT));
}

/* Ways */

/* Linux 6.12 */

static void stock_gigantic(const struct folio *folio)
{
	unsigned long i;

	for (i = 0; i < folio_nr_pages(folio); i++)
		clear_page(folio_page(folio, i));
}

/* Pages by their distance from @target, the farthest first. */
static void stock_converging(const struct folio *folio, unsigned long target)
{
	unsigned long nr = folio_nr_pages(folio);
	unsigned long away = nr;

	while (away--) {
		if (target + away < nr && away)
			clear_page(folio_page(folio, target + away));
		if (target >= away)
			clear_page(folio_page(folio, target - away));
	}
}

static void stock_by_page(const struct folio *folio, unsigned long target)
{
	if (folio_nr_pages(folio) > MAX_ORDER_NR_PAGES)
		stock_gigantic(folio);
	else
		stock_converging(folio, target);
}

/* Linux 7.0 and later */

/* From page @start to before page @end, either of which may be outside the folio. */
static void stock_extents(const struct folio *folio, long start, long end)
{
	long most = kernel_is_preemptible ? LONG_MAX : MAINLINE_EXTENT / PAGE_SIZE;
	long nr = folio_nr_pages(folio), to;

	end = min(end, nr);
	for (start = max(start, 0L); start < end; start = to) {
		to = start + min(end - start, most);
		zero_by_string(folio_page(folio, start), (to - start) * PAGE_SIZE);
	}
}

/* What is around the touched page comes last. */
static void stock_by_extent(const struct folio *folio, long target)
{
	long from = target - STOCK_RADIUS, to = target + STOCK_RADIUS + 1;

	stock_extents(folio, to, folio_nr_pages(folio));
	stock_extents(folio, 0, from);
	stock_extents(folio, from, to);
}

void zero_stock(const struct folio *folio, unsigned long addr)
{
	unsigned long target = (addr & (folio_size(folio) - 1)) >> PAGE_SHIFT;

	if (STOCK_ZEROES_EXTENTS)
		stock_by_extent(folio, target);
	else
		stock_by_page(folio, target);
}

void zero_mainline(const struct folio *folio, unsigned long addr)
{
	unsigned long bytes = folio_size(folio), done;

	for (done = 0; done < bytes; done += MAINLINE_EXTENT)
		zero_by_string((char *)folio->pages + done, min(bytes - done, MAINLINE_EXTENT));
}

void zero_whole(const struct folio *folio, unsigned long addr)
{
	zero_by_string(folio->pages, folio_size(folio));
}

void zero_clzero(const struct folio *folio, unsigned long addr)
{
	in_extents(clzero, (char *)folio->pages, folio_size(folio));
}

void zero_movnti(const struct folio *folio, unsigned long addr)
{
	in_extents(store_words, (char *)folio->pages, folio_size(folio));
}

struct split_share {
	struct work_struct	work;
	char			*to;
	unsigned long		bytes;
	void			(*write)(char *to, unsigned long bytes);
	struct completion	done;
};

static void split_zero(char *to, unsigned long bytes)
{
	if (has_clzero())
		in_extents(clzero, to, bytes);
	else if (uses_movnti())
		in_extents(store_words, to, bytes);
	else
		zero_by_string(to, bytes);
}

static void split_fn(struct work_struct *work)
{
	struct split_share *share = container_of(work, struct split_share, work);

	share->write(share->to, share->bytes);
	complete(&share->done);
}

void split(const struct folio *folio, void (*write)(char *to, unsigned long bytes))
{
	unsigned long nr = *max_threads, i;
	unsigned long bytes = ALIGN_DOWN(folio_size(folio) / nr, PAGE_SIZE);
	struct workqueue_struct *wq = alloc_workqueue("split", 0, 0);
	struct split_share shares[SHIM_NR_CPUS];
	char *to = (char *)folio->pages;

	for (i = 1; i < nr; i++, to += bytes) {
		shares[i] = (struct split_share){ .to = to, .bytes = bytes, .write = write };
		init_completion(&shares[i].done);
		INIT_WORK(&shares[i].work, split_fn);
		queue_work_on(i, wq, &shares[i].work);
	}
	write(to, (char *)folio->pages + folio_size(folio) - to);
	for (i = 1; i < nr; i++)
		wait_for_completion(&shares[i].done);
}

void zero_split(const struct folio *folio, unsigned long addr)
{
	split(folio, split_zero);
}
