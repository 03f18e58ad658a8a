// SPDX-License-Identifier: GPL-2.0-only
/*
 * memmap_bench - initialise and free struct pages in userspace: check that the result
 * is right, and compare the time it takes with that of the old way
 *
 *   memmap_bench --check [--seed=N]
 *	check stores and results; no times
 *   memmap_bench [--rounds=N] [--mib=N]
 *	times, with 1 to all CPUs, of N MiB of struct pages (4096, or 20 times the cache)
 *
 * mm/memmap_bulk.c, arch/x86/mm/memmap_bulk.c and kernel/padata_mt.c run unmodified,
 * on struct pages that nothing else uses, in memory much larger than the caches and
 * in huge pages, as a memmap is.  The ways take turns, so that whatever else the
 * machine does affects all of them.
 *
 * Every line of output begins with "memmap_bench: "; a failure continues with
 * "FAILED: ".
 */

#include <time.h>
#include <unistd.h>

#include "../padata/bench.h"
#include "../padata/pool.h"
#include "memmap_bench.h"

#define SECTION_BYTES		(PAGES_PER_SECTION * sizeof(struct page))
/* Memory to use, in multiples of the cache size, and the minimum. */
#define TIMES_CACHE		20
#define LEAST_MIB		4096UL

/* Number of runs to check, and the length of the longest. */
#define CHECK_HOTPLUG		10
#define CHECK_RUNS		2000
#define CHECK_PAGES		4096
#define CHECK_SECTIONS		8UL

const char *const bench_name = "memmap_bench";

static struct {
	unsigned long		check;
	unsigned long		seed;
	unsigned long		mib;
	unsigned long		rounds;
} options = { .rounds = 9 };

/* Size of CPU 0's last-level cache, as reported by the kernel. */
static unsigned long cache_bytes(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
	unsigned long kib = 0;

	if (file) {
		if (fscanf(file, "%luK", &kib) != 1)
			kib = 0;
		fclose(file);
	}
	return kib ? kib << 10 : (unsigned long)sysconf(_SC_LEVEL2_CACHE_SIZE);
}

/* Memory */

/* Page faults are not to be timed, so fault in all of it. */
static void memmap_alloc(unsigned long bytes)
{
	shim_memmap = (struct page *)bench_memory(bytes);
	shim_pageblocks = calloc(bytes / sizeof(struct page) / pageblock_nr_pages, 1);
	if (!shim_pageblocks)
		bench_fail("no memory");
}

static unsigned long huge_mib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	unsigned long kib = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "AnonHugePages: %lu kB", &kib);
	if (file)
		fclose(file);
	return kib >> 10;
}

/* More than the caches hold, but at most half of what is free. */
static unsigned long bench_bytes(void)
{
	unsigned long free = sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
	unsigned long bytes = options.mib << 20;

	if (!bytes) {
		bytes = max(TIMES_CACHE * cache_bytes(), LEAST_MIB << 20);
		bytes = min(bytes, free / 2);
	}
	bytes -= bytes % SECTION_BYTES;
	if (!bytes)
		bench_fail("no memory for a section of struct pages");
	return bytes;
}

/* Checks: what is to be written, as it is page by page, and nothing beside it */

static struct page *expected;

static void check_fill(unsigned long nr_pages)
{
	unsigned long *words = (unsigned long *)shim_memmap, i;

	for (i = 0; i < nr_pages * MEMMAP_PAGE_WORDS; i++)
		words[i] = 0xa5a5a5a5a5a5a5a5 ^ i;
}

/* What there is now is expected again, when memory has been filled once more. */
static void check_expect(unsigned long nr_pages)
{
	memcpy(expected, shim_memmap, nr_pages * sizeof(struct page));
	check_fill(nr_pages);
}

static void check_pages(unsigned long nr_pages, const char *what, unsigned long from,
			unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr_pages; i++) {
		if (memcmp(shim_memmap + i, expected + i, sizeof(struct page)))
			bench_fail("%s, %lu pages from %lu: page %lu is wrong, seed %#lx", what, nr,
				   from, i, options.seed);
	}
}

