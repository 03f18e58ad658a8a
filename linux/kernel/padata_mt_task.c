// SPDX-License-Identifier: GPL-2.0-only
/*
 * padata_mt_task.c - helpers for jobs that share the machine with other tasks
 *
 * After boot, a machine is there for its users.  Helping one user's job must not
 * disturb the others, nor get that user more of the machine than it was given.  So,
 * for padata_do_multithreaded() once init is started, this back end
 *
 *  - starts helpers only on idle CPUs: near the data first, and on cores that are
 *    entirely idle first.  There may be few such CPUs or none.  While it works, the
 *    caller looks again for CPUs that have become idle;
 *
 *  - runs helpers at nice 19, and makes them leave as soon as another task wants their
 *    CPU.  Only a caller that has nothing left to do but wait for its helpers boosts
 *    them, to its own nice value at most.  A helper never weighs more on its CPU than
 *    the caller in its cgroup would, or than SCHED_IDLE if that is more;
 *
 *  - keeps helpers of a user task within the task's limits.  They claim chunks only on
 *    CPUs that the task may run on at that time, and only while its cgroup has CPU
 *    bandwidth left, to which their time is charged.  Helpers of a kernel thread have
 *    no such limits: it is not known who the kernel thread works for;
 *
 *  - makes helpers allocate memory and do I/O as the caller does: by its policy, on its
 *    cpuset's nodes, for its memory and I/O cgroups, and without recursion into a file
 *    system or block device that it must not enter.  A caller that may use the memory
 *    reserves gets no helpers;
 *
 *  - gives no helpers to a realtime caller, which would have to wait for helpers that
 *    are not realtime, and whose CPU time no cgroup limits; nor to a caller that is
 *    being killed, which should free memory, not get more.
 *
 * A helper that starts a job of its own, from a thread function, gets no helpers for
 * it: the outer job already has helpers, and those are bound by the task's limits.
 */

#include <linux/cgroup.h>
#include <linux/cleanup.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/cpuset.h>
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
 * At most one helper per CPU.  A CPU that has one may still look idle: because the work
 * item has not started yet, or because its thread function sleeps.
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

/* Not exact: the task's mask may change.  A helper checks again before it claims. */
static bool padata_task_cpu_usable(const struct padata_mt_team *team, int cpu)
{
	const struct task_struct *task = team->task.user;

	/* Cpuset partitions isolate CPUs, too, but not permanently. */
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
 * An idle CPU in @cpus, or -1.  A CPU that was chosen, or is not usable, is not looked at
 * again until the next time that helpers are started.
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
 * Not a realtime task, even if it is one only because it holds a lock that a realtime
 * task waits for; nor a task that is being killed.  A caller may become either in the
 * middle of a job, and may also stop being realtime.
 */
static bool padata_task_may_have_help(struct task_struct *caller)
{
	return !rt_or_dl_task(caller) && !fatal_signal_pending(caller) &&
	       !(READ_ONCE(caller->flags) & PF_EXITING);
}

/* The nearest node first, and in it the cores that are entirely idle. */
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
 * The helper that the current thread is, or NULL.  A worker's current work item may
 * have been freed already, but not while its helper is inside.
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
 * The scopes that helpers inherit from their caller.  PF_MEMALLOC is not one of them: a
 * task that may use the memory reserves uses them alone, and may hold locks that other
 * tasks wait for in order to free memory.  PF_LOCAL_THROTTLE keeps a task that writes
 * for others from being held up by the others' dirty pages: without it, the caller would
 * be, while it waits for its helper.
 */
#define PADATA_TASK_SCOPES	(PF_MEMALLOC_NOFS | PF_MEMALLOC_NOIO |	\
				 PF_MEMALLOC_PIN | PF_LOCAL_THROTTLE)

#ifdef CONFIG_BLK_CGROUP
/* The cgroup that the block layer finds for I/O that the current thread submits. */
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
	/* A node may come or go meanwhile: padata_task_take_nodes() looks again. */
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
 * Take the caller's nodes, as they are now.  When a node loses its last memory or gets
 * its first, cpuset updates the tasks of each cpuset, one after the other, to the nodes
 * that the cpuset has then.  This thread gets those of the root cpuset, at worst in the
 * middle of a chunk, the rest of which may then use memory of any node.
 *
 * The caller's nodes may not have been updated yet, and have no memory left.  That is
 * noticed here: node_states[] changes first, so either it is found changed at the end,
 * or cpuset has yet to update this thread, as both take this thread's alloc_lock.
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
/* A worker has no policy of its own.  Others read it under the worker's alloc_lock. */
static void padata_task_drop_mempolicy(void)
{
	task_lock(current);
	current->mempolicy = NULL;
	task_unlock(current);
}

