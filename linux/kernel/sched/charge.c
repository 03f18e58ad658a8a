// SPDX-License-Identifier: GPL-2.0-only
/*
 * charge.c - CPU time that one task spends for another
 *
 * A kernel thread that helps a task runs in the root task group, where nothing
 * limits it.  These functions let it pay with the task's CPU bandwidth instead,
 * and account its time to the task's cgroup: it measures what it used, and
 * charges that afterwards.
 *
 * Afterwards means that the bandwidth may not suffice any more.  What is missing
 * is a debt of the task group, repaid out of the quota of the next periods.  Over
 * a time long against a period, a group gets its quota and no more; over one period
 * it may exceed it by what its helpers use between two charges.
 */

#include <linux/cgroup.h>
#include <linux/kernel_stat.h>
#include <linux/mmu_context.h>
#include <linux/rcupdate.h>

#include "sched.h"
#include "charge.h"

#ifdef CONFIG_CFS_BANDWIDTH
static bool cfs_bandwidth_left(struct cfs_bandwidth *cfs_b)
{
	if (READ_ONCE(cfs_b->quota) == RUNTIME_INF)
		return true;
	return READ_ONCE(cfs_b->runtime) && !READ_ONCE(cfs_b->debt);
}

static bool task_group_has_quota(struct task_group *tg)
{
	for (; tg; tg = tg->parent) {
		if (!cfs_bandwidth_left(&tg->cfs_bandwidth))
			return false;
	}
	return true;
}

/*
 * The timer has to run from here on, as after any use of bandwidth, and the period
 * that begins now is not an idle one.
 */
static void cfs_bandwidth_charge(struct cfs_bandwidth *cfs_b, u64 ns)
{
	u64 paid;

	if (READ_ONCE(cfs_b->quota) == RUNTIME_INF)
		return;

	raw_spin_lock(&cfs_b->lock);
	if (cfs_b->quota != RUNTIME_INF) {
		paid = min(ns, cfs_b->runtime);
		cfs_b->runtime -= paid;
		cfs_b->debt += ns - paid;
		cfs_b->idle = 0;
		start_cfs_bandwidth(cfs_b);
	}
	raw_spin_unlock(&cfs_b->lock);
}

static void task_group_charge(struct task_group *tg, u64 ns)
{
	for (; tg; tg = tg->parent)
		cfs_bandwidth_charge(&tg->cfs_bandwidth, ns);
}

/*
 * cfs_bandwidth_repay - take the group's debt out of its new quota
 *
 * No more than half of it: a group that got nothing could not even leave the locks
 * that it holds, or exit.  The rest stays a debt, and keeps the timer going until it
 * is repaid.  There is no help meanwhile.
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
 * sched_task_has_quota - may others spend CPU time for a task?
 * @p: The task, which the caller keeps from exiting.
 *
 * Asks @p's task group and all above it for CPU bandwidth (cpu.max).  The answer
 * may be out of date when it comes: what is spent is charged, one way or another.
 *
 * Context: Any.  RCU keeps a group that @p is just moved out of.
 * Return: false if one of the groups has used up its quota.
 */
bool sched_task_has_quota(struct task_struct *p)
{
	guard(rcu)();
	return task_group_has_quota(task_group(p));
}

/**
 * sched_charge_task - charge a task's cgroups for CPU time spent for it
 * @p: The task, which the caller keeps from exiting.
 * @ns: The time, on some CPU other than @p's, in nanoseconds.
 *
 * As if @p had spent it in the kernel: the time shows in cpu.stat of its cgroup,
 * and is docked from its CPU bandwidth at every level.  Not charged are @p itself
 * (its own CPU clocks and the process's rusage) and the group's share by weight.
 * With cgroup v1, the cpuacct root counts the time twice, as a kernel thread's, too.
 *
 * Context: Any but under a runqueue lock.  @p's runqueue lock keeps it in its group
 * meanwhile, and is what cpuacct_charge() wants.
 */
void sched_charge_task(struct task_struct *p, u64 ns)
{
	guard(task_rq_lock)(p);
	cgroup_account_cputime(p, ns);
	cgroup_account_cputime_field(p, CPUTIME_SYSTEM, ns);
	task_group_charge(task_group(p), ns);
}
