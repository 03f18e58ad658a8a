// SPDX-License-Identifier: GPL-2.0-only
/*
 * memmap_early.c - free the pages of early boot in bulk
 *
 * memblock hands what is free to the buddy allocator.  Where nothing has to look at each page,
 * the struct pages of whole blocks are cleared of what memblock's users may have left in them, in
 * one pass, and the blocks are freed without another look.
 */

#include <linux/align.h>
#include <linux/alloc_tag.h>
#include <linux/build_bug.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/memblock.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/page-flags.h>
#include <linux/page_ref.h>

#include "internal.h"
#include "memmap_bulk.h"
#include "memmap_early.h"

/* The first pfn of a node whose struct page is not initialised, or ULONG_MAX. */
#ifdef CONFIG_DEFERRED_STRUCT_PAGE_INIT
static unsigned long __init memmap_deferred_pfn(int nid)
{
	return node_online(nid) ? NODE_DATA(nid)->first_deferred_pfn : ULONG_MAX;
}
#else
static unsigned long __init memmap_deferred_pfn(int nid)
{
	return ULONG_MAX;
}
#endif

/* What __free_pages_core() and free_pages_prepare() do to each page of a block. */
static __always_inline void memmap_scrub_page(struct page *page)
{
	page->flags &= ~PAGE_FLAGS_CHECK_AT_PREP;
	set_page_count(page, 0);
}

/*
 * Free whole blocks of early pages, of one section, zone and migratetype, in kernels that do not
 * check pages that are freed.  They count as used since they were initialised, they may be
 * reserved, and whoever had them from memblock may have left something in them.
 */
void __init memmap_free_used(unsigned long pfn, unsigned long end_pfn)
{
	struct page *first = pfn_to_page(pfn), *end = first + (end_pfn - pfn), *page;

	/* With one page per iteration, the loop itself would cost as much again. */
	BUILD_BUG_ON(MAX_ORDER_NR_PAGES % 4);
	for (page = first; page < end; page += 4) {
		memmap_scrub_page(page);
		memmap_scrub_page(page + 1);
		memmap_scrub_page(page + 2);
		memmap_scrub_page(page + 3);
	}

	free_new_pages(page_zone(first), pfn, end_pfn, true);
}

/*
 * Free whole blocks of early pages in memblock_free_all(), from @pfn on, and skip pages that are
 * deferred.  The range is of one node and free in memblock, and nobody has changed the
 * migratetype that memmap_init_range() gave to each pageblock.  Return the first page that is
 * not dealt with: @pfn if no block that can be freed here begins there.
 */
unsigned long __init memmap_free_early(unsigned long pfn, unsigned long end_pfn)
{
	unsigned long deferred_pfn, next;
	struct zone *zone;

	/*
	 * Zones of mirrored memory overlap; pages have to be looked at one by one; or
	 * memblock_free_pages() does more with them than to free them.
	 */
	if (!IS_ALIGNED(pfn, MAX_ORDER_NR_PAGES) || mirrored_kernelcore ||
	    static_branch_unlikely(&check_pages_enabled) ||
	    IS_ENABLED(CONFIG_KMSAN) || mem_alloc_profiling_enabled())
		return pfn;

	deferred_pfn = memmap_deferred_pfn(early_pfn_to_nid(pfn));
	if (pfn >= deferred_pfn)
		return end_pfn;

	end_pfn = min(end_pfn, deferred_pfn);
	for (; pfn < end_pfn; pfn = next) {
		zone = page_zone(pfn_to_page(pfn));
		next = min(memmap_run_end(pfn, end_pfn), zone_end_pfn(zone));
		next = ALIGN_DOWN(next, MAX_ORDER_NR_PAGES);
		if (next <= pfn)
			break;
		memmap_free_used(pfn, next);
	}

	return pfn;
}
