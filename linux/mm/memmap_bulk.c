// SPDX-License-Identifier: GPL-2.0-only
/*
 * memmap_bulk.c - initialise and free struct pages by the run, not one by one
 *
 * All struct pages of a run of free pages are the same when they are new, but
 * for the list head that points to itself.  So one of them is made as a template,
 * by the same functions that make any other, and stored over and over: what the
 * fields are, in which configuration, is not known here.  Architectures may have
 * stores that are better at this, see arch_memmap_stamp().
 *
 * Pages that go to the buddy allocator do so in whole blocks of the largest
 * order where possible, many of them at a time.
 *
 * Where all that is not allowed, because something has to see each page, the
 * page by page functions of mm_init.c and page_alloc.c do the work, and the
 * outcome is the same.
 *
 * This is used at boot, early and deferred, and by memory hotplug.
 */

#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/memblock.h>
#include <linux/memmap_bulk.h>
#include <linux/memory_hotplug.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page_ref.h>
#include <linux/page-flags.h>
#include <linux/page-isolation.h>
#include <linux/pageblock-flags.h>
#include <linux/string.h>

#include "internal.h"

/* Pages whose struct pages are one array. */
#ifdef CONFIG_SPARSEMEM
#define MEMMAP_RUN_PAGES	PAGES_PER_SECTION
#else
#define MEMMAP_RUN_PAGES	MAX_ORDER_NR_PAGES
#endif

/* A shorter run is initialised page by page. */
#define MEMMAP_MIN_RUN		8

/* As much of [pfn, end_pfn) as the functions below take in one go ends here. */
unsigned long __meminit memmap_run_end(unsigned long pfn, unsigned long end_pfn)
{
	return min(ALIGN(pfn + 1, MEMMAP_RUN_PAGES), end_pfn);
}

/* A struct page that is new, and then what its user wants it to be. */
static void __meminit memmap_init_page(struct page *page, unsigned long pfn,
				       unsigned long zone, int nid,
				       enum memmap_state state)
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

/* A template has no address of its own, so its list head points nowhere. */
static void __meminit memmap_make_template(struct memmap_template *template,
					   unsigned long pfn,
					   unsigned long zone, int nid,
					   enum memmap_state state)
{
	memmap_init_page(&template->page, pfn, zone, nid, state);
	template->page.lru.next = NULL;
	template->page.lru.prev = NULL;
}

/*
 * Whether it is enough to store struct pages: they have the size and the list
 * head that arch_memmap_stamp() knows, and nobody wants to see each of them.
 */
static bool __meminit memmap_can_stamp(void)
{
	if (sizeof(struct page) != MEMMAP_PAGE_SIZE || MEMMAP_PAGE_WORDS != 8 ||
	    offsetof(struct page, lru) != sizeof(unsigned long))
		return false;

	return !IS_ENABLED(CONFIG_KASAN) && !IS_ENABLED(CONFIG_KMSAN) &&
	       !page_ref_tracepoint_active(page_ref_set);
}

/*
 * Make the template of [pfn, end_pfn).  Return whether there is one.  What
 * __init_single_page() may make of the pfn, a section number or an address, is
 * the same throughout a section or grows from page to page, so if the first and
 * the last page are the same, all of them are.
 */
static bool __meminit memmap_template(struct memmap_template *template,
				      unsigned long pfn, unsigned long end_pfn,
				      unsigned long zone, int nid,
				      enum memmap_state state)
{
	struct memmap_template last;

	if (!memmap_can_stamp())
		return false;

	memmap_make_template(template, pfn, zone, nid, state);
	memmap_make_template(&last, end_pfn - 1, zone, nid, state);

	return !memcmp(template, &last, sizeof(last));
}

/*
 * Store the template to [page, end).  Word by word from registers: a structure
 * assignment would read the template again for each page.
 */
static void __meminit memmap_stamp(struct page *page, struct page *end,
				   const struct memmap_template *template)
{
	unsigned long flags = template->word[0];
	unsigned long w3 = template->word[3];
	unsigned long w4 = template->word[4];
	unsigned long w5 = template->word[5];
	unsigned long w6 = template->word[6];
	unsigned long w7 = template->word[7];

	for (; page < end; page++) {
		unsigned long *word = (unsigned long *)page;

		word[0] = flags;
		word[1] = (unsigned long)&page->lru;
		word[2] = (unsigned long)&page->lru;
		word[3] = w3;
		word[4] = w4;
		word[5] = w5;
		word[6] = w6;
		word[7] = w7;
	}
}

/**
 * arch_memmap_stamp - store a template to a run of struct pages
 * @page: first of them
 * @end: end of the run.  All of it is within one section.
 * @template: what to store, but for the list head: each page's &page->lru, the
 *            second and third word, is made to point to itself
 *
 * Architectures override this if they have stores that need not read what they
 * overwrite.  The struct pages are not used again soon.  When this returns, the
 * stores must be like plain ones to whatever orders them: what publishes the
 * pages is a lock or a release, and it knows nothing of how they were written.
 *
 * Context: Any.
 */
