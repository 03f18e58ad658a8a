// SPDX-License-Identifier: GPL-2.0-only
/*
 * folio_zero.c - zero huge pages for user space, on many threads where it pays
 *
 * A huge page is zeroed when it is first touched, or allocated for a file, by the
 * task that wants it.  One CPU takes a tenth to a quarter of a second for 1 GiB.
 * So:
 *
 *  - What is contiguous is zeroed in extents, one call for many pages, where the
 *    architecture has something better than to go page by page.
 *
 *  - Folios at or above a threshold are zeroed by a multithreaded padata job, on
 *    behalf of the task: helpers use idle CPUs that the task may use, and pay with
 *    its CPU bandwidth.
 *
 *  - The page that was touched comes last and is zeroed by the task itself, so that
 *    it finds it in its cache; without a job, also what comes after that page.
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
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/padata.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>
#include <linux/sizes.h>
#include <linux/sysctl.h>

/*
 * At most this much without a chance to reschedule: 25 us at 10 GB/s.  Extents of
 * 64 KiB to 32 MiB are within 3 % of each other.
 */
#define FOLIO_ZERO_EXTENT	(SZ_256K / PAGE_SIZE)

/*
 * Chunks of the job: below the first, a chunk costs as much as it gains; at the
 * second, a helper that has to leave has half a millisecond to go.
 */
#define FOLIO_ZERO_MIN_CHUNK	(SZ_512K / PAGE_SIZE)
#define FOLIO_ZERO_MAX_CHUNK	(SZ_4M / PAGE_SIZE)

#define FOLIO_ZERO_NO_PAGE	ULONG_MAX

/* See Documentation/admin-guide/sysctl/vm.rst for both. */
static unsigned long folio_zero_threshold_kb __read_mostly = SZ_4M / SZ_1K;
static unsigned int folio_zero_max_threads __read_mostly = 8;

/* What is to be zeroed: folios of one size, the pages of all of them in a row. */
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
 * @addr: The user address that it is going to have, if the cache is to know.
 * @nr: How many, none of them past the end of the folio.
 *
 * An architecture that can zero many pages at once has its own.
 *
 * Context: Any that clear_user_highpage() may be called from.
 */
void __weak zero_user_pages(struct page *page, unsigned long addr, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		clear_user_highpage(nth_page(page, i), addr + i * PAGE_SIZE);
}

static void folio_zero_pages(const struct folio_zero *fz, unsigned long start,
			     unsigned long nr)
{
	struct folio *folio = fz->folios[start >> fz->order];
	unsigned long in_folio = start & (BIT(fz->order) - 1);

	zero_user_pages(folio_page(folio, in_folio), fz->addr + start * PAGE_SIZE, nr);
}

/* Where the extent ends that begins at @start: with its folio at the latest. */
static unsigned long folio_zero_extent_end(const struct folio_zero *fz,
					   unsigned long start, unsigned long end)
{
	unsigned long most = min(BIT(fz->order), FOLIO_ZERO_EXTENT);

	end = min(end, ALIGN_DOWN(start, most) + most);
	if (start < fz->last && fz->last < end)
		end = fz->last;
	return end;
}

/* The thread function.  It is also called without a job. */
static void folio_zero_fn(unsigned long start, unsigned long end, void *arg)
{
	const struct folio_zero *fz = arg;

	while (start < end) {
		unsigned long to = folio_zero_extent_end(fz, start, end);

		if (start == fz->last)
			to = start + 1;
		else
			folio_zero_pages(fz, start, to - start);
		start = to;
		cond_resched();
	}
}

/*
 * Without a job.  The task is likely to go on from the page that it touched, so what
 * is before that comes first, then the rest from its end on, and the extent of the
 * page last: what is next is in the cache.
 */
