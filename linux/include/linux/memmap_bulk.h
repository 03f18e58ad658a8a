/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Struct pages stored in bulk: what architectures may override, and the loop that
 * they need for it.
 */
#ifndef _LINUX_MEMMAP_BULK_H
#define _LINUX_MEMMAP_BULK_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/mm_types.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define MEMMAP_PAGE_WORDS	(sizeof(struct page) / sizeof(unsigned long))
/* The first of the two words that are the list head. */
#define MEMMAP_LRU_WORD		(offsetof(struct page, lru) / sizeof(unsigned long))

/* Struct pages per iteration: else the loop would be a fifth of the instructions. */
#define MEMMAP_BATCH		4

/* What all struct pages of a run have in common: all, or everything but their list heads. */
struct memmap_template {
	union {
		struct page	page;
		unsigned long	word[MEMMAP_PAGE_WORDS];
	};
	bool			list_heads;
};

void arch_memmap_stamp(struct page *page, struct page *end,
		       const struct memmap_template *template);
bool arch_memmap_uncached(bool soon);

typedef void (*memmap_store_t)(unsigned long *word, unsigned long value);

/* Unrolled, so that each word is known when this is compiled. */
static __always_inline void
memmap_stamp_page(struct page *page, const struct memmap_template *template,
		  bool list_heads, memmap_store_t store)
{
	unsigned long *word = (unsigned long *)page;
	unsigned int i;

	BUILD_BUG_ON(sizeof(struct page) % sizeof(unsigned long));

#pragma GCC unroll 12
	for (i = 0; i < MEMMAP_PAGE_WORDS; i++) {
		if (list_heads && (i == MEMMAP_LRU_WORD || i == MEMMAP_LRU_WORD + 1))
			store(word + i, (unsigned long)&page->lru);
		else
			store(word + i, template->word[i]);
	}
}

/* The words are stored from registers: an assignment would read the template for each page. */
static __always_inline void
memmap_stamp_run(struct page *page, struct page *end, const struct memmap_template *template,
		 bool list_heads, memmap_store_t store)
{
	struct page *last = end - (unsigned long)(end - page) % MEMMAP_BATCH;
	const struct memmap_template copy = *template;

	for (; page < last; page += MEMMAP_BATCH) {
		memmap_stamp_page(page, &copy, list_heads, store);
		memmap_stamp_page(page + 1, &copy, list_heads, store);
		memmap_stamp_page(page + 2, &copy, list_heads, store);
		memmap_stamp_page(page + 3, &copy, list_heads, store);
	}

	for (; page < end; page++)
		memmap_stamp_page(page, &copy, list_heads, store);
}

/**
 * memmap_stamp_by - store a template to a run of struct pages
 * @page: first of them
 * @end: end of the run.  All of it is one array.
 * @template: what to store.  If they have list heads, each gets its own, which is empty.
 * @store: stores a word.  It is inlined.
 */
static __always_inline void
memmap_stamp_by(struct page *page, struct page *end, const struct memmap_template *template,
		memmap_store_t store)
{
	if (template->list_heads)
		memmap_stamp_run(page, end, template, true, store);
	else
		memmap_stamp_run(page, end, template, false, store);
}

#endif /* _LINUX_MEMMAP_BULK_H */
