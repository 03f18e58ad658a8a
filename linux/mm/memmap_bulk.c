// SPDX-License-Identifier: GPL-2.0-only
/*
 * memmap_bulk.c - initialise and free struct pages in bulk, not one by one
 *
 * When they are new, all struct pages of a run of free pages are the same, except for
 * the list head, which points to itself, and with WANT_PAGE_VIRTUAL the address.
 * So one of them is made as a template, by the same functions that initialise any
 * other, and stored over and over: this file does not know which fields there are in
 * which configuration.  Where the struct pages are not used again soon, architectures
 * may have stores that are better at this, see arch_memmap_stamp().
 *
 * Pages are freed to the buddy allocator in whole blocks of the largest order where
 * possible, many blocks at a time.
 *
 * Where blocks cannot be freed together, because something has to see each page,
 * the functions of page_alloc.c free them one by one; and where a trace event has to
 * see each reference, those of mm_init.c initialise page by page.  The outcome is the
 * same.
 *
 * This is used at boot, early and deferred, and by memory hotplug.
 */

#include <linux/align.h>
#include <linux/alloc_tag.h>
#include <linux/atomic.h>
#include <linux/bootmem_info.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
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
#include <linux/pfn.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/vmstat.h>

#include <asm/barrier.h>

#include <trace/events/kmem.h>

#include "internal.h"
#include "memmap_bulk.h"

/* Pages whose struct pages are one array. */
#ifdef CONFIG_SPARSEMEM
#define MEMMAP_RUN_PAGES	PAGES_PER_SECTION
#else
#define MEMMAP_RUN_PAGES	MAX_ORDER_NR_PAGES
#endif

/* A shorter run is initialised page by page. */
#define MEMMAP_MIN_RUN		8

/* The end of as much of [pfn, end_pfn) as the functions below take in one go. */
unsigned long __meminit memmap_run_end(unsigned long pfn, unsigned long end_pfn)
{
	return min(ALIGN(pfn + 1, MEMMAP_RUN_PAGES), end_pfn);
}

/*
 * The name of the feature that has to see each page of [pfn, end_pfn) that is freed, or
 * NULL.  debug_check_no_obj_freed() and debug_check_no_locks_freed() do not count: they
 * know of no objects or locks in memory that was never allocated, or only by memblock.
 */
static const char * __init memmap_slow_free_reason(unsigned long pfn,
						   unsigned long end_pfn)
{
	if (IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KMSAN))
		return "a sanitizer";
	if (page_poisoning_enabled_static())
		return "page_poison";
	if (want_init_on_free())
		return "init_on_free";
	if (debug_pagealloc_enabled_static())
		return "debug_pagealloc";
	if (mem_alloc_profiling_enabled())
		return "allocation profiling";
	if (trace_mm_page_free_enabled())
		return "the mm_page_free trace event";
	if (range_contains_unaccepted_memory(PFN_PHYS(pfn),
					     PFN_PHYS(end_pfn - pfn)))
		return "unaccepted memory";
	return NULL;
}

/*
 * Whether blocks of [pfn, end_pfn) may be freed together.  The first time that they may
 * not, the kernel log says why.  The message is deferred, as a zone may grow in an
 * allocation with locks held that printk() needs.
 */
static bool __init memmap_can_free(unsigned long pfn, unsigned long end_pfn)
{
	const char *reason = memmap_slow_free_reason(pfn, end_pfn);

	if (reason)
		printk_deferred_once("%smemmap: blocks are freed one by one because of %s\n",
				     KERN_INFO, reason);
	return !reason;
}

/* What is the same for all pages of a run: see memmap_init_pages(). */
struct memmap_kind {
	unsigned long zone;
	int nid;
	enum memmap_state state;
	unsigned long section_nr;	/* of MEMMAP_SECTION_INFO */
};

/* Initialise a struct page, and then make it what its user wants it to be. */
static void __meminit memmap_init_page(struct page *page, unsigned long pfn,
				       const struct memmap_kind *kind)
{
	__init_single_page(page, pfn, kind->zone, kind->nid);

	switch (kind->state) {
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
	case MEMMAP_SECTION_INFO:
		__SetPageReserved(page);
		get_page_bootmem(kind->section_nr, page, SECTION_INFO);
		break;
	}
}

