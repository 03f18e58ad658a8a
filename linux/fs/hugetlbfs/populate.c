// SPDX-License-Identifier: GPL-2.0-only
/*
 * populate.c - allocate the huge pages of a range of a file, and zero several at once
 *
 * A page of 2 MiB is too small for many threads, but a range of them is not.  So the
 * pages of a range are allocated in batches.  Each batch is zeroed by one job for each
 * node that it has pages on, and then its pages are added to the page cache.
 *
 * As in a page fault, the fault mutex of a page's index is held from before the page is
 * allocated until it is in the page cache.  It cannot be dropped in between: a fault
 * that finds no page at the index allocates one, too.  Then two pages have been taken for
 * the one that was reserved, and until one of them is freed, another task may find the
 * pool empty and get a SIGBUS.  Nor can pages be added to the page cache, locked and not
 * up to date, before they are zeroed: a fault would find the page, and wait for its lock
 * with the fault mutex and the VMA's lock held.
 *
 * So the mutexes of all pages of a batch are held until it is done.  A fault at one of
 * the pages waits for the mutex with no lock of hugetlbfs held, only mmap_lock or the
 * VMA's, just as when pages are zeroed one by one.  Indexes share mutexes by a hash,
 * so faults in other files may have to wait, too.  This is limited:
 *
 *  - There are at least eight mutexes for each CPU.  A batch has no more pages than
 *    there are CPUs, so it holds one mutex in eight, at most.  Each task that is in
 *    fallocate() at the same time has a batch of its own.
 *
 *  - A batch has as many pages as can be zeroed in HUGETLBFS_BATCH_NS at the rate of the
 *    batch before, but no fewer than make up a job.
 *
 *  - Without a job nothing is gained, so a batch is a single page unless helpers are
 *    allowed and there is an idle CPU for one.
 *
 *  - No huge page is allocated with the mutexes of others held if that might have to
 *    reclaim or compact memory.  Allocations of what hugetlb and the page cache keep
 *    about each page still may, as may any small allocation.
 *
 * A task that does not get to run keeps the mutexes until it does, as it would keep that
 * of a single page.  So does one that waits for a helper whose CPU a realtime task has
 * taken in the middle of a chunk.
 *
 * No task waits for a mutex with another one held, so there is no deadlock: if the mutex
 * of the next page is taken, the batch is finished first.
 */

#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/cpuset.h>
#include <linux/err.h>
#include <linux/folio_zero.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/page-flags.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/smp.h>
#include <linux/time64.h>

#include "populate.h"

/* 4 MiB for each of 8 threads.  Lockdep can cope with 48 locks held by a task. */
#define HUGETLBFS_BATCH_PAGES	16U
#define HUGETLBFS_BATCH_SIZE	((unsigned long)SZ_32M)

/* How long a fault may have to wait, where zeroing 2 MiB takes 0.1 to 0.2 ms. */
#define HUGETLBFS_BATCH_NS	(2 * NSEC_PER_MSEC)

struct hugetlbfs_page {
	struct folio		*folio;
	pgoff_t			index;
	struct mutex		*mutex;		/* NULL: an earlier page has it */
};

struct hugetlbfs_batch {
	struct hstate		*h;
	struct address_space	*mapping;
	struct vm_area_struct	*pseudo_vma;

	struct hugetlbfs_page	pages[HUGETLBFS_BATCH_PAGES];
	unsigned int		nr;
	unsigned int		max;		/* most pages, set for the first */
	u64			began;		/* when the first mutex was taken */

	unsigned int		rate;		/* pages zeroed in HUGETLBFS_BATCH_NS */
	unsigned long		busy;		/* jiffies, when no CPU was idle */
};

/* A hint: the job looks for idle CPUs itself. */
static bool hugetlbfs_other_cpu_is_idle(void)
{
	int this_cpu = raw_smp_processor_id();
	int cpu;

	for_each_cpu_and(cpu, current->cpus_ptr, cpu_online_mask) {
		if (cpu != this_cpu && available_idle_cpu(cpu))
			return true;
	}
	return false;
}

/*
 * How many pages the next batch may have.  If all CPUs are busy, finding that out takes
 * a while on a machine with many of them, so it is done once in a tick.
 */
