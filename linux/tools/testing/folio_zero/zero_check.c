// SPDX-License-Identifier: GPL-2.0-only
/*
 * zero_check.c - check that every page of a folio is zeroed once, and nothing outside it
 *
 *   zero_check [--seed=N]
 *	with each store that the CPU has
 *   zero_check-generic [--seed=N]
 *	as on an architecture without functions of its own to zero pages
 *
 * Tests folios of any size, touched or not, with and without jobs.  All zeroing goes through
 * functions of this file, which record when each page was zeroed, by whom and how:
 * clear_user_highpages(); and in zero_check, where mm/folio_zero.c calls it instead of x86's
 * function, check_zero_user_pages_uncached(), and for a job
 * check_padata_do_multithreaded_key(), see the Makefile.  In zero_check-generic its own weak
 * functions are linked.
 */

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <linux/folio_zero.h>

#include <asm/bulk_stores.h>

#include "zero_kernel.h"
#include "../padata/bench.h"
#include "../padata/pool.h"

#define MIB			0x100000UL
#define PATTERN			0xa5
#define CHECKS			200
#define MEMORY_MIB		512UL
/* Approximate amount of memory that a check writes and reads. */
#define CHECKED_MIB		120UL

/* More constants of mm/folio_zero.c, the first in pages. */
#define SMALL			8UL
#define DEFAULT_THREADS		8

#define UNTOUCHED		ULONG_MAX

#ifdef ZERO_CHECK_GENERIC
const char *const bench_name = "zero_check-generic";
static const bool generic = true;
#else
const char *const bench_name = "zero_check";
static const bool generic;
#endif

static unsigned long seed = 1;
static const char *store_name;
static char *memory;
static pthread_t caller;

/* The folio that is being zeroed. */
static struct {
	unsigned long		addr;		/* in the task */
	const char		*start;
	unsigned long		pages;
	unsigned long		touched;	/* a page, or UNTOUCHED */
	const struct padata_mt_job *job;	/* if a job zeroes it */
	unsigned int		nr_jobs;
	bool			cached;		/* some of it went through the cache */
} zeroing;

/* How often each page of the memory was zeroed, and whether through the cache. */
static atomic_uint zeroed[MEMORY_MIB * MIB / PAGE_SIZE];
static bool through_cache[MEMORY_MIB * MIB / PAGE_SIZE];

/* The last call that zeroed pages and returned; protected by the lock. */
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct page		*page;
	unsigned long		nr;
	bool			by_caller;
	bool			cached;
} last_call;

/* Whether this thread is in x86's zero_user_pages_uncached(). */
static __thread bool in_uncached;

#define check_fail(what) \
	bench_fail("%s, store %s, seed %#lx", what, store_name, seed)

static bool all_are(const void *p, unsigned long bytes, int value)
{
	return !bytes || (*(const unsigned char *)p == value && !memcmp(p, p + 1, bytes - 1));
}

/* Functions that zero pages, as mm/folio_zero.c calls them */

static void note_call(struct page *page, unsigned long nr, bool cached)
{
	pthread_mutex_lock(&last_lock);
	last_call.page = page;
	last_call.nr = nr;
	last_call.by_caller = pthread_equal(pthread_self(), caller);
	last_call.cached = cached;
	pthread_mutex_unlock(&last_lock);
}

/* Extents, and the chunks of jobs that zero pages, do not exceed their maximum length. */
static void check_length(const struct page *page, unsigned long nr, bool cached)
{
	unsigned long most = cached ? PROCESS_PAGES_NON_PREEMPT_BATCH : HUGE_PAGE_EXTENT;
	unsigned long unit = kernel_is_preemptible ? MIN_CHUNK : HUGE_PAGE_EXTENT;
	unsigned long pos = page - (struct page *)zeroing.start;

	if (!kernel_is_preemptible && nr > most)
		check_fail("an extent is too long for a kernel that is not preemptible");
	if (!zeroing.job)
		return;
	if (nr >= ZERO_CHUNK + MIN_CHUNK)
		check_fail("a chunk is too long");
	/* What follows the page that was touched begins after it. */
	if (pos % unit && (pos - zeroing.touched - 1) % unit)
		check_fail("a chunk begins anywhere");
}

static int node_of(const void *start)
{
	return folio_nid(&(struct folio){ (struct page *)start, 0 });
}

static void check_before(struct page *page, unsigned long addr, unsigned long nr, bool cached)
{
	unsigned long first = page - (struct page *)memory, i;

	check_length(page, nr, cached);
	if (addr - zeroing.addr != (unsigned long)((char *)page - zeroing.start))
		check_fail("a page has another user address than it was told");
	for (i = 0; i < nr; i++) {
		if (zeroed[first + i]++)
			check_fail("a page was zeroed twice");
	}
	if (!all_are(page, nr * PAGE_SIZE, PATTERN))
		check_fail("a page was written to before it was zeroed");
}

