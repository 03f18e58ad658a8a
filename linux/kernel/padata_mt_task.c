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
 *  - has them run at nice 19, and leave as soon as another task wants their CPU.
 *    Only a caller that has nothing left to do but to wait for them boosts them, to
 *    its own nice value at most.  They never weigh more on their CPUs than the caller
 *    would there, in its cgroup, or than SCHED_IDLE;
 *
 *  - has helpers of a user task work within the task's limits.  They claim chunks
 *    on CPUs that the task may run on, at that time, and only while its cgroup
 *    has CPU bandwidth left, which they are charged for.  A kernel thread has no
 *    such limits: who it works for is not known;
 *
 *  - has helpers allocate memory and do I/O as the caller does: by its policy, on its
 *    cpuset's nodes, for its memory and I/O cgroups, without recursion into a file
 *    system or block device that it must not enter.  A caller that may use the last
 *    of the memory gets no helpers.
 *
 *  - gives none to a realtime caller, which would have to wait for helpers that are
 *    not, and whose CPU time no cgroup limits; nor to one that is being killed, which
 *    is to free memory, not to get more.
 *
 * A helper that starts a job of its own, from a thread function, gets no helpers for
 * it: its job has them already, and they answer to the task.
 */

#include <linux/cgroup.h>
#include <linux/cleanup.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/cpuset.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
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
#include <linux/sched/task.h>
#include <linux/signal.h>
#include <linux/spinlock.h>
#include <linux/topology.h>

#include <trace/events/padata.h>

#include "padata_mt.h"
#include "sched/charge.h"
#include "workqueue_internal.h"

/*
 * Where helpers go
 */

/*
 * At most one helper per CPU.  A CPU that has one may look idle: the work item has not
 * started yet, or its thread function sleeps.
 */
static void padata_task_reset_candidates(struct padata_mt_team *team)
{
	struct cpumask *candidates = &team->task.candidates;
	int i;

	cpumask_and(candidates, &team->task.allowed, cpu_online_mask);
	for (i = 0; i < team->nr_helpers; i++) {
		if (READ_ONCE(team->helpers[i].in_use))
			cpumask_clear_cpu(team->helpers[i].cpu, candidates);
	}
}

