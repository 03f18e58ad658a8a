// SPDX-License-Identifier: GPL-2.0-only
/*
 * padata_mt_task.c - helpers for jobs that share the machine with other tasks
 *
 * After boot, a machine is there for its users.  Helping one user's job must not
 * disturb the others, nor get that user more of the machine than it was given.  So helpers
 * are started on idle CPUs, run as SCHED_IDLE, leave when another task wants their CPU, and
 * keep within the limits of the caller.  The rules, and what a helper does not inherit, are
 * in Documentation/core-api/padata-mt-tasks.rst.
 */

#include <linux/cleanup.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/nodemask.h>
#include <linux/sched/cputime.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/sched/topology.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/topology.h>

#include "padata_mt.h"
#include "sched/charge.h"
#include "workqueue_internal.h"

/*
 * A helper's part of struct padata_mt_task.  Used by the helper itself, from enter to leave, and
 * under a lock:
 *
 * P: under padata_mt_task::prio_lock
 */
struct padata_mt_task_helper {
	bool			lowered;	/* P: SCHED_IDLE, or boosted */
	int			nice;		/* the thread's own, while it is lowered */
	u64			charged;	/* the thread's CPU time that is paid for, in ns */
};

/*
 * struct padata_mt_task - what this back end knows of a team
 *
 * Made by the caller before there are helpers, and freed by it when none is inside.  Not
 * changed meanwhile, except for:
 *
 * C: used by the caller alone
 * P: under prio_lock.  Raw, as no thread may be preempted while it holds the lock and is
 *    SCHED_IDLE.  Not taken in interrupts.
 */
struct padata_mt_task {
	struct task_struct	*user;		/* its limits apply; NULL: a kthread */
	int			nid;		/* helpers go near this node */
	struct cpumask		allowed;	/* CPUs of the job */
	struct cpumask		candidates;	/* C: of these, those not looked at yet */
	struct cpumask		spread;		/* C: of these, those that share no cache */
	unsigned long		next_search;	/* C: jiffies: then look at CPUs again */
	raw_spinlock_t		prio_lock;
	bool			caller_waits;	/* P: it has nothing else left to do */
	struct padata_mt_task_helper helpers[];
};

/* This back end's part of @helper. */
static struct padata_mt_task_helper *padata_mt_task_part(const struct padata_mt_helper *helper)
{
	return &helper->team->task->helpers[helper - helper->team->helpers];
}

/*
 * At most one helper per CPU.  A CPU that has one may still look idle if its thread function
 * sleeps.
 */
static void padata_mt_task_reset_candidates(struct padata_mt_team *team)
{
	struct cpumask *candidates = &team->task->candidates;
	int i;

	cpumask_and(candidates, &team->task->allowed, cpu_online_mask);
	for (i = 0; i < team->nr_helpers; i++) {
		if (READ_ONCE(team->helpers[i].in_use))
			cpumask_clear_cpu(team->helpers[i].cpu, candidates);
	}
}

/*
 * Whether helpers may be on @cpu.  The task's mask and that of unbound work, which a cpuset
 * partition changes, may change at any time: a helper looks again before it claims.
 */
static bool padata_mt_task_cpu_allowed(const struct padata_mt_task *task, int cpu)
{
	return cpumask_test_cpu(cpu, workqueue_unbound_cpumask()) &&
	       (!task->user || cpumask_test_cpu(cpu, &task->user->cpus_mask));
}

/* The next helper goes where no thread of the job shares a cache with it. */
static void padata_mt_task_spread(struct padata_mt_task *task, int cpu)
{
	int other;

	for_each_cpu(other, &task->spread) {
		if (cpus_share_cache(cpu, other))
			cpumask_clear_cpu(other, &task->spread);
	}
}

/*
 * An idle CPU that is in both masks, or -1.  A CPU that was chosen, or is not usable, is not
 * looked at again until the next time that helpers are started.  Callers on different CPUs
 * begin with different ones, so that they hardly ever choose the same at the same time; if
 * they do, the second helper finds the CPU taken, and leaves.
 */
static int padata_mt_task_find_cpu(struct padata_mt_task *task, const struct cpumask *hop,
				   const struct cpumask *from, bool whole_core)
{
	int cpu;

	for_each_cpu_wrap(cpu, from, raw_smp_processor_id()) {
		bool usable;

		if (!cpumask_test_cpu(cpu, hop))
			continue;
		usable = padata_mt_task_cpu_allowed(task, cpu) && sched_cpu_may_help(cpu);
		if (usable && whole_core && !sched_whole_core_idle(cpu))
			continue;
		cpumask_clear_cpu(cpu, &task->candidates);
		cpumask_clear_cpu(cpu, &task->spread);
		if (!usable)
			continue;
		padata_mt_task_spread(task, cpu);
		return cpu;
	}
	return -1;
}

