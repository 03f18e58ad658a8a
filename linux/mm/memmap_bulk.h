/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memmap_bulk.h - struct pages in bulk, for the rest of mm/
 */
#ifndef _MM_MEMMAP_BULK_H
#define _MM_MEMMAP_BULK_H

#include <linux/limits.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/page_ref.h>
#include <linux/types.h>

/* What pages are once their struct pages are initialised: memmap_init_pages() */
enum memmap_state {
	MEMMAP_USED,		/* as __init_single_page() makes them */
	MEMMAP_FREE,		/* without a reference */
	MEMMAP_RESERVED,	/* PageReserved */
	MEMMAP_OFFLINE,		/* PageOffline */
};

/*
 * Pages that are counted as managed, and as MEMMAP_FREE makes them: one more of enum
 * meminit_context.  Not in mmzone.h, so as not to have every file compiled again.
 */
#define MEMINIT_DEFERRED	((enum meminit_context)(MEMINIT_HOTPLUG + 1))

unsigned long memmap_run_end(unsigned long pfn, unsigned long end_pfn);
void memmap_init_pages(unsigned long pfn, unsigned long end_pfn, unsigned long zone, int nid,
		       enum memmap_state state);
void memmap_init_pageblocks(unsigned long pfn, unsigned long end_pfn, int migratetype);
void memmap_free_pages(struct zone *zone, unsigned long pfn, unsigned long end_pfn);
void memmap_free_used(unsigned long pfn, unsigned long end_pfn);
unsigned long memmap_free_early(unsigned long pfn, unsigned long end_pfn);
void set_zone_contiguous_boot(struct zone *zone);

/* Whether struct pages contain the address of their page. */
#ifdef WANT_PAGE_VIRTUAL
#define MEMMAP_HAS_ADDRESS	true
#else
#define MEMMAP_HAS_ADDRESS	false
#endif

/* For fewer pages, making templates is not worth it. */
#define MEMMAP_MIN_RUN		8

/* Whether a trace event has to see each page. */
static inline bool memmap_is_traced(void)
{
	return page_ref_tracepoint_active(page_ref_set) ||
	       page_ref_tracepoint_active(page_ref_mod);
}

/* In page_alloc.c */
void free_new_blocks(struct page *page, struct page *end);

/* The first pfn of a node whose struct page is not initialised, or ULONG_MAX. */
#ifdef CONFIG_DEFERRED_STRUCT_PAGE_INIT
static inline unsigned long first_deferred_pfn(int nid)
{
	return node_online(nid) ? NODE_DATA(nid)->first_deferred_pfn : ULONG_MAX;
}
#else
static inline unsigned long first_deferred_pfn(int nid)
{
	return ULONG_MAX;
}
#endif

#endif /* _MM_MEMMAP_BULK_H */
