/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deferred initialisation of struct pages: what mm_init.c uses of it, and what
 * architectures may override.
 */
#ifndef _LINUX_DEFERRED_INIT_H
#define _LINUX_DEFERRED_INIT_H

#include <linux/types.h>

struct cpumask;
struct page;

unsigned int deferred_page_init_max_threads(const struct cpumask *node_cpumask);
unsigned int deferred_init_cores(const struct cpumask *cpus);

#ifdef CONFIG_DEFERRED_STRUCT_PAGE_INIT
void deferred_init_memmap(void);
unsigned long deferred_init_reserved(unsigned long pfn, unsigned long end_pfn,
				     int nid);
bool deferred_get_page_bootmem(unsigned long section_nr, struct page *page);
#else
static inline unsigned long deferred_init_reserved(unsigned long pfn,
						   unsigned long end_pfn, int nid)
{
	return end_pfn;
}

static inline bool deferred_get_page_bootmem(unsigned long section_nr,
					     struct page *page)
{
	return false;
}
#endif

#endif /* _LINUX_DEFERRED_INIT_H */
