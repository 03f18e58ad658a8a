// SPDX-License-Identifier: GPL-2.0-only
/*
 * page_alloc.c - what freeing new pages does to the pages and to their zone
 *
 * Takes the place of mm/page_alloc.c: the same loads and stores, with a real list
 * under a real lock, for blocks of the largest order.  There are no other blocks
 * here, so no buddies to merge with.
 */

#include "memmap_bench.h"

struct page *shim_memmap;
unsigned char *shim_pageblocks;
struct zone shim_zone;

static __thread unsigned long vm_event_pgfree;

void zone_reset(unsigned long nr_pages)
{
	int type;

	memset(&shim_zone, 0, sizeof(shim_zone));
	pthread_spin_init(&shim_zone.lock, PTHREAD_PROCESS_PRIVATE);
	for (type = 0; type < MIGRATE_TYPES; type++) {
		struct list_head *list = &shim_zone.free_list[type];

		list->next = list;
		list->prev = list;
	}
	shim_zone.spanned_pages = nr_pages;
}

static void list_add_tail(struct list_head *new, struct list_head *head)
{
	struct list_head *prev = head->prev;

	head->prev = new;
	new->next = head;
	new->prev = prev;
	prev->next = new;
}

/* With the zone's lock held. */
static void add_to_free_list(struct page *page, struct zone *zone, int type)
{
	page->private = MAX_PAGE_ORDER;
	page->_mapcount = PAGE_TYPE_BUDDY;
	list_add_tail(&page->buddy_list, &zone->free_list[type]);
	zone->nr_free++;
}

/* What free_pages_prepare() does to the first page of a block. */
static void prepare_block(struct page *page)
{
	*page_flags(page) |= PAGE_CPUPID_NONE;
	*page_flags(page) &= ~PAGE_FLAGS_CHECK_AT_PREP;
	page->private = 0;
}

/* As patched: all blocks are added in one critical section, and counted once. */
void free_new_pages(struct zone *zone, unsigned long pfn, unsigned long end_pfn, bool can_resched)
{
	struct page *page = pfn_to_page(pfn), *end = page + (end_pfn - pfn), *block;
	int type = get_pageblock_migratetype(page);

	assert(IS_ALIGNED(pfn | end_pfn, MAX_ORDER_NR_PAGES));
	__atomic_fetch_add(&zone->managed_pages, end_pfn - pfn, __ATOMIC_RELAXED);
	for (block = page; block < end; block += MAX_ORDER_NR_PAGES)
		prepare_block(block);
	vm_event_pgfree += end - page;

	pthread_spin_lock(&zone->lock);
	zone->nr_free_pages += end - page;
	for (; page < end; page += MAX_ORDER_NR_PAGES)
		add_to_free_list(page, zone, type);
	pthread_spin_unlock(&zone->lock);
}

/* And to the others, if there is nothing to check. */
static void prepare_tails(struct page *page, unsigned int order)
{
	int i;

	for (i = 1; i < 1 << order; i++)
		*page_flags(page + i) &= ~PAGE_FLAGS_CHECK_AT_PREP;
}

/* As in stock. */
void __free_pages_core(struct page *page, unsigned int order,
		       enum meminit_context context)
{
	struct zone *zone = page_zone(page);
	unsigned int i, nr_pages = 1 << order;

	assert(order == MAX_PAGE_ORDER);

	if (context == MEMINIT_HOTPLUG) {
		for (i = 0; i < nr_pages; i++) {
			__ClearPageOffline(page + i);
			set_page_count(page + i, 0);
		}
	} else {
		for (i = 0; i < nr_pages; i++) {
			__ClearPageReserved(page + i);
			set_page_count(page + i, 0);
		}
	}
	__atomic_fetch_add(&zone->managed_pages, nr_pages, __ATOMIC_RELAXED);

	prepare_tails(page, order);
	prepare_block(page);

	pthread_spin_lock(&zone->lock);
	add_to_free_list(page, zone, get_pageblock_migratetype(page));
	zone->nr_free_pages += nr_pages;
	pthread_spin_unlock(&zone->lock);

	vm_event_pgfree += nr_pages;
}
