/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pool.h - threads that stand in for a bound workqueue
 *
 * Each thread of the pool has a queue and serves the CPUs whose number is its
 * own modulo the number of threads.  Items for a CPU that is offline go to any, and
 * items that still run to the thread that runs them.
 */

#ifndef _PADATA_POOL_H
#define _PADATA_POOL_H

#include "shim.h"

/* What becomes of a work item: chosen when it is queued. */
enum pool_fate {
	POOL_RUN,		/* it runs when the thread gets to it */
	POOL_LATE,		/* it leaves the queue, but only runs some time later */
	POOL_NEVER,		/* it stays on the queue until it is cancelled */
};

/* Called by whoever queues an item, for @cpu.  Without one, all items run. */
extern enum pool_fate (*pool_choose_fate)(struct work_struct *work, int cpu);

/* Called by each thread of the pool when it begins, with its number. */
extern void (*pool_on_start)(unsigned int nr);

struct pool_stats {
	unsigned long		run;
	unsigned long		late;		/* of those run */
	unsigned long		cancelled;
};

/* alloc_workqueue() fails while no pool runs. */
void pool_start(unsigned int threads, uint64_t seed);

/* Runs what is queued, ends the threads.  It is a bug to leave an item behind. */
void pool_stop(struct pool_stats *stats);

#endif /* _PADATA_POOL_H */