static void folio_zero_towards_last(struct folio_zero *fz)
{
	unsigned long extent = min(fz->nr_pages, FOLIO_ZERO_EXTENT);
	unsigned long target = ALIGN_DOWN(fz->last, extent);
	unsigned long start = fz->nr_pages;

	folio_zero_fn(0, target, fz);
	while (start > target) {
		start -= extent;
		folio_zero_fn(start, start + extent, fz);
	}
}

static bool folio_zero_pays(const struct folio_zero *fz)
{
	unsigned long threshold_kb = READ_ONCE(folio_zero_threshold_kb);

	return threshold_kb &&
	       fz->nr_pages >= DIV_ROUND_UP(threshold_kb, PAGE_SIZE / SZ_1K);
}

/*
 * Not for kernel threads, which may fault in the memory of a task whose limits they
 * do not have, nor for tasks of a priority that helpers cannot be raised to.
 */
static int folio_zero_threads(void)
{
	if (current->flags & PF_KTHREAD || rt_or_dl_task(current))
		return 1;
	return READ_ONCE(folio_zero_max_threads);
}

/**
 * folio_zero_may_have_helpers - may folios that the current task zeroes have helpers?
 *
 * Return: false if it makes no difference how many are zeroed at once.
 */
bool folio_zero_may_have_helpers(void)
{
	return IS_ENABLED(CONFIG_PADATA) && READ_ONCE(folio_zero_threshold_kb) &&
	       folio_zero_threads() > 1;
}

/* Near the first folio: all of them, unless the task's policy spreads them. */
static void folio_zero_do(struct folio_zero *fz)
{
	struct padata_mt_job job = {
		.thread_fn	= folio_zero_fn,
		.fn_arg		= fz,
		.size		= fz->nr_pages,
		.align		= FOLIO_ZERO_MIN_CHUNK,
		.min_chunk	= FOLIO_ZERO_MIN_CHUNK,
		.max_chunk	= FOLIO_ZERO_MAX_CHUNK,
		.max_threads	= folio_zero_threads(),
		.nid		= folio_nid(fz->folios[0]),
		.near_nid	= true,
	};

	if (job.max_threads > 1 && folio_zero_pays(fz))
		padata_do_multithreaded(&job);
	else if (fz->last != FOLIO_ZERO_NO_PAGE)
		folio_zero_towards_last(fz);
	else
		folio_zero_fn(0, fz->nr_pages, fz);

	if (fz->last != FOLIO_ZERO_NO_PAGE)
		folio_zero_pages(fz, fz->last, 1);
}

/**
 * folio_zero_user - zero a folio which will be mapped to user space
 * @folio: The folio, which nobody else can see the contents of yet.
 * @addr_hint: The user address that is going to be accessed, or that of the folio.
 *
 * The page at @addr_hint is zeroed last, by the caller.  Folios at or above
 * vm.folio_zero_threshold_kb are zeroed with the help of other CPUs.
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
 * folios_zero_user - zero folios, as one job
 * @folios: Folios of the same size, which nobody else can see the contents of yet.
 * @nr: How many, at least one.
 *
 * As folio_zero_user(), for folios that nobody is about to access.
 *
 * Context: Process context, may sleep.
 */
void folios_zero_user(struct folio **folios, unsigned int nr)
{
	struct folio_zero fz = {
		.folios		= folios,
		.order		= folio_order(folios[0]),
		.nr_pages	= (unsigned long)nr << folio_order(folios[0]),
		.last		= FOLIO_ZERO_NO_PAGE,
	};

	might_sleep();
	folio_zero_do(&fz);
}

static struct ctl_table folio_zero_sysctls[] = {
	{
		.procname	= "folio_zero_threshold_kb",
		.data		= &folio_zero_threshold_kb,
		.maxlen		= sizeof(folio_zero_threshold_kb),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
	{
		.procname	= "folio_zero_max_threads",
		.data		= &folio_zero_max_threads,
		.maxlen		= sizeof(folio_zero_max_threads),
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
