// SPDX-License-Identifier: GPL-2.0-only
/*
 * padata_mt_task.c - helpers of jobs that have others beside them
 *
 * After boot a machine is there for its users.  Help for one of them must not
 * disturb the rest, nor get it more of the machine than it was given.  So, for
 * padata_do_multithreaded() from the first user task on, this back end
 *
 *  - starts helpers on idle CPUs alone: near the data first, and on cores that
 *    are idle as a whole first.  There may be few or none.  The caller looks
 *    again as it goes, for CPUs that have become idle;
 *
 *  - has them run at nice 19, and leave as soon as their CPU is wanted by anyone
 *    else.  Only a caller that has nothing left to do but to wait for them raises
 *    them to its own nice value, one after the other: they hold up one task, and
 *    get what that task would;
 *
 *  - has helpers of a user task work within the task's limits.  They claim chunks
 *    on CPUs that the task may run on, at that time, and only while its cgroup
 *    has CPU bandwidth left, which they are charged for.  They allocate memory by
 *    the task's policy and for its memory cgroup.
 *
 * A kernel thread has no such limits: who it works for is not known.  But a helper
 * that starts a job of its own, from a thread function, gets no helpers for it:
 * its job has them already, and they answer to the task.
 */

#include <linux/cpumask.h>
#include <linux/cpuset.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/mempolicy.h>
#include <linux/nodemask.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/cputime.h>
#include <linux/sched/mm.h>
#include <linux/sched/prio.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/sched/task.h>
#include <linux/spinlock.h>
#include <linux/topology.h>
#include <linux/wait_bit.h>

#include <trace/events/padata.h>

#include "padata_mt.h"
#include "sched/charge.h"

/*
 * Where helpers go
 */

/* Not exact: the task's mask may change.  A helper asks again before it claims. */
static bool padata_task_may_place(const struct padata_mt_team *team, int cpu)
{
	const struct task_struct *task = team->patron.task;

	return cpumask_test_cpu(cpu, &team->places.cpus) && cpu_online(cpu) &&
	       (!task || cpumask_test_cpu(cpu, &task->cpus_mask)) &&
	       available_idle_cpu(cpu);
}

static bool padata_task_core_is_idle(int cpu)
{
	int sibling;

	for_each_cpu(sibling, topology_sibling_cpumask(cpu)) {
		if (!available_idle_cpu(sibling))
			return false;
	}
	return true;
}

/* An idle CPU, the nearest first, or -1. */
static int padata_task_find_cpu(const struct padata_mt_team *team, bool whole_core)
{
	const struct cpumask *hop, *seen = cpu_none_mask;
	int cpu;

	for_each_numa_hop_mask(hop, team->places.nid) {
		for_each_cpu_andnot(cpu, hop, seen) {
			if (padata_task_may_place(team, cpu) &&
			    (!whole_core || padata_task_core_is_idle(cpu)))
				return cpu;
		}
		seen = hop;
	}
	return -1;
}

/* A CPU on which a helper has just been started is not idle any more. */
static int padata_task_place(struct padata_mt_team *team)
{
	int cpu;

	if (team->patron.task && !sched_task_has_quota(team->patron.task))
		return -1;

	guard(rcu)();
	cpu = padata_task_find_cpu(team, true);
	return cpu < 0 ? padata_task_find_cpu(team, false) : cpu;
}

static int padata_task_nid(const struct padata_mt_job *job)
{
	int nid = job->near_nid ? job->nid : NUMA_NO_NODE;

	if (!numa_valid_node(nid))
		nid = numa_node_id();
	return numa_nearest_node(nid, N_CPU);
}

/*
 * Whom helpers work for
 */

#ifdef CONFIG_NUMA
static struct mempolicy *padata_task_mempolicy(void)
{
	return current->mempolicy;
}

