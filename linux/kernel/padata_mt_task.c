// SPDX-License-Identifier: GPL-2.0-only
/*
 * padata_mt_task.c - helpers of jobs that have others beside them
 *
 * After boot a machine is there for its users.  Help for one of them must not
 * disturb the rest, nor get it more of the machine than it was given.  So, for
 * padata_do_multithreaded() once init is started, this back end
 *
 *  - starts helpers on idle CPUs alone: near the data first, and on cores that
 *    are idle as a whole first.  There may be few or none.  The caller looks
 *    again as it goes, for CPUs that have become idle;
 *
 *  - has them run at nice 19, and leave as soon as their CPU is wanted by anyone
 *    else.  Only a caller that has nothing left to do but to wait for them raises
 *    them to its own nice value, one after the other;
 *
 *  - has helpers of a user task work within the task's limits.  They claim chunks
 *    on CPUs that the task may run on, at that time, and only while its cgroup
 *    has CPU bandwidth left, which they are charged for.  A kernel thread has no
 *    such limits: who it works for is not known;
 *
 *  - has helpers allocate memory as the caller does when it starts the job: by its
 *    policy, on its cpuset's nodes, for its memory cgroup, without recursion into
 *    a file system or block device that it must not enter.
 *
 * A helper that starts a job of its own, from a thread function, gets no helpers for
 * it: its job has them already, and they answer to the task.
 */

#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/cpuset.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/mempolicy.h>
#include <linux/minmax.h>
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
#include "workqueue_internal.h"

/*
 * Where helpers go
 */

/*
 * One helper for a CPU, however idle: its work item may not have started, or its
 * thread function sleep.
 */
static void padata_task_look_again(struct padata_mt_team *team)
{
	struct cpumask *todo = &team->places.cores;
	int i;

	cpumask_and(todo, &team->places.cpus, cpu_online_mask);
	for (i = 0; i < team->nr_helpers; i++) {
		if (READ_ONCE(team->helpers[i].hired))
			cpumask_clear_cpu(team->helpers[i].cpu, todo);
	}
}

