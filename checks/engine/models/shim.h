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
#define __weak			__attribute__((weak))
#define __percpu
#define __rcu
#undef __counted_by
#define __counted_by(...)
#define CONFIG_PADATA		1
#define IS_ENABLED(option)	0
#define EXPORT_SYMBOL_GPL(symbol)
#define IS_MODULE(option) 0

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
/* The workqueue is there before any thread. */
struct workqueue_struct;
#define smp_load_acquire(p)						\
	_Generic((p), struct workqueue_struct **: *(p),			\
		 default: (typeof(*(p)))mc_load(p, sizeof(*(p)), MC_ACQUIRE,	\
						MC_SITE("smp_load_acquire(" #p ")")))
#define smp_store_release(p, v)						\
	_Generic((p), struct workqueue_struct **: (void)(*(p) = (v)),	\
		 default: mc_store(p, sizeof(*(p)), (uint64_t)(v), MC_RELEASE,	\
				   MC_SITE("smp_store_release(" #p ", " #v ")")))

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

typedef struct { int64_t counter; } atomic64_t;
/* A hint, and only one model looks at it, see sched_task_has_quota(). */
#define atomic64_read(v)	(!kernel_setup()->restricted ? (u64)0 : \
				 (u64)mc_load(&(v)->counter, sizeof(u64), MC_RELAXED, \
					      MC_SITE("atomic64_read(" #v ")")))
#define atomic64_add(i, v)	((void)mc_add(&(v)->counter, sizeof(u64), i, MC_RELAXED, \
					      MC_SITE("atomic64_add(" #i ", " #v ")")))
#define atomic64_xchg_relaxed(v, i) \
	kernel_take(v, i, MC_SITE("atomic64_xchg_relaxed(" #v ", " #i ")"))
u64 kernel_take(atomic64_t *v, u64 i, const struct mc_site *site);

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

/* <linux/cleanup.h> */

#define KERNEL_GUARD_preempt()	int __guard __attribute__((unused)) = 0
#define KERNEL_GUARD_rcu()	KERNEL_GUARD_preempt()
#define guard(kind)		KERNEL_GUARD_##kind

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

#define nr_cpu_ids		64U
#define cpu_online_mask		(&kernel_setup()->cpus)
#define workqueue_cpu_allowed(cpu)	true
#define cpumask_of_node(nid)	cpu_online_mask
#define topology_sibling_cpumask(cpu)	(&kernel_siblings[cpu])
#define cpu_to_node(cpu)	0
#define num_online_cpus()	cpumask_weight(cpu_online_mask)
#define next_node_in(node, mask)	0
#define numa_nearest_node(nid, state)	0
#define sched_numa_find_nth_cpu(cpus, nth, node)	cpumask_first(cpus)
#define for_each_numa_hop_mask(mask, node) \
	for ((mask) = cpu_online_mask; (mask); (mask) = NULL)

#define cpumask_copy(to, a)	((to)->bits = (a)->bits)
#define cpumask_andnot(to, a, b)	((to)->bits = (a)->bits & ~(b)->bits)
#define cpumask_empty(mask)	(!(mask)->bits)
#define cpumask_weight(mask)	((unsigned int)__builtin_popcountl((mask)->bits))
#define cpumask_clear_cpu(cpu, mask)	((void)((mask)->bits &= ~(1UL << (cpu))))
/* A task's mask may change at any time, see kernel_task_mask(). */
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

static inline unsigned int cpumask_first_and(const struct cpumask *a, const struct cpumask *b)
{
	return cpumask_first(&(struct cpumask){ a->bits & b->bits });
}

#define for_each_cpu(cpu, mask)						\
	for ((cpu) = 0; (cpu) < 8; (cpu)++)				\
		if (cpumask_test_cpu(cpu, mask))
#define for_each_cpu_wrap(cpu, mask, start)	for_each_cpu(cpu, ((void)(start), (mask)))
#define cpus_share_cache(a, b)	true
/* All but the caller's */
#define idle_cpu(cpu)		((cpu) != 0)
#define vcpu_is_preempted(cpu)	false

/* Nothing, so that what a chunk may take does not hide what one has taken. */
#define NSEC_PER_MSEC		0

/* <linux/sched.h> and around it.  What a thread of the model is: see shim.c */

#define PF_MEMALLOC		0x800
#define PF_KTHREAD		0x200000
#define PF_MEMALLOC_NOFS	0x40000
#define PF_MEMALLOC_NOIO	0x80000

struct task_struct {
	unsigned int		flags;
	char			comm[16];
	struct task_cpumask	cpus_mask;
};

enum system_states { SYSTEM_BOOTING, SYSTEM_RUNNING };
#define system_state		SYSTEM_RUNNING
#define might_sleep()		((void)0)
#define cond_resched_tasks_rcu_qs()	((void)0)

struct task_struct *kernel_current(void);
#define current			kernel_current()
#define raw_smp_processor_id()	kernel_cpu()
#define smp_processor_id()	kernel_cpu()
int kernel_cpu(void);

#define rt_or_dl_task(task)	((void)(task), kernel_realtime(MC_SITE("rt_or_dl_task(" #task ")")))
bool kernel_realtime(const struct mc_site *site);
u64 task_sched_runtime(struct task_struct *task);

unsigned long kernel_jiffies(const struct mc_site *site);
#define jiffies			kernel_jiffies(MC_SITE("jiffies"))
#define HZ			100
#define time_after(a, b)	((long)((b) - (a)) < 0)

/* <linux/lockdep.h>, <linux/sched/mm.h> */

struct lock_class_key { };
struct lockdep_map { };
#define LD_WAIT_INV		0
#define LD_WAIT_CONFIG		1
#define lockdep_init_map_wait(map, name, key, subclass, type)	((void)(key), (void)(type))
#define fs_reclaim_acquire(gfp)	((void)0)
#define fs_reclaim_release(gfp)	((void)0)
#define lock_map_acquire(map)	((void)0)
#define lock_map_release(map)	((void)0)

/* <linux/workqueue.h> */

struct work_struct {
	void			(*func)(struct work_struct *work);
};

struct worker {
	void			(*current_func)(struct work_struct *work);
};

struct workqueue_struct { int unused; };
#define WQ_CPU_INTENSIVE	1
#define WQ_PERCPU		2
#define WQ_UNBOUND		4
#define WQ_AFFN_CPU		0
#define WQ_UNBOUND_MAX_ACTIVE	0
struct workqueue_attrs {
	int			affn_scope;
	bool			affn_strict;
};
#define alloc_workqueue(...)	(&kernel_workqueue)
#define alloc_workqueue_attrs()	(&(struct workqueue_attrs){ })
#define apply_workqueue_attrs(wq, attrs)	((void)(attrs), 0)
#define free_workqueue_attrs(attrs)	((void)(attrs))
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
#define late_initcall(fn)	early_initcall(fn)
/* At once, before any other thread */
#define DECLARE_WORK(name, fn)	struct work_struct name = { fn }
#define schedule_work(work)	(work)->func(work)
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
	bool		boot;		/* a job of boot: nobody is charged */
	bool		fates;		/* work items are late, or never run while the caller waits */
	int		ticks;		/* the clock moves on so often while the caller claims */
	int		unwanted;	/* so often another task wants a helper's CPU */
	bool		restricted;	/* the caller loses its helpers' CPUs, or becomes realtime */
};

void kernel_start(const struct kernel_setup *setup, void (*caller)(int nr));
const struct kernel_setup *kernel_setup(void);
/* The caller has returned, and what it had on its stack is gone. */
void kernel_caller_gone(void);
/* At the end: is all as it was? */
void kernel_over(void);
/* For what a model keeps of its own */
#define KERNEL_WORLD	128
void *kernel_world(void);

#endif /* _MODELS_SHIM_H */