/* Under task_lock(), as all that looks at another task's policy expects. */
static void padata_task_set_mempolicy(struct mempolicy *mempolicy)
{
	task_lock(current);
	current->mempolicy = mempolicy;
	task_unlock(current);
}
#else
static struct mempolicy *padata_task_mempolicy(void)
{
	return NULL;
}

static void padata_task_set_mempolicy(struct mempolicy *mempolicy)
{
}
#endif

/* By the caller, which lends what is its own until padata_task_release(). */
static void padata_task_become_patron(struct padata_mt_patron *patron)
{
	patron->task = current;
	patron->memcg = get_mem_cgroup_from_mm(current->mm);
	patron->mems_allowed = cpuset_current_mems_allowed;
	patron->mempolicy = padata_task_mempolicy();
}

static unsigned int padata_task_prepare(struct padata_mt_team *team, unsigned int nr)
{
	const struct padata_mt_job *job = team->run.job;
	struct padata_mt_patron *patron = &team->patron;

	if (padata_mt_current_helper())
		return 0;

	padata_mt_job_cpus(job, &team->places.cpus);
	team->places.nid = padata_task_nid(job);
	spin_lock_init(&patron->lock);
	patron->looked = jiffies;
	if (!(current->flags & PF_KTHREAD))
		padata_task_become_patron(patron);
	return nr;
}

static void padata_task_release(struct padata_mt_team *team)
{
	mem_cgroup_put(team->patron.memcg);
}

static void padata_task_adopt_memory(struct padata_mt_helper *helper)
{
	const struct padata_mt_patron *patron = &helper->team->patron;

	helper->mempolicy = padata_task_mempolicy();
	helper->mems_allowed = cpuset_current_mems_allowed;
	helper->memcg = set_active_memcg(patron->memcg);
	padata_task_set_mempolicy(patron->mempolicy);
	set_mems_allowed(patron->mems_allowed);
}

static void padata_task_restore_memory(struct padata_mt_helper *helper)
{
	set_mems_allowed(helper->mems_allowed);
	padata_task_set_mempolicy(helper->mempolicy);
	set_active_memcg(helper->memcg);
}

/*
 * Priority
 */

/*
 * Lowered under the lock, so that the caller either finds a helper that it can
 * raise, or has said before that it is in a hurry.  Until here and from
 * padata_task_rise() on, the worker has the nice value of all workers: one that is
 * inside and not lowered is not held up.
 */
static void padata_task_lower(struct padata_mt_helper *helper)
{
	struct padata_mt_patron *patron = &helper->team->patron;

	helper->nice = task_nice(current);
	spin_lock(&patron->lock);
	if (!patron->hurry) {
		helper->lowered = true;
		set_user_nice(current, MAX_NICE);
	}
	spin_unlock(&patron->lock);
}

static void padata_task_rise(struct padata_mt_helper *helper)
{
	struct padata_mt_patron *patron = &helper->team->patron;
	bool lowered = helper->lowered;

	if (!lowered)
		return;

	/* From now on the caller keeps its hands off this thread. */
	spin_lock(&patron->lock);
	helper->lowered = false;
	spin_unlock(&patron->lock);
	set_user_nice(current, helper->nice);

	/*
	 * Pairs with the barrier of prepare_to_wait() in padata_task_raise(): if
	 * the caller is not seen to wait there, it sees that there is no need.
	 */
	smp_mb();
	wake_up_var(&helper->lowered);
}

/* Give a helper the caller's priority, and wait until it has no need of it. */
static void padata_task_raise(struct padata_mt_helper *helper, int nice)
{
	struct padata_mt_patron *patron = &helper->team->patron;

	spin_lock(&patron->lock);
	if (helper->lowered)
		set_user_nice(helper->thread.task, nice);
	spin_unlock(&patron->lock);

	wait_var_event(&helper->lowered, !READ_ONCE(helper->lowered));
}

/*
 * Nothing is left for the caller to do.  One helper at a time gets its priority,
 * as no more than one thread of that priority was there before.
 */