#ifdef WANT_PAGE_VIRTUAL
static void __meminit memmap_hide_address(struct page *page)
{
	if (page->virtual)
		page->virtual = (void *)1;
}
#else
static void __meminit memmap_hide_address(struct page *page)
{
}
#endif

/* A template has nothing that differs from page to page, see struct memmap_template. */
static void __meminit memmap_make_template(struct memmap_template *template,
					   unsigned long pfn,
					   const struct memmap_kind *kind)
{
	memmap_init_page(&template->page, pfn, kind);
	template->page.lru.next = NULL;
	template->page.lru.prev = NULL;
	memmap_hide_address(&template->page);
}

/* Whether it is enough to store struct pages: no trace event has to see each of them. */
static bool __meminit memmap_can_stamp(void)
{
	return !page_ref_tracepoint_active(page_ref_set) &&
	       !page_ref_tracepoint_active(page_ref_mod);
}

/*
 * Make the template of [pfn, end_pfn).  Return whether there is one.  What
 * __init_single_page() may derive from the pfn, a section number or an address, is
 * the same throughout a section or grows from page to page, so if the struct pages of
 * the first and the last pfn are the same, all of them are.
 */
static bool __meminit memmap_template(struct memmap_template *template,
				      unsigned long pfn, unsigned long end_pfn,
				      const struct memmap_kind *kind)
{
	struct memmap_template last;

	if (!memmap_can_stamp())
		return false;

	memmap_make_template(template, pfn, kind);
	memmap_make_template(&last, end_pfn - 1, kind);

	return !memcmp(template, &last, sizeof(last));
}

static __always_inline void memmap_store(unsigned long *word,
					 unsigned long value)
{
	WRITE_ONCE(*word, value);
}

/*
 * For struct pages that are used again soon, and so are best left in the cache.
 * With x86's stores, which bypass the cache, storing and then using them takes longer
 * for hotplug (128 MiB at a time) and for deferred pages that are freed block by block.
 * Whether early and reserved ones would gain depends on the CPU, but most of the memory
 * is deferred.  tools/testing/memmap_bulk times all of them.
 */
static void __meminit memmap_stamp(struct page *page, struct page *end,
				   const struct memmap_template *template)
{
	memmap_stamp_by(page, end, template, memmap_store);
}

/**
 * arch_memmap_stamp - store a template to a run of struct pages
 * @page: first of them
 * @end: end of the run.  All of it is within one section.
 * @template: what to store, see memmap_stamp_by()
 *
 * Architectures override this if they have stores that need not read what they
 * overwrite.  The struct pages are not used again soon.  The stores may be weakly
 * ordered, as long as wmb() orders them before later ones.
 *
 * Context: Any.
 */
void __meminit __weak arch_memmap_stamp(struct page *page, struct page *end,
					const struct memmap_template *template)
{
	memmap_stamp(page, end, template);
}

/*
 * Whether blocks of [pfn, end_pfn) will be freed together, so that only the first
 * struct page of each block is used.  Only pages that are freed at boot are
 * MEMMAP_FREE, so this is not called later.
 */
static bool __ref memmap_free_together(unsigned long pfn, unsigned long end_pfn)
{
	return end_pfn - pfn >= MAX_ORDER_NR_PAGES &&
	       memmap_can_free(pfn, end_pfn);
}

/*
 * A block that is freed together with others is next put on a list, by its first page.
 * So that page's struct page is left in the cache, with the rest of its batch.
 */
static void __meminit memmap_stamp_block(struct page *page,
					 const struct memmap_template *template)
{
	memmap_stamp(page, page + MEMMAP_BATCH, template);
	arch_memmap_stamp(page + MEMMAP_BATCH, page + MAX_ORDER_NR_PAGES,
			  template);
}

static void __meminit memmap_init_each(unsigned long pfn, unsigned long end_pfn,
				       const struct memmap_kind *kind)
{
	struct page *page = pfn_to_page(pfn);

	for (; pfn < end_pfn; pfn++, page++)
		memmap_init_page(page, pfn, kind);
}

static unsigned long __meminit memmap_block_end(unsigned long pfn,
						unsigned long end_pfn)
{
	return min(ALIGN(pfn + 1, MAX_ORDER_NR_PAGES), end_pfn);
}

