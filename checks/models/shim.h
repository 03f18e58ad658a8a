/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * shim.h - what padata_mt.c and padata_mt_task.c use of the kernel, for models
 *
 * Both are compiled unchanged.  Each kernel header that they include is this file, but
 * for <linux/padata_mt.h>, "padata_mt.h" and "sched/charge.h", which are the real ones.
 * Atomics, locks and completions order as much as the kernel's do and no more, see
 * Documentation/atomic_t.txt, refcount-vs-atomic.rst and tools/memory-model.
 *
 * The machine: the caller is on CPU 0, and each of the others has a worker (shim.c).
 */

#ifndef _MODELS_SHIM_H
#define _MODELS_SHIM_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weak.h"

/* The compiler */

#define __init
#define __ro_after_init
#define __percpu
#define __rcu
#undef __counted_by
#define __counted_by(...)
#define CONFIG_PADATA		1
#define IS_ENABLED(option)	0
#define EXPORT_SYMBOL_GPL(symbol)
#define IS_MODULE(option) 0
#define KERNEL_PASTE(a, b)	a##b
#define KERNEL_NAME(a, b)	KERNEL_PASTE(a, b)
#define UNIQUE(name)		KERNEL_NAME(__##name, __LINE__)

typedef uint64_t u64;

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#define struct_size(ptr, member, count)	offsetof(typeof(*(ptr)), member[count])
#define check_add_overflow(a, b, sum)	__builtin_add_overflow(a, b, sum)

#define KERNEL_CHOOSE(a, b, op)						\
({									\
	__auto_type __a = (a);						\
	__auto_type __b = (b);						\
	__a op __b ? __a : __b;						\
})
#define min(a, b)		KERNEL_CHOOSE(a, b, <)
#define max(a, b)		KERNEL_CHOOSE(a, b, >)
#define min3(a, b, c)		min(min(a, b), c)
#define max3(a, b, c)		max(max(a, b), c)
#define clamp(a, low, high)	min(max(a, (typeof(a))(low)), (typeof(a))(high))

/* Memory order */

