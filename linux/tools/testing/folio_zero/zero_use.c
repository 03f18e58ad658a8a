// SPDX-License-Identifier: GPL-2.0-only
/*
 * zero_use.c - zero_bench --use: zero a folio that is touched, and then use it
 *
 * Memory that is not in the cache has to be fetched, so a way that zeroes fast may lose
 * that time again when the folio is used.  What counts is the sum.
 */

#include <stdbool.h>

#include <linux/folio_zero.h>

#include "zero_bench.h"

#define CACHE_LINE		64
/* The amount zeroed and used at a time, in a different part of the memory each time. */
#define USE_MIB			64UL
/* What one way zeroes in turn, as a kernel has one way: CPUs fetch what may come next. */
#define TURN_KIB		1024UL

/*
 * Use: half of a folio's cache lines are written to or read, once each.  @i is the number
 * of the line from the one that was touched on, of @nr, a power of two.
 */

static unsigned long use_forward(unsigned long i, unsigned long nr)
{
	return i;
}

static unsigned long use_backward(unsigned long i, unsigned long nr)
{
	return nr - i;
}

/* Each of 0 to @nr - 1 once: odd factors permute, and so does the shift. */
static unsigned long use_random(unsigned long i, unsigned long nr)
{
	i = i * 0x9e3779b1UL & (nr - 1);
	i ^= i >> __builtin_ctzl(nr) / 2;
	return i * 0x85ebca6bUL & (nr - 1);
}

static const struct use {
	const char		*name;
	unsigned long		(*line)(unsigned long i, unsigned long nr);
} uses[] = {
	{ "forward", use_forward },
	{ "backward", use_backward },
	{ "random", use_random },
	{ "dependent", NULL },
};

static const unsigned long use_kib[] = { 16, 64, 512, 1024, 2048 };

static __always_inline void write_lines(char *folio, unsigned long kib, unsigned long from,
					unsigned long (*line)(unsigned long, unsigned long))
{
	unsigned long nr = (kib << 10) / CACHE_LINE, i;

	for (i = 0; i < nr / 2; i++) {
		unsigned long at = (from + line(i, nr)) & (nr - 1);

		__atomic_store_n(folio + at * CACHE_LINE, 1, __ATOMIC_RELAXED);
	}
}

/* Random order; an address is known only once the line before was read, which gives 0. */
static void read_lines(const char *folio, unsigned long kib, unsigned long from)
{
	unsigned long nr = (kib << 10) / CACHE_LINE, i, read = 0;

	for (i = 0; i < nr / 2; i++) {
		unsigned long at = (from + use_random(i, nr) + read) & (nr - 1);

		read += __atomic_load_n(folio + at * CACHE_LINE, __ATOMIC_RELAXED);
	}
	if (read)
		bench_fail("memory is not zero");
}

/* Written out, so that none of them has to call a function for each line. */
static void use_memory(char *folio, unsigned long kib, unsigned long page, const struct use *how)
{
	unsigned long from = page * (PAGE_SIZE / CACHE_LINE);

	if (!how->line)
		read_lines(folio, kib, from);
	else if (how->line == use_forward)
		write_lines(folio, kib, from, use_forward);
	else if (how->line == use_backward)
		write_lines(folio, kib, from, use_backward);
	else
		write_lines(folio, kib, from, use_random);
}

struct use_time {
	uint64_t		zero;
	uint64_t		use;
};

static const struct use_way {
	const char		*name;
	void			(*zero)(const struct folio *folio, unsigned long addr);
} zero_ways[] = {
	{ "stock", zero_stock },
	{ "ours", zero_ours },
	{ "movnti", zero_movnti },
	{ "clzero", zero_clzero },
}, copy_ways[] = {
	{ "stock", copy_stock },
	{ "ours", copy_ours },
	{ "movnti", copy_movnti },
}, *use_ways = zero_ways;

/* CLZERO comes last. */
static unsigned int nr_use_ways(void)
{
	return options.copy ? ARRAY_SIZE(copy_ways) : ARRAY_SIZE(zero_ways) - !has_clzero();
}

