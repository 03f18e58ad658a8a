// SPDX-License-Identifier: GPL-2.0-only
/*
 * copy_check.c - check that every page of a folio is copied once, and nothing beside it
 *
 *   copy_check [--seed=N]
 *
 * Copies folios of any size, touched and migrated, with and without jobs, with each store
 * that the CPU has.  In some a page cannot be read.  All copying goes through functions of
 * this file, which record when each page was copied, by whom and how.
 */

#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/folio_copy.h>
#include <linux/folio_zero.h>

#include "zero_kernel.h"
#include "../padata/bench.h"
#include "../padata/pool.h"

const char *const bench_name = "copy_check";

#define CHECKS			150
#define MAX_ORDER		14
#define MAX_PAGES		BIT(MAX_ORDER)
/* Around what is copied. */
#define MARGIN			8UL
#define PATTERN			0xa5
#define NOTHING			ULONG_MAX

static unsigned long seed = 1;
static struct page *memory, *to, *from;
static pthread_t caller;

/* What is copied, and the pages from its start on that are touched, and that cannot be read. */
static struct {
	unsigned long		nr;
	unsigned long		addr;
	unsigned long		touched;
	unsigned long		bad;
	struct vm_area_struct	*vma;
} copy;

static atomic_ulong copied[MAX_PAGES];
static bool through_cache[MAX_PAGES];
static atomic_ulong last_page;
static unsigned int nr_jobs;

#define check_fail(what, page) \
	bench_fail("%s: page %lu of %lu, seed %#lx", what, page, copy.nr, seed)

/* A vma to tell migration from copies by. */
static struct vm_area_struct *const some_vma = (void *)&seed;

static unsigned long note_copied(struct page *page, struct page *source, bool cached)
{
	unsigned long nr = page - to;

	if (nr >= copy.nr || source - from != nr)
		check_fail("a page is copied to where it does not belong", nr);
	if (copied[nr]++)
		check_fail("a page was copied twice", nr);
	if (nr == copy.touched && !pthread_equal(pthread_self(), caller))
		check_fail("the page that was touched was copied by a helper", nr);
	through_cache[nr] = cached;
	last_page = nr;
	return nr;
}

static int copy_page(struct page *page, struct page *source)
{
	if (source - from == copy.bad)
		return PAGE_SIZE;
	note_copied(page, source, true);
	memcpy(page, source, PAGE_SIZE);
	return 0;
}

int copy_mc_highpage(struct page *page, struct page *source)
{
	if (copy.vma)
		check_fail("it was copied as if it were migrated", (unsigned long)(page - to));
	return copy_page(page, source);
}

int copy_mc_user_highpage(struct page *page, struct page *source, unsigned long addr,
			  struct vm_area_struct *vma)
{
	unsigned long nr = page - to;

	if (!vma || vma != copy.vma || addr != copy.addr + nr * PAGE_SIZE)
		check_fail("it was copied for another address or vma", nr);
	return copy_page(page, source);
}

unsigned long check_copy_pages_uncached(struct page *page, struct page *source, unsigned long nr)
{
	unsigned long done = copy_pages_uncached(page, source, nr), i;
	bool string = !has_clzero() && !uses_movnti();
	unsigned long first = source - from;
	bool bad = first <= copy.bad && copy.bad < first + nr;

	if (nr > HUGE_PAGE_EXTENT)
		check_fail("too much is copied at once", first);
	if (done != (string ? 0 : bad ? copy.bad - first : nr))
		check_fail("stores past the cache have another result", done);
	for (i = 0; i < done; i++)
		note_copied(page + i, source + i, false);
	return done;
}

/* Who may have a job is checked with zero_check: both ask the same function. */
int check_padata_do_multithreaded_key(const struct padata_mt_job *job,
				      struct lock_class_key *key)
{
	if (job->size != copy.nr || job->max_threads != *max_threads ||
	    huge_page_threads(copy.nr, *copy_threshold_kbytes) <= 1)
		check_fail("there is another job", job->size);
	if (job->min_chunk != MIN_CHUNK || job->align != MIN_CHUNK || job->max_chunk != COPY_CHUNK)
		check_fail("the chunks have another size", job->max_chunk);
	if (job->nid != folio_nid(&(struct folio){ to, 0 }))
		check_fail("helpers are not near what they write", 0UL);
	nr_jobs++;
	return padata_do_multithreaded_key(job, key);
}

