// SPDX-License-Identifier: GPL-2.0-only
/*
 * gup_job.c - pin many user pages, on many threads where it pays
 *
 * When a device is assigned to a virtual machine, all memory of the machine is pinned before
 * it starts.  One CPU faults in, zeroes and pins page after page: tens of nanoseconds for
 * each 4 KiB page that is there, hundreds for one that is not.  So:
 *
 *  - What is as large as a threshold, or larger, is pinned by a multithreaded padata job, on
 *    behalf of the task and within its limits.  Helpers use its address space meanwhile, so
 *    what they fault in is charged to its memory cgroup, and they are on its node, as pages
 *    come from the node of who faults them in.
 *
 *  - Pages that are there, and are huge, are pinned by the caller alone, which is as fast.
 *
 *  - The job's caller does with the pages what it would do with those that it has pinned
 *    itself: it accounts for them, maps them, and undoes both.  At a page that cannot be
 *    pinned, it goes on by itself, and finds the error that there is.
 */

#include <linux/cgroup.h>
#include <linux/cleanup.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/folio_zero.h>
#include <linux/gup_job.h>
#include <linux/hugetlb.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/padata_mt.h>
#include <linux/pkeys.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/topology.h>

/*
 * Of one array, and so of one job: the pages of 256 MiB, if they are small.  The caller does
 * not look for signals, nor lets others run, for each of them.
 */
#define GUP_JOB_MAX_LEN		SZ_512K

/*
 * A thread holds mmap_lock for no longer than it takes to fault in so much, or one huge page.
 * Who waits to write waits for the slowest thread.
 */
#define GUP_JOB_STEP		(SZ_512K / PAGE_SIZE)

/* Of the job: a quarter of a millisecond for pages that have to be zeroed. */
#define GUP_JOB_CHUNK		(SZ_2M / PAGE_SIZE)

/* See Documentation/admin-guide/sysctl/vm.rst. */
static unsigned long pin_pages_threshold_kbytes __read_mostly = SZ_32M / SZ_1K;

/* What is to be pinned.  The job's units are pages of the address space. */
struct gup_job {
	struct mm_struct	*mm;
	unsigned long		first;		/* the first unit */
	unsigned long		nr_pages;
	unsigned int		gup_flags;
	struct page		**pages;
	struct padata_mt_job	job;
};

/*
 * The thread function.  The caller holds on to the address space.  Where pages cannot be
 * pinned, their places in the array are emptied: GUP may have left some in them.
 */
static void gup_job_fn(unsigned long start, unsigned long end, void *arg)
{
	struct gup_job *gup = arg;
	bool helper = current->mm != gup->mm;
	struct page **pages;
	long nr;

	if (helper)
		kthread_use_mm(gup->mm);
	for (; start < end; start += nr) {
		pages = gup->pages + (start - gup->first);
		nr = pin_user_pages_fast(start * PAGE_SIZE, min(end - start, GUP_JOB_STEP),
					 gup->gup_flags, pages);
		if (nr <= 0) {
			memset(pages, 0, (end - start) * sizeof(*pages));
			padata_mt_fail(&gup->job, nr ?: -EFAULT);
			break;
		}
		cond_resched();
	}
	if (helper)
		kthread_unuse_mm(gup->mm);
}

/*
 * Keep the pages up to the first that is missing, and return how many.  A task that is killed
 * keeps none: it would map them first.
 */
static long gup_job_keep(const struct gup_job *gup)
{
	unsigned long nr = 0, i;

	if (!fatal_signal_pending(current)) {
		while (nr < gup->nr_pages && gup->pages[nr])
			nr++;
	}
	for (i = nr; i < gup->nr_pages; i++) {
		if (gup->pages[i])
			unpin_user_page(gup->pages[i]);
		cond_resched();
	}
	return nr;
}

#ifdef CONFIG_CGROUP_HUGETLB
static bool gup_job_has_hugetlb_cgroup(void)
{
	guard(rcu)();
	return !task_css_is_root(current, hugetlb_cgrp_id);
}
#else
static bool gup_job_has_hugetlb_cgroup(void)
{
	return false;
}
#endif

#ifdef CONFIG_MEMCG
static bool gup_job_memcg_has_hugetlb(void)
{
	return cgrp_dfl_root.flags & CGRP_ROOT_MEMORY_HUGETLB_ACCOUNTING;
}
#else
static bool gup_job_memcg_has_hugetlb(void)
{
	return false;
}
#endif

/*
 * Pages of devices cannot be pinned.  Huge pages of hugetlb are charged to the cgroups of the
 * thread that faults them in, which must not be a helper; and those larger than a chunk are
 * zeroed by a job.  Helpers have no rights to what a protection key protects.
 */
static bool gup_job_fits_vma(struct vm_area_struct *vma)
{
	if ((vma->vm_flags & (VM_IO | VM_PFNMAP)) || vma_pkey(vma))
		return false;
	if (!is_vm_hugetlb_page(vma))
		return true;
	return vma_kernel_pagesize(vma) <= GUP_JOB_CHUNK * PAGE_SIZE &&
	       !gup_job_has_hugetlb_cgroup() && !gup_job_memcg_has_hugetlb();
}

