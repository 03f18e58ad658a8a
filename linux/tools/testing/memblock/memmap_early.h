/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What memblock.c uses of mm/memmap_early.h: here there are no struct pages to free in bulk.
 */
#ifndef _MM_MEMMAP_EARLY_H
#define _MM_MEMMAP_EARLY_H

static inline unsigned long memmap_free_early(unsigned long pfn,
					      unsigned long end_pfn)
{
	return pfn;
}

#endif /* _MM_MEMMAP_EARLY_H */
