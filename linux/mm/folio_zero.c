// SPDX-License-Identifier: GPL-2.0-only
/*
 * folio_zero.c - zero huge pages for user space, on many threads where it pays
 *
 * A huge page is zeroed when it is first touched, or allocated for a file, by the task
 * that wants it.  Page by page, one CPU takes 33 ms (AMD Zen 4) to 136 ms (Intel Emerald
 * Rapids) for 1 GiB.  So:
 *
 *  - Folios at or above a threshold are zeroed by a multithreaded padata job, on behalf
 *    of the task: helpers use idle CPUs that the task may use, and their time is charged
 *    to its CPU bandwidth.
 *
 *  - What is likely to be used soon goes through the cache: a folio that was touched and
 *    is small enough for that to pay, if it has no job; of any other folio the page
 *    that was touched.  All else bypasses the cache where the architecture can do that.
 *
 *  - The page that was touched is zeroed last, by the task itself, unless the folio is
 *    so small that it makes no difference.
 *
 * The task may hold whatever a page fault holds: mmap_lock or the VMA's lock, the locks
 * of hugetlbfs, the folio's.  A helper needs none of them.  The thread function takes no
 * lock, allocates nothing, and touches nothing but the memory that is to be zeroed, which
 * nobody else may look at yet.
 */

#include <linux/align.h>
#include <linux/folio_zero.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/padata_mt.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>
#include <linux/sizes.h>
#include <linux/sysctl.h>
#include <linux/zero_user.h>

/* The least that a thread zeroes or copies: less costs as much as it gains. */
#define HUGE_PAGE_MIN_CHUNK	(SZ_512K / PAGE_SIZE)

/*
 * About a millisecond when eight threads do the same: 6.7 to 13 GB/s each (Emerald Rapids).  With
 * chunks of 4 MiB, two that zero past the cache may take as long as one.
 */
#define HUGE_PAGE_ZERO_CHUNK	(SZ_8M / PAGE_SIZE)

/*
 * Up to this size, a folio is zeroed at once, as all of it is then in the first-level cache
 * or just out of it.  In three parts, 16 KiB take 1.24 times as long (Emerald Rapids).
 */
#define FOLIO_ZERO_SMALL	(SZ_32K / PAGE_SIZE)

/* See Documentation/admin-guide/sysctl/vm.rst for both. */
static unsigned long huge_page_zero_threshold_kbytes __read_mostly;
static int huge_page_max_threads __read_mostly = 8;

/**
 * zero_user_pages_uncached - zero pages of a folio that are not used soon
 * @page: The first of them.
 * @addr: The user address that it is going to have, for caches that depend on it.
 * @nr: How many, at least one, and none past the end of the folio.
 *
 * As clear_user_highpages(), but the pages need not be in a cache afterwards.  An
 * architecture whose stores can bypass the cache overrides this.  When this returns, the
 * stores are ordered before those that publish the pages, just as plain stores are.
 *
 * Context: Any that clear_user_highpages() may be called from.
 */
void __weak zero_user_pages_uncached(struct page *page, unsigned long addr,
				     unsigned long nr)
{
	clear_user_highpages(page, addr, nr);
}

/*
 * The most pages of a folio that is touched and is zeroed through the cache.  An architecture
 * overrides this if zero_user_pages_uncached() is faster even for a folio that is used next.
 */
unsigned long __weak zero_user_pages_max_cached(void)
{
	return MAX_ORDER_NR_PAGES;
}

/*
 * The initial value of vm.huge_page_zero_threshold_kbytes.  An architecture that knows its CPUs
 * overrides it.  The default is between the sizes of huge pages that most systems have, 2 MiB
 * and 1 GiB: to wake a CPU from deep sleep takes as long as to zero the former.
 */
unsigned long __init __weak zero_user_pages_job_kbytes(void)
{
	return SZ_4M / SZ_1K;
}

/*
 * On a kernel that is not preemptible, extents are as long as it may go on without a chance to
 * reschedule.  On any other, one extent is best: some CPUs do not read what one instruction
 * overwrites if that is more than their cache holds.
 */
static int folio_zero_part(const struct huge_page_work *work, unsigned long start,
			   unsigned long end)
{
	unsigned long most = ULONG_MAX;

	if (!preempt_model_preemptible())
		most = work->cached ? PROCESS_PAGES_NON_PREEMPT_BATCH : HUGE_PAGE_EXTENT;
	while (start < end) {
		unsigned long addr = work->addr + start * PAGE_SIZE;
		struct page *page = folio_page(work->folio, start);
		unsigned long nr = min(end - start, most);

		if (work->cached)
			clear_user_highpages(page, addr, nr);
		else
			zero_user_pages_uncached(page, addr, nr);
		cond_resched();
		start += nr;
	}
	return 0;
}