/*
 * Called after each block, as a run may be a section, and there may be thousands of runs.
 *
 * A caller that holds a lock has interrupts off, except on PREEMPT_RT: there they are on
 * under the lock of deferred_grow_zone(), and cond_resched() is not needed.
 */
static void __meminit memmap_resched(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT) && !irqs_disabled())
		cond_resched();
}

/*
 * For pages that are freed in whole blocks.  Less than a block is freed in pieces, which
 * uses all of its struct pages.
 */
static void __meminit memmap_stamp_together(unsigned long pfn, unsigned long end_pfn,
					    const struct memmap_template *template)
{
	unsigned long next;

	for (; pfn < end_pfn; pfn = next) {
		struct page *page = pfn_to_page(pfn);

		next = memmap_block_end(pfn, end_pfn);
		if (next - pfn == MAX_ORDER_NR_PAGES)
			memmap_stamp_block(page, template);
		else
			memmap_stamp(page, page + (next - pfn), template);
		memmap_resched();
	}

	/*
	 * The pages are published by a lock or a release, which need not order the
	 * architecture's stores.  Pairs with whatever orders the reader of the pages,
	 * such as taking zone->lock: without it, a page could be found on a free list
	 * before it is initialised.  Once for the whole run: once for each block would
	 * take 3 % longer (AMD EPYC, Zen 4).  If this task has migrated from another CPU
	 * meanwhile, the barriers of a task switch have ordered what it stored there.
	 */
	wmb();
}

static void __meminit memmap_init_run(unsigned long pfn, unsigned long end_pfn,
				      const struct memmap_kind *kind)
{
	struct memmap_template template;
	unsigned long next;
	bool stamp;

	/* For a few pages, making templates is not worth it. */
	stamp = end_pfn - pfn >= MEMMAP_MIN_RUN &&
		memmap_template(&template, pfn, end_pfn, kind);
	if (stamp && kind->state == MEMMAP_FREE && memmap_free_together(pfn, end_pfn)) {
		memmap_stamp_together(pfn, end_pfn, &template);
		return;
	}

	for (; pfn < end_pfn; pfn = next) {
		struct page *page = pfn_to_page(pfn);

		next = memmap_block_end(pfn, end_pfn);
		if (stamp)
			memmap_stamp(page, page + (next - pfn), &template);
		else
			memmap_init_each(pfn, next, kind);
		memmap_resched();
	}
}

/**
 * memmap_init_pages - initialise the struct pages of a run of pfns
 * @pfn: first of them
 * @end_pfn: end of the run.  All of it is within one section.
 * @zone: index of the zone they belong to
 * @nid: node they belong to
 * @state: what the pages are to be; not %MEMMAP_SECTION_INFO
 *
 * The same as __init_single_page() for each, and then what @state asks for.
 *
 * Context: Any.  With interrupts on it may sleep, after each block.  Nobody else may
 * use the struct pages yet.
 */
void __meminit memmap_init_pages(unsigned long pfn, unsigned long end_pfn,
				 unsigned long zone, int nid,
				 enum memmap_state state)
{
	const struct memmap_kind kind = { .zone = zone, .nid = nid, .state = state };

	memmap_init_run(pfn, end_pfn, &kind);
}

/**
 * memmap_init_section_info - initialise struct pages of a section's memmap
 * @pfn: first of a run of pages that the memmap lies in
 * @end_pfn: end of the run.  All of it is within one section.
 * @zone: index of the zone they belong to
 * @nid: node they belong to
 * @section_nr: the section whose memmap it is
 *
 * As memmap_init_pages() does for %MEMMAP_RESERVED, and then get_page_bootmem().
 *
 * Context: Boot.  As for memmap_init_pages().
 */
void __init memmap_init_section_info(unsigned long pfn, unsigned long end_pfn,
				     unsigned long zone, int nid,
				     unsigned long section_nr)
{
	const struct memmap_kind kind = {
		.zone = zone,
		.nid = nid,
		.state = MEMMAP_SECTION_INFO,
		.section_nr = section_nr,
	};

	memmap_init_run(pfn, end_pfn, &kind);
}

/**
 * memmap_step_end - how far to initialise pages before freeing them
 * @pfn: first page to initialise
 * @end_pfn: end of what there is to initialise
 *
 * Where blocks are freed together, as many as memmap_free_pages() takes at a time.  Else
 * one block, so that its struct pages are still in the cache when it is freed.
 *
 * Context: Boot.
 * Return: the end of the step.
 */
