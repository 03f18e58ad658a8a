// SPDX-License-Identifier: GPL-2.0-only
/*
 * ways.c - how struct pages are initialised and what the kernel then does with them,
 * before and in bulk; and how fast memory takes the same number of bytes
 *
 * Stock's way reproduces what Linux does in mm/mm_init.c and kernel/padata.c.
 * Its helpers are threads that exist already, like ours: the cost of starting them
 * is not compared here.
 */

#include <linux/padata_mt.h>

#include "../padata/x86_cpu.h"
#include "memmap_bench.h"

/* Stock */

/* deferred_init_memmap(): a block is initialised, and freed while in the cache. */
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

/* A job with chunks of one size. */
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

	/* A single thread gets everything as one chunk. */
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

/* In bulk, run by run */

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
		free_new_pages(&shim_zone, start, next, true);
	}
}

/* Counts the threads that get a chunk. */
struct counted {
	void (*fn)(unsigned long start, unsigned long end, void *arg);
	void			*arg;
	unsigned int		job;
	unsigned int		ran;
};

static void count_and_do(unsigned long start, unsigned long end, void *arg)
{
	static __thread unsigned int last_job;
	struct counted *counted = arg;

	if (last_job != counted->job)
		__atomic_add_fetch(&counted->ran, 1, __ATOMIC_RELAXED);
	last_job = counted->job;
	counted->fn(start, end, counted->arg);
}

/* The first @threads CPUs work. */
static unsigned int run_job(unsigned long nr_pages, unsigned int threads,
			    void (*fn)(unsigned long start, unsigned long end, void *arg),
			    void *arg)
{
	static unsigned int nr_jobs;
	struct counted counted = { .fn = fn, .arg = arg, .job = ++nr_jobs };
	struct padata_mt_job job = {
		.thread_fn   = count_and_do,
		.fn_arg	     = &counted,
		.size	     = nr_pages,
		.align	     = PAGES_PER_SECTION,
		.min_chunk   = PAGES_PER_SECTION,
		.max_threads = threads,
	};

	if (padata_do_multithreaded(&job) < 0)
		shim_bug("the engine refuses the job");
	return counted.ran;
}

unsigned int bulk_init(unsigned long nr_pages, unsigned int threads)
{
	init_pages_fn init_pages = memmap_init_pages;

	return run_job(nr_pages, threads, bulk_init_chunk, &init_pages);
}

unsigned int plain_init(unsigned long nr_pages, unsigned int threads)
{
	init_pages_fn init_pages = plain_memmap_init_pages;

	return run_job(nr_pages, threads, bulk_init_chunk, &init_pages);
}

/*
 * The limit: no cache line is read, and none is written with zeros.  A loop that is not
 * unrolled would take longer than the memory.
 */
static __always_inline void limit_store(unsigned long *word)
{
	asm volatile("movnti %1, %0" : "=m" (*word) : "r" (~0UL));
}

static void limit_chunk(unsigned long start, unsigned long end, void *arg)
{
	unsigned long *word = (unsigned long *)pfn_to_page(start);
	unsigned long *last = (unsigned long *)pfn_to_page(end);

	for (; word < last; word += 8) {
		limit_store(word);
		limit_store(word + 1);
		limit_store(word + 2);
		limit_store(word + 3);
		limit_store(word + 4);
		limit_store(word + 5);
		limit_store(word + 6);
		limit_store(word + 7);
	}

	/* All of them count. */
	wmb();
}

unsigned int limit_init(unsigned long nr_pages, unsigned int threads)
{
	return run_job(nr_pages, threads, limit_chunk, NULL);
}

/* Hot-added memory, by memmap_init_hotplug(), which calls this for each chunk */

unsigned long highest_memmap_pfn;

void memmap_init_range(unsigned long size, int nid, unsigned long zone, unsigned long start_pfn,
		       unsigned long zone_end_pfn, enum meminit_context context,
		       struct vmem_altmap *altmap, int migratetype)
{
	unsigned long pfn = start_pfn, end_pfn = start_pfn + size, next;

	assert(context == MEMINIT_HOTPLUG && !altmap && highest_memmap_pfn >= end_pfn - 1);
	for (; pfn < end_pfn; pfn = next) {
		next = memmap_run_end(pfn, end_pfn);
		memmap_init_pages(pfn, next, zone, nid, MEMMAP_OFFLINE);
		memmap_init_pageblocks(pfn, next, migratetype);
	}
}

/* Page by page */

/* A separate loop for each state, as in stock. */
static __always_inline void init_each(unsigned long pfn, unsigned long end_pfn,
				      unsigned long zone, enum memmap_state state)
{
	struct page *page = pfn_to_page(pfn);

	for (; pfn < end_pfn; pfn++, page++) {
		__init_single_page(page, pfn, zone, BENCH_NODE);
		if (state == MEMMAP_FREE)
			set_page_count(page, 0);
		if (state == MEMMAP_RESERVED)
			__SetPageReserved(page);
		if (state == MEMMAP_OFFLINE)
			__SetPageOffline(page);
	}
}