void __meminit __weak arch_memmap_stamp(struct page *page, struct page *end,
					const struct memmap_template *template)
{
	memmap_stamp(page, end, template);
}

/*
 * Free blocks are put on a list next, by their first page, so that one should
 * stay in the cache.
 */
static void __meminit memmap_stamp_blocks(struct page *page, unsigned long pfn,
					  unsigned long end_pfn,
					  const struct memmap_template *template)
{
	while (pfn < end_pfn) {
		unsigned long next = min(ALIGN(pfn + 1, MAX_ORDER_NR_PAGES),
					 end_pfn);
		bool head = IS_ALIGNED(pfn, MAX_ORDER_NR_PAGES);
		struct page *end = page + (next - pfn);

		if (head)
			memmap_stamp(page, page + 1, template);
		arch_memmap_stamp(page + head, end, template);

		page = end;
		pfn = next;
	}
}

/**
 * memmap_init_pages - initialise the struct pages of a run of pfns
 * @pfn: first of them
 * @end_pfn: end of the run.  All of it is within one section.
 * @zone: index of the zone they belong to
 * @nid: node they belong to
 * @state: what they are then
 *
 * The same as __init_single_page() for each, and then what @state asks for.
 *
 * Context: Any.  Nobody else may use the struct pages yet.
 */
void __meminit memmap_init_pages(unsigned long pfn, unsigned long end_pfn,
				 unsigned long zone, int nid,
				 enum memmap_state state)
{
	struct page *page = pfn_to_page(pfn);
	struct memmap_template template;

