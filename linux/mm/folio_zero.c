// SPDX-License-Identifier: GPL-2.0-only
/*
 * folio_zero.c - zero huge pages for user space, on many threads where it pays
 *
 * A huge page is zeroed when it is first touched, or allocated for a file, by the
 * task that wants it.  Page by page, one CPU takes 35 ms (AMD Zen 4) to 138 ms (Intel
 * Sapphire Rapids) for 1 GiB.  So:
 *
 *  - What is contiguous is zeroed in extents, one call for many pages, where the
 *    architecture has something better than going page by page.
 *
 *  - The page that was touched is zeroed last, by the task itself and through the
 *    cache; without a job, so is some of what follows it, which is likely to be used
 *    next.  All else bypasses the cache where the architecture has stores for that.
 *
 *  - Folios at or above a threshold are zeroed by a multithreaded padata job, on
 *    behalf of the task: helpers use idle CPUs that the task may use, and their time
 *    is charged to its CPU bandwidth.
 *
 * The task may hold whatever a page fault holds: mmap_lock or the VMA's lock, the
 * locks of hugetlbfs, the folio's.  A helper needs none of them.  The thread function
 * takes no lock, allocates nothing, and touches nothing but the memory that is to be
 * zeroed, which nobody else may look at yet.
 */

#include <linux/align.h>
#include <linux/folio_zero.h>
#include <linux/highmem.h>
#include <linux/init.h>
#include <linux/kconfig.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/padata_mt.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>
#include <linux/sizes.h>
#include <linux/sysctl.h>

/*
 * Chunk sizes of the job: below the first, a chunk costs as much as it gains; at the
 * second, a helper that has to stop takes half a millisecond to do so at 10 GB/s.  The
 * CPU time that two threads with CLZERO use for 1 GiB differs by less than 5 % between
 * chunks of 1, 4, 16 and 64 MiB (AMD EPYC, Zen 4).
 */
#define FOLIO_ZERO_MIN_CHUNK	(SZ_512K / PAGE_SIZE)
#define FOLIO_ZERO_MAX_CHUNK	(SZ_4M / PAGE_SIZE)

/*
 * At most this much is zeroed without a chance to reschedule: 0.1 ms at 10 GB/s.  CLZERO
 * in extents of 256 KiB, each with its fence, took 7 % longer than in 1 to 4 MiB.
 *
 * A preemptible kernel needs no limit.  It gains on CPUs that no longer read what one
 * string instruction overwrites once that is more than their last-level cache: an AMD
 * EPYC (Zen 4) without its CLZERO zeroes 1 GiB in 16 to 18 ms in extents of 64 MiB and
 * more, and in 39 to 41 ms in extents of 24 MiB and less.  Other kernels cannot have this
 * gain: such an extent takes longer than a millisecond.
 */
#define FOLIO_ZERO_EXTENT	(SZ_1M / PAGE_SIZE)

/* A step when zeroing downwards, towards the page that was touched. */
#define FOLIO_ZERO_STEP		(SZ_256K / PAGE_SIZE)

/*
 * How much from the touched page on is assumed to be used soon.  Measured with CLZERO on
 * an AMD EPYC (Zen 4, 1 MiB of L2), for 2 MiB touched at the start: with 128, 256 or 512
 * KiB of it through the cache, zeroing takes 32, 37 or 41 us, and using half of it takes
 * another 32, 29 or 26 us from there on, or 120, 114 or 98 us at random.  Folios up to
 * this size, which are likely to be used as a whole, do not bypass the cache.
 */
#define FOLIO_ZERO_SOON		(SZ_512K / PAGE_SIZE)

#define FOLIO_ZERO_NO_PAGE	ULONG_MAX

/*
 * See Documentation/admin-guide/sysctl/vm.rst for both.
 *
 * Most faults are for huge pages of 2 MiB, which are below the threshold.  Without a job,
 * what the task uses first of them is in its cache, and helpers gain little: on AMD EPYCs
 * (Zen 3 to 5), where one thread with CLZERO nearly saturates memory bandwidth, two
 * threads take 0.76 to 1.11 of its time from 4 MiB on.  On an Intel Xeon (Sapphire
 * Rapids), without CLZERO, they take 0.57 for 1 GiB.
 *
 * How many threads saturate memory bandwidth depends on the machine, and no more than two
 * have been timed.  Eight limits how many of the idle CPUs one page fault takes.
 */
static unsigned long huge_page_zero_threshold_kbytes __read_mostly = SZ_4M / SZ_1K;
static int huge_page_zero_max_threads __read_mostly = 8;

/* What is to be zeroed: folios of one size, whose pages are numbered consecutively. */
struct folio_zero {
	struct folio		**folios;
	unsigned int		order;
	unsigned long		nr_pages;
	unsigned long		addr;		/* of the first page */
	unsigned long		last;		/* a page that is left for the end */
};