static void check_after(struct page *page, unsigned long nr, bool cached)
{
	unsigned long first = page - (struct page *)memory, i;

	if (!all_are(page, nr * PAGE_SIZE, 0))
		check_fail("memory is not zero");
	for (i = 0; i < nr; i++)
		through_cache[first + i] = cached;
	note_call(page, nr, cached);
}

/* x86 calls it, too, where the CPU has no stores that bypass the cache. */
void clear_user_highpages(struct page *page, unsigned long addr, unsigned int nr)
{
	if (in_uncached) {
		zero_by_string(page, nr * PAGE_SIZE);
		return;
	}
	check_before(page, addr, nr, true);
	zero_by_string(page, nr * PAGE_SIZE);
	if (!generic)
		zeroing.cached = true;
	check_after(page, nr, true);
}

void check_zero_user_pages_uncached(struct page *page, unsigned long addr, unsigned long nr)
{
	if (zeroing.cached)
		check_fail("what is used soon was zeroed before something else");
	check_before(page, addr, nr, false);
	asked_for_clzero = false;
	in_uncached = true;
	zero_user_pages_uncached(page, addr, nr);
	in_uncached = false;
	if (!asked_for_clzero)
		check_fail("what is not used soon cannot bypass the cache");
	check_after(page, nr, false);
}

/* As the sysctls and the caller determine. */
static bool may_be_job(unsigned long nr_pages)
{
	unsigned long kib = nr_pages * (PAGE_SIZE / SZ_1K);

	return *max_threads > 1 && !caller_is_realtime && !(current->flags & PF_KTHREAD) &&
	       *threshold_kbytes && kib >= *threshold_kbytes && nr_pages >= 2 * MIN_CHUNK;
}

int check_padata_do_multithreaded_key(const struct padata_mt_job *job,
				      struct lock_class_key *key)
{
	int ret;

	if (!may_be_job(job->size))
		check_fail("there is a job");
	if (job->max_threads != *max_threads)
		check_fail("the job has another number of threads than it was told");
	if (job->nid != node_of(zeroing.start))
		check_fail("helpers are not near what they zero");
	zeroing.nr_jobs++;
	zeroing.job = job;
	ret = padata_do_multithreaded_key(job, key);
	zeroing.job = NULL;
	return ret;
}

/* Checks */

/* A threshold for a folio of @nr_pages: just below that, just above it, any, none. */
static unsigned long random_threshold_kbytes(unsigned long nr_pages)
{
	unsigned long kib = nr_pages * (PAGE_SIZE / SZ_1K);

	switch (shim_random() % 8) {
	case 0:
		return 0;
	case 1:
		return 1 << 20;
	case 2:
		return kib;
	case 3:
		return kib + 1;
	case 4:
		return kib - 1;
	default:
		return 4;
	}
}

static void begin(unsigned long bytes, unsigned long nr_pages)
{
	unsigned long i;

	memset(memory, PATTERN, bytes);
	for (i = 0; i < bytes / PAGE_SIZE; i++)
		zeroed[i] = 0;
	zeroing.nr_jobs = 0;
	zeroing.cached = false;
	*threshold_kbytes = random_threshold_kbytes(nr_pages);
	*max_threads = shim_random() % 5;
	kernel_is_preemptible = shim_random() % 2;
	caller_is_realtime = !(shim_random() % 8);
	current->flags = shim_random() % 8 ? 0 : PF_KTHREAD;
}

static void check_zeroed(const void *from, unsigned long bytes, unsigned int times)
{
	unsigned long first = (const struct page *)from - (struct page *)memory, i;

	if (!all_are(from, bytes, times ? 0 : PATTERN))
		check_fail(times ? "memory is not zero" : "memory beside the folio was written");
	for (i = 0; i < bytes / PAGE_SIZE; i++) {
		if (zeroed[first + i] != times)
			check_fail(times ? "a page was not zeroed" : "a page beside was zeroed");
	}
}

static void check_last(const struct page *touched)
{
	bool small = zeroing.pages <= SMALL;

	if (last_call.page != (small ? (void *)zeroing.start : touched) ||
	    last_call.nr != (small ? zeroing.pages : 1))
		check_fail("the page that was touched is not the last to be zeroed");
	if (!last_call.by_caller)
		check_fail("the page that was touched was zeroed by a helper");
	if (!last_call.cached)
		check_fail("the page that was touched is not in the cache");
}

/* The cache is used for the page that was touched, and for all that it holds without a job. */
static bool wants_cache(unsigned long pos)
{
	if (zeroing.touched == UNTOUCHED)
		return false;
	if (pos == zeroing.touched)
		return true;
	return !zeroing.nr_jobs && zeroing.pages <= zero_user_pages_max_cached();
}

