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
struct padata_mt_team;

/* What a thread has claimed: [start, end). */
struct padata_mt_chunk {
	unsigned long		start;
	unsigned long		end;
};

/*
 * struct padata_mt_backend - which helpers a job gets, and when they have to leave
 * @prepare: How many helpers there may be at once, given the most that make sense;
 *	     0 if the caller is to work alone.
 * @choose_cpu: The CPU for another helper, or -1 if there is none now.  Called by
 *		the caller, from padata_mt_start_helpers().
 * @claim: The next chunk of @helper, or of the caller if that is %NULL, see padata_mt_claim().
 *	   May refuse helpers, which then leave; never the caller, or the job would not get done.
 * @release: The job is over, and no helper is inside any more.
 */
struct padata_mt_backend {
	unsigned int (*prepare)(struct padata_mt_team *team, unsigned int nr);
	int (*choose_cpu)(struct padata_mt_team *team);
	bool (*claim)(struct padata_mt_team *team, struct padata_mt_helper *helper,
		      struct padata_mt_chunk *chunk);
	void (*release)(struct padata_mt_team *team);
};

/*
 * struct padata_mt_where - where helpers run, and which CPU is next
 *
 * Used by the caller alone, and by the back end only.
 */
struct padata_mt_where {
	struct workqueue_struct	*wq;
	struct cpumask		free;		/* CPUs that may get a helper */
	struct cpumask		spread;		/* of these, on cores, or in caches, without one */
	int			caller_cpu;	/* at boot */
	int			nid;		/* the next helper goes near this node */
	unsigned long		next_search;	/* after boot: jiffies: then look at CPUs again */
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
	struct padata_mt_team	*team;		/* C */
	bool			in_use;		/* X */
	u64			runtime;	/* H: the worker's CPU time when it last claimed */
};

/*
 * struct padata_mt_team - a job while it runs, and its helpers
 *
 * On the caller's stack if the caller works alone.  Else allocated, with @where behind it, before
 * the first helper is queued, and freed by whoever drops the last reference.  @job is valid for
 * threads that are inside, all else for those that hold a reference.  Fields that are not
 * marked do not change while there are helpers.
 *
 * A: atomic, by any thread that is inside
 * C: used by the caller alone
 */
struct padata_mt_team {
	const struct padata_mt_job *job;
	const struct padata_mt_backend *backend;
	struct task_struct	*caller;
	unsigned long		next;		/* A: the cursor: all below is claimed */
	unsigned long		end;
	unsigned long		divisor;	/* a claim takes remaining / divisor */
	unsigned int		nr;		/* names the job in trace events */
	atomic64_t		used;		/* A: CPU time of helpers, not charged yet, in ns */
	refcount_t		inside;		/* A: threads that may touch the job */
	refcount_t		ref;		/* caller and queued helpers */
	struct completion	all_out;	/* inside reached 0 while the caller waits */
	/* Threads hold this while they work; the caller waits for it. */
	struct lockdep_map	dep_map;
	struct padata_mt_where	*where;		/* C: NULL: the caller is alone */
	int			nr_used;	/* C: the first slots, which have had a helper */
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
const struct padata_mt_backend *padata_mt_runtime_backend(void);

bool padata_mt_claim(struct padata_mt_team *team, struct padata_mt_helper *helper,
		     struct padata_mt_chunk *chunk);
void padata_mt_start_helpers(struct padata_mt_team *team);
void padata_mt_helper_fn(struct work_struct *work);

int padata_mt_do_job(const struct padata_mt_job *job, struct lock_class_key *key,
		     const struct padata_mt_backend *backend);

#endif /* _KERNEL_PADATA_MT_H */