/* Not exact: the task's mask may change.  A helper asks again before it claims. */
static bool padata_task_cpu_usable(const struct padata_mt_team *team, int cpu)
{
	const struct task_struct *task = team->task.user;

	/* Partitions of cpusets isolate CPUs, too, and not for good. */
	if (!team->run.job->cpumask && cpuset_cpu_is_isolated(cpu))
		return false;
	return (!task || cpumask_test_cpu(cpu, &task->cpus_mask)) &&
	       available_idle_cpu(cpu) && sched_helper_allowed(cpu);
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
 * An idle CPU of @cpus, or -1.  One that has been looked at is not looked at again
 * until the next time that helpers are started, whether it was chosen or not.
 */
static int padata_task_find_cpu(struct padata_mt_team *team, const struct cpumask *cpus,
				bool whole_core)
{
	struct cpumask *candidates = &team->task.candidates;
	int cpu;

	for_each_cpu_and(cpu, cpus, candidates) {
		bool usable = padata_task_cpu_usable(team, cpu);

		if (usable && whole_core && !padata_task_core_is_idle(cpu))
			continue;
		cpumask_clear_cpu(cpu, candidates);
		if (usable)
			return cpu;
	}
	return -1;
}

/*
 * Not a task that is realtime, be it because it has a lock that a realtime task waits
 * for; nor one that is being killed.  Either may happen, and the first may end, in the
 * middle of a job.
 */
static bool padata_task_may_have_help(struct task_struct *caller)
{
	return !rt_or_dl_task(caller) && !fatal_signal_pending(caller) &&
	       !(READ_ONCE(caller->flags) & PF_EXITING);
}

/* The nearest node first, and there the cores that are idle as a whole. */
static int padata_task_choose_cpu(struct padata_mt_team *team)
{
	const struct cpumask *hop;
	int cpu;

	if (!padata_task_may_have_help(current))
		return -1;
	if (team->task.user && !sched_task_has_quota(team->task.user))
		return -1;

	guard(rcu)();
	for_each_numa_hop_mask(hop, team->task.nid) {
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
 * Which task helpers work for, and how it allocates memory
 */

/*
 * The helper that the current thread is, or NULL.  A work item that is gone may
 * still be the worker's current one; that of a helper that is inside is not gone.
 */
static struct padata_mt_helper *padata_task_current_helper(void)
{
	struct worker *worker = current_wq_worker();

	if (!worker || worker->current_func != padata_mt_helper_fn)
		return NULL;
	return container_of(worker->current_work, struct padata_mt_helper, work);
}

/* The task whose death ends @run: on a helper, the caller of the outer job. */
static struct task_struct *padata_task_outer_caller(const struct padata_mt_run *run)
{
	struct padata_mt_helper *helper;

	if (run->caller.task == current) {
		helper = padata_task_current_helper();
		if (helper)
			return helper->team->run.caller.task;
	}
	return run->caller.task;
}

/*
 * The scopes that a caller may be in and its helpers are, too.  That of PF_MEMALLOC is
 * not one of them: who may use the last of the memory is alone with it, and may hold
 * locks that others wait for to free some.  PF_LOCAL_THROTTLE is there so that those
 * who write for others are not held up by the others' dirty pages: a caller that waits
 * for its helper would be.
 */
#define PADATA_TASK_SCOPES	(PF_MEMALLOC_NOFS | PF_MEMALLOC_NOIO |	\
				 PF_MEMALLOC_PIN | PF_LOCAL_THROTTLE)

#ifdef CONFIG_BLK_CGROUP
/* As the block layer finds it for what the current thread submits. */
static struct cgroup_subsys_state *padata_task_get_blkcg(void)
{
	struct cgroup_subsys_state *css = kthread_blkcg();

	if (!css)
		return task_get_css(current, io_cgrp_id);
	css_get(css);
	return css;
}
#else
static struct cgroup_subsys_state *padata_task_get_blkcg(void)
{
	return NULL;
}
#endif

/* The nodes with memory at the moment. */
static nodemask_t padata_task_memory_nodes(void)
{
	/* One may come or go meanwhile: padata_task_take_nodes() looks again. */
	return data_race(node_states[N_MEMORY]);
}

#ifdef CONFIG_CPUSETS
static nodemask_t padata_task_mems_allowed(struct task_struct *task)
{
	nodemask_t mems;

	task_lock(task);
	mems = task->mems_allowed;
	task_unlock(task);
	return mems;
}
#else
static nodemask_t padata_task_mems_allowed(struct task_struct *task)
{
	return padata_task_memory_nodes();
}
#endif

/*
 * The caller's nodes, as they are now.  When the last memory of a node goes or its
 * first one comes, cpuset gives the tasks of each cpuset, one after the other, the
 * nodes that it has then.  It comes to this thread with those of the root cpuset, in
 * the middle of a chunk at worst, the rest of which may have memory of any node.
 *
 * The caller's nodes may be those from before, and have no memory left.  That is seen
 * here: node_states[] is changed first, so either it is found changed at the end, or
 * cpuset is still to come to this thread, as both take its alloc_lock.
 */
static void padata_task_take_nodes(struct padata_mt_helper *helper)
{
	struct task_struct *caller = helper->team->run.caller.task;
	nodemask_t now = padata_task_memory_nodes(), online, mems;

	do {
		online = now;
		mems = padata_task_mems_allowed(caller);
		nodes_and(mems, mems, online);
		set_mems_allowed(nodes_empty(mems) ? online : mems);
		now = padata_task_memory_nodes();
	} while (!nodes_equal(online, now));
}

/* The reverse, in the same way: cpuset changes its own nodes before those of tasks. */
static void padata_task_restore_nodes(void)
{
	nodemask_t mems = cpuset_mems_allowed(current);
	nodemask_t set;

	do {
		set = mems;
		set_mems_allowed(set);
		mems = cpuset_mems_allowed(current);
	} while (!nodes_equal(set, mems));
}

#ifdef CONFIG_NUMA
/* A worker has no policy of its own.  Others look at it with its alloc_lock held. */
static void padata_task_drop_mempolicy(void)
{
	task_lock(current);
	current->mempolicy = NULL;
	task_unlock(current);
}

/*
 * A copy in the helper's memory, as any other would have to be allocated.  Its one
 * reference is never dropped.
 *
 * What cpuset writes into the policies of its tasks leaves one with static nodes as it
 * is, but for nodes that are gone: if none is left it has all that the task may use.
 * The caller's policy may be from before such a change, so the copy has it done again.
 */
static void padata_task_take_mempolicy(struct padata_mt_helper *helper)
{
	struct task_struct *caller = helper->team->run.caller.task;
	struct mempolicy *copy = &helper->mempolicy;
	bool has_policy;

	/* From here on, nobody else has the copy. */
	padata_task_drop_mempolicy();

	task_lock(caller);
	has_policy = caller->mempolicy;
	if (has_policy)
		*copy = data_race(*caller->mempolicy);	/* refcnt, which is set below */
	task_unlock(caller);
	if (!has_policy)
		return;

	atomic_set(&copy->refcnt, 1);
	copy->flags &= ~MPOL_F_RELATIVE_NODES;
	copy->flags |= MPOL_F_STATIC_NODES;
	copy->w.user_nodemask = copy->nodes;

	task_lock(current);
	current->mempolicy = copy;
	mpol_rebind_task(current, &cpuset_current_mems_allowed);
	task_unlock(current);
}
#else
static void padata_task_drop_mempolicy(void)
{
}

static void padata_task_take_mempolicy(struct padata_mt_helper *helper)
{
}
#endif

/* By the caller: for whom memory is allocated and I/O done, as it is now, and how. */
static void padata_task_save_context(struct padata_mt_task_state *state)
{
	state->scopes = current->flags & PADATA_TASK_SCOPES;
	state->memcg = get_mem_cgroup_from_mm(NULL);
	state->blkcg = padata_task_get_blkcg();
}

/* Nodes and policy are taken before each chunk. */
static void padata_task_enter_context(struct padata_mt_helper *helper)
{
	const struct padata_mt_task_state *state = &helper->team->task;

	helper->scopes = memalloc_flags_save(state->scopes);
	helper->memcg = set_active_memcg(state->memcg);
	kthread_associate_blkcg(state->blkcg);
}

static void padata_task_leave_context(struct padata_mt_helper *helper)
{
	padata_task_drop_mempolicy();
	padata_task_restore_nodes();
	kthread_associate_blkcg(NULL);
	set_active_memcg(helper->memcg);
	memalloc_flags_restore(helper->scopes);
}

static unsigned int padata_task_prepare(struct padata_mt_team *team, unsigned int nr)
{
	const struct padata_mt_job *job = team->run.job;
	struct padata_mt_task_state *state = &team->task;

	if (padata_task_current_helper() || !padata_task_may_have_help(current) ||
	    (current->flags & PF_MEMALLOC))
		return 0;

	padata_task_save_context(state);
	padata_mt_job_cpus(job, &team->task.allowed);
	cpumask_copy(&team->task.candidates, &team->task.allowed);
	team->task.nid = padata_task_nid(job);
	raw_spin_lock_init(&state->lock);
	spin_lock_init(&state->kill_lock);
	state->last_search = jiffies;
	if (!(current->flags & PF_KTHREAD))
		state->user = current;
	return nr;
}

static void padata_task_release(struct padata_mt_team *team)
{
	if (team->task.blkcg)
		css_put(team->task.blkcg);
	mem_cgroup_put(team->task.memcg);
}

/*
 * Priority
 */

/*
 * To nice 19 and back under the lock: the caller either finds a helper that it can
 * boost, or one that has the nice value of all workers and is not held up.  The
 * lock is raw: nobody may be preempted at nice 19 with it.
 */
static void padata_task_set_nice_19(struct padata_mt_helper *helper)
{
	struct padata_mt_task_state *state = &helper->team->task;

	guard(raw_spinlock_irqsave)(&state->lock);
	if (state->caller_waits)
		return;
	helper->nice = task_nice(current);
	WRITE_ONCE(helper->lowered, true);
	set_user_nice(current, MAX_NICE);
}

/* From here on the caller leaves this thread's nice value alone. */
static void padata_task_restore_nice(struct padata_mt_helper *helper)
{
	struct padata_mt_task_state *state = &helper->team->task;

	guard(raw_spinlock_irqsave)(&state->lock);
	set_user_nice(current, helper->nice);
	WRITE_ONCE(helper->lowered, false);
}

/*
 * Before it does anything for the caller.  Where even nice 19 weighs more than the caller
 * would on this CPU, there is SCHED_IDLE, and nothing below that.  A change of the
 * caller's weight is not followed while the helper is there.
 *
 * A worker of another policy, which somebody has given it, keeps that, and does not help.
 */
static void padata_task_lower(struct padata_mt_helper *helper)
{
	static const struct sched_param param;
	struct task_struct *caller = helper->team->run.caller.task;

	WRITE_ONCE(helper->idle, false);
	if (current->policy != SCHED_NORMAL)
		return;
	padata_task_set_nice_19(helper);
	WRITE_ONCE(helper->idle, helper->lowered && sched_helper_nice(caller, 1) > MAX_NICE);
	if (helper->idle)
		sched_setscheduler_nocheck(current, SCHED_IDLE, &param);
}

static void padata_task_unlower(struct padata_mt_helper *helper)
{
	static const struct sched_param param;

	if (helper->lowered)
		padata_task_restore_nice(helper);
	if (helper->idle && current->policy == SCHED_IDLE)
		sched_setscheduler_nocheck(current, SCHED_NORMAL, &param);
}

static void padata_task_boost(struct padata_mt_helper *helper, int nice)
{
	guard(raw_spinlock_irqsave)(&helper->team->task.lock);
	if (helper->lowered && !READ_ONCE(helper->idle))
		set_user_nice(helper->thread.task, nice);
}

/*
 * Nothing is left for the caller to do.  All helpers are boosted at once: what each has
 * still to do, it does on a CPU of its own, beside the others, and none waits for a lock
 * of another one that is not boosted.  Together they have no more weight than as many
 * threads of the caller; other jobs of the same cgroup, for the length of a chunk each,
 * are not counted.
 *
 * Once caller_waits is set, their number does not grow.
 */
static void padata_task_boost_all(struct padata_mt_team *team)
{
	unsigned int nr = 0;
	int i, nice;

	scoped_guard(raw_spinlock_irqsave, &team->task.lock)
		team->task.caller_waits = true;

	for (i = 0; i < team->nr_helpers; i++)
		nr += READ_ONCE(team->helpers[i].lowered);
	nice = sched_helper_nice(current, max(nr, 1));

	for (i = 0; i < team->nr_helpers && nice < MAX_NICE; i++) {
		if (team->helpers[i].team)
			padata_task_boost(&team->helpers[i], nice);
	}
}

/*
 * A caller that is killed
 */

/*
 * A helper that is in a chunk would go on as if nothing had happened: wait for a lock,
 * or for memory that the caller's cgroup does not get before another of its tasks has
 * been killed, too.  So it is to find a fatal signal pending, as the caller does.
 *
 * @may_kill is changed under a lock, so that no signal reaches a worker that has left,
 * and works for others.  The lock is not taken in interrupts, and a signal is sent with
 * it held, so it is not raw.
 */
static void padata_task_allow_kill(struct padata_mt_helper *helper)
{
	allow_kernel_signal(SIGKILL);
	guard(spinlock)(&helper->team->task.kill_lock);
	helper->may_kill = true;
}

/* Also takes the signal away again. */
static void padata_task_disallow_kill(struct padata_mt_helper *helper)
{
	scoped_guard(spinlock, &helper->team->task.kill_lock)
		helper->may_kill = false;
	disallow_signal(SIGKILL);
}

/*
 * By the caller, or a helper, that finds the caller killed.  Once is enough: a helper
 * that comes in after that finds the caller killed before it claims anything.
 */
static void padata_task_kill_helpers(struct padata_mt_team *team)
{
	int i;

	guard(spinlock)(&team->task.kill_lock);
	if (team->task.killed)
		return;
	team->task.killed = true;
	for (i = 0; i < team->nr_helpers; i++) {
		if (team->helpers[i].may_kill)
			send_sig(SIGKILL, team->helpers[i].thread.task, 1);
	}
}

/*
 * The caller cannot return before its helpers, killed or not.  If it is killed, it has
 * them know, however long it has waited by then.  The hung task detector reports no task
 * that a signal can wake, so it does not report the caller before that, but it does report
 * a helper that hangs, and with it the job.
 */
static void padata_task_wait(struct padata_mt_team *team)
{
	padata_task_boost_all(team);

	if (!wait_for_completion_killable(&team->all_out))
		return;
	padata_task_kill_helpers(team);
	wait_for_completion(&team->all_out);
}

/*
 * Helpers
 */

/* About as long as a chunk may take, in ns, if the job does not say how large it is */
#define PADATA_TASK_CHUNK_NS	NSEC_PER_MSEC

/* What the current thread has used since it was last asked. */
static void padata_task_charge(struct padata_mt_helper *helper)
{
	u64 now = task_sched_runtime(current);
	u64 ns = now - helper->charged;

	if (helper->team->task.user)
		sched_charge_end(&helper->charge, helper->team->task.user, ns);
	helper->slice = padata_task_next_slice(helper->slice, ns);
	helper->used += ns;
	helper->charged = now;
}

static void padata_task_enter(struct padata_mt_helper *helper)
{
	padata_task_lower(helper);
	padata_task_allow_kill(helper);
	helper->used = 0;
	helper->charged = task_sched_runtime(current);
	helper->slice = PADATA_TASK_CHUNK_NS;
	helper->thread.max_units = 0;
	padata_task_enter_context(helper);
}

static void padata_task_leave(struct padata_mt_helper *helper)
{
	padata_task_leave_context(helper);
	padata_task_charge(helper);
	trace_padata_mt_helper_end(helper->team->run.nr, helper->used);
	padata_task_disallow_kill(helper);
	padata_task_unlower(helper);
}

/*
 * A user task's mask is changed with its pi_lock held, and so is the priority of any
 * task.  While a helper holds that, both stay, and whoever has changed one of them
 * knows: no helper outside the new mask, or of a task that is realtime now, claims a
 * chunk from now on.
 */
static bool padata_task_claim_allowed(struct padata_mt_run *run,
				      struct padata_mt_thread *thread)
{
	const struct task_struct *user = run->team->task.user;
	struct task_struct *caller = run->caller.task;

	guard(raw_spinlock_irqsave)(&caller->pi_lock);
	return padata_task_may_have_help(caller) &&
	       (!user || cpumask_test_cpu(smp_processor_id(), &user->cpus_mask)) &&
	       padata_mt_claim(run, thread);
}

/* What is taken of the bandwidth and not used goes back when the helper is charged. */
static bool padata_task_claim_charged(struct padata_mt_run *run,
				      struct padata_mt_thread *thread)
{
	struct padata_mt_helper *helper = container_of(thread, struct padata_mt_helper, thread);
	struct task_struct *user = run->team->task.user;

	if (user && !sched_charge_begin(&helper->charge, user, helper->slice))
		return false;
	return padata_task_claim_allowed(run, thread);
}

/*
 * A worker is bound to the CPU that was chosen for it, until that CPU goes away.  From
 * then on it might be moved anywhere at any time, so it leaves.  Preemption is off, or
 * it might be unbound and moved in the middle of this.
 *
 * A cpuset partition may have isolated the CPU since it was chosen.
 */
static bool padata_task_is_on_its_cpu(const struct padata_mt_helper *helper)
{
	int cpu;

	guard(preempt)();
	cpu = smp_processor_id();
	return cpu == helper->cpu && is_percpu_thread() &&
	       (helper->team->run.job->cpumask || !cpuset_cpu_is_isolated(cpu));
}

static bool padata_task_helper_claim(struct padata_mt_run *run,
				     struct padata_mt_thread *thread)
{
	struct padata_mt_helper *helper = container_of(thread, struct padata_mt_helper, thread);

	if (helper->charge.slice)
		padata_task_charge(helper);
	if (!helper->lowered || !padata_task_is_on_its_cpu(helper) || sched_helper_unwanted())
		return false;
	if (!padata_task_claim_charged(run, thread))
		return false;
	padata_task_take_nodes(helper);
	padata_task_take_mempolicy(helper);
	return true;
}

/*
 * Without max_chunk, a thread begins with the smallest chunk there is, and has more in
 * each that follows, up to what it did in PADATA_TASK_CHUNK_NS.  That is how late it may
 * be to notice that it has to stop, and by how much a helper may exceed what its cgroup
 * has left.  The caller does so even if it is alone: it may be killed, too.
 */
static void padata_task_set_pace(struct padata_mt_run *run, struct padata_mt_thread *thread)
{
	unsigned long units = thread->end - thread->start;
	u64 now, ns;

	if (run->job->max_chunk)
		return;

	now = ktime_get_ns();
	ns = now - thread->claimed_ns;
	thread->claimed_ns = now;
	if (!thread->max_units)
		thread->max_units = 1;
	else if (ns <= PADATA_TASK_CHUNK_NS / 2)
		thread->max_units = 2 * min(units, ULONG_MAX / 2);
	else
		thread->max_units = clamp(mul_u64_u64_div_u64(min(units, ULONG_MAX / 2),
							      PADATA_TASK_CHUNK_NS, ns),
					  1, ULONG_MAX);
}

/* Is there a chunk for a helper, besides the one that the caller is about to get? */
static bool padata_task_has_more(const struct padata_mt_run *run)
{
	const struct padata_mt_job *job = run->job;

	return run->end - READ_ONCE(run->next) > 2 * max3(job->min_chunk, job->align, 1UL);
}

/*
 * By any thread that finds the caller killed.  If the job does not want to be ended,
 * the caller does the rest of it.
 */
static void padata_task_caller_killed(struct padata_mt_run *run)
{
	if (run->job->killable)
		padata_mt_stop(run, -EINTR);
	if (run->team)
		padata_task_kill_helpers(run->team);
}

/*
 * Search for idle CPUs at most once per tick: it costs the caller's time.
 */
static bool padata_task_claim(struct padata_mt_run *run, struct padata_mt_thread *thread)
{
	struct padata_mt_team *team = run->team;

	if (fatal_signal_pending(padata_task_outer_caller(run)))
		padata_task_caller_killed(run);
	padata_task_set_pace(run, thread);
	if (thread != &run->caller)
		return padata_task_helper_claim(run, thread);

	if (team && time_after(jiffies, team->task.last_search) && padata_task_has_more(run)) {
		team->task.last_search = jiffies;
		padata_task_reset_candidates(team);
		padata_mt_start_helpers(team);
	}
	return padata_mt_claim(run, thread);
}

/* Jobs after boot, for a user task and within its limits, or for the kernel. */
const struct padata_mt_backend padata_task_backend = {
	.prepare	= padata_task_prepare,
	.choose_cpu	= padata_task_choose_cpu,
	.enter		= padata_task_enter,
	.claim		= padata_task_claim,
	.leave		= padata_task_leave,
	.wait		= padata_task_wait,
	.release	= padata_task_release,
};
EXPORT_SYMBOL_NS_GPL(padata_task_backend, PADATA_MT_INTERNAL);
