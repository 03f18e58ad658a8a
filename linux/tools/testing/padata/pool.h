/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pool.h - threads that stand in for a bound workqueue
 *
 * Each thread of the pool has a queue and serves the CPUs whose number, modulo the
 * number of threads, is its own.  Items for a CPU that is offline go to any thread, and
 * items that are still running go to the thread that runs them.
 */

#ifndef _PADATA_POOL_H
#define _PADATA_POOL_H

#include "shim.h"

/* What happens to a work item: chosen when it is queued. */
enum pool_fate {
	POOL_RUN,		/* it runs when the thread gets to it */
	POOL_LATE,		/* it leaves the queue, but runs only some time later */
	POOL_NEVER,		/* it stays on the queue until it is cancelled */
};

/* Called for @cpu by the thread that queues an item.  If not set, all items run. */
extern enum pool_fate (*pool_choose_fate)(struct work_struct *work, int cpu);

/* Called by each thread of the pool when it starts, with the thread's number. */
extern void (*pool_on_start)(unsigned int nr);

struct pool_stats {
	unsigned long		run;
	unsigned long		late;		/* of those run */
	unsigned long		cancelled;
};

/* alloc_workqueue() fails while no pool runs. */
void pool_start(unsigned int threads, uint64_t seed);

/* Run what is queued, and end the threads.  It is a bug to leave an item behind. */
void pool_stop(struct pool_stats *stats);

#endif /* _PADATA_POOL_H */
