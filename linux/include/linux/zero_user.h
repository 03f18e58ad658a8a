/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zero_user.h - zero pages for user space, many at a time
 *
 * In a header of its own, as <linux/highmem.h> is included by most of the kernel.
 */
#ifndef _LINUX_ZERO_USER_H
#define _LINUX_ZERO_USER_H

#include <linux/highmem.h>
#include <linux/mm.h>

#ifdef CONFIG_X86_64
#include <asm/zero_user.h>
#endif

#ifndef clear_user_highpages
/* How many may be zeroed without a chance to reschedule. */
#define PROCESS_PAGES_NON_PREEMPT_BATCH		1

static inline void clear_user_highpages(struct page *page, unsigned long vaddr, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		clear_user_highpage(nth_page(page, i), vaddr + i * PAGE_SIZE);
}
#endif

/* Whether a folio from the page allocator has to be zeroed for user space. */
static inline bool user_alloc_needs_zeroing(void)
{
	return IS_ENABLED(CONFIG_ARCH_HAS_CPU_CACHE_ALIASING) || IS_ENABLED(CONFIG_ARC) ||
	       !want_init_on_alloc(0);
}

#endif /* _LINUX_ZERO_USER_H */
