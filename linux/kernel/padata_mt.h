/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * padata_mt.h - what the engine of multithreaded jobs and its back ends share
 *
 * The engine, padata_mt.c, cuts a job into chunks, keeps count of its threads and
 * knows when it is over.  A back end says which CPUs get a helper and when, and
 * what a helper may do: padata_mt_boot, in the engine's own file, gives a job all
 * that the machine has; padata_mt_task, in padata_mt_task.c, is for jobs that
 * have others beside them.
 */

#ifndef _KERNEL_PADATA_MT_H
#define _KERNEL_PADATA_MT_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/container_of.h>
#include <linux/cpumask.h>
#include <linux/debug_locks.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/padata.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct mem_cgroup;
struct mempolicy;
struct padata_mt_helper;
struct padata_mt_run;
struct padata_mt_team;
struct task_struct;

/*
 * struct padata_mt_thread - one thread's part in a job
 *
 * Written by the thread alone, and read by the caller when all threads are out.
 * Only @task is looked at by others, see padata_mt_fail().
 */
struct padata_mt_thread {
	struct task_struct	*task;		/* while it is at work */
	unsigned long		start;		/* the last chunk it claimed */
	unsigned long		end;
	bool			ran;		/* it claimed one */
	bool			failed;		/* and did not complete it */
};

/*
 * struct padata_mt_backend - which helpers a job gets, and what they may do
 * @prepare: How many helpers to keep room for, given the most that make sense.
 *	     From now on the team may be used; 0 if the caller is to be alone.
 * @place: The CPU for another helper, or -1 if there is none now.  Called by the
 *	   caller, and as often as it calls padata_mt_recruit().
 * @enter: The current thread is a helper that came in.
 * @claim: The thread's next chunk, see padata_mt_claim().  May refuse helpers,
 *	   which then leave; the caller never, or the job would not get done.
 * @leave: The current thread is a helper that is about to go.
 * @wait: The caller waits for all helpers to be out, team->all_out.
 * @release: Undoes @prepare.  No helper is inside any more.
 */
struct padata_mt_backend {
	unsigned int (*prepare)(struct padata_mt_team *team, unsigned int nr);
	int (*place)(struct padata_mt_team *team);
	void (*enter)(struct padata_mt_helper *helper);
	bool (*claim)(struct padata_mt_run *run, struct padata_mt_thread *thread);
	void (*leave)(struct padata_mt_helper *helper);
	void (*wait)(struct padata_mt_team *team);
	void (*release)(struct padata_mt_team *team);
};

/*
 * struct padata_mt_run - a job while it runs, as its threads see it
 *
 * On the caller's stack if the caller works alone, else in the team.  Constant
 * but for the cursor and what comes of the job.
 */
struct padata_mt_run {
	struct padata_mt_job	*job;
	const struct padata_mt_backend *backend;
	struct padata_mt_team	*team;		/* NULL: the caller is alone */
	unsigned long		next;		/* the cursor: all below is claimed */
	unsigned long		end;
	unsigned long		stopped;	/* where the cursor was stopped, or end */
	unsigned long		align;
	unsigned long		min_chunk;
	unsigned long		max_chunk;
	unsigned long		shares;		/* a claim takes 1/shares of the rest */
	unsigned int		nr;		/* names the job in trace events */
	atomic_t		nr_ran;		/* threads that got a chunk */
	struct padata_mt_thread	caller;
	/* What threads hold while they work, and the caller waits for. */
	struct lockdep_map	dep_map;
	unsigned int		dep_depth;	/* of jobs within jobs */
};

/* CPUs that can still be given a helper, and how to choose among them. */
struct padata_mt_places {
	struct cpumask		cpus;		/* boot: without a thread of this job */
						/* task: all that the job may use */
	struct cpumask		cores;		/* boot: those on cores without one */
						/* task: those still to be looked at */
	int			home;		/* boot: the caller's CPU, if one of them */
	int			nid;		/* where to look for the nearest */
	bool			rotate;		/* boot: take nodes in turn */
};