unsigned long __init memmap_step_end(unsigned long pfn, unsigned long end_pfn)
{
	unsigned long next = memmap_run_end(pfn, end_pfn);

	if (memmap_free_together(pfn, next))
		return next;
	return memmap_block_end(pfn, end_pfn);
}

/* Set the migratetype of the pageblocks that begin in [pfn, end_pfn). */
void __meminit memmap_init_pageblocks(unsigned long pfn, unsigned long end_pfn,
				      int migratetype)
{
	for (pfn = pageblock_align(pfn); pfn < end_pfn; pfn += pageblock_nr_pages)
		set_pageblock_migratetype(pfn_to_page(pfn), migratetype);
}

/*
 * Free whole blocks, as __free_pages_core() would one by one: the same lists in the
 * same order, the same counts, and no more in the struct pages.
 *
 * Their pageblocks are of one migratetype.  It is read here, once, and not passed by the
 * caller, as set_pageblock_migratetype() does not always set what it is asked for.
 */
static void __init memmap_free_blocks(struct zone *zone, unsigned long pfn,
				      unsigned long end_pfn,
				      enum meminit_context context)
{
	unsigned long nr_pages = end_pfn - pfn;
	struct page *page = pfn_to_page(pfn);
	struct page *end = page + nr_pages;
	struct page *block;

	for (block = page; block < end; block += MAX_ORDER_NR_PAGES)
		arch_free_page(block, MAX_PAGE_ORDER);

	if (context != MEMINIT_DEFERRED)
		atomic_long_add(nr_pages, &zone->managed_pages);
	add_new_blocks(page, end, zone, get_pageblock_migratetype(page));
	count_vm_events(PGFREE, nr_pages);
}

/**
 * memmap_free_pages - hand a run of new pages to the buddy allocator
 * @zone: their zone
 * @pfn: first of them
 * @end_pfn: end of the run.  All of it is within one section.
 * @context: %MEMINIT_EARLY, or %MEMINIT_DEFERRED if they count as managed already
 *
 * Whole blocks of MAX_ORDER_NR_PAGES are freed together, and what is before and
 * after them in the largest naturally aligned pieces.
 *
 * Context: Boot.  The pages are as MEMMAP_FREE makes them, and pageblocks that begin
 * in the run are all of one migratetype.  All other pages of the blocks that the run
 * begins and ends in are initialised too, if they are of the same zone: freeing looks
 * at a page's buddies.
 */
void __init memmap_free_pages(struct zone *zone, unsigned long pfn,
			      unsigned long end_pfn, enum meminit_context context)
{
	unsigned long blocks_end = ALIGN_DOWN(end_pfn, MAX_ORDER_NR_PAGES);

	while (pfn < end_pfn) {
		unsigned int order = MAX_PAGE_ORDER;

		if (IS_ALIGNED(pfn, MAX_ORDER_NR_PAGES) && pfn < blocks_end &&
		    memmap_can_free(pfn, blocks_end)) {
			memmap_free_blocks(zone, pfn, blocks_end, context);
			pfn = blocks_end;
			continue;
		}

		if (pfn)
			order = min(order, __ffs(pfn));
		order = min(order, __fls(end_pfn - pfn));

		__free_pages_core(pfn_to_page(pfn), order, context);
		pfn += 1UL << order;
	}
}

/* What __free_pages_core() does to each page before it frees them. */
static __always_inline void memmap_unuse_page(struct page *page)
{
	__ClearPageReserved(page);
	set_page_count(page, 0);
}

/* The same, and clear the flags that free_pages_prepare() does, PG_reserved included. */
static __always_inline void memmap_scrub_page(struct page *page)
{
	page->flags &= ~PAGE_FLAGS_CHECK_AT_PREP;
	set_page_count(page, 0);
}

/* Four pages per iteration: with one, the loop itself would cost as much again. */
static void __init memmap_scrub(struct page *page, struct page *end)
{
	BUILD_BUG_ON(MAX_ORDER_NR_PAGES % 4);

	for (; page < end; page += 4) {
		memmap_scrub_page(page);
		memmap_scrub_page(page + 1);
		memmap_scrub_page(page + 2);
		memmap_scrub_page(page + 3);
	}
}

