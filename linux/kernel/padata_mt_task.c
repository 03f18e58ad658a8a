// SPDX-License-Identifier: GPL-2.0-only
/*
 * padata_mt_task.c - helpers for jobs that share the machine with other tasks
 *
 * After boot, helpers are started on idle CPUs, leave after their chunk when another task wants
 * the CPU, and keep within the limits of the caller.  They change no state of the worker that they
 * run in.  The rules are in Documentation/core-api/padata-mt-tasks.rst.
 */

#include <linux/cleanup.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/nodemask.h>
#include <linux/printk.h>
#include <linux/sched/cputime.h>
#include <linux/sched/rt.h>
#include <linux/sched/topology.h>
#include <linux/topology.h>

#include "padata_mt.h"
#include "sched/charge.h"
#include "workqueue_internal.h"

/* Its workers are moved by the scheduler, away from a realtime task in the middle of a chunk. */
static struct workqueue_struct *padata_mt_task_wq;

/* Not for a kernel thread: it is not known for whom it works. */
static bool padata_mt_task_is_limited(const struct padata_mt_team *team)
{
	return !(READ_ONCE(team->caller->flags) & PF_KTHREAD);
}

/*
 * Whether helpers may be on @cpu.  The task's mask and that of unbound work, which a cpuset
 * partition changes, may change at any time: a helper looks again before it claims.
 */
static bool padata_mt_task_cpu_allowed(const struct padata_mt_team *team, int cpu)
{
	return workqueue_cpu_allowed(cpu) &&
	       (!padata_mt_task_is_limited(team) ||
		cpumask_test_cpu(cpu, &team->caller->cpus_mask));
}

/*
 * Nothing for a realtime task, which a caller may become in the middle of a job, and may be only
 * because it holds a lock that a realtime task waits for; and nothing without quota for what
 * helpers have used and is not charged yet, and for a chunk of each thread inside.
 */
static bool padata_mt_task_may_have_help(const struct padata_mt_team *team)
{
	u64 ns = atomic64_read(&team->used) + refcount_read(&team->inside) * NSEC_PER_MSEC;

	if (rt_or_dl_task(team->caller))
		return false;
	return !padata_mt_task_is_limited(team) || sched_task_has_quota(team->caller, ns);
}

/* A thread of the job is on @cpu: the next one goes where it shares no cache with it. */
static void padata_mt_task_spread(struct padata_mt_where *where, int cpu)
{
	int other;

	for_each_cpu(other, &where->spread) {
		if (cpus_share_cache(cpu, other))
			cpumask_clear_cpu(other, &where->spread);
	}
}

static void padata_mt_task_begin_search(struct padata_mt_where *where)
{
	where->next_search = jiffies;
	cpumask_copy(&where->free, cpu_online_mask);
	cpumask_copy(&where->spread, &where->free);
	padata_mt_task_spread(where, raw_smp_processor_id());
}

/*
 * Helpers do not inherit the scopes of an allocation, and who may use the memory reserves may hold
 * locks that other tasks wait for in order to free memory.
 */
#define PADATA_MT_TASK_ALONE	(PF_MEMALLOC_NOFS | PF_MEMALLOC_NOIO | PF_MEMALLOC)

/* A helper, which works within the limits of another task, has no helpers itself. */
static unsigned int padata_mt_task_prepare(struct padata_mt_team *team, unsigned int nr)
{
	const struct worker *worker = current_wq_worker();

	/* Pairs with the release in padata_mt_task_make_wq(): it is ready to be used. */
	team->where->wq = smp_load_acquire(&padata_mt_task_wq);
	if (!team->where->wq || !team->job->max_chunk || rt_or_dl_task(current) ||
	    (current->flags & PADATA_MT_TASK_ALONE) ||
	    (worker && worker->current_func == padata_mt_helper_fn))
		return 0;

	team->where->nid = numa_nearest_node(team->job->nid, N_CPU);
	padata_mt_task_begin_search(team->where);
	return nr;
}

static bool padata_mt_task_cpu_is_idle(int cpu)
{
	return idle_cpu(cpu) && !vcpu_is_preempted(cpu);
}

/* For a helper, an idle core in a cache of its own is best, the sibling of a busy CPU last. */
enum padata_mt_task_rank { RANK_UNUSABLE, RANK_SIBLING, RANK_CORE, RANK_CACHE };

static enum padata_mt_task_rank padata_mt_task_rank(const struct padata_mt_team *team, int cpu)
{
	int sibling;

	if (!padata_mt_task_cpu_allowed(team, cpu) || !padata_mt_task_cpu_is_idle(cpu) ||
	    sched_helper_unwanted(cpu))
		return RANK_UNUSABLE;
	for_each_cpu(sibling, topology_sibling_cpumask(cpu)) {
		if (!padata_mt_task_cpu_is_idle(sibling))
			return RANK_SIBLING;
	}
	return cpumask_test_cpu(cpu, &team->where->spread) ? RANK_CACHE : RANK_CORE;
}

/*
 * The best of the candidates on a node and those as near, or -1.  One that is not usable is not
 * looked at again in this search.  Callers on different CPUs begin with different ones, so that
 * they hardly ever choose the same at the same time; if they do, one of the helpers leaves.
 */
