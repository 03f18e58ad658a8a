/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memmap_bulk.h - struct pages in bulk, for the rest of mm/
 */
#ifndef _MM_MEMMAP_BULK_H
#define _MM_MEMMAP_BULK_H

#include <linux/limits.h>
#include <linux/mmzone.h>
#include <linux/page_ref.h>
#include <linux/types.h>

/* What pages are once their struct pages are initialised: memmap_init_pages() */
enum memmap_state {
	MEMMAP_USED,		/* as __init_single_page() makes them */
	MEMMAP_FREE,		/* without a reference */
	MEMMAP_RESERVED,	/* PageReserved */
	MEMMAP_OFFLINE,		/* PageOffline */
};

unsigned long memmap_run_end(unsigned long pfn, unsigned long end_pfn);
void memmap_init_pages(unsigned long pfn, unsigned long end_pfn, unsigned long zone, int nid,
		       enum memmap_state state);
void memmap_init_pageblocks(unsigned long pfn, unsigned long end_pfn, int migratetype);

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
void free_new_pages(struct zone *zone, unsigned long pfn, unsigned long end_pfn, bool can_resched);

#endif /* _MM_MEMMAP_BULK_H */