/* Not exact: the task's mask may change.  A helper asks again before it claims. */
static bool padata_task_may_place(const struct padata_mt_team *team, int cpu)
{
	const struct task_struct *task = team->patron.task;

	/* Partitions of cpusets isolate CPUs, too, and not for good. */
	if (!team->run.job->cpumask && cpuset_cpu_is_isolated(cpu))
		return false;
	return (!task || cpumask_test_cpu(cpu, &task->cpus_mask)) &&
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

/*
 * An idle CPU of @cpus, or -1.  One that is no place, or has just become one, is not
 * looked at again until the next time that helpers are hired.
 */
static int padata_task_find_cpu(struct padata_mt_team *team, const struct cpumask *cpus,
				bool whole_core)
{
	struct cpumask *todo = &team->places.cores;
	int cpu;

	for_each_cpu_and(cpu, cpus, todo) {
		bool may = padata_task_may_place(team, cpu);

		if (may && whole_core && !padata_task_core_is_idle(cpu))
			continue;
		cpumask_clear_cpu(cpu, todo);
		if (may)
			return cpu;
	}
	return -1;
}

/* The nearest node first, and there the cores that are idle as a whole. */
static int padata_task_place(struct padata_mt_team *team)
{
	const struct cpumask *hop;
	int cpu;

	if (team->patron.task && !sched_task_has_quota(team->patron.task))
		return -1;

	guard(rcu)();
	for_each_numa_hop_mask(hop, team->places.nid) {
		cpu = padata_task_find_cpu(team, hop, true);
		if (cpu < 0)
			cpu = padata_task_find_cpu(team, hop, false);
		if (cpu >= 0)
			return cpu;
	}
	return -1;
}

static int padata_task_nid(const struct padata_mt_job *job)
{
	int nid = job->near_nid ? job->nid : NUMA_NO_NODE;

	if (!IS_ENABLED(CONFIG_NUMA))
		return NUMA_NO_NODE;
	if (!numa_valid_node(nid) || !node_online(nid))
		nid = numa_node_id();
	return numa_nearest_node(nid, N_CPU);
}

/*
 * Whom helpers work for
 */

/*
 * The helper that the current thread is, or NULL.  A work item that is gone may
 * still be the worker's current one; that of a helper that is inside is not gone.
 */
static struct padata_mt_helper *padata_task_current_helper(void)
{
	struct worker *worker = current_wq_worker();

	if (!worker || worker->current_func != padata_mt_help)
		return NULL;
	return container_of(worker->current_work, struct padata_mt_helper, work);
}

/* Who has to be killed for @run to end: for a job within a job, the outer one's. */
static struct task_struct *padata_task_boss(const struct padata_mt_run *run)
{
	struct padata_mt_helper *helper;

	if (run->caller.task == current) {
		helper = padata_task_current_helper();
		if (helper)
			return helper->team->run.caller.task;
	}
	return run->caller.task;
}

#ifdef CONFIG_NUMA
static struct mempolicy *padata_task_mempolicy(void)
{
	return current->mempolicy;
}

static struct mempolicy *padata_task_copy_mempolicy(void)
{
	return mpol_dup(current->mempolicy);
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

static struct mempolicy *padata_task_copy_mempolicy(void)
{
	return NULL;
}

static void padata_task_set_mempolicy(struct mempolicy *mempolicy)
{
}
#endif

/*
 * By the caller: how it allocates memory, as it is now.  The policy is a copy, as
 * changes of a cpuset are written into those of its tasks, and helpers are of
 * another one.
 */
static int padata_task_lend_memory(struct padata_mt_patron *patron)
{
	patron->mempolicy = padata_task_copy_mempolicy();
	if (IS_ERR(patron->mempolicy))
		return PTR_ERR(patron->mempolicy);

	patron->memalloc = current->flags & (PF_MEMALLOC_NOFS | PF_MEMALLOC_NOIO);
	patron->memcg = get_mem_cgroup_from_mm(NULL);
	task_lock(current);
	patron->mems_allowed = cpuset_current_mems_allowed;
	task_unlock(current);
	return 0;
}

static void padata_task_adopt_memory(struct padata_mt_helper *helper)
{
	const struct padata_mt_patron *patron = &helper->team->patron;

	helper->memalloc = memalloc_flags_save(patron->memalloc);
	helper->memcg = set_active_memcg(patron->memcg);
	helper->mempolicy = padata_task_mempolicy();
	padata_task_set_mempolicy(patron->mempolicy);
	set_mems_allowed(patron->mems_allowed);
}

/* The worker's cpuset may have got other nodes meanwhile. */
static void padata_task_restore_memory(struct padata_mt_helper *helper)
{
	set_mems_allowed(cpuset_mems_allowed(current));
	padata_task_set_mempolicy(helper->mempolicy);
	set_active_memcg(helper->memcg);
	memalloc_flags_restore(helper->memalloc);
}

static unsigned int padata_task_prepare(struct padata_mt_team *team, unsigned int nr)
{
	const struct padata_mt_job *job = team->run.job;
	struct padata_mt_patron *patron = &team->patron;

	if (padata_task_current_helper() || padata_task_lend_memory(patron))
		return 0;

	padata_mt_job_cpus(job, &team->places.cpus);
	cpumask_copy(&team->places.cores, &team->places.cpus);
	team->places.nid = padata_task_nid(job);
	raw_spin_lock_init(&patron->lock);
	patron->looked = jiffies;
	if (!(current->flags & PF_KTHREAD))
		patron->task = current;
	return nr;
}

static void padata_task_release(struct padata_mt_team *team)
{
	mpol_put(team->patron.mempolicy);
	mem_cgroup_put(team->patron.memcg);
}

/*
 * Priority
 */

/*
 * Lowered under the lock, and back again: the caller either finds a helper that it
 * can raise, or one that has the nice value of all workers and is not held up.  The
 * lock is raw: nobody may be preempted at nice 19 with it.
 */
static void padata_task_lower(struct padata_mt_helper *helper)
{
	struct padata_mt_patron *patron = &helper->team->patron;

	guard(raw_spinlock_irqsave)(&patron->lock);
	if (patron->hurry)
		return;
	helper->nice = task_nice(current);
	WRITE_ONCE(helper->lowered, true);
	set_user_nice(current, MAX_NICE);
}

/* When it is done, the caller keeps its hands off this thread. */
static void padata_task_restore_nice(struct padata_mt_helper *helper)
{
	struct padata_mt_patron *patron = &helper->team->patron;

	guard(raw_spinlock_irqsave)(&patron->lock);
	set_user_nice(current, helper->nice);
	WRITE_ONCE(helper->lowered, false);
}

static void padata_task_rise(struct padata_mt_helper *helper)
{
	if (!helper->lowered)
		return;
	padata_task_restore_nice(helper);

	/*
	 * Pairs with the barrier of prepare_to_wait() in padata_task_raise(): if
	 * the caller is not seen to wait there, it sees that there is no need.
	 */
	smp_mb();
	wake_up_var(&helper->lowered);
}

/* Give a helper the caller's nice value, and wait until it has no need of it. */
static void padata_task_raise(struct padata_mt_helper *helper, int nice)
{
	struct padata_mt_patron *patron = &helper->team->patron;

	scoped_guard(raw_spinlock_irqsave, &patron->lock) {
		if (helper->lowered)
			set_user_nice(helper->thread.task, nice);
	}
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

	scoped_guard(raw_spinlock_irqsave, &patron->lock)
		patron->hurry = true;

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
	padata_task_adopt_memory(helper);
}

static void padata_task_leave(struct padata_mt_helper *helper)
{
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
	if (!is_percpu_thread() || !single_task_running() ||
	    !cpumask_test_cpu(smp_processor_id(), &run->team->places.cpus))
		return false;
	if (!task)
		return padata_mt_claim(run, thread);
	return sched_task_has_quota(task) && padata_task_claim_allowed(run, thread, task);
}

/* Is there a chunk for a helper, besides the one that the caller is about to get? */
static bool padata_task_has_more(const struct padata_mt_run *run)
{
	return run->end - READ_ONCE(run->next) > 2 * max(run->min_chunk, run->align);
}

/*
 * Any thread that finds the caller killed ends a job that wants to be ended.  It
 * is enough to look for CPUs once in a tick: it is the caller that has to do it.
 */
static bool padata_task_claim(struct padata_mt_run *run, struct padata_mt_thread *thread)
{
	struct padata_mt_team *team = run->team;

	if (run->job->killable && fatal_signal_pending(padata_task_boss(run)))
		padata_mt_stop(run, -EINTR);
	if (thread != &run->caller)
		return padata_task_helper_claim(run, thread);

	if (team && time_after(jiffies, team->patron.looked) && padata_task_has_more(run)) {
		team->patron.looked = jiffies;
		padata_task_look_again(team);
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
