/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Struct pages initialised by the run: what architectures may override.
 */
#ifndef _LINUX_MEMMAP_BULK_H
#define _LINUX_MEMMAP_BULK_H

#include <linux/mm_types.h>

/* The size of struct page that arch_memmap_stamp() is for, in bytes. */
#define MEMMAP_PAGE_SIZE	64
#define MEMMAP_PAGE_WORDS	(MEMMAP_PAGE_SIZE / sizeof(unsigned long))

/**
 * struct memmap_template - what all struct pages of a run have in common
 * @page: as a struct page.  Its lru is NULL.
 * @word: as words to store, if struct page has %MEMMAP_PAGE_SIZE
 */
struct memmap_template {
	union {
		struct page	page;
		unsigned long	word[MEMMAP_PAGE_WORDS];
	};
};

void arch_memmap_stamp(struct page *page, struct page *end,
		       const struct memmap_template *template);

#endif /* _LINUX_MEMMAP_BULK_H */
