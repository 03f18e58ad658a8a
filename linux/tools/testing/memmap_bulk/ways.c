// SPDX-License-Identifier: GPL-2.0-only
/*
 * ways.c - how a zone's pages are initialised and freed: before, and by the run
 *
 * Stock's way is written out from what Linux 6.12 does in mm/mm_init.c and
 * kernel/padata.c.  Its helpers are threads that exist already, like ours: what
 * it takes to start them is not compared here.
 */

#include <linux/padata.h>

#include "memmap_bench.h"

#define BENCH_ZONE	2	/* ZONE_NORMAL */
#define BENCH_NODE	0

static struct cpumask all_cpus(unsigned int threads)
{
	return (struct cpumask){ ~0UL >> (64 - threads) };
}

/* Stock */

/* deferred_init_maxorder(): a block is initialised, and freed from the cache. */
static void stock_init_block(unsigned long pfn)
{
	struct page *page = pfn_to_page(pfn);
	unsigned long i;

	for (i = 0; i < MAX_ORDER_NR_PAGES; i++)
		__init_single_page(page + i, pfn + i, BENCH_ZONE, BENCH_NODE);

	for (i = 0; i < MAX_ORDER_NR_PAGES; i += pageblock_nr_pages)
		set_pageblock_migratetype(page + i, MIGRATE_MOVABLE);
	__free_pages_core(page, MAX_PAGE_ORDER, MEMINIT_EARLY);
}

/* A job, in chunks of one size. */
struct stock_job {
	pthread_mutex_t		lock;		/* this and all up to nr_done */
	unsigned long		start;
	unsigned long		size;
	unsigned int		nr_done;

	unsigned long		chunk;
	unsigned int		nr_helpers;
	struct completion	done;
};

struct stock_helper {
	struct work_struct	work;
	struct stock_job	*job;
};

static bool stock_claim(struct stock_job *job, unsigned long *start,
			unsigned long *end)
{
	unsigned long size;

	pthread_mutex_lock(&job->lock);
	size = min(job->chunk, job->size);
	*start = job->start;
	*end = *start + size;
	job->start = *end;
	job->size -= size;
	pthread_mutex_unlock(&job->lock);

	return size;
}

static void stock_work(struct stock_job *job)
{
	unsigned long start, end;

	while (stock_claim(job, &start, &end)) {
		for (; start < end; start += MAX_ORDER_NR_PAGES)
			stock_init_block(start);
	}
}

static void stock_help(struct work_struct *work)
{
	struct stock_job *job = container_of(work, struct stock_helper, work)->job;
	bool last;

	stock_work(job);

	pthread_mutex_lock(&job->lock);
	last = ++job->nr_done == job->nr_helpers;
	pthread_mutex_unlock(&job->lock);
	if (last)
		complete(&job->done);
}

unsigned int stock_init(unsigned long nr_pages, unsigned int threads)
{
	struct stock_helper helpers[SHIM_NR_CPUS];
	struct stock_job job = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.size = nr_pages,
		.nr_helpers = threads - 1,
	};
	struct workqueue_struct *wq = alloc_workqueue("stock", 0, 0);
	unsigned int i;

	/* One thread has all of it as one chunk. */
	job.chunk = threads == 1 ? nr_pages :
		    ALIGN(max(nr_pages / (threads * 4), PAGES_PER_SECTION),
			  PAGES_PER_SECTION);
	init_completion(&job.done);
	for (i = 0; i < job.nr_helpers; i++) {
		helpers[i].job = &job;
		INIT_WORK(&helpers[i].work, stock_help);
		queue_work_on(i + 1, wq, &helpers[i].work);
	}

	stock_work(&job);
	if (job.nr_helpers)
		wait_for_completion(&job.done);
	return threads;
}

/* By the run */

typedef void (*init_pages_fn)(unsigned long pfn, unsigned long end_pfn,
			      unsigned long zone, int nid,
			      enum memmap_state state);

/* deferred_init_section(), without memblock. */
static void bulk_init_chunk(unsigned long start, unsigned long end, void *arg)
{
	init_pages_fn init_pages = *(init_pages_fn *)arg;
	unsigned long next;

	for (; start < end; start = next) {
		next = memmap_run_end(start, end);
		init_pages(start, next, BENCH_ZONE, BENCH_NODE, MEMMAP_FREE);
		memmap_init_pageblocks(start, next, MIGRATE_MOVABLE);
		memmap_free_pages(start, next);
	}
}

static unsigned int bulk_run(unsigned long nr_pages, unsigned int threads,
			     init_pages_fn init_pages)
{
	struct cpumask cpus = all_cpus(threads);
	struct padata_mt_job job = {
		.thread_fn   = bulk_init_chunk,
		.fn_arg	     = &init_pages,
		.size	     = nr_pages,
		.align	     = PAGES_PER_SECTION,
		.min_chunk   = PAGES_PER_SECTION,
		.max_threads = threads,
		.cpumask     = &cpus,
	};

	if (padata_do_multithreaded(&job))
		shim_bug("the engine refuses the job");
	return job.nr_ran;
}

unsigned int bulk_init(unsigned long nr_pages, unsigned int threads)
{
	return bulk_run(nr_pages, threads, memmap_init_pages);
}

unsigned int plain_init(unsigned long nr_pages, unsigned int threads)
{
	return bulk_run(nr_pages, threads, plain_memmap_init_pages);
}