/* Whom helpers work for: padata_mt_task's part of the team. */
struct padata_mt_patron {
	struct task_struct	*task;		/* limits are its; NULL: the kernel's */
	struct mem_cgroup	*memcg;		/* this and below: the caller's scope */
	struct mempolicy	*mempolicy;	/* a copy */
	nodemask_t		mems_allowed;
	unsigned int		memalloc;	/* PF_MEMALLOC_NOFS and _NOIO */
	unsigned long		looked;		/* jiffies of the last look for CPUs */
	raw_spinlock_t		lock;		/* hurry, and helpers' lowered */
	bool			hurry;		/* the caller has only to wait now */
};

/*
 * struct padata_mt_helper - room for one helper
 *
 * The helper may leave and another one be hired for the same room, by the
 * caller, which sets @hired; the helper clears it, last of all.
 */
struct padata_mt_helper {
	struct work_struct	work;
	struct padata_mt_team	*team;
	bool			hired;
	int			cpu;		/* where it was hired for */
	struct padata_mt_thread	thread;
	/* padata_mt_task's: what the thread had before, and has to get back. */
	bool			lowered;	/* to nice 19, and can be raised */
	int			nice;
	u64			charged;	/* the thread's CPU time, paid up to here */
	u64			used;		/* of that, for this job */
	struct mempolicy	*mempolicy;
	struct mem_cgroup	*memcg;
	unsigned int		memalloc;
};

/*
 * struct padata_mt_team - a job's helpers, and what they share with the caller
 *
 * Allocated before the first helper is queued, freed by whoever drops the last
 * reference.  run.job is valid for threads that are inside, all else for those
 * that hold a reference.
 */
struct padata_mt_team {
	struct padata_mt_run	run;
	refcount_t		inside;		/* threads that may touch the job */
	refcount_t		ref;		/* caller and queued helpers */
	struct completion	all_out;	/* inside reached 0 while the caller waits */
	struct list_head	waiting;	/* on padata_mt_waiting */
	struct padata_mt_places	places;		/* the caller's */
	struct padata_mt_patron	patron;
	int			nr_hired;	/* rooms that ever had a helper */
	int			nr_helpers;
	struct padata_mt_helper	helpers[] __counted_by(nr_helpers);
};

extern const struct padata_mt_backend padata_mt_boot;
extern const struct padata_mt_backend padata_mt_task;

bool padata_mt_claim(struct padata_mt_run *run, struct padata_mt_thread *thread);
void padata_mt_stop(struct padata_mt_run *run, int err);
void padata_mt_recruit(struct padata_mt_team *team);
void padata_mt_job_cpus(const struct padata_mt_job *job, struct cpumask *cpus);
void padata_mt_help(struct work_struct *work);

int padata_mt_do(struct padata_mt_job *job, struct lock_class_key *key,
		 const struct padata_mt_backend *backend);

#ifdef CONFIG_LOCKDEP
/*
 * How deep the current thread is in jobs within jobs: each depth has a lockdep
 * subclass of its own, as it is another job that is waited for.  Locks that lockdep
 * counts rather than lists may be gone, and all may be once it has turned itself off.
 */
static inline unsigned int padata_mt_dep_depth(const char *name)
{
	unsigned int i, depth = 0;

	for (i = 0; debug_locks && i < current->lockdep_depth; i++) {
		const struct held_lock *held = &current->held_locks[i];

		if (!held->references && held->instance->name == name)
			depth = container_of(held->instance, struct padata_mt_run,
					     dep_map)->dep_depth + 1;
	}
	return min(depth, MAX_LOCKDEP_SUBCLASSES - 1);
}
#else
static inline unsigned int padata_mt_dep_depth(const char *name)
{
	return 0;
}
#endif

#endif /* _KERNEL_PADATA_MT_H */
