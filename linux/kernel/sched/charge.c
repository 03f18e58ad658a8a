// SPDX-License-Identifier: GPL-2.0-only
/*
 * charge.c - what helpers of a task may use: its CPU bandwidth, and CPUs that nobody wants
 *
 * They are kernel threads in the root task group, where nothing limits them.
 */

#include <linux/cgroup.h>
#include <linux/kernel_stat.h>
#include <linux/mmu_context.h>

#include "sched.h"
#include "charge.h"

#ifdef CONFIG_CFS_BANDWIDTH
static bool task_group_has_quota(struct task_group *tg, u64 ns)
{
	for (; tg; tg = tg->parent) {
		const struct cfs_bandwidth *cfs_b = &tg->cfs_bandwidth;

		u64 quota = READ_ONCE(cfs_b->quota);

		if (quota != RUNTIME_INF && (READ_ONCE(cfs_b->runtime) <= ns || quota / 4 < ns))
			return false;
	}
	return true;
}

/*
 * What the group has left pays first.  The rest is a debt of @cfs_rq, as when a task has run past
 * its quota: the scheduler finds and repays it, from the next quotas.
 */
static void cfs_rq_charge(struct cfs_rq *cfs_rq, u64 ns)
{
	struct cfs_bandwidth *cfs_b = &cfs_rq->tg->cfs_bandwidth;
	u64 paid;

	if (!cfs_rq->runtime_enabled)
		return;

	guard(raw_spinlock)(&cfs_b->lock);
	paid = min(ns, cfs_b->runtime);
	cfs_b->runtime -= paid;
	cfs_rq->runtime_remaining -= ns - paid;
	/* As after any use of bandwidth: the period is not an idle one, and another one follows. */
	cfs_b->idle = 0;
	start_cfs_bandwidth(cfs_b);
}

static void task_charge_bandwidth(struct task_struct *p, u64 ns)
{
	struct sched_entity *se;

	for (se = &p->se; se; se = se->parent)
		cfs_rq_charge(cfs_rq_of(se), ns);
}
#else
static bool task_group_has_quota(struct task_group *tg, u64 ns) { return true; }
static void task_charge_bandwidth(struct task_struct *p, u64 ns) { }
#endif

/*
 * Whether other threads may spend CPU time for @p, which the caller keeps from exiting: @p's task
 * group and all above it have more left of their quota (cpu.max) than the @ns nanoseconds that were
 * spent and are not charged yet, which are no more than a quarter of it: @p may not get to run,
 * and so to charge them, for long.  RCU keeps a group that @p is just being moved out of.
 */
bool sched_task_has_quota(struct task_struct *p, u64 ns)
{
	guard(rcu)();
	return task_group_has_quota(task_group(p), ns);
}

/*
 * Charge the current task for @ns nanoseconds of CPU time that others have spent for it, as if it
 * had run for that much longer: they show in cpu.stat of its cgroup and of those above, and are
 * deducted from their bandwidth.  The runqueue lock keeps the task in its group.
 */
void sched_charge(u64 ns)
{
	struct rq_flags rf;
	struct rq *rq = this_rq_lock_irq(&rf);

	task_charge_bandwidth(current, ns);
	cgroup_account_cputime(current, ns);
	cgroup_account_cputime_field(current, CPUTIME_SYSTEM, ns);
	rq_unlock_irq(rq, &rf);
}

/*
 * Whether a helper should leave @cpu, or not be started there though it is idle.  Others are on
 * the runqueue.  One that has gone to sleep may still be there, until it has made up for having run
 * too much (DELAY_DEQUEUE); it does not want the CPU.  A task that comes later waits until the next
 * call.  Or there is a BPF scheduler (sched_ext), which may keep tasks for this CPU in queues of
 * its own, where nobody sees them waiting.  Or some task has a core scheduling cookie: a helper has
 * none, and would keep such a task waiting on the same core.
 */
bool sched_helper_unwanted(int cpu)
{
	struct rq *rq = cpu_rq(cpu);
	unsigned int asleep = READ_ONCE(rq->cfs.h_nr_queued) - READ_ONCE(rq->cfs.h_nr_runnable);

	return READ_ONCE(rq->nr_running) - asleep > 1 || scx_enabled() || sched_core_enabled(rq);
}
