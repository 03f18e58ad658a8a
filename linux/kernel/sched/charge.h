/* SPDX-License-Identifier: GPL-2.0-only */
/* What helpers of a task may use. */
#ifndef _KERNEL_SCHED_CHARGE_H
#define _KERNEL_SCHED_CHARGE_H

#include <linux/types.h>

struct task_struct;

bool sched_task_has_quota(struct task_struct *p, u64 ns);
void sched_charge(u64 ns);
bool sched_helper_unwanted(int cpu);

#endif /* _KERNEL_SCHED_CHARGE_H */
