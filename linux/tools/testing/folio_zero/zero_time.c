// SPDX-License-Identifier: GPL-2.0-only
/*
 * zero_time.c - zero_bench: how long each way takes, for each size and number of threads
 *
 * Two times: elapsed time, and the CPU time of all threads together.  A thread that waits
 * in the kernel or for it, as threads without work do, uses no CPU time.
 */

#include <stdbool.h>
#include <time.h>

#include <linux/folio_zero.h>

#include "zero_bench.h"

#define GIB_KIB			0x100000UL
#define NS_PER_S		1000000000UL
/* Smaller folios cannot be shared between threads, and so have no job. */
#define LEAST_SHARED_KIB	1024UL
/* Larger ones are zeroed alike without a job, whether they are touched or not. */
#define MOST_CACHED_KIB		(MAX_ORDER_NR_PAGES * PAGE_SIZE / SZ_1K)

static const unsigned long sizes_kib[] = {
	16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, GIB_KIB,
};

struct way {
	const char		*name;
	void			(*zero)(const struct folio *folio, unsigned long addr);
	unsigned int		threads;
};

static struct way ways[2 * SHIM_NR_CPUS + 7];
static unsigned int nr_ways;

/* folio_zero_user() does not promise to leave the struct folio unchanged. */
void zero_ours(const struct folio *folio, unsigned long addr)
{
	struct folio copy = *folio;

	folio_zero_user(&copy, addr);
}

/* A page of a fallocate() */
static void zero_fallocate(const struct folio *folio, unsigned long addr)
{
	struct folio copy = *folio;

	folio_zero_user_uncached(&copy, addr);
}

static void add_way(const char *name, void (*zero)(const struct folio *, unsigned long),
		    unsigned int nr_threads)
{
	ways[nr_ways++] = (struct way){ name, zero, nr_threads };
}

/* By @nr threads and more, as many as there may be. */
static void add_shared(const char *name, void (*zero)(const struct folio *, unsigned long),
		       unsigned int nr)
{
	for (; nr && nr <= options.threads; nr = bench_next_threads(nr, options.threads))
		add_way(name, zero, nr);
}

static void find_copy_ways(void)
{
	add_way("stock", copy_stock, 1);
	add_way("whole", copy_whole, 1);
	add_way("movnti", copy_movnti, 1);
	add_shared("ours", copy_ours, 1);
	add_way("migrated", copy_migrated, 1);
	add_shared("split", copy_split, 2);
}

static void find_zero_ways(void)
{
	add_way("stock", zero_stock, 1);
	add_way("mainline", zero_mainline, 1);
	add_way("whole", zero_whole, 1);
	add_way("movnti", zero_movnti, 1);
	if (has_clzero())
		add_way("clzero", zero_clzero, 1);
	add_shared("ours", zero_ours, 1);
	if (options.min_kib <= MOST_CACHED_KIB)
		add_way("fallocate", zero_fallocate, 1);
	add_shared("split", zero_split, 2);
}

/* Bare threads show whether memory is the limit. */
static bool way_is_for(const struct way *way, unsigned long kib)
{
	if (way->zero == zero_fallocate)
		return kib <= MOST_CACHED_KIB;
	if (way->zero == zero_split || way->zero == copy_split)
		return kib == GIB_KIB;
	return way->threads == 1 || kib >= LEAST_SHARED_KIB;
}

static bool size_is_timed(unsigned long kib)
{
	return kib >= options.min_kib && kib <= options.mib << 10;
}

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * NS_PER_S + used.tv_nsec;
}

static void time_way(unsigned int round, unsigned long kib, const struct way *way)
{
	struct folio folio = { .order = __builtin_ctzl(kib >> 2) };
	unsigned long folios = (options.mib << 10) / kib, i;
	uint64_t used = cpu_ns(), start = bench_now_ns(), took;

	*max_threads = way->threads;
	for (i = 0; i < folios; i++) {
		folio.pages = (struct page *)(memory + i * (kib << 10));
		way->zero(&folio, 3 * PAGE_SIZE + 8);
	}
	took = bench_now_ns() - start;
	bench_say("round %u kib %lu threads %u %s %lu ns cpu %lu ns", round, kib, way->threads,
		  way->name, took / folios, (cpu_ns() - used) / folios);
}

static unsigned long timed_bytes(void)
{
	unsigned long bytes = 0;
	unsigned int i, w;

	for (i = 0; i < ARRAY_SIZE(sizes_kib); i++) {
		for (w = 0; size_is_timed(sizes_kib[i]) && w < nr_ways; w++)
			bytes += way_is_for(&ways[w], sizes_kib[i]) * options.mib * MIB;
	}
	return bytes * options.rounds;
}

unsigned int take_turns(unsigned int nr, unsigned int round, unsigned int i)
{
	if (round / nr % 2)
		i = nr - 1 - i;
	return (round + (i % 2 ? (i + 1) / 2 : nr - i / 2)) % nr;
}

static void time_size(unsigned int round, unsigned long kib)
{
	unsigned int i;

	for (i = 0; i < nr_ways; i++) {
		const struct way *way = &ways[take_turns(nr_ways, round, i)];

		if (way_is_for(way, kib))
			time_way(round, kib, way);
	}
}

void time_ways(void)
{
	unsigned int round, i;

	if (options.copy)
		find_copy_ways();
	else
		find_zero_ways();
	bench_say_work(options.rounds, timed_bytes());
	get_memory();
	/* A job for each folio that can have one. */
	*threshold_kbytes = 4;
	*copy_threshold_kbytes = 4;
	for (round = 1; round <= options.rounds; round++) {
		say_reference(round);
		for (i = 0; i < ARRAY_SIZE(sizes_kib); i++) {
			if (size_is_timed(sizes_kib[i]))
				time_size(round, sizes_kib[i]);
		}
	}
}