/*
 * The copy is in struct padata_mt_helper, as it would have to be allocated otherwise.
 * Its one reference is never dropped.
 *
 * When cpuset rebinds the policies of its tasks, one with static nodes keeps them, except
 * nodes that are gone: if none is left, it gets all nodes that the task may use.  The
 * caller's policy may be from before such a change, so the copy is rebound again.
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

/* Called by the caller: for whom and how it allocates memory and does I/O now. */
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
 * A helper goes to nice 19 and back under the lock: the caller finds it either in a
 * state in which it can be boosted, or with the nice value of all workers and not held
 * up.  The lock is raw: no thread may be preempted at nice 19 while it holds the lock.
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
 * Called before the helper does anything for the caller.  If even nice 19 weighs more
 * than the caller would on this CPU, the helper becomes SCHED_IDLE, the lowest there is.
 * It does not follow changes of the caller's weight after that.
 *
 * A worker that somebody has given another scheduling policy keeps it, and does not help.
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
 * Nothing is left for the caller to do.  All helpers are boosted at once: each does the
 * rest of its work on a CPU of its own, in parallel with the others, and none waits for
 * a lock held by a helper that is not boosted.  Together they then weigh no more than as
 * many threads of the caller would; if nice 19 is too much for that, they stay at it, as
 * each may weigh that much by itself.  Other jobs of the same cgroup, for the length of a
 * chunk each, are not counted.
 *
 * Once caller_waits is set, the number of lowered helpers does not grow.
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
 * A helper in the middle of a chunk would go on as if nothing had happened: wait for a
 * lock, or for memory that the caller's cgroup does not get until another of its tasks
 * has been killed, too.  So the helper must find a fatal signal pending, as the caller
 * does.
 *
 * @may_kill is changed under a lock, so that no signal reaches a worker that has left the
 * job and now works for others.  The lock is not raw: it is not taken in interrupts, and
 * signals are sent with it held.
 */
static void padata_task_allow_kill(struct padata_mt_helper *helper)
{
	allow_kernel_signal(SIGKILL);
	guard(spinlock)(&helper->team->task.kill_lock);
	helper->may_kill = true;
}

/* Also discards the signal, if it was sent. */
static void padata_task_disallow_kill(struct padata_mt_helper *helper)
{
	scoped_guard(spinlock, &helper->team->task.kill_lock)
		helper->may_kill = false;
	disallow_signal(SIGKILL);
}

/*
 * Called by the caller or a helper when it finds the caller killed.  Once is enough: a
 * helper that enters after that finds the caller killed before it claims anything.
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
 * The caller cannot return before its helpers, killed or not.  If it is killed, it tells
 * them, however long it has waited by then.  The hung task detector ignores tasks that a
 * signal can wake, so it does not report the caller before it is killed, but it does
 * report a helper that hangs, and with it the job.
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

/* Charge what the current thread has used since it was last charged. */
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
 * task.  Neither changes while a helper holds the lock.  And once one of them has been
 * changed, no helper outside the new mask, or of a task that is realtime now, claims
 * another chunk.
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

/* Bandwidth that is taken but not used is given back when the helper is charged. */
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
 * then on the worker might be moved anywhere at any time, so it leaves.  Preemption is
 * off, as the worker might otherwise be unbound and moved in the middle of this check.
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
 * Without max_chunk, a thread begins with the smallest possible chunk, and each chunk
 * that follows is larger, up to what the thread does in PADATA_TASK_CHUNK_NS.  That is
 * how late it may notice that it has to stop, and by how much a helper may exceed what
 * its cgroup has left.  This applies to a caller that works alone, too: it may be killed.
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
 * Called by any thread that finds the caller killed.  If the job is not killable, the
 * caller does the rest of it.
 */
static void padata_task_caller_killed(struct padata_mt_run *run)
{
	if (run->job->killable)
		padata_mt_stop(run, -EINTR);
	if (run->team)
		padata_task_kill_helpers(run->team);
}

/*
 * Search for idle CPUs at most once per tick: the search costs the caller time.
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

/* Jobs after boot: for a user task, within its limits, or for the kernel. */
const struct padata_mt_backend padata_task_backend = {
	.prepare	= padata_task_prepare,
	.choose_cpu	= padata_task_choose_cpu,
	.enter		= padata_task_enter,
	.claim		= padata_task_claim,
	.leave		= padata_task_leave,
	.wait		= padata_task_wait,
	.release	= padata_task_release,
};
EXPORT_SYMBOL_FOR_PADATA_TESTS(padata_task_backend);