/* Mostly short runs, in which only the ends matter. */
static unsigned long random_length(void)
{
	return shim_random() % (shim_random() % 8 ? 40 : CHECK_PAGES);
}

/* One run by x86's stores and by the portable ones. */
static void check_run(void)
{
	unsigned long from = shim_random() % CHECK_PAGES, nr = random_length(), i;
	struct memmap_template template;

	for (i = 0; i < MEMMAP_PAGE_WORDS; i++)
		template.word[i] = shim_random();
	template.list_heads = shim_random() % 2;

	check_fill(2 * CHECK_PAGES);
	plain_memmap_stamp(shim_memmap + from, shim_memmap + from + nr, &template);
	check_expect(2 * CHECK_PAGES);
	arch_memmap_stamp(shim_memmap + from, shim_memmap + from + nr, &template);
	check_pages(2 * CHECK_PAGES, "stores", from, nr);
}

/* All pages that memmap_repeat() writes are like the first. */
static void check_repeat(void)
{
	unsigned long from = shim_random() % CHECK_PAGES, nr = 1 + random_length(), done, i;

	check_fill(2 * CHECK_PAGES);
	check_expect(2 * CHECK_PAGES);
	done = memmap_repeat(shim_memmap + from, nr);
	if (done != (SHIM_PAGES_DIFFER || nr < MEMMAP_MIN_RUN ? 1 : nr))
		bench_fail("of %lu pages %lu were initialised, seed %#lx", nr, done, options.seed);
	for (i = 1; i < done; i++)
		expected[from + i] = expected[from];
	check_pages(2 * CHECK_PAGES, "like the first", from, nr);
}

static void check_stores(void)
{
	unsigned int i;

	for (i = 0; i < CHECK_RUNS; i++) {
		check_run();
		check_repeat();
		if (bench_is_time())
			bench_say("run %u of %u", i + 1, CHECK_RUNS);
	}
	bench_say("stores: movnti: %u runs, seed %#lx", CHECK_RUNS, options.seed);
}

static void check_state(enum memmap_state state)
{
	static const char *const names[] = { "used", "free", "reserved", "offline" };
	unsigned long from = shim_random() % CHECK_PAGES, nr = 1 + random_length();
	unsigned long zone = shim_random() % 2 ? BENCH_ZONE : SHIM_HIGHMEM_ZONE;

	check_fill(2 * CHECK_PAGES);
	page_by_page(from, from + nr, zone, state);
	check_expect(2 * CHECK_PAGES);
	memmap_init_pages(from, from + nr, zone, BENCH_NODE, state);
	check_pages(2 * CHECK_PAGES, names[state], from, nr);
}

static void check_states(void)
{
	unsigned int i;

	for (i = 0; i < CHECK_RUNS; i++) {
		check_state(i % (MEMMAP_OFFLINE + 1));
		if (bench_is_time())
			bench_say("run %u of %u", i + 1, CHECK_RUNS);
	}
	bench_say("states: %u runs, struct pages of %zu bytes, seed %#lx", CHECK_RUNS,
		  sizeof(struct page), options.seed);
}

/* A range that is added, of any length. */
static void check_hotplug(unsigned long nr_pages)
{
	unsigned long from = shim_random() % (nr_pages / 2);
	unsigned long nr = 1 + shim_random() % (nr_pages / 2);

	check_fill(nr_pages);
	page_by_page(from, from + nr, BENCH_ZONE, MEMMAP_OFFLINE);
	check_expect(nr_pages);
	highest_memmap_pfn = 0;
	memmap_init_hotplug(nr, BENCH_NODE, BENCH_ZONE, from, NULL, MIGRATE_MOVABLE);
	if (highest_memmap_pfn != from + nr - 1)
		bench_fail("the highest pfn is %lu, not %lu", highest_memmap_pfn, from + nr - 1);
	check_pages(nr_pages, "hot-added", from, nr);
}

/* Checks: the result */

