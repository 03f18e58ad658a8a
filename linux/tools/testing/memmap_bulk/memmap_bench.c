// SPDX-License-Identifier: GPL-2.0-only
/*
 * memmap_bench - struct pages initialised and freed in userspace: is it right,
 * and how long does it take beside the way it was done before?
 *
 *   memmap_bench --check          stores and outcome are right; no times
 *   memmap_bench                  times, with 1 to all CPUs
 *   memmap_bench --help           the rest
 *
 * mm/memmap_bulk.c, arch/x86/mm/memmap_bulk.c and kernel/padata_mt.c run as they
 * are, on struct pages that nobody uses, over memory much larger than caches and
 * in huge pages, as a memmap is.  The ways take turns, so that whatever else the
 * machine does hits all of them.
 *
 * Every line of output begins with "memmap_bench: "; a failure with "FAILED: "
 * after that.
 */

#define _GNU_SOURCE
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../padata/pool.h"
#include "memmap_bench.h"
#include "movdir64b.h"

#define NS_PER_S		1000000000UL
#define HUGE_BYTES		(2UL << 20)
#define SECTION_BYTES		(PAGES_PER_SECTION * sizeof(struct page))
/* Memory to use beside the size of the caches, and at least. */
#define TIMES_CACHE		20
#define LEAST_MIB		4096UL
#define MAX_ROUNDS		999

/* Runs to check, fewer of them with signals, and the longest of them. */
#define CHECK_RUNS		2000
#define EMULATED_RUNS		200
#define CHECK_PAGES		4096
#define CHECK_SECTIONS		8UL

bool shim_movdir64b;

static int host_cpus[SHIM_NR_CPUS];
static unsigned int nr_host_cpus;
static struct shim_machine host;

static struct {
	bool			check;
	uint64_t		seed;
	unsigned long		mib;
	unsigned int		rounds;
	unsigned int		threads;
} options = { .rounds = 9 };

#define say(...)	(printf("memmap_bench: " __VA_ARGS__), putchar('\n'), fflush(stdout))

#define fail(...)							\
({									\
	printf("memmap_bench: FAILED: " __VA_ARGS__);			\
	putchar('\n');							\
	exit(1);							\
})

/* The host */

static void pin_to(unsigned int nr)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(host_cpus[nr % nr_host_cpus], &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("a thread could not be bound to CPU %d", host_cpus[nr % nr_host_cpus]);
}

/* The CPUs that the program may use are CPUs 0, 1, ... of the engine's. */
static void host_init(void)
{
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		fail("the CPUs of this process are not known");
	for (cpu = 0; cpu < CPU_SETSIZE && nr_host_cpus < SHIM_NR_CPUS; cpu++) {
		if (CPU_ISSET(cpu, &set))
			host_cpus[nr_host_cpus++] = cpu;
	}

	shim_machine_init(&host, nr_host_cpus, 1, 1);
	shim_machine = &host;
	pin_to(0);
	pool_on_start = pin_to;
	pool_start(nr_host_cpus, options.seed);
	if (shim_initcall())
		fail("the engine has no workqueue");
}

/* Of CPU 0's last level, as the kernel tells it. */
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

