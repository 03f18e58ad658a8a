// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86: zero many pages with one string instruction.
 *
 * Page by page the CPU begins anew each time, and has to guess that more is to
 * come.  Told the length of it, it is about 15 % faster over 1 GiB (Sapphire
 * Rapids, see ./lab bench hugepages).
 */

#include <linux/cpufeature.h>
#include <linux/folio_zero.h>
#include <linux/kmsan-checks.h>
#include <linux/mm.h>

#include <asm/page.h>

static void zero_bytes(void *to, unsigned long bytes)
{
	asm volatile("rep stosb"
		     : "+D" (to), "+c" (bytes)
		     : "a" (0)
		     : "memory");
}

static void zero_words(void *to, unsigned long bytes)
{
	unsigned long words = bytes / sizeof(long);

	asm volatile("rep stosq"
		     : "+D" (to), "+c" (words)
		     : "a" (0)
		     : "memory");
}

static void zero_pages_one_by_one(void *to, unsigned long nr)
{
	for (; nr; nr--, to += PAGE_SIZE)
		clear_page(to);
}

/*
 * All of a folio is contiguous where the kernel has it mapped.  The choice is that
 * of clear_page().
 */
void zero_user_pages(struct page *page, unsigned long addr, unsigned long nr)
{
	void *to = page_address(page);

	kmsan_unpoison_memory(to, nr * PAGE_SIZE);
	if (static_cpu_has(X86_FEATURE_ERMS))
		zero_bytes(to, nr * PAGE_SIZE);
	else if (static_cpu_has(X86_FEATURE_REP_GOOD))
		zero_words(to, nr * PAGE_SIZE);
	else
		zero_pages_one_by_one(to, nr);
}
