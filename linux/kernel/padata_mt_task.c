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
#include <linux/cpuset.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/mempolicy.h>
#include <linux/nodemask.h>
#include <linux/sched/cputime.h>
#include <linux/sched/mm.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/topology.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/topology.h>

#include "padata_mt.h"
#include "sched/charge.h"
#include "workqueue_internal.h"

/*
 * A helper's part of struct padata_mt_task.  What the thread had before it helped is saved
 * here.  Used by the helper itself, from enter to leave, and under locks:
 *
 * P: under padata_mt_task::prio_lock
 * K: under padata_mt_task::kill_lock
 */
struct padata_mt_task_helper {
	bool			lowered;	/* P: SCHED_IDLE, or with the caller's nice value */
	int			nice;
	bool			may_kill;	/* K: may be sent SIGKILL */
	u64			charged;	/* the thread's CPU time that is paid for, in ns */
	struct mempolicy	mempolicy;	/* a copy of the team's */
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
 *
 * kill_lock is not raw, as signals are sent with it held.  Not taken in interrupts, nor by a
 * helper while it is SCHED_IDLE: on PREEMPT_RT, others would wait for it.
 */
struct padata_mt_task {
	struct task_struct	*user;		/* its limits apply; NULL: a kthread */
	struct mem_cgroup	*memcg;		/* the caller's */
	struct mempolicy	mempolicy;	/* a copy of the caller's, if it has one */
	nodemask_t		mems;		/* the caller's */
	int			nid;		/* helpers go near this node */
	struct cpumask		allowed;	/* CPUs of the job */
	struct cpumask		candidates;	/* C: of these, those not looked at yet */
	struct cpumask		spread;		/* C: of these, those that share no cache */
	unsigned long		next_search;	/* C: jiffies: then look at CPUs again */
	raw_spinlock_t		prio_lock;
	bool			caller_waits;	/* P: it has nothing else left to do */
	spinlock_t		kill_lock;
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

#ifdef CONFIG_NUMA
/* No reference is taken: what is copied may be freed meanwhile, and the copy never is. */
static void padata_mt_task_copy_mempolicy(struct padata_mt_task *task)
{
	task_lock(current);
	if (current->mempolicy) {
		/* References are counted without the lock. */
		task->mempolicy = data_race(*current->mempolicy);
	}
	task->mems = cpuset_current_mems_allowed;
	task_unlock(current);

	/* If cpuset changes the helper's nodes, the policy does not move to others. */
	task->mempolicy.flags &= ~MPOL_F_RELATIVE_NODES;
	task->mempolicy.flags |= MPOL_F_STATIC_NODES;
	task->mempolicy.w.user_nodemask = task->mempolicy.nodes;
	atomic_set(&task->mempolicy.refcnt, 1);
}

/* A worker has no policy of its own.  Others change it under the worker's alloc_lock. */
static void padata_mt_task_set_mempolicy(struct mempolicy *policy)
{
	task_lock(current);
	current->mempolicy = policy;
	mpol_rebind_task(current, &cpuset_current_mems_allowed);
	task_unlock(current);
}

/*
 * Take the nodes and the policy that the caller had when it started the job.  Called before
 * the helper becomes SCHED_IDLE: on PREEMPT_RT, others would wait for alloc_lock.
 *
 * When a node loses its last memory or gets its first, cpuset gives this thread the nodes of
 * the root cpuset, for the rest of its stay.  node_states[] changes before that: so either
 * the change is seen here, or cpuset has yet to update this thread.
 */
static void padata_mt_task_enter_policy(struct padata_mt_helper *helper)
{
	struct padata_mt_task_helper *part = padata_mt_task_part(helper);
	const struct padata_mt_task *task = helper->team->task;
	nodemask_t now, online, mems;

	/* A node may come or go meanwhile. */
	now = data_race(node_states[N_MEMORY]);
	do {
		online = now;
		nodes_and(mems, task->mems, online);
		set_mems_allowed(nodes_empty(mems) ? online : mems);
		/* If one has, look again. */
		now = data_race(node_states[N_MEMORY]);
	} while (!nodes_equal(online, now));

	part->mempolicy = task->mempolicy;
	if (task->mempolicy.mode != MPOL_DEFAULT)
		padata_mt_task_set_mempolicy(&part->mempolicy);
}

/* The reverse, in the same way: cpuset changes its own nodes before those of tasks. */
static void padata_mt_task_leave_policy(void)
{
	nodemask_t mems = cpuset_mems_allowed(current);
	nodemask_t set;

	padata_mt_task_set_mempolicy(NULL);
	do {
		set = mems;
		set_mems_allowed(set);
		mems = cpuset_mems_allowed(current);
	} while (!nodes_equal(set, mems));
}
#else
static void padata_mt_task_copy_mempolicy(struct padata_mt_task *task)
{
}

static void padata_mt_task_enter_policy(struct padata_mt_helper *helper)
{
}

static void padata_mt_task_leave_policy(void)
{
}
#endif

/*
 * What keeps a caller alone.  Helpers do not inherit the scopes of an allocation: a helper
 * could enter a file system or a block device that the caller must not enter.  And a task
 * that may use the memory reserves uses them alone, and may hold locks that other tasks wait
 * for in order to free memory.
 *
 * PF_MEMALLOC_PIN does not: a page that a helper has from a movable zone is only migrated
 * before it is pinned, and faults on behalf of a pin start jobs that zero pages.
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
	task->memcg = get_mem_cgroup_from_mm(NULL);
	padata_mt_task_copy_mempolicy(task);
	task->nid = numa_nearest_node(job->near_nid ? job->nid : numa_node_id(), N_CPU);
	padata_mt_job_cpus(job, &task->allowed);
	cpumask_copy(&task->candidates, &task->allowed);
	cpumask_copy(&task->spread, &task->allowed);
	padata_mt_task_spread(task, raw_smp_processor_id());
	task->next_search = jiffies;
	raw_spin_lock_init(&task->prio_lock);
	spin_lock_init(&task->kill_lock);
	team->task = task;
	return nr;
}

static void padata_mt_task_release(struct padata_mt_team *team)
{
	mem_cgroup_put(team->task->memcg);
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
 *
 * A helper that takes locks begins with the caller's nice value: whoever waits for one of them
 * must not wait for a thread that gets no CPU time, and may be the caller itself, in a chunk
 * of its own.  It still leaves when another task wants its CPU.
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
	if (helper->team->run.job->locks)
		padata_mt_task_set_nice(current, task_nice(helper->team->run.caller.task));
	else
		sched_setscheduler_nocheck(current, SCHED_IDLE, &param);
}

/* From here on the caller leaves this thread's priority alone. */
static void padata_mt_task_restore(struct padata_mt_helper *helper)
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
 * chunk each, which is charged.  All at once, so that none waits for a lock held by a helper
 * that is not boosted.
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

/*
 * Called by the caller whenever it finds that it has been killed.  A helper that enters after
 * that finds the caller killed before it claims anything.
 *
 * A helper in the middle of a chunk would go on as if nothing had happened: wait for a
 * lock, or for memory that the caller's cgroup does not get until another of its tasks
 * has been killed, too.  So the helper must find a fatal signal pending, as the caller
 * does.  kill_lock keeps the signal from a worker that has left the job and now works for others.
 */
static void padata_mt_task_kill_helpers(struct padata_mt_team *team)
{
	int i;

	guard(spinlock)(&team->task->kill_lock);
	for (i = 0; i < team->nr_helpers; i++) {
		if (team->task->helpers[i].may_kill)
			send_sig(SIGKILL, team->helpers[i].thread.task, 1);
	}
}

/*
 * The caller cannot return before its helpers, killed or not.  If it is killed, it tells
 * them, however long it has waited by then.  The hung task detector ignores tasks that a
 * signal can wake, so it does not report the caller before it is killed, but it does
 * report a helper that hangs, and with it the job.
 */
static void padata_mt_task_wait(struct padata_mt_team *team)
{
	padata_mt_task_boost_all(team);

	if (!wait_for_completion_killable(&team->all_out))
		return;
	padata_mt_task_kill_helpers(team);
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

	allow_kernel_signal(SIGKILL);
	scoped_guard(spinlock, &helper->team->task->kill_lock)
		part->may_kill = true;
	set_active_memcg(helper->team->task->memcg);
	padata_mt_task_enter_policy(helper);
	padata_mt_task_lower(helper);
	part->charged = task_sched_runtime(current);
}

static void padata_mt_task_leave(struct padata_mt_helper *helper)
{
	padata_mt_task_restore(helper);
	/* Else whoever has this worker next would be slowed down for this cgroup's memory.high. */
	mem_cgroup_handle_over_high(GFP_KERNEL);
	padata_mt_task_leave_policy();
	set_active_memcg(NULL);
	scoped_guard(spinlock, &helper->team->task->kill_lock)
		padata_mt_task_part(helper)->may_kill = false;
	/* Discards the signal, if it was sent. */
	disallow_signal(SIGKILL);
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

/*
 * Any thread may find the caller killed.  If the job is not killable, the caller does the rest
 * of it.  A job that a helper starts ends when that helper is sent the signal.
 *
 * The caller searches for idle CPUs at most once per tick: the search costs it time.
 */
static bool padata_mt_task_claim(struct padata_mt_run *run, struct padata_mt_thread *thread)
{
	struct padata_mt_team *team = run->team;

	if (fatal_signal_pending(run->caller.task)) {
		if (run->job->killable)
			padata_mt_fail(run->job, -EINTR);
		/* Helpers leave it to the caller, see kill_lock. */
		if (team && thread == &run->caller)
			padata_mt_task_kill_helpers(team);
	}
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
