// SPDX-License-Identifier: GPL-2.0-only
/*
 * charge.c - CPU time that one task spends for another
 *
 * A kernel thread that helps a task runs in the root task group, where nothing
 * limits it.  These functions let it use the task's CPU bandwidth instead, and
 * account its time to the task's cgroup.  The thread looks whether the group has any
 * runtime left, works for a moment, and has what it measured taken from the runtime.
 *
 * If there was less left, the rest becomes a debt of the group, repaid out of the quota of
 * the next periods.  Over many periods, a group gets its quota and no more; in one period
 * it may exceed the quota by what each of its helpers does between two looks.
 *
 * Every group on the way to the root is charged separately.  So when a debt is lost
 * with its group, nothing is still owed to any other group: the groups above have
 * paid.  A debt stays when cpu.max is written.
 *
 * The functions at the end say where such a thread may run, and when it is in the way of
 * others.
 */

#include <linux/cgroup.h>
#include <linux/kernel_stat.h>
#include <linux/mmu_context.h>
#include <linux/rcupdate.h>

#include "sched.h"
#include "charge.h"

#ifdef CONFIG_CFS_BANDWIDTH
static bool task_group_has_quota(struct task_group *tg)
{
	for (; tg; tg = tg->parent) {
		struct cfs_bandwidth *cfs_b = &tg->cfs_bandwidth;

		if (READ_ONCE(cfs_b->quota) != RUNTIME_INF &&
		    (!READ_ONCE(cfs_b->runtime) || READ_ONCE(cfs_b->debt)))
			return false;
	}
	return true;
}

/*
 * The timer has to run from here on, as after any use of bandwidth, and the period
 * that begins now is not an idle one.  If the limit has just gone, the timer stops again.
 */
static void cfs_bandwidth_charge(struct cfs_bandwidth *cfs_b, u64 ns)
{
	u64 paid;

	if (READ_ONCE(cfs_b->quota) == RUNTIME_INF)
		return;

	guard(raw_spinlock_irqsave)(&cfs_b->lock);
	paid = min(ns, cfs_b->runtime);
	cfs_b->runtime -= paid;
	cfs_b->debt += ns - paid;
	cfs_b->idle = 0;
	start_cfs_bandwidth(cfs_b);
}

static void task_group_charge(struct task_group *tg, u64 ns)
{
	for (; tg; tg = tg->parent)
		cfs_bandwidth_charge(&tg->cfs_bandwidth, ns);
}

/*
 * cfs_bandwidth_repay - take the group's debt out of its new quota
 *
 * No more than half of the quota: the group's own tasks have to run in each period, too,
 * for as long as it takes to repay.  The rest stays a debt, and keeps the timer running
 * until it is repaid.  The group gets no help meanwhile.
 */
void cfs_bandwidth_repay(struct cfs_bandwidth *cfs_b)
{
	u64 paid;

	lockdep_assert_held(&cfs_b->lock);
	if (!cfs_b->debt)
		return;
	paid = min(cfs_b->debt, cfs_b->runtime / 2);
	cfs_b->runtime -= paid;
	cfs_b->debt -= paid;
	cfs_b->idle = 0;
}
#else
static bool task_group_has_quota(struct task_group *tg)
{
	return true;
}

static void task_group_charge(struct task_group *tg, u64 ns)
{
}
#endif

/**
 * sched_task_has_quota - may other threads spend CPU time for a task?
 * @p: The task, which the caller keeps from exiting.
 *
 * Checks @p's task group and all above it for CPU bandwidth (cpu.max).
 *
 * Context: Any.  RCU keeps a group that @p is just being moved out of.
 * Return: false if one of the groups has used up its quota, or has a debt.
 */
bool sched_task_has_quota(struct task_struct *p)
{
	guard(rcu)();
	return task_group_has_quota(task_group(p));
}

/**
 * sched_charge - charge a task's cgroups for CPU time spent for it
 * @p: The task, which the caller keeps from exiting.
 * @ns: The time that another thread has spent, in nanoseconds.
 *
 * Charges as if @p had spent the time in the kernel: it shows in cpu.stat of @p's cgroup,
 * and is deducted from the CPU bandwidth at every level.  If @p was moved meanwhile, the
 * new group and those above it pay for all of it.  Not charged are @p itself (its own CPU
 * clocks and the process's rusage) and the group's share by weight.  With cgroup v1, the
 * cpuacct root counts the time twice: it counts it as a kernel thread's, too.
 *
 * Context: Any but under a runqueue lock.  @p's runqueue lock keeps @p in its task group
 * meanwhile, and is the lock that cpuacct_charge() needs.  RCU keeps @p's cgroup, which
 * changes before the task group does: for one chunk, the time may show in the new cgroup
 * while the old group pays.
 */
void sched_charge(struct task_struct *p, u64 ns)
{
	guard(rcu)();
	guard(task_rq_lock)(p);
	cgroup_account_cputime(p, ns);
	cgroup_account_cputime_field(p, CPUTIME_SYSTEM, ns);
	task_group_charge(task_group(p), ns);
}

#ifdef CONFIG_SCHED_CORE
static bool core_has_cookies(int cpu)
{
	int sibling;

	if (!sched_core_enabled(cpu_rq(cpu)))
		return false;
	for_each_cpu(sibling, cpu_smt_mask(cpu)) {
		if (!RB_EMPTY_ROOT(&cpu_rq(sibling)->core_tree))
			return true;
	}
	return false;
}
#else
static bool core_has_cookies(int cpu)
{
	return false;
}
#endif

static bool cpu_allows_helpers(int cpu)
{
	return !scx_enabled() && !core_has_cookies(cpu);
}

/**
 * sched_cpu_may_help - is a CPU idle, and may it run a helper?
 * @cpu: The CPU.
 *
 * Not under a BPF scheduler (sched_ext): it may keep tasks for this CPU in queues of
 * its own, where nobody sees them waiting, and need not respect policies.  Nor on a
 * core where a task has a core scheduling cookie: a helper has none, so the two
 * cannot run at the same time.
 *
 * Context: Any.
 * Return: true if it is.  The answer may already be out of date.
 */
bool sched_cpu_may_help(int cpu)
{
	return available_idle_cpu(cpu) && cpu_allows_helpers(cpu);
}

/**
 * sched_whole_core_idle - are all hardware threads of a core idle?
 * @cpu: One of them.
 *
 * Context: Any.
 * Return: true if they are.  The answer may already be out of date.
 */
bool sched_whole_core_idle(int cpu)
{
	int sibling;

	for_each_cpu(sibling, topology_sibling_cpumask(cpu)) {
		if (!available_idle_cpu(sibling))
			return false;
	}
	return true;
}

/**
 * sched_helper_unwanted - is the current thread, a helper, in the way of others?
 *
 * Other tasks want its CPU if they are on the CPU's runqueue.  A task that has gone to
 * sleep may still be there, until it has made up for having run too much
 * (DELAY_DEQUEUE).  Such a task does not want the CPU, and is not counted.
 *
 * Context: Threads that are bound to their CPU.  Does not take the runqueue lock, so the
 * runqueue may change meanwhile: a task that comes later waits until the next call.
 * Return: true if it is, and should leave its CPU.
 */
bool sched_helper_unwanted(void)
{
	struct rq *rq = raw_rq();
	unsigned int asleep = READ_ONCE(rq->cfs.h_nr_queued) - READ_ONCE(rq->cfs.h_nr_runnable);

	return READ_ONCE(rq->nr_running) - asleep > 1 || !cpu_allows_helpers(cpu_of(rq));
}
