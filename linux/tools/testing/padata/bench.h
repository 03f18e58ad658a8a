/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench.h - what userspace benchmarks of kernel code have in common
 */

#ifndef _PADATA_BENCH_H
#define _PADATA_BENCH_H

#include <stdio.h>
#include <stdlib.h>

#include "shim.h"

/* The program's name, with which each line of its output begins. */
extern const char *const bench_name;

/* Print a line of output; print one that says why the program fails, and exit. */
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

/* Allocate memory, in huge pages where there are any, with all of it faulted in. */
char *bench_memory(unsigned long bytes);

/*
 * The CPUs that the program may use, SHIM_NR_CPUS of them at most.  To the engine they
 * are CPUs 0, 1, ..., each with a thread of the pool that is bound to it; the
 * caller is bound to the first.
 */
unsigned int bench_nr_cpus(void);
void bench_start(unsigned int nr_cpus, uint64_t seed);

/* The number of threads to time after @threads, 0 after @most: 1 to 8, 16, 32, ... and @most */
unsigned int bench_next_threads(unsigned int threads, unsigned int most);

/* "work: N rounds, B bytes", printed in advance, so that its duration can be bounded. */
void bench_say_work(unsigned long rounds, unsigned long bytes);

/* Whether a second has passed since this was last true: time to show progress. */
bool bench_is_time(void);

/*
 * The time of a fixed piece of work, about a millisecond: a number of dependent
 * operations, and a number of bytes read from the middle of @memory.  It has nothing to
 * do with what is measured, so the spread of this time shows how busy the host is.
 * @memory is much larger than the caches and was written since the last call.
 */
uint64_t bench_reference_ns(const void *memory, unsigned long bytes);

#endif /* _PADATA_BENCH_H */
