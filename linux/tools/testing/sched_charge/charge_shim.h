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

#define u64			uint64_t
#define s64			int64_t

#define RUNTIME_INF		((u64)~0ULL)
#define SHIM_NR_CPUS		4

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define min(a, b)		({ typeof(a) _a = (a); typeof(b) _b = (b); _a < _b ? _a : _b; })

void shim_fail(const char *what);

static inline void shim_need(bool holds, const char *what)
{
	if (!holds)
		shim_fail(what);
}

/* Locks, which a guard holds until the end of its block */

extern bool shim_rcu;

static inline void shim_unlock(bool **lock)
{
	**lock = false;
}

static inline bool *shim_lock(bool *lock)
{
	shim_need(!*lock, "a lock is taken that is held");
	*lock = true;
	return lock;
}

#define shim_hold(lock)							\
	bool *guard __attribute__((cleanup(shim_unlock), unused)) = shim_lock(lock)
#define guard(kind)		guard_of_##kind
#define guard_of_raw_spinlock(lock)	shim_hold(lock)
#define guard_of_rcu()		shim_hold(&shim_rcu)

/* Runqueues */

struct rq {
	bool			lock;
	int			cpu;
	unsigned int		nr_running;
	struct {
		unsigned int	h_nr_queued;
		unsigned int	h_nr_runnable;
	} cfs;
	bool			core_enabled;
};

struct rq_flags { };

extern struct rq shim_rqs[SHIM_NR_CPUS];
extern int shim_cpu;
extern bool shim_scx;

#define cpu_rq(cpu)		(&shim_rqs[cpu])
#define raw_rq()		cpu_rq(shim_cpu)
#define sched_core_enabled(rq)	((rq)->core_enabled)
#define scx_enabled()		shim_scx

static inline struct rq *this_rq_lock_irq(struct rq_flags *rf)
{
	shim_lock(&raw_rq()->lock);
	return raw_rq();
}

static inline void rq_unlock_irq(struct rq *rq, struct rq_flags *rf)
{
	rq->lock = false;
}

/* Task groups, each with a runqueue and, but for the root, an entity for each CPU */

struct cfs_bandwidth {
	bool			lock;
	u64			quota;
	u64			runtime;
	unsigned int		idle;
	bool			timer;		/* period's, started since last check */
};

struct cfs_rq {
	struct rq		*rq;
	struct task_group	*tg;
	int			runtime_enabled;
	s64			runtime_remaining;
};

struct sched_entity {
	struct sched_entity	*parent;
	struct cfs_rq		*cfs_rq;
};

struct task_group {
	struct task_group	*parent;
	struct cfs_bandwidth	cfs_bandwidth;
	struct cfs_rq		cfs_rqs[SHIM_NR_CPUS];
	struct sched_entity	ses[SHIM_NR_CPUS];
};

static inline void start_cfs_bandwidth(struct cfs_bandwidth *cfs_b)
{
	shim_need(cfs_b->lock, "a group is charged without its lock");
	cfs_b->timer = true;
}

static inline struct cfs_rq *cfs_rq_of(struct sched_entity *se)
{
	shim_need(se->cfs_rq->rq->lock, "a runqueue is charged without its lock");
	return se->cfs_rq;
}

/* Tasks, each on the CPU where it last ran */

struct task_struct {
	struct task_group	*tg;
	int			cpu;
	struct sched_entity	se;
	u64			cgroup_ns;
	u64			system_ns;
};

extern struct task_struct *shim_current;
#define current			shim_current

enum { CPUTIME_USER, CPUTIME_SYSTEM };

static inline struct task_group *task_group(struct task_struct *p)
{
	shim_need(shim_rcu, "a task's group is read outside RCU");
	return p->tg;
}

/* cpuacct_charge() requires the lock of the task's runqueue. */
static inline void cgroup_account_cputime(struct task_struct *p, u64 ns)
{
	shim_need(cpu_rq(p->cpu)->lock, "cpu.stat is written without the lock");
	p->cgroup_ns += ns;
}

static inline void cgroup_account_cputime_field(struct task_struct *p, int field, u64 ns)
{
	p->system_ns += field == CPUTIME_SYSTEM ? ns : 0;
}

#endif /* _CHARGE_SHIM_H */
