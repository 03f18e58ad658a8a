// SPDX-License-Identifier: GPL-2.0-only
/*
 * deferred_grow.c - zones with deferred pages grow on demand
 *
 * An allocation that finds its zone below a watermark initialises some of the zone's deferred
 * pages itself, and takes from them.  Until the jobs of deferred_init.c are ready, the zone
 * grows from its first deferred page on.  Then, growers claim sections like threads of the
 * jobs, but from the end, as the jobs begin with the first.
 *
 * An allocation that may not sleep may have interrupts off, and pages may be zeroed or poisoned
 * when they are freed.  So it initialises one block of MAX_ORDER_NR_PAGES at a time.
 */

#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/memory_hotplug.h>
#include <linux/mmzone.h>

#include "deferred_init.h"
#include "internal.h"

/* Grow a zone before the jobs are ready, by enough for the allocation. */
bool __init deferred_grow_zone(struct zone *zone, unsigned int order)
{
	pg_data_t *pgdat = zone->zone_pgdat;
	unsigned long first_pfn = READ_ONCE(pgdat->first_deferred_pfn);
	unsigned long flags, nr = 0;
	struct deferred_walk walk;

	/* Pairs with the lock in deferred_prepare_node(), and with other growers. */
	pgdat_resize_lock(pgdat, &flags);

	/* Another thread was faster.  There may be enough now, or the jobs are ready. */
	if (first_pfn == ULONG_MAX || pgdat->first_deferred_pfn != first_pfn)
		goto out;

	deferred_walk_init(&walk, zone, NULL, first_pfn);
	while (walk.spfn != ULONG_MAX && nr < 1UL << order)
		nr += deferred_init_step(&walk, ALIGN(walk.spfn + 1, MAX_ORDER_NR_PAGES));
	WRITE_ONCE(pgdat->first_deferred_pfn, walk.spfn);
out:
	pgdat_resize_unlock(pgdat, &flags);
	return true;
}

/* Initialise the last section that can be claimed, or a block of it. */
static bool deferred_init_last(struct deferred_node *node, bool one_block)
{
	unsigned long section = node->nr_sections;

	while (section--) {
		if (deferred_init_section(node, section, one_block))
			return true;
	}
	return false;
}

/* Return false if no page is left, or all that are left are claimed and @gfp may not sleep. */
static bool deferred_grow_node(struct deferred_node *node, gfp_t gfp)
{
	bool may_sleep = gfpflags_allow_blocking(gfp);
	long nr_left = atomic_long_read(&node->nr_left);

	/* Until this or another thread has added some pages. */
	while (nr_left && atomic_long_read(&node->nr_left) == nr_left) {
		if (deferred_init_last(node, !may_sleep))
			continue;
		if (!may_sleep)
			return false;
		deferred_sleep();
	}
	return nr_left;
}

/*
 * Initialise some deferred pages of @zone, where an allocation found nothing, in any context that
 * may allocate.  If other threads are at work on all that is left, wait for one of these, if @gfp
 * allows.  When the jobs are ready, nothing is done for an allocation with neither direct nor
 * kswapd reclaim in @gfp, and alloc_pages_nolock() may call this.  Return whether it is worth
 * one more try, as this or another thread may have grown the zone.
 */
bool __ref deferred_grow(struct zone *zone, unsigned int order, gfp_t gfp)
{
	struct deferred_node *node;

	if (zone_end_pfn(zone) != pgdat_end_pfn(zone->zone_pgdat))
		return false;
	/* Pairs with the release in deferred_prepare_node(), so that its node is found below. */
	if (smp_load_acquire(&zone->zone_pgdat->first_deferred_pfn) != ULONG_MAX)
		return deferred_grow_zone(zone, order);
	if (!(gfp & __GFP_RECLAIM))
		return false;

	for_each_deferred_node(node) {
		if (node->zone == zone)
			return deferred_grow_node(node, gfp);
	}
	return false;
}