/*
 * Not a realtime task, even if it is one only because it holds a lock that a realtime
 * task waits for; nor a task that is being killed.  A caller may become either in the
 * middle of a job, and may also stop being realtime.
 */
static bool padata_mt_task_may_have_help(struct task_struct *caller)
{
	return !rt_or_dl_task(caller) && !fatal_signal_pending(caller) &&
	       !(READ_ONCE(caller->flags) & PF_EXITING);
}

/*
 * The nearest node first.  In a node, idle cores in caches in which the job has no thread;
 * when it has one in each of them, all caches again; and then the siblings of busy CPUs.
 */
static int padata_mt_task_choose_cpu(struct padata_mt_team *team)
{
	struct padata_mt_task *task = team->task;
	const struct cpumask *hop;
	int cpu;

	if (!padata_mt_task_may_have_help(current))
		return -1;
	if (task->user && !sched_task_has_quota(task->user))
		return -1;

	guard(rcu)();
	for_each_numa_hop_mask(hop, task->nid) {
		cpu = padata_mt_task_find_cpu(task, hop, &task->spread, true);
		if (cpu < 0) {
			cpumask_copy(&task->spread, &task->candidates);
			cpu = padata_mt_task_find_cpu(task, hop, &task->spread, true);
		}
		if (cpu < 0)
			cpu = padata_mt_task_find_cpu(task, hop, &task->candidates, false);
		if (cpu >= 0)
			return cpu;
	}

	/* With many CPUs and none idle, looking at all of them in each tick costs too much. */
	task->next_search = jiffies + HZ / 100;
	return -1;
}

/*
 * What keeps a caller alone.  Helpers do not inherit the scopes of an allocation, and a task
 * that may use the memory reserves uses them alone, and may hold locks that other tasks wait
 * for in order to free memory.
 */
#define PADATA_MT_TASK_ALONE	(PF_MEMALLOC_NOFS | PF_MEMALLOC_NOIO | PF_MEMALLOC)

/* Whether the current thread works for a job, within its limits: a job in it has no helpers. */
static bool padata_mt_task_is_helper(void)
{
	struct worker *worker = current_wq_worker();

	return worker && worker->current_func == padata_mt_helper_fn;
}

static unsigned int padata_mt_task_prepare(struct padata_mt_team *team, unsigned int nr)
{
	const struct padata_mt_job *job = team->run.job;
	struct padata_mt_task *task;

	if (padata_mt_task_is_helper() || !padata_mt_task_may_have_help(current) ||
	    (current->flags & PADATA_MT_TASK_ALONE) || !job->max_chunk)
		return 0;
	task = kzalloc(struct_size(task, helpers, nr), __GFP_NOWARN | __GFP_NOMEMALLOC);
	if (!task)
		return 0;

	if (!(current->flags & PF_KTHREAD))
		task->user = current;
	task->nid = numa_nearest_node(job->near_nid ? job->nid : numa_node_id(), N_CPU);
	padata_mt_job_cpus(job, &task->allowed);
	cpumask_copy(&task->candidates, &task->allowed);
	cpumask_copy(&task->spread, &task->allowed);
	padata_mt_task_spread(task, raw_smp_processor_id());
	task->next_search = jiffies;
	raw_spin_lock_init(&task->prio_lock);
	team->task = task;
	return nr;
}

static void padata_mt_task_release(struct padata_mt_team *team)
{
	kfree(team->task);
}

/*
 * A deadline policy that somebody has set stays: cpuset's mutex would be taken to change it.
 * A helper that just has that priority from a task that waits for its lock is no such case.
 */
static void padata_mt_task_set_nice(struct task_struct *helper, int nice)
{
	if (helper->policy != SCHED_DEADLINE)
		sched_set_normal(helper, nice);
}

/*
 * Called before the helper does anything for the caller.  A caller that waits already does
 * not look at this helper any more, which then leaves: there is nothing left to claim.
 *
 * A worker that somebody has given another scheduling policy keeps it, and does not help.
 */
static void padata_mt_task_lower(struct padata_mt_helper *helper)
{
	static const struct sched_param param;
	struct padata_mt_task_helper *part = padata_mt_task_part(helper);
	struct padata_mt_task *task = helper->team->task;

	guard(raw_spinlock)(&task->prio_lock);
	if (task->caller_waits || current->policy != SCHED_NORMAL)
		return;
	part->nice = task_nice(current);
	part->lowered = true;
	sched_setscheduler_nocheck(current, SCHED_IDLE, &param);
}

