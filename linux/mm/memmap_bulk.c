// SPDX-License-Identifier: GPL-2.0-only
/*
 * memmap_bulk.c - initialise and free struct pages in bulk, not one by one
 *
 * When they are new, all struct pages of a run of pages are the same, except for the
 * list head, which points to itself.  So one of them is made as a template, by the same
 * functions that initialise any other, and stored over and over: this file does not
 * know which fields there are in which configuration.
 *
 * Pages are freed to the buddy allocator in whole blocks of the largest order where
 * possible, many blocks at a time.  Each goes through free_pages_prepare(), so whatever
 * has to see the pages that are freed sees them.
 *
 * This is used at boot, early and deferred, and by memory hotplug.
 */

#include <linux/align.h>
#include <linux/alloc_tag.h>
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/memblock.h>
#include <linux/memmap_bulk.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/page-isolation.h>
#include <linux/pageblock-flags.h>
#include <linux/pfn.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <asm/barrier.h>

#include "internal.h"
#include "memmap_bulk.h"

/* Pages whose struct pages are one array. */
#ifdef CONFIG_SPARSEMEM
#define MEMMAP_RUN_PAGES	PAGES_PER_SECTION
#else
#define MEMMAP_RUN_PAGES	MAX_ORDER_NR_PAGES
#endif

/* The end of as much of [pfn, end_pfn) as the functions below take in one go. */
unsigned long __meminit memmap_run_end(unsigned long pfn, unsigned long end_pfn)
{
	return min(ALIGN(pfn + 1, MEMMAP_RUN_PAGES), end_pfn);
}

/* Initialise a struct page, and then make it what its user wants it to be. */
static void __meminit memmap_init_page(struct page *page, unsigned long pfn, unsigned long zone,
				       int nid, enum memmap_state state)
{
	__init_single_page(page, pfn, zone, nid);

	switch (state) {
	case MEMMAP_USED:
		break;
	case MEMMAP_FREE:
		set_page_count(page, 0);
		break;
	case MEMMAP_RESERVED:
		__SetPageReserved(page);
		break;
	case MEMMAP_OFFLINE:
		__SetPageOffline(page);
		break;
	}
}

static void __meminit memmap_make_template(struct memmap_template *template, unsigned long pfn,
					   unsigned long zone, int nid, enum memmap_state state)
{
	memmap_init_page(&template->page, pfn, zone, nid, state);
	template->page.lru.next = NULL;
	template->page.lru.prev = NULL;
	template->list_heads = true;
}

/*
 * Make the template of [pfn, end_pfn).  Return whether there is one, and no trace event
 * has to see each page.  What __init_single_page() may derive from the pfn, a section
 * number or an address, is the same throughout a section or grows from page to page, so
 * if the struct pages of the first and the last pfn are the same, all of them are.
 */
static bool __meminit memmap_template(struct memmap_template *template, unsigned long pfn,
				      unsigned long end_pfn, unsigned long zone, int nid,
				      enum memmap_state state)
{
	struct memmap_template last;

	if (end_pfn - pfn < MEMMAP_MIN_RUN || memmap_is_traced())
		return false;

	memmap_make_template(template, pfn, zone, nid, state);
	memmap_make_template(&last, end_pfn - 1, zone, nid, state);

	return !memcmp(&template->page, &last.page, sizeof(last.page));
}

static __always_inline void memmap_store(unsigned long *word, unsigned long value)
{
	WRITE_ONCE(*word, value);
}

/* For struct pages that are used again soon, and so are best left in the cache. */
static void __meminit memmap_stamp(struct page *page, struct page *end,
				   const struct memmap_template *template)
{
	memmap_stamp_by(page, end, template, memmap_store);
}

/*
 * For struct pages that are not used again soon.  Architectures override this if they have
 * stores that need not read what they overwrite.  These may be weakly ordered, as long as wmb()
 * orders them before later ones.
 */
void __meminit __weak arch_memmap_stamp(struct page *page, struct page *end,
					const struct memmap_template *template)
{
	memmap_stamp(page, end, template);
}

