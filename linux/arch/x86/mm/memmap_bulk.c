// SPDX-License-Identifier: GPL-2.0-only
/*
 * memmap_bulk.c - stores for runs of struct pages on x86-64
 */

#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/memmap_bulk.h>
#include <linux/mm_types.h>

static __always_inline void memmap_store(unsigned long *word, unsigned long value)
{
	asm volatile("movnti %1, %0" : "=m" (*word) : "r" (value));
}

/* Non-temporal stores are weakly ordered: the caller's wmb(), an sfence, orders them. */
void __meminit arch_memmap_stamp(struct page *page, struct page *end,
				 const struct memmap_template *template)
{
	memmap_stamp_by(page, end, template, memmap_store);
}