/* All blocks are on the free list, once each, and counted. */
static void check_zone(unsigned long nr_pages, const char *what)
{
	struct list_head *list = &shim_zone.free_list[MIGRATE_MOVABLE], *pos;
	unsigned long nr = 0;

	for (pos = list->next; pos != list; pos = pos->next) {
		struct page *page = container_of(pos, struct page, buddy_list);

		if (page->_mapcount != PAGE_TYPE_BUDDY || page->_refcount ||
		    page_to_pfn(page) % MAX_ORDER_NR_PAGES || pos->next->prev != pos)
			bench_fail("%s: page %lu is wrong on the free list", what,
				   page_to_pfn(page));
		nr++;
	}
	nr <<= MAX_PAGE_ORDER;
	if (nr != nr_pages || shim_zone.nr_free_pages != nr || shim_zone.managed_pages != nr ||
	    shim_zone.nr_free << MAX_PAGE_ORDER != nr)
		bench_fail("%s: %lu pages are on the free list, %lu counted, %lu managed; not %lu",
			   what, nr, shim_zone.nr_free_pages, shim_zone.managed_pages, nr_pages);
}

static void check_way(unsigned int (*init)(unsigned long nr_pages, unsigned int threads),
		      unsigned long nr_pages, const char *what)
{
	check_fill(nr_pages);
	zone_reset(nr_pages);
	init(nr_pages, 1);
	check_zone(nr_pages, what);
	check_pages(nr_pages, what, 0, nr_pages);
}

/* Whichever way pages are used, they end up as stock leaves them. */
static void check_use(const struct use *use, unsigned long nr_pages)
{
	unsigned int way;

	for (way = USE_STOCK; way < NR_USE_WAYS; way++) {
		check_fill(nr_pages);
		zone_reset(nr_pages);
		use_pages(use, way, 0, nr_pages);
		if (way == USE_STOCK)
			check_expect(nr_pages);
		else
			check_pages(nr_pages, use->name, 0, nr_pages);
	}
}

/* With one thread, the result is identical to the byte. */
static void check_outcome(void)
{
	unsigned long nr_pages = CHECK_SECTIONS * PAGES_PER_SECTION;
	unsigned int i;

	check_fill(nr_pages);
	zone_reset(nr_pages);
	stock_init(nr_pages, 1);
	check_zone(nr_pages, "stock");
	check_expect(nr_pages);

	check_way(bulk_init, nr_pages, "bulk");
	check_way(plain_init, nr_pages, "plain");
	for (i = 0; i < nr_uses; i++)
		check_use(&uses[i], nr_pages);
	for (i = 0; i < CHECK_HOTPLUG; i++)
		check_hotplug(nr_pages);
	bench_say("outcome: %lu pages for %u uses are the same by all ways", nr_pages,
		  nr_uses + 1);
}

static void check(void)
{
	/* Each run fills, stamps, copies and compares; each result is made 3 times. */
	bench_say_work(CHECK_RUNS, 2 * CHECK_RUNS * 6 * 2 * CHECK_PAGES * sizeof(struct page) +
		       3 * 4 * (1 + nr_uses) * CHECK_SECTIONS * SECTION_BYTES);
	memmap_alloc(CHECK_SECTIONS * SECTION_BYTES);
	expected = malloc(CHECK_SECTIONS * SECTION_BYTES);
	if (!expected)
		bench_fail("no memory");
	check_stores();
	check_states();
	check_outcome();
}

/* Times */

static const struct way {
	const char		*name;
	unsigned int		(*init)(unsigned long nr_pages, unsigned int threads);
	bool			frees;		/* all pages are then on a free list */
} ways[] = {
	{ "stock", stock_init, true },
	{ "movnti", bulk_init, true },
	{ "plain", plain_init, true },
	{ "limit", limit_init, false },
};

#define NR_WAYS		ARRAY_SIZE(ways)

static const char *const use_ways[] = {
	[USE_STOCK] = "stock",
	[USE_OURS] = "ours",
	[USE_MOVNTI] = "movnti",
	[USE_PLAIN] = "plain",
};

static void say_time(const char *use, const char *way, unsigned int threads, unsigned int ran,
		     unsigned int round, uint64_t ns)
{
	if (round)
		bench_say("round %u threads %u ran %u %s%s %lu ns", round, threads, ran,
			  use, way, ns);
	else
		bench_say("warming up: %s%s, threads %u", use, way, threads);
}

