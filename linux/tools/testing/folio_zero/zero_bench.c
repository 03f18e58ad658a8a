// SPDX-License-Identifier: GPL-2.0-only
/*
 * zero_bench.c - measure how long it takes to zero or to copy a huge page
 *
 *   zero_bench [--copy] [--preemptible] [--rounds=N] [--mib=N] [--threads=N] [--min-kib=N]
 *	our code with 1 to N threads, compared with stock's and others (see
 *	zero_ways.h): elapsed time and CPU time
 *   zero_bench --use [--copy] [--job] [--dependent] [--rounds=N] [--mib=N] [--threads=N]
 *	[--min-kib=N]
 *	ours, stock's and bare stores, plus the time it then takes to use half of the folio, by
 *	writes in three patterns, which gain from what is in the cache.  By the task alone, or by
 *	a job for each folio that can have one (--job); or used by random reads, each of
 *	which depends on the result of the one before (--dependent).
 *
 * --copy copies folios instead, with --mib of memory for each of source and copy.
 *
 * --preemptible models a preemptible kernel, which does not limit how much one thread
 * zeroes at once, as stock is from 7.0 on.
 *
 * --store=NAME stands for another CPU: one that lacks those of clzero, movnti, stosb, stosq
 * and page that come before NAME in this list.
 *
 * Folios are zeroed one after the other in memory much larger than the cache.  Each
 * round starts with a different way.
 *
 * Helpers are threads that sleep until they are given work, as the workers of the
 * kernel's workqueues do.  Waking one takes a system call here.  The engine's back
 * end is the one for jobs at boot: helpers run at the caller's priority, on all CPUs, and
 * are charged nothing.  The added cost of that for jobs of tasks is not in these times.
 */

#include <string.h>

#include "zero_bench.h"
#include "../padata/pool.h"

const char *const bench_name = "zero_bench";

struct zero_options options = { .rounds = 9, .mib = 1024 };

char *memory;

static bool use;

void get_memory(void)
{
	unsigned long bytes = options.mib * MIB;

	memory = bench_memory(options.copy ? 2 * bytes : bytes);
}

void say_reference(unsigned int round)
{
	bench_say("round %u reference %lu ns", round,
		  bench_reference_ns(memory, options.mib * MIB));
}

static void choose_store(const char *name)
{
	enum store store = store_find(name);

	if (store == NR_STORES)
		bench_fail("there is no store %s, but clzero, movnti, stosb, stosq and page", name);
	if (!store_works(store))
		bench_fail("store %s: not on this CPU", name);
	store_choose(store);
}

static bool is_number(const char *arg, const char *name, unsigned long *to)
{
	size_t len = strlen(name);
	char *end;

	if (strncmp(arg, name, len))
		return false;
	*to = strtoul(arg + len, &end, 0);
	if (!arg[len] || *end || !*to)
		bench_fail("%s needs a number from 1 on", name);
	return true;
}

static void parse(int argc, char **argv)
{
	unsigned long value;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--use"))
			use = true;
		else if (!strcmp(argv[i], "--job"))
			options.job = true;
		else if (!strcmp(argv[i], "--dependent"))
			options.dependent = true;
		else if (!strcmp(argv[i], "--copy"))
			options.copy = true;
		else if (!strcmp(argv[i], "--preemptible"))
			kernel_is_preemptible = true;
		else if (!strncmp(argv[i], "--store=", 8))
			choose_store(argv[i] + 8);
		else if (is_number(argv[i], "--rounds=", &value))
			options.rounds = value;
		else if (is_number(argv[i], "--mib=", &options.mib))
			;
		else if (is_number(argv[i], "--threads=", &value))
			options.threads = value;
		else if (is_number(argv[i], "--min-kib=", &options.min_kib))
			;
		else
			bench_fail("see the head of zero_bench.c for the options");
	}
}

int main(int argc, char **argv)
{
	struct pool_stats stats;

	options.threads = bench_nr_cpus();
	stores_init();
	parse(argc, argv);
	/* The reference that the times are judged by. */
	if (!has_clzero())
		bench_say("store clzero: not on this CPU");
	bench_start(options.threads, 1);
	kernel_init();
	if (use)
		time_uses();
	else
		time_ways();
	pool_stop(&stats);
	bench_say("ok");
	return 0;
}
