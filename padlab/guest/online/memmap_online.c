// SPDX-License-Identifier: GPL-2.0-only
/*
 * What struct pages of hotplugged memory are like when they have been initialised and
 * are not yet given to the page allocator: a line on the console for each memory block
 * that comes online, with how many of its pages are as they should be.
 *
 * Afterwards nothing is left to see of that: giving pages to the allocator changes them.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/module.h>

/* move_pfn_range_to_zone() has initialised the block's struct pages. */
static void look(unsigned long start_pfn, unsigned long nr_pages)
{
	unsigned long offline = 0, one_reference = 0, on_no_list = 0, in_zone = 0;
	struct zone *zone = page_zone(pfn_to_page(start_pfn));
	unsigned long i;

	for (i = 0; i < nr_pages; i++) {
		struct page *page = pfn_to_page(start_pfn + i);

		offline += PageOffline(page);
		one_reference += page_ref_count(page) == 1;
		on_no_list += list_empty(&page->lru);
		in_zone += page_zone(page) == zone &&
			   zone_spans_pfn(zone, start_pfn + i);
	}
	pr_info("pfn=%lx pages=%lu offline=%lu one_reference=%lu on_no_list=%lu in_zone=%lu\n",
		start_pfn, nr_pages, offline, one_reference, on_no_list, in_zone);
}

static int on_event(struct notifier_block *block, unsigned long action, void *data)
{
	struct memory_notify *range = data;

	if (action == MEM_GOING_ONLINE)
		look(range->start_pfn, range->nr_pages);
	return NOTIFY_OK;
}

static struct notifier_block on_memory = { .notifier_call = on_event };

static int __init memmap_online_init(void)
{
	return register_memory_notifier(&on_memory);
}
module_init(memmap_online_init);

MODULE_DESCRIPTION("Says what struct pages of memory that comes online are like");
MODULE_LICENSE("GPL");