/* From here on the caller leaves this thread's priority alone. */
static void padata_mt_task_leave(struct padata_mt_helper *helper)
{
	struct padata_mt_task_helper *part = padata_mt_task_part(helper);

	guard(raw_spinlock)(&helper->team->task->prio_lock);
	if (part->lowered)
		padata_mt_task_set_nice(current, part->nice);
	part->lowered = false;
}

/*
 * Nothing is left for the caller to do, and others may wait for it: in the kernel it holds
 * locks that its cgroup does not own.  So all helpers get the caller's nice value, whatever
 * its cgroup weighs, and whether or not the caller itself is SCHED_IDLE: for the rest of one
 * chunk each, which is charged.
 *
 * Once caller_waits is set, no more helpers are lowered.
 */
static void padata_mt_task_boost_all(struct padata_mt_team *team)
{
	int i;

	guard(raw_spinlock)(&team->task->prio_lock);
	team->task->caller_waits = true;
	for (i = 0; i < team->nr_helpers; i++) {
		if (team->task->helpers[i].lowered)
			padata_mt_task_set_nice(team->helpers[i].thread.task, task_nice(current));
	}
}

static void padata_mt_task_wait(struct padata_mt_team *team)
{
	padata_mt_task_boost_all(team);
	wait_for_completion(&team->all_out);
}

/* Charge what the current thread has used since it was last charged, when a chunk is over. */
static void padata_mt_task_charge(struct padata_mt_helper *helper)
{
	struct padata_mt_task_helper *part = padata_mt_task_part(helper);
	u64 now = task_sched_runtime(current);

	if (helper->team->task->user)
		sched_charge(helper->team->task->user, now - part->charged);
	part->charged = now;
}

static void padata_mt_task_enter(struct padata_mt_helper *helper)
{
	struct padata_mt_task_helper *part = padata_mt_task_part(helper);

	padata_mt_task_lower(helper);
	part->charged = task_sched_runtime(current);
}

/*
 * Once preemption is off, it stays off until the chunk is claimed: when the caller has been told
 * to use other CPUs, or has become realtime, a helper that has just looked may claim one more,
 * but not one that did not get to run in between.
 *
 * A worker is bound to the CPU that was chosen for it, until that CPU goes away.  From
 * then on the worker might be moved anywhere at any time, so it leaves.
 */
static bool padata_mt_task_helper_claim(struct padata_mt_helper *helper)
{
	struct padata_mt_team *team = helper->team;
	struct padata_mt_task *task = team->task;
	int cpu;

	if (helper->thread.ran)
		padata_mt_task_charge(helper);
	/* Only the thread itself changes it. */
	if (!padata_mt_task_part(helper)->lowered)
		return false;
	if (task->user && !sched_task_has_quota(task->user))
		return false;

	guard(preempt)();
	cpu = smp_processor_id();
	return cpu == helper->cpu && is_percpu_thread() &&
	       padata_mt_task_cpu_allowed(task, cpu) &&
	       padata_mt_task_may_have_help(team->run.caller.task) &&
	       !sched_helper_unwanted() && padata_mt_claim(&team->run, &helper->thread);
}

/* The caller searches for idle CPUs at most once per tick: the search costs it time. */
static bool padata_mt_task_claim(struct padata_mt_run *run, struct padata_mt_thread *thread)
{
	struct padata_mt_team *team = run->team;

	if (thread != &run->caller)
		return padata_mt_task_helper_claim(container_of(thread, struct padata_mt_helper,
								thread));

	if (team && time_after(jiffies, team->task->next_search) &&
	    READ_ONCE(run->next) != run->end) {
		team->task->next_search = jiffies;
		padata_mt_task_reset_candidates(team);
		padata_mt_start_helpers(team);
	}
	return padata_mt_claim(run, thread);
}

/* Jobs after boot: for a user task, within its limits, or for the kernel. */
static const struct padata_mt_backend padata_mt_task_backend = {
	.prepare	= padata_mt_task_prepare,
	.choose_cpu	= padata_mt_task_choose_cpu,
	.enter		= padata_mt_task_enter,
	.claim		= padata_mt_task_claim,
	.leave		= padata_mt_task_leave,
	.wait		= padata_mt_task_wait,
	.release	= padata_mt_task_release,
};

static int __init padata_mt_task_init(void)
{
	padata_mt_runtime_backend = &padata_mt_task_backend;
	return 0;
}
early_initcall(padata_mt_task_init);
