/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memmap_bench.h - ways to initialise and free all pages of a zone
 */

#ifndef _MEMMAP_BENCH_H
#define _MEMMAP_BENCH_H

#include <linux/memmap_bulk.h>

#define BENCH_ZONE	2	/* ZONE_NORMAL */
#define BENCH_NODE	0

/* Reset the zone to this many pages, none of them free. */
void zone_reset(unsigned long nr_pages);

/*
 * Process pages 0 to @nr_pages on @threads threads: the caller's, and those of the
 * pool.  @nr_pages is a multiple of the section size.  Return the number of threads
 * that took part.
 */
unsigned int stock_init(unsigned long nr_pages, unsigned int threads);
unsigned int bulk_init(unsigned long nr_pages, unsigned int threads);
/* The same with memmap_bulk.c's portable stores. */
unsigned int plain_init(unsigned long nr_pages, unsigned int threads);
/*
 * What the machine's memory can do: non-temporal stores to the struct pages, of
 * values that mean nothing, and without any other work.
 */
unsigned int limit_init(unsigned long nr_pages, unsigned int threads);

/* Page by page, as before. */
void page_by_page(unsigned long pfn, unsigned long end_pfn, unsigned long zone,
		  enum memmap_state state);

/*
 * What pages are initialised for, other than being freed together: @window of them are
 * initialised, and then all of these are used, by @stock_next or @next.
 */
struct use {
	const char		*name;
	enum memmap_state	state;
	unsigned long		window;
	void			(*stock_next)(unsigned long pfn, unsigned long end_pfn);
	void			(*next)(unsigned long pfn, unsigned long end_pfn);
};

enum use_way {
	USE_STOCK,
	USE_OURS,
	/* The two that the kernel chooses from. */
	USE_MOVNTI,
	USE_PLAIN,
	NR_USE_WAYS
};

extern const struct use uses[];
extern const unsigned int nr_uses;

/* On one thread. */
void use_pages(const struct use *use, enum use_way way, unsigned long pfn,
	       unsigned long end_pfn);

/* arch_memmap_stamp() and memmap_init_pages() with the portable stores. */
void plain_memmap_stamp(struct page *page, struct page *end,
			const struct memmap_template *template);
void plain_memmap_init_pages(unsigned long pfn, unsigned long end_pfn,
			     unsigned long zone, int nid,
			     enum memmap_state state);

#endif /* _MEMMAP_BENCH_H */