static void use_folio(char *to, unsigned long kib, unsigned long page, const struct use *how,
		      const struct use_way *way, struct use_time *time)
{
	struct folio folio = { (struct page *)to, __builtin_ctzl(kib >> 2) };
	uint64_t start = bench_now_ns(), middle;

	way->zero(&folio, page * PAGE_SIZE);
	middle = bench_now_ns();
	use_memory(to, kib, page, how);
	time->zero += middle - start;
	time->use += bench_now_ns() - middle;
}

/* How often folios of each size are used: touched at these pages, in these ways. */
#define NR_TOUCHED		3
#define NR_USES			(ARRAY_SIZE(use_kib) * NR_TOUCHED * ARRAY_SIZE(uses))

/* Touched at the start, a third of the way in, and at the end. */
static unsigned long touched_page(unsigned long kib, unsigned int which)
{
	unsigned long nr = kib >> 2, pages[NR_TOUCHED] = { 0, nr / 3, nr - 1 };

	return pages[which];
}

/* The ways take turns, so that all suffer the same disturbances. */
static void time_use(unsigned int nr, unsigned int round, unsigned int pass,
		     struct use_time *times)
{
	const struct use *how = &uses[nr % ARRAY_SIZE(uses)];
	unsigned int which = nr / ARRAY_SIZE(uses);
	unsigned long kib = use_kib[which / NR_TOUCHED];
	unsigned long page = touched_page(kib, which % NR_TOUCHED);
	unsigned long folios = (USE_MIB << 10) / kib, i;
	unsigned long nr_in_turn = max(TURN_KIB / kib, 1UL);
	char *to = memory + nr * USE_MIB * MIB % (options.mib * MIB);

	for (i = 0; i < folios; i++) {
		unsigned int nr_ways = nr_use_ways(), nr_turns = i / nr_in_turn;
		unsigned int turn = take_turns(nr_ways, round % 2 * nr_ways, nr_turns % nr_ways);
		unsigned int way = (turn + nr_turns / nr_ways + pass) % nr_ways;

		use_folio(to + i * (kib << 10), kib, page, how, &use_ways[way], &times[way]);
	}
}

static void say_use(unsigned int round, unsigned int nr, const struct use_time *times)
{
	unsigned int which = nr / ARRAY_SIZE(uses), way;
	unsigned long kib = use_kib[which / NR_TOUCHED];
	unsigned long folios = (USE_MIB << 10) / kib;

	for (way = 0; way < nr_use_ways(); way++)
		bench_say("round %u kib %lu page %lu %s %s zero %lu ns use %lu ns", round, kib,
			  touched_page(kib, which % NR_TOUCHED),
			  uses[nr % ARRAY_SIZE(uses)].name, use_ways[way].name,
			  times[way].zero / folios, times[way].use / folios);
}

/* What a run tests: writes, or reads that depend on each other. */
static bool use_is_timed(unsigned int nr)
{
	if (use_kib[nr / ARRAY_SIZE(uses) / NR_TOUCHED] < options.min_kib)
		return false;
	return options.dependent == !uses[nr % ARRAY_SIZE(uses)].line;
}

/*
 * All of it once for each way, so that each folio is zeroed in all: where a folio lies
 * makes a difference of up to 7 %.  Between the two, use more memory than the caches hold.
 */
static void time_uses_once(unsigned int round)
{
	struct use_time times[NR_USES][ARRAY_SIZE(zero_ways)] = { };
	unsigned int pass, nr;

	for (pass = 0; pass < nr_use_ways(); pass++) {
		for (nr = 0; nr < NR_USES; nr++) {
			if (use_is_timed(nr))
				time_use(nr, round, pass, times[nr]);
		}
	}
	for (nr = 0; nr < NR_USES; nr++) {
		if (use_is_timed(nr))
			say_use(round, nr, times[nr]);
	}
}

void time_uses(void)
{
	unsigned int round;

	if (options.mib % USE_MIB)
		bench_fail("--use takes a multiple of %lu for --mib", USE_MIB);
	bench_say_work(options.rounds,
		       options.rounds * NR_USES * nr_use_ways() * USE_MIB * MIB * 3 / 2);
	get_memory();
	if (options.copy)
		use_ways = copy_ways;
	*threshold_kbytes = 0;
	*copy_threshold_kbytes = 0;
	for (round = 1; round <= options.rounds; round++) {
		say_reference(round);
		time_uses_once(round);
	}
}