static void check_cache(void)
{
	const bool *cached = through_cache + ((struct page *)zeroing.start - (struct page *)memory);
	unsigned long pos;

	for (pos = 0; !generic && pos < zeroing.pages; pos++) {
		if (cached[pos] != wants_cache(pos))
			check_fail(cached[pos] ? "a page did not bypass the cache" :
						 "a page bypassed the cache");
	}
}

static void check_folio(bool is_touched)
{
	unsigned int order = shim_random() % 15;
	unsigned long before = shim_random() % 16, size = PAGE_SIZE << order;
	struct folio folio = { (struct page *)(memory + before * PAGE_SIZE), order };
	unsigned long touched = shim_random() % size;

	begin(size + 32 * PAGE_SIZE, 1UL << order);
	zeroing.addr = size * (shim_random() % 100);
	zeroing.start = (char *)folio.pages;
	zeroing.pages = 1UL << order;
	zeroing.touched = is_touched ? touched / PAGE_SIZE : UNTOUCHED;
	if (is_touched)
		folio_zero_user(&folio, zeroing.addr + touched);
	else
		folio_zero_user_uncached(&folio, zeroing.addr);
	if (!generic && zeroing.nr_jobs != may_be_job(zeroing.pages))
		check_fail("there is no job");
	check_cache();
	check_zeroed(memory, before * PAGE_SIZE, 0);
	check_zeroed(zeroing.start, size, 1);
	check_zeroed(zeroing.start + size, 16 * PAGE_SIZE, 0);
	if (is_touched)
		check_last(folio_page(&folio, zeroing.touched));
}

static void check_store(void)
{
	unsigned int i;

	shim_random_seed(seed);
	for (i = 0; i < CHECKS; i++) {
		check_folio(true);
		check_folio(false);
		if (bench_is_time())
			bench_say("%u of %u, store %s", i + 1, CHECKS, store_name);
	}
	bench_say("checked %u folios, and %u that are not touched, store %s, seed %#lx",
		  CHECKS, CHECKS, store_name, seed);
}

/*
 * Zen CPUs that lack CLZERO have no jobs by default, and those that are best with movnti have
 * no folio of 2 MiB in the cache if stock zeroes it page by page.
 */
static void check_default(bool zen, enum store store, unsigned long kbytes, unsigned long cached)
{
	if (!store_works(store))
		return;
	store_choose(store);
	cpu_is_zen = zen;
	kernel_init();
	if (*threshold_kbytes != kbytes || zero_user_pages_max_cached() != cached)
		bench_fail("the default threshold is %lu, and %lu pages are cached, with store %s",
			   *threshold_kbytes, zero_user_pages_max_cached(), store_names[store]);
}

static void check_defaults(void)
{
	if (generic && *threshold_kbytes != DEFAULT_KBYTES)
		bench_fail("the default threshold is %lu", *threshold_kbytes);
	if (*max_threads != DEFAULT_THREADS)
		bench_fail("the default is %d threads", *max_threads);
	if (generic)
		return;
	check_default(true, STORE_CLZERO, DEFAULT_KBYTES, MAX_ORDER_NR_PAGES);
	check_default(true, STORE_STOSB, 0, MAX_ORDER_NR_PAGES);
	check_default(true, STORE_STOSQ, 0, MAX_ORDER_NR_PAGES);
	check_default(false, STORE_MOVNTI, DEFAULT_KBYTES,
		      STOCK_ZEROES_EXTENTS ? MAX_ORDER_NR_PAGES : SZ_1M / PAGE_SIZE);
	check_default(false, STORE_STOSQ, DEFAULT_KBYTES, MAX_ORDER_NR_PAGES);
}

static void check_stores(void)
{
	enum store store;

	for (store = 0; store < NR_STORES; store++) {
		if (!store_works(store)) {
			bench_say("store %s: not on this CPU", store_names[store]);
			continue;
		}
		store_choose(store);
		store_name = store_names[store];
		check_store();
	}
}

int main(int argc, char **argv)
{
	const struct shim_option known[] = { { "--seed=", &seed }, { } };
	unsigned int rounds = generic ? 1 : NR_STORES;
	struct pool_stats stats;

	stores_init();
	shim_options(argv, known);
	caller = pthread_self();
	bench_start(bench_nr_cpus(), seed);
	kernel_init();
	bench_say_work(rounds, rounds * CHECKS * CHECKED_MIB * MIB);
	memory = bench_memory(MEMORY_MIB * MIB);
	check_defaults();
	if (generic) {
		store_name = "generic";
		check_store();
	} else {
		check_stores();
	}
	pool_stop(&stats);
	bench_say("ok");
	return 0;
}