#define READ_ONCE(x)		((typeof(x))mc_load(&(x), sizeof(x), MC_RELAXED, \
						    MC_SITE("READ_ONCE(" #x ")")))
#define WRITE_ONCE(x, v)	mc_store(&(x), sizeof(x), (uint64_t)(v), MC_RELAXED, \
					 MC_SITE("WRITE_ONCE(" #x ", " #v ")"))
#define smp_load_acquire(p)	((typeof(*(p)))mc_load(p, sizeof(*(p)), MC_ACQUIRE, \
						       MC_SITE("smp_load_acquire(" #p ")")))
#define smp_store_release(p, v)	mc_store(p, sizeof(*(p)), (uint64_t)(v), MC_RELEASE, \
					 MC_SITE("smp_store_release(" #p ", " #v ")"))
#define xchg_relaxed(p, v)	((typeof(*(p)))mc_xchg(p, sizeof(*(p)), (uint64_t)(v), MC_RELAXED, \
						       MC_SITE("xchg_relaxed(" #p ", " #v ")")))

#define try_cmpxchg_relaxed(p, oldp, v)					\
({									\
	uint64_t __value = (uint64_t)*(oldp);				\
	bool __done = mc_cmpxchg(p, sizeof(*(p)), &__value, (uint64_t)(v), MC_RELAXED, \
				 MC_SITE("try_cmpxchg_relaxed(" #p ", " #v ")")); \
									\
	if (!__done)							\
		*(oldp) = (typeof(*(p)))__value;			\
	__done;								\
})

#define cmpxchg_relaxed(p, old, v)					\
({									\
	uint64_t __value = (typeof(*(p)))(old);				\
									\
	mc_cmpxchg(p, sizeof(*(p)), &__value, (typeof(*(p)))(v), MC_RELAXED, \
		   MC_SITE("cmpxchg_relaxed(" #p ", " #v ")"));		\
	(typeof(*(p)))__value;						\
})

typedef struct { int counter; } atomic_t;
#define ATOMIC_INIT(i)		{ (i) }
#define atomic_read(v)		((int)mc_load(&(v)->counter, sizeof(int), MC_RELAXED, \
					      MC_SITE("atomic_read(" #v ")")))
#define atomic_inc(v)		((void)mc_add(&(v)->counter, sizeof(int), 1, MC_RELAXED, \
					      MC_SITE("atomic_inc(" #v ")")))
/* Numbers jobs, and nothing depends on that. */
#define atomic_inc_return_relaxed(v)	((void)(v), 1)

/*
 * <linux/refcount.h>: increments order nothing, decrements are a release, and the last
 * one also an acquire.  The counts are set before others have them.
 */

#define refcount_t		struct refcount_struct
struct refcount_struct {
	atomic_t		refs;
};

#define refcount_set(r, n)	((r)->refs.counter = (n))
#define refcount_read(r)	atomic_read(&(r)->refs)
#define refcount_inc(r)		kernel_refcount_inc(r, MC_SITE("refcount_inc(" #r ")"))
#define refcount_inc_not_zero(r) \
	kernel_refcount_inc_not_zero(r, MC_SITE("refcount_inc_not_zero(" #r ")"))
#define refcount_dec_and_test(r) \
	kernel_refcount_dec(r, true, true, MC_SITE("refcount_dec_and_test(" #r ")"))
/* For variants of the engine that want to do with less. */
#define refcount_dec_and_test_no_acquire(r) \
	kernel_refcount_dec(r, true, false, MC_SITE("refcount_dec_and_test(" #r ") (release)"))
#define refcount_dec_and_test_no_release(r) \
	kernel_refcount_dec(r, false, true, MC_SITE("refcount_dec_and_test(" #r ") (acquire)"))

void kernel_refcount_inc(refcount_t *r, const struct mc_site *site);
bool kernel_refcount_inc_not_zero(refcount_t *r, const struct mc_site *site);
bool kernel_refcount_dec(refcount_t *r, bool release, bool acquire, const struct mc_site *site);

/* <linux/spinlock.h> and <linux/cleanup.h> */

#define raw_spinlock_t		struct spinlock
struct spinlock {
	bool			made;
};

struct kernel_guard {
	struct spinlock		*lock;
	const struct mc_site	*site;
};

#define raw_spin_lock_init(l)	((l)->made = true)

struct kernel_guard kernel_lock(struct spinlock *lock, const struct mc_site *site);
void kernel_unlock(struct kernel_guard *guard);

#define KERNEL_HOLD(name, l)						\
	struct kernel_guard UNIQUE(name) __attribute__((cleanup(kernel_unlock))) = \
		kernel_lock(l, MC_SITE("lock " #l))
#define KERNEL_GUARD_raw_spinlock(l)	KERNEL_HOLD(guard, l)
#define KERNEL_GUARD_preempt()			int UNIQUE(guard) __attribute__((unused)) = 0
#define KERNEL_GUARD_rcu()			KERNEL_GUARD_preempt()
#define guard(kind)				KERNEL_GUARD_##kind

/* <linux/completion.h> */

struct completion {
	bool			made;
};

#define init_completion(x)	((x)->made = true)
#define complete(x)		kernel_complete(x, MC_SITE("complete(" #x ")"))
#define wait_for_completion(x)	kernel_wait(x, MC_SITE("wait_for_completion(" #x ")"))

void kernel_complete(struct completion *x, const struct mc_site *site);
void kernel_wait(struct completion *x, const struct mc_site *site);

/* <linux/slab.h> */

#define GFP_KERNEL		0
#define __GFP_NOWARN		0
#define __GFP_NOMEMALLOC	0

#define kzalloc(size, flags)	mc_alloc(size, "team")
#define kfree(p)		mc_free(p, MC_SITE("kfree(" #p ")"))

/* Messages */

#define pr_warn(...)		((void)0)
#define pr_warn_once(...)	((void)0)
#define WARN_ON_ONCE(condition)						\
({									\
	bool __bad = (condition);					\
									\
	if (__bad)							\
		mc_fail("a warning", MC_SITE(#condition));		\
	__bad;								\
})

/* <linux/cpumask.h> and <linux/nodemask.h>, of one word each */

struct cpumask {
	unsigned long		bits;
};

#define nodemask_t		struct nodemask
struct nodemask {
	unsigned long		bits;
};

enum { N_CPU, NR_NODE_STATES };

extern const struct cpumask kernel_siblings[];

#define node_states		((const nodemask_t[]){ { 1 } })

#define NUMA_NO_NODE		(-1)
#define nr_cpu_ids		64U
#define cpu_online_mask		(&kernel_setup()->cpus)
#define workqueue_unbound_cpumask()	cpu_online_mask
#define topology_sibling_cpumask(cpu)	(&kernel_siblings[cpu])
#define cpu_to_node(cpu)	0
#define num_online_cpus()	cpumask_weight(cpu_online_mask)
#define next_node_in(node, mask)	0
#define numa_node_id()		0
#define numa_nearest_node(nid, state)	0
#define sched_numa_find_nth_cpu(cpus, nth, node)	cpumask_first(cpus)
#define for_each_numa_hop_mask(mask, node) \
	for ((mask) = cpu_online_mask; (mask); (mask) = NULL)

#define cpumask_copy(to, a)	((to)->bits = (a)->bits)
#define cpumask_and(to, a, b)	((to)->bits = (a)->bits & (b)->bits)
#define cpumask_andnot(to, a, b)	((to)->bits = (a)->bits & ~(b)->bits)
#define cpumask_empty(mask)	(!(mask)->bits)
#define cpumask_weight(mask)	((unsigned int)__builtin_popcountl((mask)->bits))
#define cpumask_clear_cpu(cpu, mask)	((void)((mask)->bits &= ~(1UL << (cpu))))
/* A task's mask may change at any time. */
struct task_cpumask {
	unsigned long		bits;
};

#define cpumask_test_cpu(cpu, mask)	(kernel_mask_bits(mask) >> (cpu) & 1)
#define kernel_mask_bits(mask)						\
	_Generic((mask), struct task_cpumask *: kernel_task_mask,	\
		 const struct task_cpumask *: kernel_task_mask,		\
		 default: kernel_mask)(mask, MC_SITE("cpumask_test_cpu(" #mask ")"))

static inline unsigned long kernel_mask(const struct cpumask *mask, const struct mc_site *site)
{
	return mask->bits;
}

unsigned long kernel_task_mask(const struct task_cpumask *mask, const struct mc_site *site);

static inline unsigned int cpumask_first(const struct cpumask *mask)
{
	return mask->bits ? (unsigned int)__builtin_ctzl(mask->bits) : nr_cpu_ids;
}

static inline bool cpumask_test_and_clear_cpu(int cpu, struct cpumask *mask)
{
	bool was = cpumask_test_cpu(cpu, mask);

	cpumask_clear_cpu(cpu, mask);
	return was;
}

#define for_each_cpu(cpu, mask)						\
	for ((cpu) = 0; (cpu) < 8; (cpu)++)				\
		if (cpumask_test_cpu(cpu, mask))
#define for_each_cpu_wrap(cpu, mask, start)	for_each_cpu(cpu, mask)
#define cpus_share_cache(a, b)	true

/* <linux/sched.h> and around it.  What a thread of the model is: see shim.c */

#define SCHED_NORMAL		0
#define SCHED_BATCH		3
#define SCHED_IDLE		5
#define SCHED_DEADLINE		6
#define NSEC_PER_USEC		1000L
#define NSEC_PER_MSEC		1000000L
#define PF_EXITING		0x4
#define PF_MEMALLOC		0x800
#define PF_KTHREAD		0x200000
#define PF_MEMALLOC_NOFS	0x40000
#define PF_MEMALLOC_NOIO	0x80000

struct sched_param { };

struct task_struct {
	int			nr;		/* of the thread */
	unsigned int		flags;
	int			policy;
	char			comm[16];
	bool			killed;		/* a fatal signal is pending */
	bool			realtime;
	struct task_cpumask	cpus_mask;
	struct spinlock		pi_lock;	/* of the last two, for those who change them */
};

enum system_states { SYSTEM_BOOTING, SYSTEM_RUNNING };
#define system_state		SYSTEM_RUNNING
#define might_sleep()		((void)0)
#define cond_resched_tasks_rcu_qs()	((void)0)
#define rcu_read_lock()			((void)0)
#define rcu_read_unlock()		((void)0)

struct task_struct *kernel_current(void);
#define current			kernel_current()
#define raw_smp_processor_id()	kernel_cpu()
#define smp_processor_id()	kernel_cpu()
int kernel_cpu(void);

#define fatal_signal_pending(task)	kernel_killed(task, MC_SITE("fatal_signal_pending(" #task ")"))
#define sched_set_normal(task, nice)	kernel_set_normal(task, nice, MC_SITE("sched_set_normal(" #task ", " #nice ")"))
#define rt_or_dl_task(task)		kernel_realtime(task, MC_SITE("rt_or_dl_task(" #task ")"))
#define sched_setscheduler_nocheck(task, policy, param)	((void)(param), kernel_set_policy(task, policy))

bool kernel_killed(struct task_struct *task, const struct mc_site *site);
void kernel_set_normal(struct task_struct *task, int nice, const struct mc_site *site);
void kernel_set_policy(struct task_struct *task, int policy);
bool kernel_realtime(struct task_struct *task, const struct mc_site *site);
int task_nice(struct task_struct *task);
u64 task_sched_runtime(struct task_struct *task);

#define is_percpu_thread()		true

unsigned long kernel_jiffies(const struct mc_site *site);
#define jiffies			kernel_jiffies(MC_SITE("jiffies"))
#define HZ			100
#define time_after(a, b)	((long)((b) - (a)) < 0)

/* <linux/lockdep.h> */

struct lock_class_key { };
struct lockdep_map { };
#define lockdep_init_map(map, name, key, subclass)	((void)(name), (void)(key))
#define lock_map_acquire(map)	((void)0)
#define lock_map_release(map)	((void)0)

/* <linux/workqueue.h> */

struct work_struct {
	void			(*func)(struct work_struct *work);
};

struct worker {
	struct work_struct	*current_work;
	void			(*current_func)(struct work_struct *work);
};

struct workqueue_struct { int unused; };
#define WQ_CPU_INTENSIVE	1
#define WQ_PERCPU		2
#define alloc_workqueue(...)	(&kernel_workqueue)
extern struct workqueue_struct kernel_workqueue;

#define INIT_WORK(work, fn)	((work)->func = (fn))
#define queue_work_on(cpu, wq, work)	kernel_queue_work(cpu, work, MC_SITE("queue_work_on(" #work ")"))
#define cancel_work(work)		kernel_cancel_work(work, MC_SITE("cancel_work(" #work ")"))
#define set_worker_desc(...)	((void)0)

bool kernel_queue_work(int cpu, struct work_struct *work, const struct mc_site *site);
bool kernel_cancel_work(struct work_struct *work, const struct mc_site *site);
struct worker *current_wq_worker(void);

/* <linux/cpuhotplug.h>, <linux/init.h> */

#define CPUHP_AP_ONLINE_DYN	0
#define cpuhp_setup_state(state, name, startup, teardown)	((void)(startup), 0)
#define early_initcall(fn)	int kernel_##fn(void) { return fn(); }
int kernel_padata_mt_init(void);
int kernel_padata_mt_task_init(void);

/* <trace/events/padata.h>: where models look on */

struct padata_mt_job;
#define trace_padata_mt_job_start(...)	((void)0)
#define trace_padata_mt_helper_start(...)	((void)0)
#define trace_padata_mt_helper_end_enabled()	false
#define trace_padata_mt_helper_end(nr, ns)	((void)(ns))
#define trace_padata_mt_job_end(...)	((void)0)
#define trace_padata_mt_chunk(nr, start, end)	kernel_on_claim(start, end)
void kernel_on_claim(unsigned long start, unsigned long end);

/* What there is in a model besides the kernel's code: shim.c */

struct kernel_setup {
	int		helpers;	/* as many CPUs with a worker */
	struct cpumask	cpus;
	bool		boot;		/* a job of boot: helpers keep their priority */
	bool		fates;		/* work items are late, or never run while the caller waits */
	int		ticks;		/* the clock moves on so often while the caller claims */
	int		unwanted;	/* so often another task wants a helper's CPU */
	bool		killed;		/* the caller is, at any time */
	bool		batch;		/* somebody has given workers another policy */
	bool		restricted;	/* the caller loses its helpers' CPUs, or becomes realtime */
};

void kernel_start(const struct kernel_setup *setup, void (*caller)(int nr));
const struct kernel_setup *kernel_setup(void);
/* Has the thread found the caller killed? */
bool kernel_knows_killed(void);
/* The caller has returned, and what it had on its stack is gone. */
void kernel_caller_gone(void);
/* At the end: is all as it was? */
void kernel_over(void);
/* For what a model keeps of its own */
#define KERNEL_WORLD	128
void *kernel_world(void);

#endif /* _MODELS_SHIM_H */
