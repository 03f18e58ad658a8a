/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * padata_mt.h - what the engine for multithreaded jobs, padata_mt.c, and its back ends share
 */

#ifndef _KERNEL_PADATA_MT_H
#define _KERNEL_PADATA_MT_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/lockdep.h>
#include <linux/padata_mt.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct padata_mt_helper;
struct padata_mt_run;
struct padata_mt_task;
struct padata_mt_team;

/*
 * struct padata_mt_thread - one thread's part in a job
 *
 * Written only by the thread itself, and read by the caller when all threads are out.
 * A back end may let other threads look at @task.
 */
struct padata_mt_thread {
	struct task_struct	*task;
	unsigned long		start;		/* the last chunk it claimed */
	unsigned long		end;
	bool			ran;		/* it claimed a chunk */
};

/*
 * struct padata_mt_backend - which helpers a job gets, and what they may do
 * @prepare: How many helpers there may be at once, given the most that make sense;
 *	     0 if the caller is to work alone.  From now on the team may be used.
 * @choose_cpu: The CPU for another helper, or -1 if there is none now.  Called by
 *		the caller, from padata_mt_start_helpers().
 * @enter: The current thread is a helper that starts on the job.
 * @claim: The thread's next chunk, see padata_mt_claim().  May refuse helpers,
 *	   which then leave; never the caller, or the job would not get done.
 * @leave: The current thread is a helper that is done with the job.
 * @wait: The caller waits until all helpers are out, team->all_out.
 * @release: Undoes @prepare.  No helper is inside any more.
 */
struct padata_mt_backend {
	unsigned int (*prepare)(struct padata_mt_team *team, unsigned int nr);
	int (*choose_cpu)(struct padata_mt_team *team);
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
 * except for the cursor and the outcome of the job.
 */
struct padata_mt_run {
	struct padata_mt_job	*job;
	const struct padata_mt_backend *backend;
	struct padata_mt_team	*team;		/* NULL: the caller is alone */
	unsigned long		next;		/* the cursor: all below is claimed */
	unsigned long		end;
	unsigned long		divisor;	/* a claim takes remaining / divisor */
	unsigned int		nr;		/* names the job in trace events */
	struct padata_mt_thread	caller;
	/* Threads hold this while they work; the caller waits for it. */
	struct lockdep_map	dep_map;
};

/* padata_mt_boot_backend's part of a team: which CPU is next. */
struct padata_mt_boot_state {
	struct cpumask		free;		/* CPUs of the job without a thread yet */
	struct cpumask		free_cores;	/* of these, those on cores without one */
	int			caller_cpu;	/* if helpers may run on it, else -1 */
	int			nid;		/* the next helper goes near this node */
};

/*
 * struct padata_mt_helper - a slot for one helper at a time
 *
 * When a helper has left, the caller may start another one in the same slot.  Fields are
 *
 * C: changed by the caller, while the slot is not in use
 * H: changed by the helper, while it is inside
 * X: set by the caller, and cleared by the helper, last of all
 */
struct padata_mt_helper {
	struct work_struct	work;		/* C */
	struct padata_mt_team	*team;		/* C: NULL: never used */
	bool			in_use;		/* X */
	int			cpu;		/* C: chosen for the helper */
	struct padata_mt_thread	thread;		/* H */
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
	union {					/* the back end's part */
		struct padata_mt_boot_state	boot;
		struct padata_mt_task		*task;
	};
	int			nr_helpers;	/* slots */
	struct padata_mt_helper	helpers[] __counted_by(nr_helpers);
};

/*
 * For tests that are modules.  In kernels without them nothing is exported: no other module
 * has a reason to choose a back end or, with padata_mt_boot_backend, to ignore all limits.
 */
#if IS_MODULE(CONFIG_PADATA_MT_KUNIT_TEST) || IS_MODULE(CONFIG_TEST_PADATA_MT)
#define EXPORT_SYMBOL_FOR_PADATA_TESTS(symbol) EXPORT_SYMBOL_GPL(symbol)
#else
#define EXPORT_SYMBOL_FOR_PADATA_TESTS(symbol) struct symbol##_is_not_exported
#endif

extern const struct padata_mt_backend padata_mt_boot_backend;
extern const struct padata_mt_backend *padata_mt_runtime_backend;

bool padata_mt_claim(struct padata_mt_run *run, struct padata_mt_thread *thread);
void padata_mt_start_helpers(struct padata_mt_team *team);
void padata_mt_job_cpus(const struct padata_mt_job *job, struct cpumask *cpus);
void padata_mt_helper_fn(struct work_struct *work);

int padata_mt_do_job(struct padata_mt_job *job, struct lock_class_key *key,
		     const struct padata_mt_backend *backend);

#endif /* _KERNEL_PADATA_MT_H */