/*
 * Prepare whole blocks as free_pages_prepare() does, which looks at each page if this
 * kernel checks pages that are freed.  Return false if it would complain; the rest is
 * left to it then.
 */
static bool __init memmap_prepare_used(struct page *page, struct page *end)
{
	struct page *block, *used;

	for (block = page; block < end; block += MAX_ORDER_NR_PAGES) {
		if (PageMappingFlags(block))
			block->mapping = NULL;
		page_cpupid_reset_last(block);
	}

	if (!static_branch_unlikely(&check_pages_enabled)) {
		memmap_scrub(page, end);
		return true;
	}

	for (used = page; used < end; used++)
		memmap_unuse_page(used);
	return prepare_new_pages(page, end);
}

/**
 * memmap_free_used - free whole blocks that have been in use, or could have been
 * @zone: their zone
 * @pfn: first page, aligned to a block of MAX_ORDER_NR_PAGES
 * @end_pfn: end of the last block.  All of it is within one section.
 *
 * For early pages: they count as used since they were initialised, they may be
 * reserved, and whoever had them from memblock may have left something in them.
 *
 * Context: Boot.  All pageblocks are of one migratetype.
 * Return: false if __free_pages_core() has to look at each page.  Nothing has been freed
 * then.
 */
bool __init memmap_free_used(struct zone *zone, unsigned long pfn,
			     unsigned long end_pfn)
{
	if (!memmap_can_free(pfn, end_pfn) ||
	    !memmap_prepare_used(pfn_to_page(pfn), pfn_to_page(end_pfn - 1) + 1))
		return false;

	memmap_free_blocks(zone, pfn, end_pfn, MEMINIT_EARLY);
	return true;
}

/*
 * The end of the whole blocks of @zone from @pfn on, or @pfn if there is none.  Zones
 * meet at block boundaries.  Where they overlap, any block may be of another zone.
 */
static unsigned long __init memmap_blocks_end(struct zone *zone,
					      unsigned long pfn,
					      unsigned long end_pfn)
{
	if (!IS_ALIGNED(pfn, MAX_ORDER_NR_PAGES) ||
	    end_pfn - pfn < MAX_ORDER_NR_PAGES)
		return pfn;
	if (mirrored_kernelcore)
		return pfn + MAX_ORDER_NR_PAGES;

	end_pfn = min(memmap_run_end(pfn, end_pfn), zone_end_pfn(zone));
	return ALIGN_DOWN(end_pfn, MAX_ORDER_NR_PAGES);
}

/**
 * memmap_free_early - free whole blocks of early pages in memblock_free_all()
 * @pfn: first page of what is left to free of a range
 * @end_pfn: end of the range.  It is of one node and free in memblock.
 *
 * Frees blocks from @pfn on, if it is at the beginning of one, and skips pages
 * that are deferred.
 *
 * Context: Boot, in memblock_free_all().  Nobody has changed the migratetype that
 * memmap_init_range() gave to each pageblock.
 * Return: the first page that is not dealt with.  That is @pfn if no block that can be
 * freed here begins there.
 */
unsigned long __init memmap_free_early(unsigned long pfn, unsigned long end_pfn)
{
	unsigned long deferred_pfn = first_deferred_pfn(early_pfn_to_nid(pfn));

	if (pfn >= deferred_pfn)
		return end_pfn;

	end_pfn = min(end_pfn, deferred_pfn);
	while (pfn < end_pfn) {
		struct zone *zone = page_zone(pfn_to_page(pfn));
		unsigned long next = memmap_blocks_end(zone, pfn, end_pfn);

		if (next == pfn || !memmap_free_used(zone, pfn, next))
			break;
		pfn = next;
	}

	return pfn;
}

/*
 * Check as set_zone_contiguous() does, pageblock by pageblock, from *pfn to @end_pfn at
 * least.  Return false if there is a hole.
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
 * The same as set_zone_contiguous(), which checks the zone of two struct pages of
 * each pageblock.  Within the node's memory there is no need to check: memmap_init()
 * and deferred init assigned all that lies in the zone's span to the zone.  That
 * leaves the pageblocks with a hole or another node's memory.
 *
 * And the zone's first pageblock: a gigantic page that hugetlb got from memblock may
 * begin in the zone below, and then all of its struct pages are of that zone.
 *
 * Mirrored memory is the exception: there, zones overlap.
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