static void padata_task_wait(struct padata_mt_team *team)
{
	int nice = rt_or_dl_task(current) ? MIN_NICE : task_nice(current);
	struct padata_mt_patron *patron = &team->patron;
	int i;

	spin_lock(&patron->lock);
	patron->hurry = true;
	spin_unlock(&patron->lock);

	for (i = 0; i < team->nr_helpers; i++) {
		if (team->helpers[i].team)
			padata_task_raise(&team->helpers[i], nice);
	}
	wait_for_completion(&team->all_out);
}

/*
 * Helpers
 */

/* What the current thread has used since it was last asked. */
static void padata_task_charge(struct padata_mt_helper *helper)
{
	u64 now = task_sched_runtime(current);

	if (helper->team->patron.task)
		sched_charge_task(helper->team->patron.task, now - helper->charged);
	helper->used += now - helper->charged;
	helper->charged = now;
}

static void padata_task_enter(struct padata_mt_helper *helper)
{
	padata_task_lower(helper);
	helper->used = 0;
	helper->charged = task_sched_runtime(current);
	if (helper->team->patron.task)
		padata_task_adopt_memory(helper);
}

static void padata_task_leave(struct padata_mt_helper *helper)
{
	if (helper->team->patron.task)
		padata_task_restore_memory(helper);
	padata_task_charge(helper);
	trace_padata_mt_helper_left(helper->team->run.nr, helper->used);
	padata_task_rise(helper);
}

/*
 * A user task's mask is changed with its pi_lock held.  While a helper holds that,
 * the mask stays, and whoever has changed it knows: no helper outside the new mask
 * claims a chunk from now on.
 */
static bool padata_task_claim_allowed(struct padata_mt_run *run,
				      struct padata_mt_thread *thread,
				      struct task_struct *task)
{
	guard(raw_spinlock_irqsave)(&task->pi_lock);
	return cpumask_test_cpu(smp_processor_id(), &task->cpus_mask) &&
	       padata_mt_claim(run, thread);
}

/*
 * A worker is bound to the CPU it was chosen for, until that CPU goes away.  From
 * then on it might be moved anywhere at any time, so it leaves.
 */
static bool padata_task_helper_claim(struct padata_mt_run *run,
				     struct padata_mt_thread *thread)
{
	struct task_struct *task = run->team->patron.task;

	if (thread->ran)
		padata_task_charge(container_of(thread, struct padata_mt_helper, thread));
	if (!is_percpu_thread() || !single_task_running())
		return false;
	if (!task)
		return padata_mt_claim(run, thread);
	return sched_task_has_quota(task) && padata_task_claim_allowed(run, thread, task);
}

/*
 * Any thread that finds the caller killed ends a job that wants to be ended.  It
 * is enough to look for CPUs once in a tick: it is the caller that has to do it.
 */
static bool padata_task_claim(struct padata_mt_run *run, struct padata_mt_thread *thread)
{
	struct padata_mt_team *team = run->team;

	if (run->job->killable && fatal_signal_pending(run->caller.task))
		padata_mt_stop(run, -EINTR);
	if (thread != &run->caller)
		return padata_task_helper_claim(run, thread);

	if (team && team->patron.looked != jiffies) {
		team->patron.looked = jiffies;
		padata_mt_recruit(team);
	}
	return padata_mt_claim(run, thread);
}

/* Jobs after boot, for a user task and within its limits, or for the kernel. */
const struct padata_mt_backend padata_mt_task = {
	.prepare	= padata_task_prepare,
	.place		= padata_task_place,
	.enter		= padata_task_enter,
	.claim		= padata_task_claim,
	.leave		= padata_task_leave,
	.wait		= padata_task_wait,
	.release	= padata_task_release,
};
EXPORT_SYMBOL_NS_GPL(padata_mt_task, PADATA_MT_INTERNAL);