	/* For a few pages, making templates is not worth it. */
	if (end_pfn - pfn < MEMMAP_MIN_RUN ||
	    !memmap_template(&template, pfn, end_pfn, zone, nid, state)) {
		for (; pfn < end_pfn; pfn++, page++)
			memmap_init_page(page, pfn, zone, nid, state);
	} else if (state == MEMMAP_FREE) {
		memmap_stamp_blocks(page, pfn, end_pfn, &template);
	} else {
		arch_memmap_stamp(page, page + (end_pfn - pfn), &template);
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
 * The migratetype of all pageblocks of a block of MAX_ORDER_NR_PAGES, or -1 if
 * they differ.
 */
static int __init memmap_block_type(unsigned long pfn)
{
	unsigned long end_pfn = pfn + MAX_ORDER_NR_PAGES;
	int type = get_pageblock_migratetype(pfn_to_page(pfn));

	while ((pfn += pageblock_nr_pages) < end_pfn) {
		if (get_pageblock_migratetype(pfn_to_page(pfn)) != type)
			return -1;
	}

	return type;
}

/*
 * How far whole blocks of one zone and migratetype go from @pfn on, if they may be
 * freed together.  @pfn if there is none.  Zones meet at a multiple of a block, so
 * a block has one zone, but a section may have several.
 */
static unsigned long __init memmap_blocks_end(unsigned long pfn,
					      unsigned long end_pfn, int *type)
{
	unsigned long next = pfn;
	struct zone *zone;

	if (!IS_ALIGNED(pfn, MAX_ORDER_NR_PAGES) ||
	    end_pfn - pfn < MAX_ORDER_NR_PAGES ||
	    !can_free_new_blocks(pfn_to_page(pfn),
				 (end_pfn - pfn) >> MAX_PAGE_ORDER))
		return pfn;

	*type = memmap_block_type(pfn);
	if (*type < 0)
		return pfn;

	zone = page_zone(pfn_to_page(pfn));
	do {
		next += MAX_ORDER_NR_PAGES;
	} while (end_pfn - next >= MAX_ORDER_NR_PAGES &&
		 page_zone(pfn_to_page(next)) == zone &&
		 memmap_block_type(next) == *type);

	return next;
}

/**
 * memmap_free_pages - hand a run of new pages to the buddy allocator
 * @pfn: first of them
 * @end_pfn: end of the run.  All of it is within one section.
 *
 * Whole blocks of MAX_ORDER_NR_PAGES are freed together, and what is before and
 * after them in the largest naturally aligned pieces.
 *
 * Context: Boot.  The pages are as MEMMAP_FREE makes them.  All others of the
 * blocks that the run begins and ends in, if they are of the same zone, are
 * initialised too: freeing looks at a page's buddies.
 */
void __init memmap_free_pages(unsigned long pfn, unsigned long end_pfn)
{
	while (pfn < end_pfn) {
		unsigned int order = MAX_PAGE_ORDER;
		unsigned long next;
		int type;

		next = memmap_blocks_end(pfn, end_pfn, &type);
		if (next > pfn && free_new_blocks(pfn_to_page(pfn),
						  (next - pfn) >> MAX_PAGE_ORDER,
						  type)) {
			pfn = next;
			continue;
		}

		if (pfn)
			order = min(order, __ffs(pfn));
		order = min(order, __fls(end_pfn - pfn));

		__free_pages_core(pfn_to_page(pfn), order, MEMINIT_EARLY);
		pfn += 1UL << order;
	}
}

static __always_inline void memmap_make_page_free(struct page *page)
{
	__ClearPageReserved(page);
	set_page_count(page, 0);
}

/*
 * Pages that were initialised early count as used and may be reserved, like
 * __free_pages_core() has it.  By fours, of which a block has a whole number: the
 * loop itself would cost as much again.
 */
static void __init memmap_make_free(struct page *page, struct page *end)
{
	BUILD_BUG_ON(MAX_ORDER_NR_PAGES % 4);

	for (; page < end; page += 4) {
		memmap_make_page_free(page);
		memmap_make_page_free(page + 1);
		memmap_make_page_free(page + 2);
		memmap_make_page_free(page + 3);
	}
}

/* Free the blocks of [pfn, end_pfn), which are of one migratetype. */
static bool __init memmap_free_early_blocks(unsigned long pfn,
					    unsigned long end_pfn, int type)
{
	struct page *page = pfn_to_page(pfn);
	struct page *end = page + (end_pfn - pfn);

	memmap_make_free(page, end);
	return new_pages_are_good(page, end) &&
	       free_new_blocks(page, (end_pfn - pfn) >> MAX_PAGE_ORDER, type);
}

/**
 * memmap_free_early - free what can be freed by the block when memblock retires
 * @pfn: first page of what is left to free of a range
 * @end_pfn: end of the range.  It is of one node and free in memblock.
 *
 * Frees blocks from @pfn on, if it is at the beginning of one, and skips pages
 * that are deferred.
 *
 * Context: Boot, in memblock_free_all().
 * Return: the first page that is not dealt with.  @pfn, if it is no block that
 * can be freed here.
 */
unsigned long __init memmap_free_early(unsigned long pfn, unsigned long end_pfn)
{
	unsigned long deferred_pfn = first_deferred_pfn(early_pfn_to_nid(pfn));
	unsigned long next;
	int type;

	if (pfn >= deferred_pfn)
		return end_pfn;
	if (!memmap_can_stamp())
		return pfn;

	end_pfn = min(end_pfn, deferred_pfn);
	for (;;) {
		next = memmap_blocks_end(pfn, memmap_run_end(pfn, end_pfn), &type);
		if (next == pfn || !memmap_free_early_blocks(pfn, next, type))
			return pfn;
		pfn = next;
	}
}

/*
 * Go on with set_zone_contiguous() from *pfn to @end_pfn at least, pageblock by
 * pageblock.  Return false if there is a hole.
 */
static bool __init zone_blocks_contiguous(struct zone *zone, unsigned long *pfn,
					  unsigned long end_pfn)
{
	while (*pfn < end_pfn) {
		unsigned long next = min(pageblock_end_pfn(*pfn),
					 zone_end_pfn(zone));

		if (!__pageblock_pfn_to_page(*pfn, next, zone))
			return false;
		*pfn = next;
		cond_resched();
	}

	return true;
}

/* Whether all sections of [pfn, end_pfn) are online. */
static bool __init memmap_online(unsigned long pfn, unsigned long end_pfn)
{
	for (; pfn < end_pfn; pfn = memmap_run_end(pfn, end_pfn)) {
		if (!pfn_to_online_page(pfn))
			return false;
	}

	return true;
}

/**
 * set_zone_contiguous_boot - find out whether a zone has no holes
 * @zone: zone whose struct pages are all initialised
 *
 * The same as set_zone_contiguous(), which asks two struct pages of each
 * pageblock whose they are.  Within the node's memory there is no need to ask:
 * memmap_init() and deferred_init_memmap() gave all that lies in the zone's span
 * to the zone.  That leaves the pageblocks with a hole or another node's memory.
 *
 * And the zone's first: a gigantic page that hugetlb has from memblock may begin
 * in the zone below, and all of its struct pages are of that zone.
 *
 * Mirrored memory is the exception, there zones overlap.
 *
 * Context: Boot, before memblock_discard().
 */
void __init set_zone_contiguous_boot(struct zone *zone)
{
	unsigned long zone_end = zone_end_pfn(zone), pfn = zone->zone_start_pfn;
	unsigned long spfn, epfn;
	int i;

	if (mirrored_kernelcore) {
		set_zone_contiguous(zone);
		return;
	}

	if (!zone_blocks_contiguous(zone, &pfn, pfn + 1))
		return;

	for_each_mem_pfn_range(i, zone_to_nid(zone), &spfn, &epfn, NULL) {
		if (!zone_blocks_contiguous(zone, &pfn, min(spfn, zone_end)))
			return;

		epfn = epfn < zone_end ? pageblock_start_pfn(epfn) : zone_end;
		if (pfn < epfn && memmap_online(pfn, epfn))
			pfn = epfn;
	}

	if (zone_blocks_contiguous(zone, &pfn, zone_end))
		zone->contiguous = true;
}
