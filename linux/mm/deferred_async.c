// SPDX-License-Identifier: GPL-2.0-only
/*
 * deferred_async.c - boot goes on while struct pages are initialised
 *
 * Boot waits for the jobs of deferred_init.c at its end, before it frees init memory.  Until
 * a section is initialised it is not online: pfn_to_online_page() has no page of it.  Who
 * needs certain struct pages calls deferred_init_pfns(), and who needs all of them
 * deferred_init_wait().
 *
 * Boot waits at once with deferred_init=sync, where something has to see pages before they are
 * in use (deferred_async_decide()), and in kernels in which something looks at struct pages
 * without asking (DEFERRED_INIT_ASYNC in Kconfig):
 *
 * - An architecture selects ARCH_WANTS_DEFERRED_INIT_ASYNC when its code has been reviewed.
 * - Without memory hotplug every pfn counts as online.
 * - Without a virtual memmap page_to_pfn() reads the struct page.
 * - KASAN leaves pages unpoisoned until the last one is initialised.
 */

#include <linux/deferred_init.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mmzone.h>
#include <linux/page_ext.h>
#include <linux/sched/clock.h>
#include <linux/string.h>

#include "deferred_init.h"
#include "internal.h"
#include "shuffle.h"

/* Whether boot goes on while the jobs run.  Does not change any more when they are ready. */
bool deferred_async = true;

/*
 * deferred_init=sync or async: whether boot waits until all struct pages are initialised
 * before it starts device drivers.
 */
static int __init deferred_init_setup(char *str)
{
	if (!strcmp(str, "sync"))
		deferred_async = false;
	else if (!strcmp(str, "async"))
		deferred_async = true;
	else
		pr_warn("deferred_init: '%s' is neither sync nor async, using the default\n", str);
	return 1;
}
__setup("deferred_init=", deferred_init_setup);

/*
 * Boot cannot go on if something has to see pages before they are in use:
 *
 * - page_ext is set up when all struct pages are.  Its users, page_owner and
 *   page_table_check among them, have to see drivers' pages.
 * - Free pages are shuffled once all are there, which only helps before they are in use.
 */
void __init deferred_async_decide(void)
{
	if ((IS_ENABLED(CONFIG_PAGE_EXTENSION) && page_ext_needed()) ||
	    is_shuffle_order(MAX_PAGE_ORDER))
		deferred_async = false;
}

/*
 * deferred_pfn_pending() while there are deferred pages.  Where the ranges of nodes overlap, the
 * page may be of any of them, so all must have initialised their part of the section.
 */
bool __deferred_pfn_pending(unsigned long pfn)
{
	struct deferred_node *node;

	for_each_deferred_node(node) {
		if (pfn >= node->first_pfn && pfn < node->end_pfn &&
		    deferred_pending(node, deferred_section(node, pfn)))
			return true;
	}
	return false;
}

/* nr_deferred_pages() while there are deferred pages. */
unsigned long __nr_deferred_pages(void)
{
	struct deferred_node *node;
	unsigned long nr = 0;

	for_each_deferred_node(node)
		nr += atomic_long_read(&node->nr_left);
	return nr;
}

/* deferred_init_pfns() while there are deferred pages. */
void __deferred_init_pfns(unsigned long pfn, unsigned long end_pfn)
{
	struct deferred_node *node;

	might_sleep();
	for_each_deferred_node(node)
		deferred_init_range(node, pfn, end_pfn);
}
EXPORT_SYMBOL_GPL(__deferred_init_pfns);

static void deferred_waited(const char *who, u64 begin)
{
	s64 ns = max_t(s64, sched_clock() - begin, 0);

	pr_info("%s waited %lldms for struct pages\n", who, div_s64(ns, NSEC_PER_MSEC));
}

/* deferred_init_wait() while there are deferred pages. */
void __deferred_init_wait(const char *who)
{
	u64 begin = sched_clock();

	might_sleep();
	/*
	 * Until the jobs start, boot is on one thread, the one that starts them.  Pairs with
	 * the release in deferred_init_over().
	 */
	if (smp_load_acquire(&deferred_phase) != DEFERRED_STARTED)
		return;

	deferred_wait_over(who);
	deferred_waited(who, begin);
}
EXPORT_SYMBOL_GPL(__deferred_init_wait);

/* deferred_init_finish() while there may be deferred pages. */
void __init __deferred_init_finish(void)
{
	u64 begin = sched_clock();

	deferred_init_end();
	deferred_waited("boot", begin);
}