static void memmap_alloc(unsigned long bytes)
{
	unsigned long all = bytes + HUGE_BYTES;
	char *mem = mmap(NULL, all, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		fail("no memory: %lu MiB", all >> 20);
	mem = (char *)ALIGN((unsigned long)mem, HUGE_BYTES);
	madvise(mem, bytes, MADV_HUGEPAGE);
	/* Page faults are not to be timed. */
	memset(mem, 0xa5, bytes);

	shim_memmap = (struct page *)mem;
	shim_pageblocks = calloc(bytes / sizeof(struct page) / pageblock_nr_pages, 1);
	if (!shim_pageblocks)
		fail("no memory");
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

/* Enough not to be in caches, half of what is free at most. */
static unsigned long bench_bytes(void)
{
	unsigned long free = sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
	unsigned long bytes = options.mib << 20;

	if (!bytes) {
		bytes = max(TIMES_CACHE * cache_bytes(), LEAST_MIB << 20);
		bytes = min(bytes, free / 2);
	}
	bytes = ALIGN_DOWN(bytes, SECTION_BYTES);
	if (!bytes)
		fail("no memory for a section of struct pages");
	return bytes;
}

/* Checks: the stores */

static void check_fill(unsigned long *words, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		words[i] = 0xa5a5a5a5a5a5a5a5 ^ i;
}

/* Short ones most of the time, whose ends are all there is to them. */
static unsigned long random_length(void)
{
	return shim_random() % (shim_random() % 8 ? 40 : CHECK_PAGES);
}

typedef void (*stamp_fn)(struct page *page, struct page *end,
			 const struct memmap_template *template);

/* One run by x86's stores, then by the portable ones, and nothing else written. */
static void check_run(stamp_fn stamp, unsigned long *ours, const char *what)
{
	unsigned long nr_words = 2 * CHECK_PAGES * MEMMAP_PAGE_WORDS, i;
	unsigned long from = shim_random() % CHECK_PAGES, nr = random_length();
	unsigned long *words = (unsigned long *)shim_memmap;
	struct memmap_template template;

	for (i = 0; i < MEMMAP_PAGE_WORDS; i++)
		template.word[i] = shim_random();
	template.page.lru.next = NULL;
	template.page.lru.prev = NULL;

	check_fill(words, nr_words);
	stamp(shim_memmap + from, shim_memmap + from + nr, &template);
	memcpy(ours, words, nr_words * sizeof(*words));

	check_fill(words, nr_words);
	plain_memmap_stamp(shim_memmap + from, shim_memmap + from + nr, &template);
	for (i = 0; i < nr_words; i++) {
		if (ours[i] != words[i])
			fail("%s: run of %lu from %lu: word %lu is %#lx, not %#lx, seed %#lx",
			     what, nr, from, i, ours[i], words[i], options.seed);
	}
}

static void check_stores(const char *what, stamp_fn stamp, bool movdir64b, unsigned int runs)
{
	unsigned long *ours = malloc(2 * CHECK_PAGES * sizeof(struct page));
	unsigned int i;

	if (!ours)
		fail("no memory");

	shim_movdir64b = movdir64b;
	movdir64b_emulated = 0;
	for (i = 0; i < runs; i++)
		check_run(stamp, ours, what);
	shim_movdir64b = false;
	free(ours);

	say("stores: %s: %u runs, %lu instructions emulated, seed %#lx",
	    what, runs, movdir64b_emulated, options.seed);
}

/* Checks: the outcome */

/* All blocks are on the free list, each once, and counted. */
static void check_zone(unsigned long nr_pages, const char *what)
{
	struct list_head *list = &shim_zone.free_list[MIGRATE_MOVABLE], *pos;
	unsigned long nr = 0;

	for (pos = list->next; pos != list; pos = pos->next) {
		struct page *page = container_of(pos, struct page, buddy_list);

		if (page->_mapcount != PAGE_TYPE_BUDDY || page->_refcount ||
		    page_to_pfn(page) % MAX_ORDER_NR_PAGES || pos->next->prev != pos)
			fail("%s: page %lu is wrong on the free list", what, page_to_pfn(page));
		nr++;
	}
	nr <<= MAX_PAGE_ORDER;
	if (nr != nr_pages || shim_zone.nr_free_pages != nr || shim_zone.managed_pages != nr ||
	    shim_zone.nr_free << MAX_PAGE_ORDER != nr)
		fail("%s: %lu pages are on the free list, %lu counted, %lu managed; not %lu",
		     what, nr, shim_zone.nr_free_pages, shim_zone.managed_pages, nr_pages);
}

static void check_way(unsigned int (*init)(unsigned long nr_pages, unsigned int threads),
		      unsigned long nr_pages, const struct page *expected, const char *what)
{
	unsigned long i;

	memset(shim_memmap, 0xa5, nr_pages * sizeof(struct page));
	zone_reset(nr_pages);
	init(nr_pages, 1);
	check_zone(nr_pages, what);
	for (i = 0; i < nr_pages; i++) {
		if (memcmp(shim_memmap + i, expected + i, sizeof(struct page)))
			fail("%s: page %lu is not as stock makes it", what, i);
	}
}

/* One thread leaves behind the same, to the byte. */
static void check_outcome(void)
{
	unsigned long nr_pages = CHECK_SECTIONS * PAGES_PER_SECTION;
	unsigned long bytes = nr_pages * sizeof(struct page);
	struct page *expected = malloc(bytes);

	if (!expected)
		fail("no memory");
	memset(shim_memmap, 0xa5, bytes);
	zone_reset(nr_pages);
	stock_init(nr_pages, 1);
	check_zone(nr_pages, "stock");
	memcpy(expected, shim_memmap, bytes);

	check_way(bulk_init, nr_pages, expected, "bulk");
	check_way(plain_init, nr_pages, expected, "plain");
	say("outcome: %lu pages by 3 ways are the same", nr_pages);
	free(expected);
}

static void check(void)
{
	memmap_alloc(CHECK_SECTIONS * SECTION_BYTES);
	movdir64b_emulate();
	check_stores("movnti", arch_memmap_stamp, false, CHECK_RUNS);
	check_stores("movdir64b", arch_memmap_stamp, true, CHECK_RUNS);
	check_stores("emulated movdir64b", emulated_memmap_stamp, true, EMULATED_RUNS);
	if (!movdir64b_emulated)
		fail("no instruction was emulated");
	check_outcome();
}

/* Times */

static const struct way {
	const char		*name;
	unsigned int		(*init)(unsigned long nr_pages, unsigned int threads);
	bool			movdir64b;
} ways[] = {
	{ "stock", stock_init, false },
	{ "movnti", bulk_init, false },
	{ "movdir64b", bulk_init, true },
	{ "plain", plain_init, false },
};

#define NR_WAYS		ARRAY_SIZE(ways)

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static void bench_once(const struct way *way, unsigned long nr_pages, unsigned int threads,
		       unsigned int round)
{
	unsigned int ran;
	uint64_t begin, ns;

	shim_movdir64b = way->movdir64b;
	zone_reset(nr_pages);
	begin = now_ns();
	ran = way->init(nr_pages, threads);
	ns = now_ns() - begin;
	check_zone(nr_pages, way->name);
	if (round)
		say("round %u threads %u ran %u %s %lu ns", round, threads, ran,
		    way->name, ns);
}

/* 1, 2, 4, ... and all of them */
static unsigned int next_threads(unsigned int threads)
{
	unsigned int most = min(nr_host_cpus, options.threads ? options.threads : nr_host_cpus);

	return threads == most ? 0 : min(2 * threads, most);
}

/* Some CPUs have it and do not say so, in guests. */
static bool movdir64b_works(void)
{
	unsigned long words[16] __aligned(64) = { };

	movdir64b_emulate();
	movdir64b_emulated = 0;
	movdir64b(words, words + 8);
	return !movdir64b_emulated;
}

/* Round 0 warms up. */
static void bench(void)
{
	unsigned long bytes = bench_bytes(), nr_pages = bytes / sizeof(struct page);
	unsigned int round, threads, i;
	bool with_movdir64b;

	memmap_alloc(bytes);
	with_movdir64b = movdir64b_works();
	say("memory: %lu pages, %lu MiB of struct pages, %lu MiB huge, cache %lu KiB",
	    nr_pages, bytes >> 20, huge_mib(), cache_bytes() >> 10);
	say("kernel's choice: %s", movdir64b_in_cpu() ? "movdir64b" : "movnti");

	for (round = 0; round <= options.rounds; round++) {
		for (threads = 1; threads; threads = next_threads(threads)) {
			for (i = 0; i < NR_WAYS; i++) {
				const struct way *way = &ways[(i + round) % NR_WAYS];

				if (!way->movdir64b || with_movdir64b)
					bench_once(way, nr_pages, threads, round);
			}
		}
	}
}

/* The command line */

static void print_help(void)
{
	puts("usage: memmap_bench [OPTION]...\n"
	     "\n"
	     "  --check           check stores and outcome; no times\n"
	     "  --seed=N          of the check's random runs (default: the time)\n"
	     "  --rounds=N        to time (default 9)\n"
	     "  --threads=N       at most (default: all CPUs)\n"
	     "  --mib=N           of struct pages (default: 4096, or 20 times the cache)");
}

static unsigned long parse_number(const char *text, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 0);

	if (!*text || *end || value < 1 || value > most)
		fail("'%s' is not a number from 1 to %lu", text, most);
	return value;
}

static void parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "check", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "mib", required_argument, NULL, 'm' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ "threads", required_argument, NULL, 't' },
		{ }
	};
	int option;

	options.seed = time(NULL);
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'c')
			options.check = true;
		else if (option == 'm')
			options.mib = parse_number(optarg, LONG_MAX >> 20);
		else if (option == 'r')
			options.rounds = parse_number(optarg, MAX_ROUNDS);
		else if (option == 's')
			options.seed = parse_number(optarg, ULONG_MAX);
		else if (option == 't')
			options.threads = parse_number(optarg, SHIM_NR_CPUS);
		else
			break;
	}
	if (option == -1 && optind == argc)
		return;
	print_help();
	exit(option != 'h');
}

int main(int argc, char **argv)
{
	struct pool_stats stats;

	parse_options(argc, argv);
	shim_random_seed(options.seed);
	host_init();
	if (options.check)
		check();
	else
		bench();
	pool_stop(&stats);
	say("ok");
	return 0;
}
