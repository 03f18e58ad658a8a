/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memmap_bench.h - two ways to initialise and free all pages of a zone
 */

#ifndef _MEMMAP_BENCH_H
#define _MEMMAP_BENCH_H

#include <linux/memmap_bulk.h>

/* Nothing is free, and there are so many pages. */
void zone_reset(unsigned long nr_pages);

/*
 * Do pages 0 to @nr_pages on @threads threads: the caller's, and those of the
 * pool.  @nr_pages is a multiple of the section.  Return the number of threads
 * that took part.
 */
unsigned int stock_init(unsigned long nr_pages, unsigned int threads);
unsigned int bulk_init(unsigned long nr_pages, unsigned int threads);
/* The same with memmap_bulk.c's portable stores. */
unsigned int plain_init(unsigned long nr_pages, unsigned int threads);

/* arch_memmap_stamp() with MOVDIR64B emulated, whatever the CPU has. */
void emulated_memmap_stamp(struct page *page, struct page *end,
			   const struct memmap_template *template);

/* arch_memmap_stamp() and memmap_init_pages() with the portable stores. */
void plain_memmap_stamp(struct page *page, struct page *end,
			const struct memmap_template *template);
void plain_memmap_init_pages(unsigned long pfn, unsigned long end_pfn,
			     unsigned long zone, int nid,
			     enum memmap_state state);

#endif /* _MEMMAP_BENCH_H */
