/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zero_bench.h - what the parts of zero_bench share
 */

#ifndef _ZERO_BENCH_H
#define _ZERO_BENCH_H

#include "zero_kernel.h"
#include "zero_ways.h"
#include "../padata/bench.h"

#define MIB			0x100000UL

struct zero_options {
	unsigned long		use;		/* and use the folios then */
	unsigned long		copy;		/* copy folios, do not zero them */
	unsigned long		dependent;	/* --use: each read depends on the last */
	unsigned long		rounds;
	unsigned long		mib;		/* of memory in which folios are zeroed */
	unsigned long		min_kib;	/* the smallest folio that is timed */
	unsigned long		threads;	/* the most threads per folio */
};

extern struct zero_options options;

/* options.mib of memory, faulted in; then as much with what is to be copied. */
extern char *memory;

void get_memory(void);

/* The time of the reference loop, see bench_reference_ns(). */
void say_reference(unsigned int round);

/*
 * Which of @nr ways comes in place @i.  What one leaves in the cache to be written back is at
 * the expense of the next.  So each round starts with a different one, and each comes after
 * each of the others equally often: a Latin square balanced for carry-over (E. J. Williams,
 * 1949): 0, 1, n - 1, 2, n - 2 and so on, for an odd number reversed every other time.
 */
unsigned int take_turns(unsigned int nr, unsigned int round, unsigned int i);

/* zero_time.c: all ways, sizes and numbers of threads */
void time_ways(void);
void zero_ours(const struct folio *folio, unsigned long addr);

/* zero_use.c: ours, stock's and bare stores, and the use of the folios they have zeroed */
void time_uses(void);

#endif /* _ZERO_BENCH_H */
