// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86: zero many pages past the cache.
 *
 * A string instruction reads what it overwrites, unless that is about as much as the
 * last-level cache holds.  bulk_stores.c says which CPU has what instead.
 */

#include <linux/cpufeature.h>
#include <linux/folio_zero.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/zero_user.h>

#include <asm/barrier.h>
#include <asm/bulk_stores.h>
#include <asm/page.h>

/*
 * The loop is 12 bytes, so that it lies within a cache line if it is aligned to 16.  On
 * an AMD EPYC (Zen 3), a loop that crosses one takes up to 7 % longer.  The kernel does
 * not align loops.  Binutils before 2.26 do not know CLZERO.  Unrolling gains nothing.
 */
static void zero_by_clzero(void *to, void *end)
{
	asm volatile(".p2align 4\n"
		     "1:	.byte 0x0f, 0x01, 0xfc	# clzero\n"
		     "	add %[line], %[to]\n"
		     "	cmp %[end], %[to]\n"
		     "	jb 1b"
		     : [to] "+&a" (to)
		     : [end] "r" (end), [line] "i" (CLZERO_BYTES)
		     : "memory", "cc");
}

/* Unrolled: one word at a time takes up to three times as long. */
static void zero_by_movnti(void *to, void *end)
{
	for (; to < end; to += 8 * sizeof(long))
		asm volatile("movnti %[zero], (%[to])\n\t"
			     "movnti %[zero], 8(%[to])\n\t"
			     "movnti %[zero], 16(%[to])\n\t"
			     "movnti %[zero], 24(%[to])\n\t"
			     "movnti %[zero], 32(%[to])\n\t"
			     "movnti %[zero], 40(%[to])\n\t"
			     "movnti %[zero], 48(%[to])\n\t"
			     "movnti %[zero], 56(%[to])"
			     : : [to] "r" (to), [zero] "r" (0UL) : "memory");
}

/*
 * By what x86_bulk_store() says is best on this CPU.
 *
 * CLZERO and movnti are ordered weakly: they may become visible later than plain stores
 * that follow them.  sfence makes these wait.  It pairs with whatever orders the reader of
 * the page after the store that published it: the lock of the page table, or the walk that
 * found the entry there; the folio's lock or uptodate flag in a page cache.  Without it,
 * old contents could be seen through the mapping.  A task that is moved to another CPU in
 * between has taken the lock of a runqueue, which orders them just as well.
 *
 * All of a folio is contiguous in the kernel's mapping of it.
 */
void zero_user_pages_uncached(struct page *page, unsigned long addr, unsigned long nr)
{
	void *to = page_address(page), *end = to + nr * PAGE_SIZE;
	enum x86_bulk_store store = x86_bulk_store();

	/* KMSAN has to see what is written. */
	if (IS_ENABLED(CONFIG_KMSAN) || store == X86_BULK_STRING) {
		clear_user_highpages(page, addr, nr);
		return;
	}

	if (store == X86_BULK_CLZERO)
		zero_by_clzero(to, end);
	else
		zero_by_movnti(to, end);
	/* Pairs with whoever is given the pages next, see above. */
	wmb();
}

/* On an Emerald Rapids 2 MiB are faster past the cache even if they are written to next. */
unsigned long zero_user_pages_max_cached(void)
{
	return x86_bulk_store() == X86_BULK_MOVNTI ? SZ_1M / PAGE_SIZE : MAX_ORDER_NR_PAGES;
}

/*
 * Zen CPUs do not read what one string instruction overwrites if that is at least as much
 * as their last-level cache, which chunks of a job are not: two threads take longer than one.
 */
unsigned long __init zero_user_pages_job_kbytes(void)
{
	if (cpu_feature_enabled(X86_FEATURE_ZEN) && x86_bulk_store() == X86_BULK_STRING)
		return 0;
	return SZ_4M / SZ_1K;
}
