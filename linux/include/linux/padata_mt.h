/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * padata_mt.h - long jobs on many threads
 *
 * See Documentation/core-api/padata-mt.rst.
 */

#ifndef _LINUX_PADATA_MT_H
#define _LINUX_PADATA_MT_H

#include <linux/lockdep_types.h>
#include <linux/types.h>

/**
 * struct padata_mt_job - a job for many threads
 *
 * @thread_fn: Called for each chunk [start, end) of the job, by several threads
 *             at once.  May sleep and allocate memory if there is no @max_chunk.
 * @fn_arg: Passed to @thread_fn.
 * @start: First unit of the job.  What a unit is, is up to the job.
 * @size: Number of units.
 * @align: Chunks begin and end on multiples of this, except at the beginning and
 *         the end of the job.  0 means 1.
 * @min_chunk: Least number of units that are worth a call of @thread_fn.  A
 *             chunk is smaller only if the whole job is.  0 means 1.
 * @max_threads: Most threads to run @thread_fn at once, including the caller.
 *               Less than 1 means 1.
 * @max_chunk: Most units in a chunk, apart from @align and @min_chunk.  0: no limit.
 *             After boot a job without it has no helpers: it bounds how long a thread takes
 *             to notice that it has to stop.  As much as takes about a millisecond.  At one place
 *             in the code all jobs have one or none: lockdep goes by the first.
 * @nid: Node, online or not, that the data is on.  Helpers are placed near it.
 * @numa_aware: At boot, place helpers near each node in turn instead.
 *
 * A job has at most as many helpers as there are CPUs, each started on another one.
 */
struct padata_mt_job {
	void (*thread_fn)(unsigned long start, unsigned long end, void *arg);
	void			*fn_arg;
	unsigned long		start;
	unsigned long		size;
	unsigned long		align;
	unsigned long		min_chunk;
	unsigned long		max_chunk;
	int			max_threads;
	int			nid;
	bool			numa_aware;
};

/**
 * padata_do_multithreaded - run a job on many threads
 * @job: What to do, see &struct padata_mt_job.
 *
 * Cuts the range [@job->start, @job->start + @job->size) into chunks and calls
 * @job->thread_fn for each of them, from the caller and from helper threads, in
 * no particular order and at the same time.  Returns when the job is done; from then on
 * nothing touches @job, its argument or the caller's stack, and all that the threads wrote
 * is visible to the caller.
 *
 * In a kernel without CONFIG_PADATA, all of it is one chunk, and a malformed job is not refused.
 * After the kernel has started init, helpers, if there are any, stay out of the way of others
 * and within the caller's limits.  Nothing changes for a job already under way then.
 *
 * Context: Process context, may sleep.  The caller must not hold a lock that
 * @job->thread_fn takes.
 * Return: When the job is done, the most threads that were put to work at a time: the caller and
 * helpers that were queued, started or not; 0 for a job of no units; %-EINVAL, with nothing done,
 * if @job has no thread function or its range wraps around.
 */
#define padata_do_multithreaded(job)					\
({									\
	static struct lock_class_key __key;				\
									\
	padata_do_multithreaded_key(job, &__key);			\
})

#ifdef CONFIG_PADATA
int padata_do_multithreaded_key(const struct padata_mt_job *job, struct lock_class_key *key);
#else
static inline int padata_do_multithreaded_key(const struct padata_mt_job *job,
					      struct lock_class_key *key)
{
	if (!job->size)
		return 0;
	job->thread_fn(job->start, job->start + job->size, job->fn_arg);
	return 1;
}
#endif

#endif /* _LINUX_PADATA_MT_H */
