/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memmap_job.h - struct pages of memory that is added after boot, for the rest of mm/
 */
#ifndef _MM_MEMMAP_JOB_H
#define _MM_MEMMAP_JOB_H

struct dev_pagemap;
struct page;
struct vmem_altmap;

unsigned long memmap_repeat(struct page *page, unsigned long nr);
void memmap_init_device(unsigned long start_pfn, unsigned long end_pfn, int nid,
			struct dev_pagemap *pgmap);
void memmap_init_hotplug(unsigned long nr_pages, int nid, unsigned long zone,
			 unsigned long start_pfn, struct vmem_altmap *altmap, int migratetype);

/* In mm_init.c */
void __init_zone_device_page(struct page *page, unsigned long pfn, unsigned long zone_idx,
			     int nid, struct dev_pagemap *pgmap);
unsigned long compound_nr_pages(unsigned long pfn, struct vmem_altmap *altmap,
				struct dev_pagemap *pgmap);
void memmap_init_compound(struct page *head, unsigned long head_pfn, unsigned long zone_idx,
			  int nid, struct dev_pagemap *pgmap, unsigned long nr_pages);

#endif /* _MM_MEMMAP_JOB_H */
