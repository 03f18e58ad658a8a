/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * charge_shim.h - what kernel/sched/charge.c uses of the kernel, for userspace
 *
 * Every kernel header that it includes is this file (see the Makefile).  It runs in one
 * thread, so a lock is a flag, and a failure is a lock not held where it has to be.
 */

#ifndef _CHARGE_SHIM_H
#define _CHARGE_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_CFS_BANDWIDTH	1
#define CONFIG_SCHED_CORE	1
#define CONFIG_PADATA		1

#define u64			uint64_t

#define RUNTIME_INF		((u64)~0ULL)
#define SHIM_NR_CPUS		4

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define min(a, b)							\
	({								\
		typeof(a) _a = (a);					\
		typeof(b) _b = (b);					\
		_a < _b ? _a : _b;					\
	})
void shim_fail(const char *what);

static inline void shim_need(bool holds, const char *what)
{
	if (!holds)
		shim_fail(what);
}

/* Locks, which a guard holds until the end of its block. */

struct shim_lock {
	bool			held;
};

extern struct shim_lock shim_rcu;

static inline void shim_unlock(struct shim_lock **lock)
{
	(*lock)->held = false;
}

/* A lock that a function takes must not be held already, unless it nests, as RCU does. */
static inline struct shim_lock *shim_lock(struct shim_lock *lock)
{
	shim_need(!lock->held, "a lock is taken that is held");
	lock->held = true;
	return lock;
}

#define __shim_paste(a, b)	a##b
#define shim_paste(a, b)	__shim_paste(a, b)
#define shim_hold(lock)							\
	struct shim_lock *shim_paste(guard_, __LINE__)			\
	__attribute__((cleanup(shim_unlock), unused)) = shim_lock(lock)
#define guard(kind)		guard_of_##kind
#define guard_of_raw_spinlock_irqsave(lock)	shim_hold(lock)
#define guard_of_rcu()		shim_hold(&shim_rcu)
#define guard_of_task_rq_lock(task)	shim_hold(&(task)->rq_lock)
#define lockdep_assert_held(lock)	shim_need((lock)->held, #lock " is not held")

/* Task groups */

struct cfs_bandwidth {
	struct shim_lock	lock;
	u64			quota;
	u64			runtime;
	u64			debt;
	unsigned int		idle;
	bool			timer;		/* period's, started since last check */
};

struct task_group {
	struct task_group	*parent;
	struct cfs_bandwidth	cfs_bandwidth;
};

static inline void start_cfs_bandwidth(struct cfs_bandwidth *cfs_b)
{
	lockdep_assert_held(&cfs_b->lock);
	cfs_b->timer = true;
}

/* Tasks */

struct task_struct {
	struct shim_lock	rq_lock;
	struct task_group	*tg;
	u64			cgroup_ns;
	u64			system_ns;
};

enum { CPUTIME_USER, CPUTIME_SYSTEM };

static inline struct task_group *task_group(struct task_struct *p)
{
	shim_need(shim_rcu.held, "a task's group is read outside RCU");
	return p->tg;
}

/* cpuacct_charge() requires the lock of the task's runqueue. */
static inline void cgroup_account_cputime(struct task_struct *p, u64 ns)
{
	lockdep_assert_held(&p->rq_lock);
	p->cgroup_ns += ns;
}

static inline void cgroup_account_cputime_field(struct task_struct *p, int field, u64 ns)
{
	p->system_ns += field == CPUTIME_SYSTEM ? ns : 0;
}

/* Runqueues: each pair of CPUs is a core */

struct rb_root {
	bool			used;
};

struct rq {
	int			cpu;
	unsigned int		nr_running;
	struct {
		unsigned int	h_nr_queued;
		unsigned int	h_nr_runnable;
	} cfs;
	bool			core_enabled;
	struct rb_root		core_tree;
};

extern struct rq shim_rqs[SHIM_NR_CPUS];
extern int shim_cpu;
extern bool shim_scx;

#define cpu_rq(cpu)		(&shim_rqs[cpu])
#define raw_rq()		cpu_rq(shim_cpu)
#define cpu_of(rq)		((rq)->cpu)
#define sched_core_enabled(rq)	((rq)->core_enabled)
#define RB_EMPTY_ROOT(root)	(!(root)->used)
#define scx_enabled()		shim_scx
#define available_idle_cpu(cpu)	(!cpu_rq(cpu)->nr_running)

/* A mask covers the CPUs of a core, represented here by its first CPU. */
static inline bool shim_sibling(int *cpu, int core, int nr)
{
	*cpu = core + nr;
	return nr < 2;
}

#define cpu_smt_mask(cpu)	((cpu) & ~1)
#define topology_sibling_cpumask(cpu)	cpu_smt_mask(cpu)
#define for_each_cpu(cpu, core)						\
	for (int __nr = 0; shim_sibling(&(cpu), core, __nr); __nr++)

#endif /* _CHARGE_SHIM_H */