void page_by_page(unsigned long pfn, unsigned long end_pfn, unsigned long zone,
		  enum memmap_state state)
{
	if (state == MEMMAP_USED)
		init_each(pfn, end_pfn, zone, MEMMAP_USED);
	else if (state == MEMMAP_FREE)
		init_each(pfn, end_pfn, zone, MEMMAP_FREE);
	else if (state == MEMMAP_RESERVED)
		init_each(pfn, end_pfn, zone, MEMMAP_RESERVED);
	else
		init_each(pfn, end_pfn, zone, MEMMAP_OFFLINE);
}

/* What the pages are used for next */

static void free_blocks(unsigned long pfn, unsigned long end_pfn, enum meminit_context context)
{
	for (; pfn < end_pfn; pfn += MAX_ORDER_NR_PAGES)
		__free_pages_core(pfn_to_page(pfn), MAX_PAGE_ORDER, context);
}

static void free_deferred(unsigned long pfn, unsigned long end_pfn)
{
	free_blocks(pfn, end_pfn, MEMINIT_EARLY);
}

/* online_pages_range() */
static void online(unsigned long pfn, unsigned long end_pfn)
{
	free_blocks(pfn, end_pfn, MEMINIT_HOTPLUG);
}

/* memblock_free_all() */
static void free_early(unsigned long pfn, unsigned long end_pfn)
{
	if (memmap_free_early(pfn, end_pfn) != end_pfn)
		assert(!"pages that memmap_free_early() does not free");
}

/* init_cma_reserved_pageblock() */
static void free_reserved(unsigned long pfn, unsigned long end_pfn)
{
	struct page *page = pfn_to_page(pfn), *end = pfn_to_page(end_pfn);

	for (; page < end; page++) {
		__ClearPageReserved(page);
		set_page_count(page, 0);
	}
	free_deferred(pfn, end_pfn);
}

static void leave(unsigned long pfn, unsigned long end_pfn)
{
}

/* In pages. */
#define SECTION			PAGES_PER_SECTION
#define MIB_OF_STRUCT_PAGES(mib) (((mib) << 20) / 64)

const struct use uses[] = {
	/* A memory block of 128 MiB, and one of 2 GiB. */
	{ "hotplug", MEMMAP_OFFLINE, SECTION, online, online },
	{ "hotplug_large", MEMMAP_OFFLINE, 16 * SECTION, online, online },
	/* The lower zones of a PC, and several times the size of the caches. */
	{ "early", MEMMAP_USED, MIB_OF_STRUCT_PAGES(64), free_deferred, free_early },
	{ "early_large", MEMMAP_USED, MIB_OF_STRUCT_PAGES(256), free_deferred, free_early },
	/* CMA, and pages that are never freed. */
	{ "cma", MEMMAP_RESERVED, MIB_OF_STRUCT_PAGES(16), free_reserved, free_reserved },
	{ "reserved", MEMMAP_RESERVED, SECTION, leave, leave },
};

const unsigned int nr_uses = ARRAY_SIZE(uses);

static void stock_init_pages(unsigned long pfn, unsigned long end_pfn,
			     unsigned long zone, int nid, enum memmap_state state)
{
	page_by_page(pfn, end_pfn, zone, state);
}

/* As in arch/x86/mm/bulk_stores.c. */
bool arch_memmap_uncached(bool soon)
{
	return cpu_is_rapids() || (!soon && __builtin_cpu_is("amd"));
}

/* With x86's stores, whatever the state, if a template will do. */
static void movnti_init_pages(unsigned long pfn, unsigned long end_pfn,
			      unsigned long zone, int nid, enum memmap_state state)
{
	struct memmap_template template;

	if (SHIM_PAGES_DIFFER) {
		page_by_page(pfn, end_pfn, zone, state);
		return;
	}
	page_by_page(pfn, pfn + 1, zone, state);
	template.page = *pfn_to_page(pfn);
	template.list_heads = true;
	arch_memmap_stamp(pfn_to_page(pfn), pfn_to_page(end_pfn), &template);
	/* As memmap_init_pages() does. */
	wmb();
}

/* Initialise a window of pages, section by section, then make a second pass over them. */
static void use_window(const struct use *use, unsigned long pfn, unsigned long end_pfn,
		       init_pages_fn init_pages,
		       void (*next_pass)(unsigned long pfn, unsigned long end_pfn))
{
	unsigned long start = pfn, next;

	for (; pfn < end_pfn; pfn = next) {
		next = memmap_run_end(pfn, end_pfn);
		init_pages(pfn, next, BENCH_ZONE, BENCH_NODE, use->state);
		memmap_init_pageblocks(pfn, next, MIGRATE_MOVABLE);
	}
	for (pfn = start; pfn < end_pfn; pfn = next) {
		next = memmap_run_end(pfn, end_pfn);
		next_pass(pfn, next);
	}
}

void use_pages(const struct use *use, enum use_way way, unsigned long pfn,
	       unsigned long end_pfn)
{
	static const init_pages_fn init_pages[] = {
		[USE_STOCK] = stock_init_pages,
		[USE_OURS] = memmap_init_pages,
		[USE_MOVNTI] = movnti_init_pages,
		[USE_PLAIN] = plain_memmap_init_pages,
	};
	unsigned long next;

	for (; pfn < end_pfn; pfn = next) {
		next = pfn + min(use->window, end_pfn - pfn);
		use_window(use, pfn, next, init_pages[way],
			   way == USE_STOCK ? use->stock_next : use->next);
	}
}
