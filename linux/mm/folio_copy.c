// SPDX-License-Identifier: GPL-2.0-only
/*
 * folio_copy.c - copy large folios, past the cache and on many threads where it pays
 *
 * A task that writes to a huge page which it shares waits for a copy of it, and a task that
 * touches a page while it is migrated waits until it has moved.  One CPU takes 93 ms (AMD Zen 4)
 * to 240 ms (Intel Emerald Rapids) to copy 1 GiB page by page.  So, by the same rules as
 * folio_zero.c:
 *
 *  - Folios at or above a threshold are copied by a multithreaded padata job, on behalf of
 *    the task and within its limits.
 *
 *  - What is not used soon bypasses the cache, where the architecture can do that: folios
 *    that kernel threads migrate, and those that are too large for the cache or have a job.
 *
 *  - The page that was touched is copied last, by the task itself.
 *
 * Both folios belong to the caller, which has locked them or has made sure in another way that
 * nobody changes them.  Helpers need none of the locks that it holds, and write to nothing but
 * the copy.
 */

#include <linux/align.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/folio_copy.h>
#include <linux/folio_zero.h>
#include <linux/highmem.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/sysctl.h>

/* About a millisecond when eight threads do the same: 3.7 to 4.5 GB/s each (Emerald Rapids). */
#define HUGE_PAGE_COPY_CHUNK	(SZ_4M / PAGE_SIZE)

/* See Documentation/admin-guide/sysctl/vm.rst. */
static unsigned long huge_page_copy_threshold_kbytes __read_mostly = SZ_4M / SZ_1K;

struct folio_copy {
	struct huge_page_work	work;
	struct folio		*src;
	struct vm_area_struct	*vma;		/* that the copy is for; NULL if @src is migrated */
};

/**
 * copy_pages_uncached - copy pages of a folio that are not used soon
 * @to: The first of the pages to write to.
 * @from: The first of the pages to read.
 * @nr: How many, at least one, and none past the end of a folio.
 *
 * An architecture whose stores can bypass the cache overrides this.  When it returns, the
 * stores are ordered before those that publish the pages, just as plain stores are.  It must
 * survive a machine check on what it reads if copy_mc_highpage() does.
 *
 * Context: Any that copy_highpage() may be called from.
 * Return: How many pages were copied, 0 if the first could not be.  The caller copies that one
 * by copy_mc_highpage(), which reports a machine check.
 */
unsigned long __weak copy_pages_uncached(struct page *to, struct page *from, unsigned long nr)
{
	return 0;
}

static int folio_copy_page(const struct folio_copy *fc, unsigned long nr)
{
	struct page *to = folio_page(fc->work.folio, nr), *from = folio_page(fc->src, nr);
	int left;

	if (fc->vma)
		left = copy_mc_user_highpage(to, from, fc->work.addr + nr * PAGE_SIZE, fc->vma);
	else
		left = copy_mc_highpage(to, from);
	return left ? -EHWPOISON : 0;
}

static int folio_copy_part(const struct huge_page_work *work, unsigned long start,
			   unsigned long end)
{
	const struct folio_copy *fc = container_of(work, struct folio_copy, work);
	unsigned long nr;

	for (; start < end; start += nr) {
		nr = min(end - start, HUGE_PAGE_EXTENT);
		nr = work->cached ? 0 : copy_pages_uncached(folio_page(work->folio, start),
							    folio_page(fc->src, start), nr);
		if (!nr) {
			int err = folio_copy_page(fc, start);

			if (err)
				return err;
			nr = 1;
		}
		cond_resched();
	}

	return 0;
}

static int folio_copy_do(struct folio *dst, struct folio *src, unsigned long addr,
			 unsigned long last, struct vm_area_struct *vma)
{
	unsigned long nr_pages = folio_nr_pages(src);
	int threads = huge_page_threads(nr_pages, READ_ONCE(huge_page_copy_threshold_kbytes));
	bool soon = last != HUGE_PAGE_NO_PAGE || !(current->flags & PF_KTHREAD);
	struct folio_copy fc = {
		.work.fn	= folio_copy_part,
		.work.folio	= dst,
		.work.addr	= addr,
		.work.last	= last,
		.work.max_chunk	= HUGE_PAGE_COPY_CHUNK,
		.work.cached	= soon && threads <= 1 && nr_pages <= MAX_ORDER_NR_PAGES,
		.src		= src,
		.vma		= vma,
	};

	might_sleep();
	return huge_page_do(&fc.work, threads);
}

/**
 * copy_user_large_folio - make a copy of a folio, which will be mapped to user space
 * @dst: The copy, whose contents nobody else can see yet.
 * @src: What to copy, as many pages.  Nobody writes to it.
 * @addr_hint: The user address that is going to be accessed, or that of @dst.
 * @vma: What @dst will be mapped by.
 *
 * The page at @addr_hint is copied last, by the caller.  Folios at or above
 * vm.huge_page_copy_threshold_kbytes are copied with the help of other CPUs.
 *
 * Context: Process context, may sleep.
 * Return: 0, or %-EHWPOISON if the hardware says that part of @src is lost.
 */
int copy_user_large_folio(struct folio *dst, struct folio *src, unsigned long addr_hint,
			  struct vm_area_struct *vma)
{
	unsigned long addr = ALIGN_DOWN(addr_hint, folio_size(dst));

	return folio_copy_do(dst, src, addr, (addr_hint - addr) >> PAGE_SHIFT, vma);
}

/**
 * folio_mc_copy_large - folio_mc_copy() for large folios, see folio_copy_is_large()
 * @dst: The folio to copy to.
 * @src: The folio to copy from.
 *
 * Kernel threads do not use what they migrate, so none of it need be in a cache afterwards.
 * Tasks may, as one that migrates a folio in a NUMA hinting fault.  Folios at or above
 * vm.huge_page_copy_threshold_kbytes are copied with the help of other CPUs.
 *
 * Context: Process context, may sleep.
 * Return: 0, or %-EHWPOISON if the hardware says that part of @src is lost.
 */
int folio_mc_copy_large(struct folio *dst, struct folio *src)
{
	return folio_copy_do(dst, src, 0, HUGE_PAGE_NO_PAGE, NULL);
}

static struct ctl_table folio_copy_sysctls[] = {
	{
		.procname	= "huge_page_copy_threshold_kbytes",
		.data		= &huge_page_copy_threshold_kbytes,
		.maxlen		= sizeof(huge_page_copy_threshold_kbytes),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
};

static int __init folio_copy_init(void)
{
	register_sysctl_init("vm", folio_copy_sysctls);
	return 0;
}
subsys_initcall(folio_copy_init);