static void bench_once(const struct way *way, unsigned long nr_pages, unsigned int threads,
		       unsigned int round)
{
	unsigned int ran;
	uint64_t begin, ns;

	zone_reset(nr_pages);
	begin = bench_now_ns();
	ran = way->init(nr_pages, threads);
	ns = bench_now_ns() - begin;
	if (way->frees)
		check_zone(nr_pages, way->name);
	say_time("", way->name, threads, ran, round, ns);
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median_ns(uint64_t *ns, unsigned long nr)
{
	qsort(ns, nr, sizeof(*ns), compare_ns);
	return ns[nr / 2];
}

/*
 * The differences measured here may be very small.  So the ways take turns slice by
 * slice, each of which is done by all of them, and the median slice counts, as if all
 * slices had taken that long.
 */
static void bench_use(const struct use *use, unsigned long nr_pages, unsigned int round)
{
	unsigned long slice = max(use->window, PAGES_PER_SECTION);
	unsigned long nr_slices = nr_pages / slice, i;
	uint64_t *ns[NR_USE_WAYS], begin;
	unsigned int pass, way;
	char name[32];

	snprintf(name, sizeof(name), "%s ", use->name);
	for (way = 0; way < NR_USE_WAYS; way++) {
		ns[way] = calloc(nr_slices + 1, sizeof(**ns));
		if (!ns[way])
			bench_fail("no memory");
	}
	for (pass = 0; pass < NR_USE_WAYS; pass++) {
		zone_reset(nr_pages);
		for (i = 0; i < nr_slices; i++) {
			way = (i + pass + round) % NR_USE_WAYS;
			begin = bench_now_ns();
			use_pages(use, way, i * slice, (i + 1) * slice);
			ns[way][i] = bench_now_ns() - begin;
		}
	}
	for (way = 0; way < NR_USE_WAYS; way++) {
		if (nr_slices)
			say_time(name, use_ways[way], 1, 1, round,
				 median_ns(ns[way], nr_slices) * nr_pages / slice);
		free(ns[way]);
	}
}

static void bench_round(unsigned int round, unsigned long nr_pages)
{
	unsigned int threads, i;

	if (round)
		bench_say("round %u reference %lu ns", round,
			  bench_reference_ns(shim_memmap, nr_pages * sizeof(struct page)));
	for (threads = 1; threads; threads = bench_next_threads(threads, bench_nr_cpus())) {
		for (i = 0; i < NR_WAYS; i++)
			bench_once(&ways[(i + round) % NR_WAYS], nr_pages, threads, round);
	}
	for (i = 0; i < nr_uses; i++)
		bench_use(&uses[i], nr_pages, round);
}

/* Round 0 warms up. */
static void bench(void)
{
	unsigned long bytes = bench_bytes(), nr_pages = bytes / sizeof(struct page);
	/* A use makes two passes over its pages. */
	unsigned int round, threads, nr = 2 * NR_USE_WAYS * nr_uses;

	for (threads = 1; threads; threads = bench_next_threads(threads, bench_nr_cpus()))
		nr += NR_WAYS;
	bench_say_work(options.rounds, (1 + (options.rounds + 1) * nr) * bytes);
	memmap_alloc(bytes);
	bench_say("memory: %lu pages, %lu MiB of struct pages, %lu MiB huge, cache %lu KiB",
		  nr_pages, bytes >> 20, huge_mib(), cache_bytes() >> 10);

	for (round = 0; round <= options.rounds; round++)
		bench_round(round, nr_pages);
}

int main(int argc, char **argv)
{
	const struct shim_option known[] = {
		{ "--check", &options.check }, { "--seed=", &options.seed },
		{ "--rounds=", &options.rounds }, { "--mib=", &options.mib }, { }
	};
	struct pool_stats stats;

	options.seed = time(NULL);
	shim_options(argv, known);
	shim_random_seed(options.seed);
	bench_start(bench_nr_cpus(), options.seed);
	if (options.check)
		check();
	else
		bench();
	pool_stop(&stats);
	bench_say("ok");
	return 0;
}
