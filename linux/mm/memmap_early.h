/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memmap_early.h - early pages freed in bulk, for memblock
 */
#ifndef _MM_MEMMAP_EARLY_H
#define _MM_MEMMAP_EARLY_H

void memmap_free_used(unsigned long pfn, unsigned long end_pfn);
unsigned long memmap_free_early(unsigned long pfn, unsigned long end_pfn);

#endif /* _MM_MEMMAP_EARLY_H */
