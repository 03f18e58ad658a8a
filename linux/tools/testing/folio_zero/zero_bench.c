// SPDX-License-Identifier: GPL-2.0-only
/*
 * zero_bench.c - how long does it take to zero a huge page?
 *
 *   zero_bench [--rounds=N] [--mib=N] [--threads=N] [--min-kib=N]
 *	stock's way and ours, with 1 to N threads, by turns
 *   zero_bench --use [--rounds=N] [--mib=N]
 *	the same by the task alone, and what it then takes to go on from the page it
 *	touched through half of the folio: what is in the cache is gained there
 *   zero_bench --check [--seed=N]
 *	is all of it zero, and nothing beside it, for any folio?
 *
 * All folios of a size that fit into the memory are zeroed one after the other, so
 * that no cache helps.  Stock's ways are written out here, with the kernel's
 * instruction for a page and without its calls: a loop over the pages, or for folios
 * of up to 4 MiB from those farthest from the page that was touched to those next to
 * it.
 *
 * Helpers are threads that sleep until they are given something to do, as workers
 * of the kernel's workqueues are.  A wake-up is a system call here.
 */

#define _GNU_SOURCE
#include <cpuid.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/folio_zero.h>

#include "zero_shim.h"
#include "../padata/pool.h"

#define HUGE			0x200000UL
#define MAX_ORDER_PAGES		1024	/* of the page allocator */
#define PATTERN			0xa5
#define MAX_CHECKED		64

static unsigned int rounds = 9;
static unsigned long mib = 1024;
static unsigned long min_kib;
static unsigned int threads;
static uint64_t seed = 1;
static bool check;
static bool use;

static char *memory;
static unsigned long *threshold_kb;
static unsigned int *max_threads;

static const unsigned long sizes_kib[] = {
	512, 1024, 2048, 4096, 8192, 16384, 32768, 1048576,
};

static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("zero_bench: ");
	vprintf(fmt, args);
	printf("\n");
	fflush(stdout);
	va_end(args);
}

static void fail(const char *what)
{
	say("FAILED: %s", what);
	exit(1);
}

/* The kernel's side */

/* Asked once: in a guest, to ask takes longer than to zero 100 KiB. */
static bool has_erms;

static void look_for_erms(void)
{
	unsigned int a, b, c, d;

	has_erms = __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1 << 9;
}

bool static_cpu_has(int feature)
{
	return feature != X86_FEATURE_ERMS || has_erms;
}

void register_sysctl_init(const char *path, struct ctl_table *table)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (!strcmp(table[i].procname, "folio_zero_threshold_kb"))
			threshold_kb = table[i].data;
		if (!strcmp(table[i].procname, "folio_zero_max_threads"))
			max_threads = table[i].data;
	}
}

/* Stock's ways */

static void stock_gigantic(const struct folio *folio)
{
	unsigned long i;

	for (i = 0; i < folio_nr_pages(folio); i++)
		clear_page(folio_page(folio, i));
}

/* Pages by their distance from @target, the farthest first. */
static void stock_converging(const struct folio *folio, unsigned long target)
{
	unsigned long nr = folio_nr_pages(folio);
	unsigned long away = nr;

	while (away--) {
		if (target + away < nr && away)
			clear_page(folio_page(folio, target + away));
		if (target >= away)
			clear_page(folio_page(folio, target - away));
	}
}

static void stock_zero(const struct folio *folio, unsigned long addr)
{
	if (folio_nr_pages(folio) > MAX_ORDER_PAGES)
		stock_gigantic(folio);
	else
		stock_converging(folio, (addr & (folio_size(folio) - 1)) >> PAGE_SHIFT);
}

/* Time */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* @nr_threads of 0 is stock. */
static uint64_t time_size(unsigned long kib, unsigned int nr_threads)
{
	struct folio folio = { .order = __builtin_ctzl(kib >> 2) };
	unsigned long offset, hint = 3 * PAGE_SIZE + 8;
	uint64_t start = now_ns();

	for (offset = 0; offset < mib << 20; offset += kib << 10) {
		folio.pages = (struct page *)(memory + offset);
		if (nr_threads)
			folio_zero_user(&folio, hint);
		else
			stock_zero(&folio, hint);
	}
	return now_ns() - start;
}

/* One write to a cache line */
static void use_memory(char *from, unsigned long bytes)
{
	unsigned long i;

	for (i = 0; i < bytes; i += 64)
		__atomic_store_n(from + i, 1, __ATOMIC_RELAXED);
}

static void time_use(unsigned int round, unsigned long kib, unsigned long page, bool ours)
{
	struct folio folio = { .order = __builtin_ctzl(kib >> 2) };
	unsigned long folios = (mib << 10) / kib, hint = page * PAGE_SIZE;
	uint64_t zeroed = 0, used = 0;
	unsigned long i;

	for (i = 0; i < folios; i++) {
		char *start_of = memory + i * (kib << 10);
		uint64_t start = now_ns(), middle;

		folio.pages = (struct page *)start_of;
		if (ours)
			folio_zero_user(&folio, hint);
		else
			stock_zero(&folio, hint);
		middle = now_ns();
		use_memory(start_of + hint, kib << 9);
		zeroed += middle - start;
		used += now_ns() - middle;
	}
	say("round %u kib %lu page %lu %s zero %llu ns use %llu ns", round, kib, page,
	    ours ? "ours" : "stock", (unsigned long long)zeroed / folios,
	    (unsigned long long)used / folios);
}