/*
 * How many threads zero or copy pages for the current task, at most, the caller included.
 *
 * The only place that decides who has helpers there, and how many.  Less than two chunks cannot be
 * shared.  Kernel threads may work for a task whose limits do not apply to them.  No helper has
 * the priority of a realtime or deadline task.  How many threads saturate memory bandwidth
 * depends on the machine; the default of eight limits how many of the idle CPUs one page fault
 * takes.
 */
int huge_page_threads(unsigned long nr_pages, unsigned long threshold_kbytes)
{
	if (!IS_ENABLED(CONFIG_PADATA) || !threshold_kbytes ||
	    nr_pages < 2 * HUGE_PAGE_MIN_CHUNK ||
	    nr_pages * (PAGE_SIZE / SZ_1K) < threshold_kbytes)
		return 1;
	if ((current->flags & PF_KTHREAD) || rt_or_dl_task(current))
		return 1;
	return READ_ONCE(huge_page_max_threads);
}

/* All but the page that is left for the end. */
static void huge_page_chunk(unsigned long start, unsigned long end, void *arg)
{
	struct huge_page_work *work = arg;
	int err = 0;

	if (READ_ONCE(work->err))
		return;
	if (start <= work->last && work->last < end) {
		err = work->fn(work, work->last + 1, end);
		end = work->last;
	}
	if (!err)
		err = work->fn(work, start, end);
	if (err)
		WRITE_ONCE(work->err, err);
}

/**
 * huge_page_do - zero or copy a folio, the page that was touched last
 * @work: How.  That page always goes through the cache.
 * @threads: The most threads, from huge_page_threads().
 *
 * Context: Process context, may sleep.
 * Return: 0, or an error of @work->fn.  Chunks that no thread has begun by then are skipped.
 */
int huge_page_do(struct huge_page_work *work, int threads)
{
	unsigned long nr_pages = folio_nr_pages(work->folio);
	struct padata_mt_job job = {
		.thread_fn	= huge_page_chunk,
		.fn_arg		= work,
		.size		= nr_pages,
		.align		= HUGE_PAGE_MIN_CHUNK,
		.min_chunk	= HUGE_PAGE_MIN_CHUNK,
		.max_chunk	= work->max_chunk,
		.max_threads	= threads,
		.nid		= folio_nid(work->folio),
	};

	if (threads > 1)
		padata_do_multithreaded(&job);
	else
		huge_page_chunk(0, nr_pages, work);
	if (work->err || work->last == HUGE_PAGE_NO_PAGE)
		return work->err;

	work->cached = true;
	return work->fn(work, work->last, work->last + 1);
}

/* Past the cache are folios that are large, shared among threads, or not touched. */
static void folio_zero_do(struct folio *folio, unsigned long addr, unsigned long last)
{
	unsigned long nr_pages = folio_nr_pages(folio);
	int threads = huge_page_threads(nr_pages, READ_ONCE(huge_page_zero_threshold_kbytes));
	struct huge_page_work work = {
		.fn		= folio_zero_part,
		.folio		= folio,
		.addr		= addr,
		.last		= last,
		.max_chunk	= HUGE_PAGE_ZERO_CHUNK,
		.cached		= last != HUGE_PAGE_NO_PAGE && threads <= 1 &&
				  nr_pages <= zero_user_pages_max_cached(),
	};

	might_sleep();
	if (work.cached && nr_pages <= FOLIO_ZERO_SMALL)
		folio_zero_part(&work, 0, nr_pages);
	else
		huge_page_do(&work, threads);
}

/**
 * folio_zero_user - zero a folio which will be mapped to user space
 * @folio: The folio, whose contents nobody else can see yet.
 * @addr_hint: The user address that is going to be accessed, or that of the folio.
 *
 * The page at @addr_hint is zeroed last, by the caller, except in the smallest folios.  Folios
 * at or above vm.huge_page_zero_threshold_kbytes are zeroed with the help of other CPUs.
 *
 * Context: Process context, may sleep.
 */
void folio_zero_user(struct folio *folio, unsigned long addr_hint)
{
	unsigned long addr = ALIGN_DOWN(addr_hint, folio_size(folio));

	folio_zero_do(folio, addr, (addr_hint - addr) >> PAGE_SHIFT);
}

/**
 * folio_zero_user_uncached - zero a folio for user space which nobody is about to access
 * @folio: The folio, whose contents nobody else can see yet.
 * @addr: A user address that the folio may have, for caches that depend on it.
 *
 * As folio_zero_user(), but none of the folio need be in a cache afterwards.
 *
 * Context: Process context, may sleep.
 */
void folio_zero_user_uncached(struct folio *folio, unsigned long addr)
{
	folio_zero_do(folio, addr, HUGE_PAGE_NO_PAGE);
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
		.procname	= "huge_page_max_threads",
		.data		= &huge_page_max_threads,
		.maxlen		= sizeof(huge_page_max_threads),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_INT_MAX,
	},
};

static int __init folio_zero_init(void)
{
	huge_page_zero_threshold_kbytes = zero_user_pages_job_kbytes();
	register_sysctl_init("vm", folio_zero_sysctls);
	return 0;
}
subsys_initcall(folio_zero_init);
