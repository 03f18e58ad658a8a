// SPDX-License-Identifier: GPL-2.0-only
/*
 * zero_bench.c - measure how long it takes to zero or to copy a huge page
 *
 *   zero_bench [--copy] [--rounds=N] [--mib=N] [--threads=N] [--min-kib=N]
 *	our code with 1 to N threads, compared with stock's and others (see
 *	zero_ways.h): elapsed time and CPU time
 *   zero_bench --use [--copy | --dependent] [--rounds=N] [--mib=N] [--min-kib=N]
 *	ours, stock's and bare stores, by the task alone, plus the time it then takes to use
 *	half of the folio, by writes in three patterns, which gain from what is in the cache; or
 *	by random reads, each of which depends on the result of the one before (--dependent).
 *
 * --copy copies folios instead, with --mib of memory for each of source and copy.
 *
 * --store=NAME stands for another CPU: one that lacks those of clzero, movnti, stosb and stosq
 * that come before NAME in this list.
 *
 * Folios are zeroed one after the other in memory much larger than the cache.  Each
 * round starts with a different way.
 *
 * Helpers are threads that sleep until they are given work, as the workers of the
 * kernel's workqueues do.  Waking one takes a system call here.  The engine's back
 * end is the one for jobs at boot: helpers run at the caller's priority, on all CPUs, and
 * are charged nothing.  The added cost of that for jobs of tasks is not in these times.
 */

#include "zero_bench.h"
#include "../padata/pool.h"

const char *const bench_name = "zero_bench";

struct zero_options options = { .rounds = 9, .mib = 1024 };

char *memory;

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

int main(int argc, char **argv)
{
	const char *store = NULL;
	const struct shim_option known[] = {
		{ "--use", &options.use }, { "--copy", &options.copy },
		{ "--dependent", &options.dependent }, { "--store=", .text = &store },
		{ "--rounds=", &options.rounds }, { "--mib=", &options.mib },
		{ "--threads=", &options.threads }, { "--min-kib=", &options.min_kib }, { }
	};
	struct pool_stats stats;

	options.threads = bench_nr_cpus();
	stores_init();
	shim_options(argv, known);
	if (store)
		store_choose(store_find(store));
	/* The reference that the times are judged by. */
	if (!has_clzero())
		bench_say("store clzero: not on this CPU");
	bench_start(options.threads, 1);
	kernel_init();
	if (options.use)
		time_uses();
	else
		time_ways();
	pool_stop(&stats);
	bench_say("ok");
	return 0;
}