/*
 * Whether arch_memmap_stamp() is faster even for struct pages that are used again.  @early: they
 * are those of early boot, of which there are many before the first is used again.
 * Architectures override this by CPU.
 */
bool __meminit __weak arch_memmap_uncached(bool early)
{
	return false;
}

/*
 * Pages that are freed next.  Of a whole block only the first struct page is used then,
 * to put the block on a list, so it is left in the cache with the rest of its batch.
 * Less than a block is freed in pieces, which uses all of its struct pages.
 */
static void __meminit memmap_stamp_free(unsigned long pfn, unsigned long end_pfn,
					const struct memmap_template *template)
{
	struct page *page = pfn_to_page(pfn);
	unsigned long next;

	for (; pfn < end_pfn; page += next - pfn, pfn = next) {
		next = min(ALIGN(pfn + 1, MAX_ORDER_NR_PAGES), end_pfn);
		if (next - pfn < MAX_ORDER_NR_PAGES) {
			memmap_stamp(page, page + (next - pfn), template);
			continue;
		}
		memmap_stamp(page, page + MEMMAP_BATCH, template);
		arch_memmap_stamp(page + MEMMAP_BATCH, page + MAX_ORDER_NR_PAGES,
				  template);
	}

	/*
	 * The pages are published by a lock or a release, which need not order the
	 * architecture's stores.  Pairs with whatever orders the reader of the pages,
	 * such as taking zone->lock: without it, a page could be found on a free list
	 * before it is initialised.  Once for the whole run: once for each block would
	 * take 3 % longer (AMD EPYC, Zen 4).  If this task migrates from another CPU
	 * meanwhile, the barriers of a task switch order what it stored there.
	 */
	wmb();
}

/*
 * Initialise the struct pages of a run of pfns within one section, which nobody else may use
 * yet: the same as __init_single_page() for each, and then what @state asks for.
 */
void __meminit memmap_init_pages(unsigned long pfn, unsigned long end_pfn, unsigned long zone,
				 int nid, enum memmap_state state)
{
	struct page *page = pfn_to_page(pfn);
	struct memmap_template template;

	if (!memmap_template(&template, pfn, end_pfn, zone, nid, state)) {
		for (; pfn < end_pfn; pfn++, page++)
			memmap_init_page(page, pfn, zone, nid, state);
	} else if (state == MEMMAP_FREE) {
		memmap_stamp_free(pfn, end_pfn, &template);
	} else if (arch_memmap_uncached(state == MEMMAP_USED)) {
		arch_memmap_stamp(page, page + (end_pfn - pfn), &template);
		/* As for memmap_stamp_free(). */
		wmb();
	} else {
		memmap_stamp(page, page + (end_pfn - pfn), &template);
	}
}

/* Set the migratetype of the pageblocks that begin in [pfn, end_pfn). */
void __meminit memmap_init_pageblocks(unsigned long pfn, unsigned long end_pfn,
				      int migratetype)
{
	for (pfn = pageblock_align(pfn); pfn < end_pfn; pfn += pageblock_nr_pages)
		set_pageblock_migratetype(pfn_to_page(pfn), migratetype);
}

/*
 * Hand a run of new pages within one section to the buddy allocator: whole blocks of
 * MAX_ORDER_NR_PAGES together, and what is before and after them, or has to be accepted first,
 * in the largest naturally aligned pieces.
 *
 * The pages are as MEMMAP_FREE makes them, and pageblocks that begin in the run are all of one
 * migratetype.  All other pages of the blocks that the run begins and ends in are initialised
 * too, if they are of the same zone: freeing looks at a page's buddies.
 */
