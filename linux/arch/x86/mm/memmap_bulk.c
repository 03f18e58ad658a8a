// SPDX-License-Identifier: GPL-2.0-only
/*
 * memmap_bulk.c - stores for runs of struct pages on x86-64
 *
 * A plain store first reads the cache line that it is going to overwrite, and
 * the line is written back later, when it is evicted.  For a memmap, which is
 * larger than any cache, that is 128 bytes of traffic for each struct page of 64.
 * Non-temporal stores gather a whole line in a buffer and write it out, which is
 * 64 bytes, and leave the caches to others.
 */

#include <linux/compiler.h>
#include <linux/cpufeature.h>
#include <linux/init.h>
#include <linux/memmap_bulk.h>
#include <linux/mm_types.h>

#include <asm/barrier.h>
#include <asm/special_insns.h>

/*
 * Struct pages in a turn of the loops below, which are written out: the loops
 * themselves would be a third of the instructions.
 */
#define MEMMAP_BATCH	8

static __always_inline void memmap_store(unsigned long *word,
					 unsigned long value)
{
	asm volatile("movnti %1, %0" : "=m" (*word) : "r" (value));
}

static __always_inline void memmap_store_page(struct page *page,
					      const unsigned long *template)
{
	unsigned long *word = (unsigned long *)page;
	unsigned long lru = (unsigned long)&page->lru;

	memmap_store(word, template[0]);
	memmap_store(word + 1, lru);
	memmap_store(word + 2, lru);
	memmap_store(word + 3, template[3]);
	memmap_store(word + 4, template[4]);
	memmap_store(word + 5, template[5]);
	memmap_store(word + 6, template[6]);
	memmap_store(word + 7, template[7]);
}

static __always_inline void memmap_store_half(struct page *page,
					      const unsigned long *template)
{
	memmap_store_page(page, template);
	memmap_store_page(page + 1, template);
	memmap_store_page(page + 2, template);
	memmap_store_page(page + 3, template);
}

static void __meminit memmap_stamp_movnti(struct page *page, struct page *end,
					  const struct memmap_template *template)
{
	struct page *last = end - (end - page) % MEMMAP_BATCH;
	const struct memmap_template copy = *template;

	for (; page < last; page += MEMMAP_BATCH) {
		memmap_store_half(page, copy.word);
		memmap_store_half(page + MEMMAP_BATCH / 2, copy.word);
	}

	for (; page < end; page++)
		memmap_store_page(page, copy.word);
}

/* Make templates those of four pages. */
static __always_inline void memmap_aim_half(struct memmap_template *template,
					    struct page *page)
{
	template[0].page.lru.next = &page[0].lru;
	template[0].page.lru.prev = &page[0].lru;
	template[1].page.lru.next = &page[1].lru;
	template[1].page.lru.prev = &page[1].lru;
	template[2].page.lru.next = &page[2].lru;
	template[2].page.lru.prev = &page[2].lru;
	template[3].page.lru.next = &page[3].lru;
	template[3].page.lru.prev = &page[3].lru;
}

static __always_inline void
memmap_move_half(struct page *page, const struct memmap_template *template)
{
	movdir64b(page, template);
	movdir64b(page + 1, template + 1);
	movdir64b(page + 2, template + 2);
	movdir64b(page + 3, template + 3);
}

/*
 * One instruction stores a whole struct page, but takes it from memory.  It has
 * to wait for the list head that was just stored there, so there are several
 * templates, and the first is settled when the last one has got its own.
 */
static void __meminit
memmap_stamp_movdir64b(struct page *page, struct page *end,
		       const struct memmap_template *template)
{
	struct memmap_template copy[MEMMAP_BATCH] __aligned(MEMMAP_PAGE_SIZE);
	struct page *last = end - (end - page) % MEMMAP_BATCH;
	unsigned int i;

	for (i = 0; i < MEMMAP_BATCH; i++)
		copy[i] = *template;

	for (; page < last; page += MEMMAP_BATCH) {
		memmap_aim_half(copy, page);
		memmap_aim_half(copy + MEMMAP_BATCH / 2, page + MEMMAP_BATCH / 2);
		memmap_move_half(page, copy);
		memmap_move_half(page + MEMMAP_BATCH / 2, copy + MEMMAP_BATCH / 2);
	}

	memmap_stamp_movnti(page, end, template);
}

/*
 * Non-temporal stores may become visible later than plain ones that follow them.
 * sfence makes them wait: it pairs with whatever orders the reader of the page,
 * such as taking zone->lock, after the store that published it.  Without it, a
 * page could be found on a free list before it is initialised.
 */
void __meminit arch_memmap_stamp(struct page *page, struct page *end,
				 const struct memmap_template *template)
{
	/* An alternative, patched in once.  Before that, it asks the CPU's bits. */
	if (static_cpu_has(X86_FEATURE_MOVDIR64B))
		memmap_stamp_movdir64b(page, end, template);
	else
		memmap_stamp_movnti(page, end, template);

	/* Pairs with whoever takes the pages next, see above. */
	wmb();
}
