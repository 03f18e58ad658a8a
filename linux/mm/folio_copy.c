// SPDX-License-Identifier: GPL-2.0-only
/*
 * folio_copy.c - copy large folios, past the cache and on many threads where it pays
 *
 * A task that writes to a huge page which it shares waits for a copy of it, and a task that
 * touches a page while it is migrated waits until it has moved.  One CPU takes 90 to 240 ms to
 * copy 1 GiB page by page.  So, by the same rules as folio_zero.c:
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
#include <linux/errno.h>
#include <linux/folio_copy.h>
#include <linux/folio_zero.h>
#include <linux/highmem.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/padata_mt.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/sysctl.h>

/* The most that bypasses the cache without a chance to reschedule: 0.2 ms at 5 GB/s. */
#define FOLIO_COPY_EXTENT	(SZ_1M / PAGE_SIZE)

/* Of the job: 0.8 ms at 5 GB/s. */
#define FOLIO_COPY_MAX_CHUNK	(SZ_4M / PAGE_SIZE)

#define FOLIO_COPY_NO_PAGE	ULONG_MAX

/* See Documentation/admin-guide/sysctl/vm.rst. */
static unsigned long huge_page_copy_threshold_kbytes __read_mostly = SZ_4M / SZ_1K;

/* What is to be copied.  Pages are numbered from the start of the folios. */
struct folio_copy {
	struct folio		*dst;
	struct folio		*src;
	struct vm_area_struct	*vma;		/* that @dst is for; NULL if @src is migrated */
	unsigned long		addr;		/* of the first page */
	unsigned long		last;		/* a page that is left for the end */
	bool			cached;		/* through the cache */
	struct padata_mt_job	*job;
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
	struct page *to = folio_page(fc->dst, nr), *from = folio_page(fc->src, nr);
	int left;

	if (fc->vma)
		left = copy_mc_user_highpage(to, from, fc->addr + nr * PAGE_SIZE, fc->vma);
	else
		left = copy_mc_highpage(to, from);
	return left ? -EHWPOISON : 0;
}

static int folio_copy_part(const struct folio_copy *fc, unsigned long start, unsigned long end)
{
	unsigned long nr;

	for (; start < end; start += nr) {
		nr = min(end - start, FOLIO_COPY_EXTENT);
		nr = fc->cached ? 0 : copy_pages_uncached(folio_page(fc->dst, start),
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

/* All but the page that is left for the end. */
static int folio_copy_range(const struct folio_copy *fc, unsigned long start, unsigned long end)
{
	if (start <= fc->last && fc->last < end) {
		int err = folio_copy_part(fc, fc->last + 1, end);

		if (err)
			return err;
		end = fc->last;
	}
	return folio_copy_part(fc, start, end);
}

static void folio_copy_fn(unsigned long start, unsigned long end, void *arg)
{
	const struct folio_copy *fc = arg;
	int err = folio_copy_range(fc, start, end);

	if (err)
		padata_mt_fail(fc->job, err);
}

static int folio_copy_by_job(struct folio_copy *fc, unsigned long nr_pages, int threads)
{
	struct padata_mt_job job = {
		.thread_fn	= folio_copy_fn,
		.fn_arg		= fc,
		.size		= nr_pages,
		.align		= HUGE_PAGE_MIN_CHUNK,
		.min_chunk	= HUGE_PAGE_MIN_CHUNK,
		.max_chunk	= FOLIO_COPY_MAX_CHUNK,
		.max_threads	= threads,
		.nid		= folio_nid(fc->dst),
		.near_nid	= true,
	};

	int err;

	fc->job = &job;
	err = padata_do_multithreaded(&job);
	if (WARN_ON_ONCE(err == -EINVAL))
		return folio_copy_range(fc, 0, nr_pages);
	return err;
}

static int folio_copy_do(struct folio_copy *fc)
{
	unsigned long threshold = READ_ONCE(huge_page_copy_threshold_kbytes);
	unsigned long nr_pages = folio_nr_pages(fc->src);
	int threads = huge_page_threads(nr_pages, threshold);
	bool touched = fc->last != FOLIO_COPY_NO_PAGE;
	bool soon = touched || !(current->flags & PF_KTHREAD);
	int err;

	might_sleep();
	fc->cached = soon && threads <= 1 && nr_pages <= MAX_ORDER_NR_PAGES;
	if (threads > 1)
		err = folio_copy_by_job(fc, nr_pages, threads);
	else
		err = folio_copy_range(fc, 0, nr_pages);
	if (err || !touched)
		return err;

	fc->cached = true;
	return folio_copy_part(fc, fc->last, fc->last + 1);
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
	struct folio_copy fc = {
		.dst		= dst,
		.src		= src,
		.vma		= vma,
		.addr		= addr,
		.last		= (addr_hint - addr) >> PAGE_SHIFT,
	};

	return folio_copy_do(&fc);
}

/**
 * folio_mc_copy_large - folio_mc_copy() for a folio of at least FOLIO_COPY_LARGE pages
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
	struct folio_copy fc = {
		.dst		= dst,
		.src		= src,
		.last		= FOLIO_COPY_NO_PAGE,
	};

	return folio_copy_do(&fc);
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
