/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * charge.h - CPU time that one task spends for another, see charge.c
 */
#ifndef _KERNEL_SCHED_CHARGE_H
#define _KERNEL_SCHED_CHARGE_H

#include <linux/types.h>

struct cfs_bandwidth;
struct task_struct;

bool sched_task_has_quota(struct task_struct *p);
void sched_charge(struct task_struct *p, u64 ns);

bool sched_cpu_may_help(int cpu);
bool sched_whole_core_idle(int cpu);
bool sched_helper_unwanted(void);

void cfs_bandwidth_repay(struct cfs_bandwidth *cfs_b);

#endif /* _KERNEL_SCHED_CHARGE_H */