static unsigned int hugetlbfs_batch_max(struct hugetlbfs_batch *batch)
{
	unsigned long most = min3(HUGETLBFS_BATCH_PAGES, num_possible_cpus(),
				  HUGETLBFS_BATCH_SIZE >> huge_page_shift(batch->h));
	unsigned long job_pages = folio_zero_job_pages();

	if (!most || job_pages > most << huge_page_order(batch->h) ||
	    time_before_eq(jiffies, batch->busy))
		return 1;

	if (!hugetlbfs_other_cpu_is_idle()) {
		batch->busy = jiffies;
		return 1;
	}
	return clamp(batch->rate, DIV_ROUND_UP(job_pages, pages_per_huge_page(batch->h)),
		     most);
}

#ifdef CONFIG_MEMCG
static bool hugetlbfs_charges_memcg(void)
{
	return cgrp_dfl_root.flags & CGRP_ROOT_MEMORY_HUGETLB_ACCOUNTING;
}
#else
static bool hugetlbfs_charges_memcg(void)
{
	return false;
}
#endif

#ifdef CONFIG_NUMA
static bool hugetlbfs_has_mempolicy(void)
{
	return current->mempolicy;
}
#else
static bool hugetlbfs_has_mempolicy(void)
{
	return false;
}
#endif

/*
 * Whether the next page may have to come from the page allocator, or its charge may have
 * to reclaim memory.  Not if the pool has a page, or may not grow.  The numbers may
 * change at any moment: at worst, one page is then waited for.
 */
static bool hugetlbfs_allocation_may_wait(const struct hstate *h)
{
	unsigned long free = 0;
	int nid;

	if (hugetlbfs_charges_memcg())
		return true;
	if (READ_ONCE(h->surplus_huge_pages) >= READ_ONCE(h->nr_overcommit_huge_pages))
		return false;
	/* The policy may only allow nodes that have no page left. */
	if (hugetlbfs_has_mempolicy())
		return true;
	for_each_node_mask(nid, cpuset_current_mems_allowed)
		free += READ_ONCE(h->free_huge_pages_node[nid]);
	return free <= READ_ONCE(h->resv_huge_pages);
}

static bool hugetlbfs_batch_is_due(const struct hugetlbfs_batch *batch)
{
	return batch->nr == batch->max || hugetlbfs_allocation_may_wait(batch->h) ||
	       ktime_get_ns() - batch->began > HUGETLBFS_BATCH_NS;
}

static void hugetlbfs_batch_zero(struct hugetlbfs_batch *batch)
{
	struct folio *folios[HUGETLBFS_BATCH_PAGES];
	u64 ns = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < batch->nr; i++)
		folios[i] = batch->pages[i].folio;
	folios_zero_user(folios, batch->nr);

	ns = ktime_get_ns() - ns;
	batch->rate = min(div64_u64(batch->nr * HUGETLBFS_BATCH_NS, max(ns, 1)),
			  HUGETLBFS_BATCH_PAGES);
}

/* Called with the mutex of the page's index held, since before it was allocated. */
static int hugetlbfs_add_page(struct hugetlbfs_batch *batch,
			      const struct hugetlbfs_page *page)
{
	struct folio *folio = page->folio;
	int error;

	__folio_mark_uptodate(folio);

	/* Locks the folio. */
	error = hugetlb_add_to_page_cache(folio, batch->mapping, page->index);
	if (error) {
		restore_reserve_on_error(batch->h, batch->pseudo_vma,
					 page->index << huge_page_shift(batch->h), folio);
	} else {
		folio_set_hugetlb_migratable(folio);
		folio_unlock(folio);
	}
	/* The page cache has a reference of its own. */
	folio_put(folio);
	return error;
}

/*
 * Zero the pages of the batch, add them to the file and release all mutexes: each as soon
 * as its pages are in the page cache, as adding a page may have to reclaim memory.  The
 * last page goes first: of pages that share a mutex, the first one has it.
 */
static int hugetlbfs_batch_finish(struct hugetlbfs_batch *batch)
{
	unsigned int i;
	int error = 0;

	if (!batch->nr)
		return 0;

	hugetlbfs_batch_zero(batch);
	for (i = batch->nr; i--; ) {
		error = hugetlbfs_add_page(batch, &batch->pages[i]) ?: error;
		if (batch->pages[i].mutex)
			mutex_unlock(batch->pages[i].mutex);
	}
	batch->nr = 0;
	return error;
}