static int padata_mt_task_best_cpu(struct padata_mt_team *team, const struct cpumask *near)
{
	int first = (cpumask_first(near) + raw_smp_processor_id()) % nr_cpu_ids;
	struct cpumask *free = &team->where->free;
	enum padata_mt_task_rank rank, best_rank = RANK_UNUSABLE;
	int cpu, best = -1;

	for_each_cpu_wrap(cpu, free, first) {
		if (!cpumask_test_cpu(cpu, near))
			continue;
		rank = padata_mt_task_rank(team, cpu);
		if (rank == RANK_UNUSABLE)
			cpumask_clear_cpu(cpu, free);
		if (rank <= best_rank)
			continue;
		best = cpu;
		best_rank = rank;
		if (rank == RANK_CACHE)
			break;
	}
	return best;
}

static int padata_mt_task_choose_cpu(struct padata_mt_team *team)
{
	struct padata_mt_where *where = team->where;
	const struct cpumask *hop;
	int cpu;

	if (!padata_mt_task_may_have_help(team))
		return -1;

	guard(rcu)();
	for_each_numa_hop_mask(hop, where->nid) {
		cpu = padata_mt_task_best_cpu(team, hop);
		if (cpu < 0)
			continue;
		cpumask_clear_cpu(cpu, &where->free);
		/* All caches that are as near have a thread: begin with one more in each. */
		if (!cpumask_test_cpu(cpu, &where->spread))
			cpumask_copy(&where->spread, &where->free);
		padata_mt_task_spread(where, cpu);
		return cpu;
	}

	/* With many CPUs and none idle, looking at all of them in each tick costs too much. */
	where->next_search = jiffies + HZ / 100;
	return -1;
}

/*
 * Preemption stays off until the chunk is claimed: when the caller has been told to use other
 * CPUs, or has become realtime, a helper that has just looked may claim one more, but not one
 * that did not get to run in between.
 *
 * The time is added relaxed, as it is only a number.  The caller charges the last of it when it
 * has waited for all helpers.
 */
static bool padata_mt_task_claim_helper(struct padata_mt_team *team,
					struct padata_mt_helper *helper,
					struct padata_mt_chunk *chunk)
{
	u64 now = task_sched_runtime(current);

	atomic64_add(now - helper->runtime, &team->used);
	helper->runtime = now;

	guard(preempt)();
	if (!padata_mt_task_cpu_allowed(team, smp_processor_id()) ||
	    sched_helper_unwanted(smp_processor_id()) || !padata_mt_task_may_have_help(team))
		return false;
	return padata_mt_claim(team, helper, chunk);
}

/* Charge the caller for what helpers have used: one look at its runqueue for all of them. */
static void padata_mt_task_charge(struct padata_mt_team *team)
{
	u64 ns = atomic64_xchg_relaxed(&team->used, 0);

	if (ns && padata_mt_task_is_limited(team))
		sched_charge(ns);
}

/* The caller searches for idle CPUs at most once per tick: the search costs it time. */
static bool padata_mt_task_claim(struct padata_mt_team *team, struct padata_mt_helper *helper,
				 struct padata_mt_chunk *chunk)
{
	if (helper)
		return padata_mt_task_claim_helper(team, helper, chunk);

	if (team->where) {
		padata_mt_task_charge(team);
		if (time_after(jiffies, team->where->next_search) &&
		    READ_ONCE(team->next) != team->end) {
			padata_mt_task_begin_search(team->where);
			padata_mt_start_helpers(team);
		}
	}
	return padata_mt_claim(team, NULL, chunk);
}

/* Jobs after boot: for a user task, within its limits, or for the kernel. */
static const struct padata_mt_backend padata_mt_task_backend = {
	.prepare	= padata_mt_task_prepare,
	.choose_cpu	= padata_mt_task_choose_cpu,
	.claim		= padata_mt_task_claim,
	.release	= padata_mt_task_charge,
};

const struct padata_mt_backend *padata_mt_runtime_backend(void)
{
	return &padata_mt_task_backend;
}

/*
 * An unbound workqueue with a pool for each CPU.  Making a worker for each takes a while, which
 * boot does not wait for.  There are no helpers until then.
 */
static void padata_mt_task_make_wq(struct work_struct *work)
{
	struct workqueue_struct *wq = alloc_workqueue("padata_mt_task", WQ_UNBOUND,
						      WQ_UNBOUND_MAX_ACTIVE);
	struct workqueue_attrs *attrs = alloc_workqueue_attrs();

	if (wq && attrs) {
		attrs->affn_scope = WQ_AFFN_CPU;
		attrs->affn_strict = false;
		if (!apply_workqueue_attrs(wq, attrs))
			/* Pairs with the acquire in padata_mt_task_prepare(). */
			smp_store_release(&padata_mt_task_wq, wq);
	}
	if (!padata_mt_task_wq)
		pr_warn("padata: no workqueue, jobs after boot run on one thread\n");
	free_workqueue_attrs(attrs);
}

static DECLARE_WORK(padata_mt_task_work, padata_mt_task_make_wq);

static int __init padata_mt_task_init(void)
{
	schedule_work(&padata_mt_task_work);
	return 0;
}
late_initcall(padata_mt_task_init);
