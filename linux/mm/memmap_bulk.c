// SPDX-License-Identifier: GPL-2.0-only
/*
 * memmap_bulk.c - initialise struct pages in bulk, not one by one
 *
 * When they are new, all struct pages of a run of pages are the same, except for the
 * list head, which points to itself.  So one of them is made as a template, by the same
 * functions that initialise any other, and stored over and over: this file does not
 * know which fields there are in which configuration.
 *
 * This is used at boot, early and deferred, and by memory hotplug.
 */

#include <linux/align.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/memmap_bulk.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/page-isolation.h>
#include <linux/pageblock-flags.h>
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
 * Whether arch_memmap_stamp() is faster even for struct pages that are used again: those of early
 * boot and of reserved memory, of which there are many before the first is used again, or with
 * @soon those of a memory block that goes online next.  Architectures override this by CPU.
 */
bool __meminit __weak arch_memmap_uncached(bool soon)
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

	BUILD_BUG_ON(MAX_ORDER_NR_PAGES < MEMMAP_BATCH);
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
	} else if (arch_memmap_uncached(state == MEMMAP_OFFLINE)) {
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