/* Touched at its start, and after a third of it. */
static void time_uses(void)
{
	static const unsigned long kib[] = { 64, HUGE >> 10 };
	unsigned int round, i, part, ours;

	if (mib << 20 < HUGE)
		fail("needs 2 MiB at least");

	*threshold_kb = 0;
	for (round = 1; round <= rounds; round++) {
		for (i = 0; i < ARRAY_SIZE(kib); i++) {
			for (part = 0; part < 2; part++) {
				for (ours = 0; ours < 2; ours++)
					time_use(round, kib[i], part * (kib[i] >> 2) / 3, ours);
			}
		}
	}
}

static void time_round(unsigned int round, unsigned long kib)
{
	unsigned long folios = (mib << 10) / kib;
	unsigned int nr;

	for (nr = 0; nr <= threads; nr++) {
		*max_threads = nr;
		say("round %u kib %lu threads %u %s %llu ns", round, kib, nr ?: 1,
		    nr ? "ours" : "stock",
		    (unsigned long long)time_size(kib, nr) / folios);
	}
}

static void time_all(void)
{
	unsigned int round, i;

	/* A job for each folio, however small. */
	*threshold_kb = 4;
	for (round = 1; round <= rounds; round++) {
		for (i = 0; i < ARRAY_SIZE(sizes_kib); i++) {
			if (sizes_kib[i] >= min_kib && sizes_kib[i] <= mib << 10)
				time_round(round, sizes_kib[i]);
		}
	}
}

/* Checks */

static void check_range(const char *p, unsigned long bytes, int value)
{
	unsigned long i;

	for (i = 0; i < bytes; i++) {
		if ((unsigned char)p[i] != value)
			fail(value ? "memory beside the folio was written" :
				     "memory is not zero");
	}
}

static void check_folio(void)
{
	unsigned int order = shim_random() % 15;
	unsigned long before = shim_random() % 16, size = PAGE_SIZE << order;
	struct folio folio = { (struct page *)(memory + before * PAGE_SIZE), order };

	memset(memory, PATTERN, size + 32 * PAGE_SIZE);
	*threshold_kb = shim_random() % 3 ? 4 : 1 << 20;
	*max_threads = shim_random() % 5;
	folio_zero_user(&folio, size * (shim_random() % 100) + shim_random() % size);
	check_range(memory, before * PAGE_SIZE, PATTERN);
	check_range((char *)folio.pages, size, 0);
	check_range((char *)folio.pages + size, 16 * PAGE_SIZE, PATTERN);
}

/* Folios in no order, with gaps between them. */
static void check_folios(void)
{
	unsigned int order = shim_random() % 8, nr = 1 + shim_random() % MAX_CHECKED;
	struct folio folio[MAX_CHECKED], *folios[MAX_CHECKED];
	unsigned long step = 2 * PAGE_SIZE << order;
	unsigned int i;

	memset(memory, PATTERN, step * nr);
	for (i = 0; i < nr; i++) {
		folio[i] = (struct folio){ (struct page *)(memory + step * i), order };
		folios[i] = &folio[i];
	}
	for (i = 0; i < nr; i++) {
		unsigned int other = shim_random() % nr;
		struct folio *swap = folios[i];

		folios[i] = folios[other];
		folios[other] = swap;
	}
	*threshold_kb = 4;
	*max_threads = shim_random() % 5;
	folios_zero_user(folios, nr);
	for (i = 0; i < nr; i++) {
		check_range((char *)folio[i].pages, step / 2, 0);
		check_range((char *)folio[i].pages + step / 2, step / 2, PATTERN);
	}
}

static void check_all(void)
{
	unsigned int i;

	shim_random_seed(seed);
	for (i = 0; i < 200; i++) {
		check_folio();
		check_folios();
	}
	say("checked 200 folios and 200 arrays of folios, seed %#llx",
	    (unsigned long long)seed);
}

/* The program */

static void pin(unsigned int nr)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(nr, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void get_memory(void)
{
	unsigned long bytes = mib << 20;

	memory = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		fail("no memory");
	memory = (char *)(((uintptr_t)memory + HUGE - 1) & ~(HUGE - 1));
	madvise(memory, bytes, MADV_HUGEPAGE);
	memset(memory, PATTERN, bytes);
	say("memory: %lu MiB", mib);
}

static bool number(const char *arg, const char *name, unsigned long *to)
{
	size_t len = strlen(name);

	if (strncmp(arg, name, len))
		return false;
	*to = strtoul(arg + len, NULL, 0);
	return true;
}

static void parse(int argc, char **argv)
{
	unsigned long value;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--check"))
			check = true;
		else if (!strcmp(argv[i], "--use"))
			use = true;
		else if (number(argv[i], "--rounds=", &value))
			rounds = value;
		else if (number(argv[i], "--mib=", &value))
			mib = value;
		else if (number(argv[i], "--threads=", &value))
			threads = value;
		else if (number(argv[i], "--min-kib=", &min_kib))
			;
		else if (number(argv[i], "--seed=", &value))
			seed = value;
		else
			fail("see the head of zero_bench.c for the options");
	}
}

int main(int argc, char **argv)
{
	static struct shim_machine machine;
	struct pool_stats stats;

	threads = sysconf(_SC_NPROCESSORS_ONLN);
	parse(argc, argv);
	look_for_erms();
	if (check)
		mib = 512;
	get_memory();

	shim_machine_init(&machine, threads, 1, 1);
	shim_machine = &machine;
	pool_on_start = pin;
	pool_start(threads, seed);
	pin(0);
	if (shim_initcall() || zero_initcall() || !threshold_kb || !max_threads)
		fail("it cannot be set up");
	if (check)
		check_all();
	else if (use)
		time_uses();
	else
		time_all();
	pool_stop(&stats);
	say("ok");
	return 0;
}