/**
 * zero_user_pages - zero pages of a folio for user space
 * @page: The first of them.
 * @addr: The user address that it is going to have, for caches that depend on it.
 * @nr: How many, at least one, and none past the end of the folio.
 *
 * An architecture that can zero many pages at once overrides this.
 *
 * Context: Any that clear_user_highpage() may be called from.
 */
void __weak zero_user_pages(struct page *page, unsigned long addr, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		clear_user_highpage(nth_page(page, i), addr + i * PAGE_SIZE);
}

/**
 * zero_user_pages_uncached - zero pages of a folio that are not used soon
 * @page: The first of them.
 * @addr: The user address that it is going to have, for caches that depend on it.
 * @nr: How many, at least one, and none past the end of the folio.
 *
 * As zero_user_pages(), but the pages need not be in a cache afterwards.  An
 * architecture whose stores can bypass the cache overrides this.  When this returns, the
 * stores are ordered before those that publish the pages, just as plain stores are.
 *
 * Context: Any that clear_user_highpage() may be called from.
 */
void __weak zero_user_pages_uncached(struct page *page, unsigned long addr,
				     unsigned long nr)
{
	zero_user_pages(page, addr, nr);
}

/* The range lies within one folio. */
static void folio_zero_pages(const struct folio_zero *fz, unsigned long start,
			     unsigned long end, bool soon)
{
	struct folio *folio = fz->folios[start >> fz->order];
	unsigned long in_folio = start & (BIT(fz->order) - 1);
	unsigned long addr = fz->addr + start * PAGE_SIZE;

	if (soon)
		zero_user_pages(folio_page(folio, in_folio), addr, end - start);
	else
		zero_user_pages_uncached(folio_page(folio, in_folio), addr, end - start);
	cond_resched();
}

static void folio_zero_forward(const struct folio_zero *fz, unsigned long start,
			       unsigned long end, bool soon)
{
	unsigned long most = BIT(fz->order);

	if (!preempt_model_preemptible())
		most = min(most, FOLIO_ZERO_EXTENT);
	while (start < end) {
		unsigned long to = min(end, ALIGN_DOWN(start, most) + most);

		folio_zero_pages(fz, start, to, soon);
		start = to;
	}
}

/* The range lies within one folio. */
static void folio_zero_backward(const struct folio_zero *fz, unsigned long start,
				unsigned long end, bool soon)
{
	while (start < end) {
		unsigned long from = max(start, ALIGN_DOWN(end - 1, FOLIO_ZERO_STEP));

		folio_zero_pages(fz, from, end, soon);
		end = from;
	}
}

/*
 * The thread function, which is also called without a job.  Small folios are likely to
 * be used as a whole, and soon.
 */
static void folio_zero_fn(unsigned long start, unsigned long end, void *arg)
{
	const struct folio_zero *fz = arg;
	bool soon = BIT(fz->order) <= FOLIO_ZERO_SOON;

	if (start <= fz->last && fz->last < end) {
		folio_zero_forward(fz, start, fz->last, soon);
		start = fz->last + 1;
	}
	folio_zero_forward(fz, start, end, soon);
}

/*
 * Without a job, for a folio that caches may hold.  The task is likely to go on from
 * the page that it touched, so some of what comes after that page is zeroed last and
 * through the cache, backwards from its end.
 *
 * All of the folio goes through the cache if it was touched in its second half.  Then the
 * task did not begin at its start, and may go on anywhere: on the same CPU, zeroing 2 MiB
 * that are touched at their end and writing to half of them at random takes 98 us through
 * the cache, 146 past it.
 */
static void folio_zero_towards_last(const struct folio_zero *fz)
{
	unsigned long soon = fz->last, next = fz->last + 1;
	unsigned long soon_end = min(fz->nr_pages, soon + FOLIO_ZERO_SOON);

	if (fz->nr_pages <= FOLIO_ZERO_SOON || fz->last >= fz->nr_pages / 2) {
		soon = 0;
		soon_end = fz->nr_pages;
	}
	folio_zero_forward(fz, 0, soon, false);
	folio_zero_backward(fz, soon_end, fz->nr_pages, false);
	folio_zero_forward(fz, soon, fz->last, true);
	folio_zero_backward(fz, next, soon_end, true);
}

/*
 * Not for kernel threads, which may fault in the memory of a task whose limits do not
 * apply to them, nor for realtime and deadline tasks: no helper has their priority.
 */
static bool folio_zero_may_have_helpers(void)
{
	return IS_ENABLED(CONFIG_PADATA) && READ_ONCE(huge_page_zero_max_threads) > 1 &&
	       !(current->flags & PF_KTHREAD) && !rt_or_dl_task(current);
}

