/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench.h - what benchmarks of kernel code in userspace have in common
 */

#ifndef _PADATA_BENCH_H
#define _PADATA_BENCH_H

#include <stdio.h>
#include <stdlib.h>

#include "shim.h"

/* The program's name, which each line of its output begins with. */
extern const char *const bench_name;

/* A line of output; and one that says why the program ends here. */
#define bench_say(...)	(printf("%s: ", bench_name), printf(__VA_ARGS__), \
			 putchar('\n'), fflush(stdout))
#define bench_fail(...)							\
({									\
	printf("%s: FAILED: ", bench_name);				\
	printf(__VA_ARGS__);						\
	putchar('\n');							\
	exit(1);							\
})

uint64_t bench_now_ns(void);

/* Memory in huge pages where there are any, with all of it faulted in. */
char *bench_memory(unsigned long bytes);

/*
 * The CPUs that the program may use, SHIM_NR_CPUS of them at most.  They are CPUs
 * 0, 1, ... of the engine's, each with a thread of the pool that is bound to it; the
 * caller is bound to the first.
 */
unsigned int bench_nr_cpus(void);
void bench_start(unsigned int nr_cpus, uint64_t seed);

/* "work: N rounds, B bytes": known in advance, so that the time it takes can be bounded. */
void bench_say_work(unsigned long rounds, unsigned long bytes);

/* Whether a second has passed since the last time that it was true: time to show progress. */
bool bench_is_time(void);

/*
 * The time of a fixed piece of work, about a millisecond: so many dependent
 * operations, and so many bytes read from the middle of @memory.  What it takes has
 * nothing to do with what is measured, so its spread says how busy the host is.
 * @memory is much larger than the caches and was written since the last call.
 */
uint64_t bench_reference_ns(const void *memory, unsigned long bytes);

#endif /* _PADATA_BENCH_H */