/* Whether all of the range is mapped, and may be faulted in by helpers. */
static bool gup_job_fits(const struct gup_job *gup)
{
	unsigned long next = untagged_addr(gup->first * PAGE_SIZE);
	unsigned long end = next + gup->nr_pages * PAGE_SIZE;
	struct vm_area_struct *vma;
	struct vma_iterator vmi;

	/* Several threads would fault in the same huge page. */
	if (IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) && PMD_SIZE > GUP_JOB_CHUNK * PAGE_SIZE)
		return false;
	if (mmap_read_lock_killable(gup->mm))
		return false;
	vma_iter_init(&vmi, gup->mm, next);
	for_each_vma_range(vmi, vma, end) {
		if (vma->vm_start > next || !gup_job_fits_vma(vma))
			break;
		next = vma->vm_end;
	}
	mmap_read_unlock(gup->mm);
	return next >= end;
}

/* Whether a page is there, and is part of a huge one, so that the next ones probably are, too. */
static bool gup_job_is_huge(const struct gup_job *gup, unsigned long addr)
{
	unsigned int gup_flags = (gup->gup_flags & FOLL_WRITE) | FOLL_NOFAULT;
	struct page *page;
	bool huge;

	if (pin_user_pages_fast(addr, 1, gup_flags, &page) != 1)
		return false;
	huge = folio_nr_pages(page_folio(page)) >= GUP_JOB_CHUNK;
	unpin_user_page(page);
	return huge;
}

/* Memory may have been touched at one end only, so the middle and the end are looked at. */
static bool gup_job_pays(const struct gup_job *gup)
{
	unsigned long last = gup->first + gup->nr_pages - 1;

	return !gup_job_is_huge(gup, (last - gup->nr_pages / 2) * PAGE_SIZE) ||
	       !gup_job_is_huge(gup, last * PAGE_SIZE);
}

static int gup_job_threads(unsigned long nr_pages)
{
	return huge_page_threads(nr_pages, READ_ONCE(pin_pages_threshold_kbytes));
}

/**
 * pin_job_array - allocate an array for pin_user_pages_job()
 * @len: Its size in bytes for all pages that are to be pinned, and then that of the array
 *	 which was allocated, with which all of them can be pinned by several jobs.
 *
 * Context: Process context, may sleep.
 * Return: The array, which is freed by kvfree(); %NULL if the current task would have no help
 * for so many pages, or if there is no memory for it.
 */
struct page **pin_job_array(size_t *len)
{
	size_t max_len = min(*len, GUP_JOB_MAX_LEN);
	struct page **pages;

	if (gup_job_threads(max_len / sizeof(*pages)) <= 1)
		return NULL;
	/* It is not worth an out-of-memory kill. */
	pages = kvmalloc(max_len, GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (pages)
		*len = max_len;
	return pages;
}
EXPORT_SYMBOL_GPL(pin_job_array);

/**
 * pin_user_pages_job - pin many user pages, with helpers
 * @mm: The address space.
 * @addr: The address of the first page.
 * @nr_pages: How many.
 * @gup_flags: As for pin_user_pages_fast().
 * @pages: Where the pages go.
 *
 * As pin_user_pages_fast(), if the current task may have helpers for so many pages.  The
 * pages are the same as without helpers, in the same order.
 *
 * Context: Process context, may sleep.  The caller must not hold mmap_lock, which helpers
 * take, or any lock that a page fault takes.
 * Return: How many pages were pinned.  Less than @nr_pages if there is no job for them, if one
 * of them cannot be pinned, or if the task is killed: the caller has to pin the next one by
 * itself to know, and should not ask for a job again.
 */
long pin_user_pages_job(struct mm_struct *mm, unsigned long addr, unsigned long nr_pages,
			unsigned int gup_flags, struct page **pages)
{
	int threads = gup_job_threads(nr_pages);
	struct gup_job gup;

	might_sleep();
	if (current->mm != mm || threads <= 1)
		return 0;

	gup = (struct gup_job) {
		.mm		= mm,
		.first		= addr / PAGE_SIZE,
		.nr_pages	= nr_pages,
		.gup_flags	= gup_flags,
		.pages		= pages,
		.job = {
			.thread_fn	= gup_job_fn,
			.fn_arg		= &gup,
			.start		= addr / PAGE_SIZE,
			.size		= nr_pages,
			.align		= GUP_JOB_CHUNK,
			.min_chunk	= GUP_JOB_CHUNK,
			.max_chunk	= GUP_JOB_CHUNK,
			.cpumask	= cpumask_of_node(numa_node_id()),
			.max_threads	= threads,
			.killable	= true,
			.locks		= true,
		},
	};
	if (!gup_job_fits(&gup))
		return 0;
	if (!gup_job_pays(&gup))
		gup.job.max_threads = 1;

	memset(pages, 0, nr_pages * sizeof(*pages));
	if (padata_do_multithreaded(&gup.job))
		return gup_job_keep(&gup);
	return nr_pages;
}
EXPORT_SYMBOL_GPL(pin_user_pages_job);

static struct ctl_table gup_job_sysctls[] = {
	{
		.procname	= "pin_pages_threshold_kbytes",
		.data		= &pin_pages_threshold_kbytes,
		.maxlen		= sizeof(pin_pages_threshold_kbytes),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
};

static int __init gup_job_init(void)
{
	register_sysctl_init("vm", gup_job_sysctls);
	return 0;
}
subsys_initcall(gup_job_init);