/**
 * folio_zero_job_pages - the fewest pages that are zeroed by a job
 *
 * Any threshold can be set, up to ULONG_MAX.  Less than two chunks cannot be shared.
 *
 * Return: The number of pages from which on the current task may have helpers, or
 * %ULONG_MAX if it may have none.
 */
unsigned long folio_zero_job_pages(void)
{
	unsigned long threshold = READ_ONCE(huge_page_zero_threshold_kbytes);
	const unsigned long page_kbytes = PAGE_SIZE / SZ_1K;

	if (!threshold || !folio_zero_may_have_helpers())
		return ULONG_MAX;
	return max(threshold / page_kbytes + !!(threshold % page_kbytes),
		   2 * FOLIO_ZERO_MIN_CHUNK);
}

/* Helpers are near the first folio. */
static void folio_zero_do(struct folio_zero *fz)
{
	struct padata_mt_job job = {
		.thread_fn	= folio_zero_fn,
		.fn_arg		= fz,
		.size		= fz->nr_pages,
		.align		= FOLIO_ZERO_MIN_CHUNK,
		.min_chunk	= FOLIO_ZERO_MIN_CHUNK,
		.max_chunk	= FOLIO_ZERO_MAX_CHUNK,
		.max_threads	= READ_ONCE(huge_page_zero_max_threads),
		.nid		= folio_nid(fz->folios[0]),
		.near_nid	= true,
	};

	if (fz->nr_pages >= folio_zero_job_pages()) {
		/* Old contents must not show, even if padata refuses the job. */
		if (WARN_ON_ONCE(padata_do_multithreaded(&job)))
			folio_zero_fn(0, fz->nr_pages, fz);
	} else if (fz->last != FOLIO_ZERO_NO_PAGE && fz->nr_pages <= MAX_ORDER_NR_PAGES) {
		folio_zero_towards_last(fz);
	} else {
		folio_zero_fn(0, fz->nr_pages, fz);
	}

	if (fz->last != FOLIO_ZERO_NO_PAGE)
		folio_zero_pages(fz, fz->last, fz->last + 1, true);
}

/**
 * folio_zero_user - zero a folio which will be mapped to user space
 * @folio: The folio, whose contents nobody else can see yet.
 * @addr_hint: The user address that is going to be accessed, or that of the folio.
 *
 * The page at @addr_hint is zeroed last, by the caller.  Folios at or above
 * vm.huge_page_zero_threshold_kbytes are zeroed with the help of other CPUs; in others,
 * what follows that page is left for the end, too.
 *
 * Context: Process context, may sleep.
 */
void folio_zero_user(struct folio *folio, unsigned long addr_hint)
{
	unsigned long addr = ALIGN_DOWN(addr_hint, folio_size(folio));
	struct folio_zero fz = {
		.folios		= &folio,
		.order		= folio_order(folio),
		.nr_pages	= folio_nr_pages(folio),
		.addr		= addr,
		.last		= (addr_hint - addr) >> PAGE_SHIFT,
	};

	might_sleep();
	folio_zero_do(&fz);
}

/**
 * folios_zero_user - zero folios, with one job for all that are on the same node
 * @folios: Folios of the same size, whose contents nobody else can see yet.  Those of one
 *          node are next to each other when this returns.
 * @nr: How many.
 *
 * As folio_zero_user(), for folios that nobody is about to access.
 *
 * Context: Process context, may sleep.
 */
void folios_zero_user(struct folio **folios, unsigned int nr)
{
	unsigned int i, same;

	might_sleep();
	for (; nr; folios += same, nr -= same) {
		struct folio_zero fz = {
			.folios		= folios,
			.order		= folio_order(folios[0]),
			.last		= FOLIO_ZERO_NO_PAGE,
		};

		for (i = 1, same = 1; i < nr; i++) {
			if (folio_nid(folios[i]) != folio_nid(folios[0]))
				continue;
			swap(folios[i], folios[same]);
			same++;
		}
		fz.nr_pages = (unsigned long)same << fz.order;
		folio_zero_do(&fz);
	}
}

static struct ctl_table folio_zero_sysctls[] = {
	{
		.procname	= "huge_page_zero_threshold_kbytes",
		.data		= &huge_page_zero_threshold_kbytes,
		.maxlen		= sizeof(huge_page_zero_threshold_kbytes),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
	{
		.procname	= "huge_page_zero_max_threads",
		.data		= &huge_page_zero_max_threads,
		.maxlen		= sizeof(huge_page_zero_max_threads),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_INT_MAX,
	},
};

static int __init folio_zero_init(void)
{
	register_sysctl_init("vm", folio_zero_sysctls);
	return 0;
}
subsys_initcall(folio_zero_init);
