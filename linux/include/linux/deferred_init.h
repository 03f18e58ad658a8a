/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * deferred_init.h - struct pages that are initialised while boot goes on
 *
 * Where boot goes on (CONFIG_DEFERRED_INIT_ASYNC), code that has a pfn from elsewhere than an
 * allocation either calls pfn_to_online_page(), which returns NULL until the struct page is
 * initialised, or has it initialised by deferred_init_pfns().
 */
#ifndef _LINUX_DEFERRED_INIT_H
#define _LINUX_DEFERRED_INIT_H

#include <linux/jump_label.h>
#include <linux/types.h>

struct cpumask;

unsigned int deferred_page_init_max_threads(const struct cpumask *node_cpumask);

bool page_ext_needed(void);	/* in page_ext.c */

DECLARE_STATIC_KEY_TRUE(deferred_pages);

bool __deferred_pfn_pending(unsigned long pfn);
unsigned long __nr_deferred_pages(void);
void __deferred_init_pfns(unsigned long pfn, unsigned long end_pfn);
void __deferred_init_wait(const char *who);
void __deferred_init_finish(void);

/* Whether boot goes on and some struct pages may not be initialised yet. */
static __always_inline bool deferred_pages_left(void)
{
	return IS_ENABLED(CONFIG_DEFERRED_INIT_ASYNC) && static_branch_unlikely(&deferred_pages);
}

/**
 * deferred_pfn_pending - whether a struct page is not initialised yet
 * @pfn: a pfn that there is a memmap for
 *
 * Context: Any.
 * Return: true if the struct page must not be accessed yet.  If false, all stores of its
 * initialisation are visible.  In early initcalls, before deferred_init_prepare(), it is
 * false for every pfn.
 */
static inline bool deferred_pfn_pending(unsigned long pfn)
{
	return deferred_pages_left() && __deferred_pfn_pending(pfn);
}

/**
 * nr_deferred_pages - free pages that are not initialised yet
 *
 * They count as managed, but not as free.
 *
 * Context: Any.
 * Return: their number.  While jobs run, too high by up to a section per thread.
 */
static inline unsigned long nr_deferred_pages(void)
{
	return deferred_pages_left() ? __nr_deferred_pages() : 0;
}

/**
 * deferred_init_pfns - have struct pages initialised
 * @pfn: first of a range of pfns
 * @end_pfn: end of the range.  Not all of it need be memory.
 *
 * For callers that access struct pages of pages that they have not allocated.  Initialises
 * the sections of the range, or waits for the threads that have claimed them.  In early
 * initcalls, before deferred_init_prepare(), it does nothing.
 *
 * Context: Process context.  May sleep while there are deferred pages.
 */
static inline void deferred_init_pfns(unsigned long pfn, unsigned long end_pfn)
{
	if (deferred_pages_left())
		__deferred_init_pfns(pfn, end_pfn);
}

/**
 * deferred_init_wait - wait until all struct pages are initialised
 * @who: the caller, for the kernel log
 *
 * For callers that need all memory, or zones that are complete.  Before the jobs are
 * started, this does nothing: else boot could wait forever for what it has yet to start.
 *
 * Context: Process context, not a thread of the jobs.  May sleep while there are deferred
 * pages.
 */
static inline void deferred_init_wait(const char *who)
{
	if (deferred_pages_left())
		__deferred_init_wait(who);
}

/* The end of boot, before init memory is freed: wait until all struct pages are initialised. */
static __always_inline void deferred_init_finish(void)
{
	if (deferred_pages_left())
		__deferred_init_finish();
}

#endif /* _LINUX_DEFERRED_INIT_H */