static bool hugetlbfs_batch_has_mutex(const struct hugetlbfs_batch *batch,
				      const struct mutex *mutex)
{
	unsigned int i;

	for (i = 0; i < batch->nr; i++) {
		if (batch->pages[i].mutex == mutex)
			return true;
	}
	return false;
}

/*
 * Take the mutex of the next page.  *held is NULL if the batch has it already.  If the
 * mutex has to be waited for, the batch is finished first.
 */
static int hugetlbfs_batch_lock(struct hugetlbfs_batch *batch, struct mutex *mutex,
				struct mutex **held)
{
	int error = 0;

	*held = mutex;
	if (batch->nr && hugetlbfs_batch_is_due(batch))
		error = hugetlbfs_batch_finish(batch);
	if (hugetlbfs_batch_has_mutex(batch, mutex)) {
		*held = NULL;
	} else if (!mutex_trylock(mutex)) {
		error = hugetlbfs_batch_finish(batch) ?: error;
		mutex_lock(mutex);
	}
	return error;
}

/*
 * Called with the mutex of @index held.  Only the task's memory policy applies, as there
 * is no address.  avoid_reserve is not set, as shared mappings of the file may have
 * reserved what is allocated here.
 *
 * Return: 1 if the page is part of the batch now, 0 if the file has it already.
 */
static int hugetlbfs_batch_add(struct hugetlbfs_batch *batch, pgoff_t index,
			       struct mutex *held)
{
	struct hstate *h = batch->h;
	struct folio *folio;

	folio = filemap_get_folio(batch->mapping, index << huge_page_order(h));
	if (!IS_ERR(folio)) {
		folio_put(folio);
		return 0;
	}

	if (!batch->nr) {
		batch->began = ktime_get_ns();
		batch->max = hugetlbfs_batch_max(batch);
	}
	folio = alloc_hugetlb_folio(batch->pseudo_vma, index << huge_page_shift(h), false);
	if (IS_ERR(folio))
		return PTR_ERR(folio);

	batch->pages[batch->nr++] = (struct hugetlbfs_page){ folio, index, held };
	return 1;
}

static int hugetlbfs_populate_one(struct hugetlbfs_batch *batch, pgoff_t index)
{
	u32 hash = hugetlb_fault_mutex_hash(batch->mapping, index);
	struct mutex *held = NULL;
	int error, ret;

	error = hugetlbfs_batch_lock(batch, &hugetlb_fault_mutex_table[hash], &held);
	ret = error ?: hugetlbfs_batch_add(batch, index, held);
	if (ret <= 0 && held)
		mutex_unlock(held);
	return min(ret, 0);
}

/**
 * hugetlbfs_populate - make sure that a file has all pages of a range
 * @file: A file of hugetlbfs.
 * @pseudo_vma: What alloc_hugetlb_folio() is to take for the VMA.
 * @start: First page of the range, in huge pages from the start of the file.
 * @end: The page after the last.
 *
 * Context: Process context, with the inode locked: no page is taken out of the file
 * meanwhile, and no new mapping reserves any.  Faults, and memfd_pin_folios(), go on at
 * indexes other than those whose mutexes are held.
 * Return: 0, %-EINTR for a signal, or why a page could not be allocated or added.
 * Pages that were added before stay in the file.
 */
int hugetlbfs_populate(struct file *file, struct vm_area_struct *pseudo_vma,
		       pgoff_t start, pgoff_t end)
{
	struct hugetlbfs_batch batch = {
		.h		= hstate_file(file),
		.mapping	= file->f_mapping,
		.pseudo_vma	= pseudo_vma,
		.rate		= 1,
		.busy		= jiffies - 1,
	};
	int error = 0, last;

	for (; start < end && !error; start++) {
		cond_resched();
		if (signal_pending(current)) {
			error = -EINTR;
			break;
		}
		error = hugetlbfs_populate_one(&batch, start);
	}
	last = hugetlbfs_batch_finish(&batch);
	return last ?: error;
}
