/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * charge.h - CPU time that one task spends for another, see charge.c
 */
#ifndef _KERNEL_SCHED_CHARGE_H
#define _KERNEL_SCHED_CHARGE_H

#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

struct cfs_bandwidth;
struct task_group;
struct task_struct;

/*
 * struct sched_charge - CPU bandwidth that was taken, but not settled yet
 *
 * @tg is compared, never dereferenced.  If the group was freed and its address reused,
 * the new group is credited with the slice.
 */
struct sched_charge {
	const struct task_group	*tg;
	u64			slice;
};

bool sched_task_has_quota(struct task_struct *p);
bool sched_charge_begin(struct sched_charge *charge, struct task_struct *p, u64 ns);
void sched_charge_end(struct sched_charge *charge, struct task_struct *p, u64 ns);

/*
 * The slice to take next, in ns: what was used of the last one, but at least half of that, as
 * the work may have been short.  Never 0, even on a coarse scheduler clock: with a slice of 0,
 * nothing would be taken from then on.
 */
static inline u64 sched_charge_next(u64 slice, u64 used)
{
	return max3(used, slice / 2, (u64)NSEC_PER_USEC);
}

bool sched_cpu_wants_helper(int cpu);
bool sched_core_is_idle(int cpu);
bool sched_helper_unwanted(void);

#ifdef CONFIG_CFS_BANDWIDTH
/* In fair.c */
void start_cfs_slack_bandwidth(struct cfs_bandwidth *cfs_b);
#endif

#ifdef CONFIG_PADATA
void cfs_bandwidth_repay(struct cfs_bandwidth *cfs_b);
#else
static inline void cfs_bandwidth_repay(struct cfs_bandwidth *cfs_b)
{
}
#endif

#endif /* _KERNEL_SCHED_CHARGE_H */
