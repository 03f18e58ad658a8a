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
 * Struct pages in a turn of the loops below, which are unrolled: the loop itself
 * would be a third of the instructions.
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

static void __meminit memmap_stamp_movnti(struct page *page, struct page *end,
					  const struct memmap_template *template)
{
	const struct memmap_template copy = *template;
	unsigned int i;

	for (; end - page >= MEMMAP_BATCH; page += MEMMAP_BATCH) {
		MEMMAP_UNROLL
		for (i = 0; i < MEMMAP_BATCH; i++)
			memmap_store_page(page + i, copy.word);
	}

	for (; page < end; page++)
		memmap_store_page(page, copy.word);
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
	unsigned int i;

	for (i = 0; i < MEMMAP_BATCH; i++)
		copy[i] = *template;

	for (; end - page >= MEMMAP_BATCH; page += MEMMAP_BATCH) {
		MEMMAP_UNROLL
		for (i = 0; i < MEMMAP_BATCH; i++) {
			copy[i].page.lru.next = &page[i].lru;
			copy[i].page.lru.prev = &page[i].lru;
		}
		MEMMAP_UNROLL
		for (i = 0; i < MEMMAP_BATCH; i++)
			movdir64b(page + i, copy + i);
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