static void set_up(void)
{
	unsigned long order = shim_random() % (MAX_ORDER + 1), kib, i;

	copy.nr = BIT(order);
	kib = copy.nr * (PAGE_SIZE / SZ_1K);
	copy.addr = (shim_random() % 64) * copy.nr * PAGE_SIZE;
	copy.touched = shim_random() % 2 ? shim_random() % copy.nr : NOTHING;
	copy.vma = copy.touched == NOTHING ? NULL : some_vma;
	copy.bad = shim_random() % 4 ? NOTHING : shim_random() % copy.nr;
	*copy_threshold_kbytes = shim_random() % 4 ? kib - 1 + shim_random() % 3 : 0;
	*max_threads = shim_random() % 5;
	caller_is_realtime = !(shim_random() % 8);
	current->flags = shim_random() % 4 ? 0 : PF_KTHREAD;

	nr_jobs = 0;
	/* Where it is decides its node. */
	to = memory + MARGIN + shim_random() % MARGIN;
	memset(to - MARGIN, PATTERN, (copy.nr + 2 * MARGIN) * PAGE_SIZE);
	for (i = 0; i < copy.nr; i++) {
		*(unsigned long *)&from[i] = shim_random();
		copied[i] = 0;
	}
}

static int do_copy(void)
{
	struct folio dst = { to, __builtin_ctzl(copy.nr) };
	struct folio src = { from, __builtin_ctzl(copy.nr) };
	unsigned long at = copy.touched * PAGE_SIZE + shim_random() % PAGE_SIZE;

	if (copy.touched == NOTHING)
		return folio_mc_copy_large(&dst, &src);
	return copy_user_large_folio(&dst, &src, copy.addr + at, copy.vma);
}

/* As folio_copy.c decides: no more than 4 MiB, for a task, without helpers. */
static void check_cache(unsigned long nr)
{
	bool soon = copy.touched != NOTHING || !(current->flags & PF_KTHREAD);
	bool cached = soon && !nr_jobs && copy.nr <= MAX_ORDER_NR_PAGES;

	if (!has_clzero() && !uses_movnti())
		cached = true;
	if (through_cache[nr] != (cached || nr == copy.touched))
		check_fail(cached ? "it is not in the cache" : "it is in the cache", nr);
}

static void check_result(int err)
{
	unsigned long i;

	if (nr_jobs != (huge_page_threads(copy.nr, *copy_threshold_kbytes) > 1))
		check_fail("there is no job", 0UL);
	if (err != (copy.bad == NOTHING ? 0 : -EHWPOISON))
		check_fail("another error", (unsigned long)-err);
	for (i = 0; i < MARGIN * PAGE_SIZE; i++) {
		if (((unsigned char *)(to - MARGIN))[i] != PATTERN ||
		    ((unsigned char *)(to + copy.nr))[i] != PATTERN)
			check_fail("memory beside the folio was written", i / PAGE_SIZE);
	}
	for (i = 0; i < copy.nr && !err; i++) {
		if (copied[i] != 1 || memcmp(to + i, from + i, PAGE_SIZE))
			check_fail("it is no copy", i);
		check_cache(i);
	}
	if (!err && copy.touched != NOTHING && last_page != copy.touched)
		check_fail("the page that was touched is not the last", last_page);
}

static void check_copy(void)
{
	int err;

	set_up();
	if (copy.bad != NOTHING)
		mprotect(from + copy.bad, PAGE_SIZE, PROT_NONE);
	err = do_copy();
	mprotect(from, copy.nr * PAGE_SIZE, PROT_READ | PROT_WRITE);
	check_result(err);
}

static void check_stores(void)
{
	enum store store;
	unsigned int i;

	for (store = 0; store < NR_STORES; store++) {
		if (!store_works(store)) {
			bench_say("store %s: not on this CPU", store_names[store]);
			continue;
		}
		store_choose(store);
		for (i = 0; i < CHECKS; i++)
			check_copy();
		bench_say("checked %u copies, store %s, seed %#lx", CHECKS, store_names[store],
			  seed);
	}
}

int main(int argc, char **argv)
{
	const struct shim_option known[] = { { "--seed=", &seed }, { } };
	struct pool_stats stats;

	shim_options(argv, known);
	caller = pthread_self();
	stores_init();
	use_extable();
	bench_start(bench_nr_cpus(), seed);
	shim_random_seed(seed);
	kernel_init();
	if (*copy_threshold_kbytes != DEFAULT_KBYTES)
		bench_fail("the default threshold is %lu", *copy_threshold_kbytes);
	bench_say_work(NR_STORES, NR_STORES * CHECKS * (20UL << 20));
	memory = (struct page *)bench_memory((MAX_PAGES + 3 * MARGIN) * PAGE_SIZE);
	from = (struct page *)bench_memory(MAX_PAGES * PAGE_SIZE);
	check_stores();
	pool_stop(&stats);
	bench_say("ok");
	return 0;
}
