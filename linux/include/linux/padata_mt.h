/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * padata_mt.h - long jobs on many threads
 *
 * See Documentation/core-api/padata-mt.rst.
 */

#ifndef _LINUX_PADATA_MT_H
#define _LINUX_PADATA_MT_H

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/lockdep_types.h>
#include <linux/types.h>

struct cpumask;

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
 * @numa_aware: At boot, place helpers near each node in turn, not all near the caller.
 * @cpumask: CPUs that helpers may run on.  %NULL: all that unbound work may run on.  After
 *           boot, no others are used in any case.
 * @nr_threads: Set by padata_do_multithreaded(): the caller and the helpers that were
 *              queued, started or not.  A helper that leaves and one that takes its
 *              place later count as one, here and in @nr_ran.
 * @nr_ran: Set by padata_do_multithreaded(): those of them that got a chunk.
 * @max_chunk: Most units in a chunk, apart from @align and @min_chunk.  0: no limit.
 *             After boot a job without it has no helpers: it bounds how long a thread takes
 *             to notice that it has to stop.  As much as takes about a millisecond.  At one place
 *             in the code all jobs have one or none: lockdep goes by the first.
 * @nid: A node, online or not, for @near_nid.
 * @near_nid: After boot, place helpers near @nid, where the data is, not near the caller.
 * @error: Set by padata_do_multithreaded(): what it returns.
 *
 * A job gets at most one helper for each CPU in @cpumask, on one CPU of each core first
 * and on SMT siblings after that; after boot, the nearest node comes first.
 */
struct padata_mt_job {
	void (*thread_fn)(unsigned long start, unsigned long end, void *arg);
	void			*fn_arg;
	unsigned long		start;
	unsigned long		size;
	unsigned long		align;
	unsigned long		min_chunk;
	int			max_threads;
	bool			numa_aware;
	const struct cpumask	*cpumask;
	int			nr_threads;
	int			nr_ran;
	unsigned long		max_chunk;
	int			nid;
	bool			near_nid;
	int			error;
};

/**
 * padata_do_multithreaded - run a job on many threads
 * @job: What to do, see &struct padata_mt_job.  The caller must not change it until
 *       the call returns.
 *
 * Cuts the range [@job->start, @job->start + @job->size) into chunks and calls
 * @job->thread_fn for each of them, from the caller and from helper threads, in
 * no particular order and at the same time.  Returns when the job is done or has
 * failed; from then on nothing touches @job, its argument or the caller's stack, and
 * all that the threads wrote is visible to the caller.
 *
 * In a kernel without CONFIG_PADATA, all of it is one chunk, and a malformed job is not refused.
 * After the kernel has started init, helpers, if there are any, stay out of the way of others
 * and within the caller's limits.  Nothing changes for a job already under way then.
 *
 * Context: Process context, may sleep.  The caller must not hold a lock that
 * @job->thread_fn takes.
 * Return: 0 when the job is done; %-EINVAL, with nothing done, if @job has no
 * thread function or its range wraps around; the error that a thread function
 * passed to padata_mt_fail().
 */
#define padata_do_multithreaded(job)					\
({									\
	static struct lock_class_key __key;				\
									\
	padata_do_multithreaded_key(job, &__key);			\
})

#ifdef CONFIG_PADATA
int padata_do_multithreaded_key(struct padata_mt_job *job, struct lock_class_key *key);
#else
static inline int padata_do_multithreaded_key(struct padata_mt_job *job,
					      struct lock_class_key *key)
{
	job->error = 0;
	job->nr_threads = 1;
	job->nr_ran = 1;
	if (job->size)
		job->thread_fn(job->start, job->start + job->size, job->fn_arg);
	return job->error;
}
#endif

/**
 * padata_mt_fail - make a job fail
 * @job: The job that the calling thread function works on.
 * @err: Negative error number that padata_do_multithreaded() is to return.
 *
 * If several errors are reported, the first one counts.  The calling thread gets no other
 * chunk, and others none but the one that they may be claiming.  The thread function must
 * return soon.
 *
 * Context: Thread functions of @job.
 */
static inline void padata_mt_fail(struct padata_mt_job *job, int err)
{
	if (WARN_ON_ONCE(err >= 0))
		err = -EINVAL;
	/* The caller reads it when all threads are out, see padata_mt_team::inside. */
	cmpxchg_relaxed(&job->error, 0, err);
}

#endif /* _LINUX_PADATA_MT_H */