void __init memmap_free_pages(struct zone *zone, unsigned long pfn, unsigned long end_pfn)
{
	unsigned long blocks_end = ALIGN_DOWN(end_pfn, MAX_ORDER_NR_PAGES);
	unsigned int order;

	atomic_long_add(end_pfn - pfn, &zone->managed_pages);

	while (pfn < end_pfn) {
		if (IS_ALIGNED(pfn, MAX_ORDER_NR_PAGES) && pfn < blocks_end &&
		    !range_contains_unaccepted_memory(PFN_PHYS(pfn), PFN_PHYS(blocks_end - pfn))) {
			free_new_blocks(pfn_to_page(pfn), pfn_to_page(blocks_end - 1) + 1);
			pfn = blocks_end;
			continue;
		}

		order = min(__ffs(pfn | MAX_ORDER_NR_PAGES), __fls(end_pfn - pfn));
		__free_pages_core(pfn_to_page(pfn), order, MEMINIT_DEFERRED);
		pfn += 1UL << order;
	}
}

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

	atomic_long_add(end_pfn - pfn, &page_zone(first)->managed_pages);

	/* With one page per iteration, the loop itself would cost as much again. */
	BUILD_BUG_ON(MAX_ORDER_NR_PAGES % 4);
	for (page = first; page < end; page += 4) {
		memmap_scrub_page(page);
		memmap_scrub_page(page + 1);
		memmap_scrub_page(page + 2);
		memmap_scrub_page(page + 3);
	}

	free_new_blocks(first, end);
}

/*
 * Free whole blocks of early pages in memblock_free_all(), from @pfn on, and skip pages that are
 * deferred.  The range is of one node and free in memblock, and nobody has changed the
 * migratetype that memmap_init_range() gave to each pageblock.  Return the first page that is
 * not dealt with: @pfn if no block that can be freed here begins there.
 */
unsigned long __init memmap_free_early(unsigned long pfn, unsigned long end_pfn)
{
	unsigned long deferred_pfn = first_deferred_pfn(early_pfn_to_nid(pfn));
	unsigned long next;
	struct zone *zone;

	if (pfn >= deferred_pfn)
		return end_pfn;

	/*
	 * Zones of mirrored memory overlap; pages have to be looked at one by one; or
	 * memblock_free_pages() does more with them than to free them.
	 */
	if (!IS_ALIGNED(pfn, MAX_ORDER_NR_PAGES) || mirrored_kernelcore ||
	    static_branch_unlikely(&check_pages_enabled) ||
	    IS_ENABLED(CONFIG_KMSAN) || mem_alloc_profiling_enabled())
		return pfn;

	end_pfn = min(end_pfn, deferred_pfn);
	for (; pfn < end_pfn; pfn = next) {
		zone = page_zone(pfn_to_page(pfn));
		next = min(memmap_run_end(pfn, end_pfn), zone_end_pfn(zone));
		next = ALIGN_DOWN(next, MAX_ORDER_NR_PAGES);
		if (next <= pfn ||
		    range_contains_unaccepted_memory(PFN_PHYS(pfn), PFN_PHYS(next - pfn)))
			break;
		memmap_free_used(pfn, next);
	}

	return pfn;
}

/*
 * The same as set_zone_contiguous(), for boot before memblock_discard().
 *
 * set_zone_contiguous() asks two struct pages of each pageblock for their zone.  Within the
 * node's memory there is no need to: memmap_init() and deferred init assigned all that lies in
 * the zone's span to the zone.  That leaves the pageblocks with a hole or another node's memory,
 * and the zone's first pageblock: a gigantic page that hugetlb got from memblock may begin in
 * the zone below, and then all of its struct pages are of that zone.
 *
 * Mirrored memory is the exception: there, zones overlap.
 */
void __init set_zone_contiguous_boot(struct zone *zone)
{
	unsigned long pfn, next, end_pfn = zone_end_pfn(zone);
	unsigned long mem_start = 0, mem_end = 0;

	if (mirrored_kernelcore) {
		set_zone_contiguous(zone);
		return;
	}

	for (pfn = zone->zone_start_pfn; pfn < end_pfn; pfn = next) {
		if (pfn >= mem_end &&
		    memblock_search_pfn_nid(pfn, &mem_start, &mem_end) != zone_to_nid(zone))
			mem_end = 0;

		next = memmap_run_end(pfn, end_pfn);
		if (next <= mem_end && pfn != zone->zone_start_pfn && pfn_in_present_section(pfn))
			continue;

		next = min(pageblock_end_pfn(pfn), end_pfn);
		if (!__pageblock_pfn_to_page(pfn, next, zone))
			return;
		cond_resched();
	}

	zone->contiguous = true;
}
