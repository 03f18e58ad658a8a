/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Struct pages initialised in bulk: what architectures may override, and the
 * loop that they need for it.
 */
#ifndef _LINUX_MEMMAP_BULK_H
#define _LINUX_MEMMAP_BULK_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/stddef.h>

#define MEMMAP_PAGE_WORDS	(sizeof(struct page) / sizeof(unsigned long))
/* The first of the two that are the list head. */
#define MEMMAP_LRU_WORD		(offsetof(struct page, lru) / sizeof(unsigned long))
/* Which of them is the page's address, if struct page has it. */
#ifdef WANT_PAGE_VIRTUAL
#define MEMMAP_ADDRESS_WORD	(offsetof(struct page, virtual) / sizeof(unsigned long))
#else
#define MEMMAP_ADDRESS_WORD	MEMMAP_PAGE_WORDS
#endif

/* The most words that memmap_stamp_page() stores. */
#define MEMMAP_MAX_WORDS	12

/*
 * Struct pages in an iteration of the loop below, which is unrolled: the loop
 * itself would be a third of the instructions.
 */
#define MEMMAP_BATCH		16

/**
 * struct memmap_template - what all struct pages of a run have in common
 * @page: as a struct page.  Its lru is NULL.  If it has an address, any value but
 *        NULL stands for the page's own address.
 * @word: as words to store
 */
struct memmap_template {
	union {
		struct page	page;
		unsigned long	word[MEMMAP_PAGE_WORDS];
	};
};

void arch_memmap_stamp(struct page *page, struct page *end,
		       const struct memmap_template *template);

/* How to store a word. */
typedef void (*memmap_store_t)(unsigned long *word, unsigned long value);

/*
 * Store word number @i of a page, if it has that many.
 *
 * The address is computed from the pfn: page_to_virt() of some architectures reads what
 * is to be stored here.  page_to_pfn() may read page->flags, the first word, which this
 * thread has stored by then.
 */
static __always_inline void
memmap_stamp_word(struct page *page, const unsigned long *template,
		  unsigned int i, memmap_store_t store)
{
	unsigned long value;

	if (i >= MEMMAP_PAGE_WORDS)
		return;

	value = template[i];
	if (i == MEMMAP_LRU_WORD || i == MEMMAP_LRU_WORD + 1)
		value = (unsigned long)&page->lru;
	if (i == MEMMAP_ADDRESS_WORD && value)
		value = (unsigned long)__va(page_to_pfn(page) << PAGE_SHIFT);

	store((unsigned long *)page + i, value);
}

/* Not a loop: compilers would not unroll it. */
static __always_inline void
memmap_stamp_page(struct page *page, const unsigned long *template,
		  memmap_store_t store)
{
	BUILD_BUG_ON(sizeof(struct page) % sizeof(unsigned long));
	BUILD_BUG_ON(MEMMAP_PAGE_WORDS > MEMMAP_MAX_WORDS);

	memmap_stamp_word(page, template, 0, store);
	memmap_stamp_word(page, template, 1, store);
	memmap_stamp_word(page, template, 2, store);
	memmap_stamp_word(page, template, 3, store);
	memmap_stamp_word(page, template, 4, store);
	memmap_stamp_word(page, template, 5, store);
	memmap_stamp_word(page, template, 6, store);
	memmap_stamp_word(page, template, 7, store);
	memmap_stamp_word(page, template, 8, store);
	memmap_stamp_word(page, template, 9, store);
	memmap_stamp_word(page, template, 10, store);
	memmap_stamp_word(page, template, 11, store);
}

static __always_inline void
memmap_stamp_four(struct page *page, const unsigned long *template,
		  memmap_store_t store)
{
	memmap_stamp_page(page, template, store);
	memmap_stamp_page(page + 1, template, store);
	memmap_stamp_page(page + 2, template, store);
	memmap_stamp_page(page + 3, template, store);
}

/**
 * memmap_stamp_by - store a template to a run of struct pages
 * @page: first of them
 * @end: end of the run.  All of it is within one section.
 * @template: what to store, except for what differs from page to page: the list
 *            head, and the address if there is one
 * @store: stores a word.  It is inlined.
 *
 * The words are stored from registers: a structure assignment would read the
 * template again for each page.
 */
static __always_inline void
memmap_stamp_by(struct page *page, struct page *end,
		const struct memmap_template *template, memmap_store_t store)
{
	unsigned long nr = end - page;
	struct page *last = end - nr % MEMMAP_BATCH;
	const struct memmap_template copy = *template;

	for (; page < last; page += MEMMAP_BATCH) {
		memmap_stamp_four(page, copy.word, store);
		memmap_stamp_four(page + 4, copy.word, store);
		memmap_stamp_four(page + 8, copy.word, store);
		memmap_stamp_four(page + 12, copy.word, store);
	}

	for (; page < end; page++)
		memmap_stamp_page(page, copy.word, store);
}

#endif /* _LINUX_MEMMAP_BULK_H */
