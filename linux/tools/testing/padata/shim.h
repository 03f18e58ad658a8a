/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * shim.h - what kernel/padata_mt.c uses of the kernel, for userspace
 *
 * The engine is compiled unchanged.  Every kernel header that it includes is
 * this file (see the Makefile), but for <linux/padata_mt.h> and "padata_mt.h", which
 * are the real ones.
 *
 * Atomics have the kernel's memory ordering, and no more: ThreadSanitizer must
 * notice code that relies on more than the kernel's memory model promises.  It does not
 * understand fences, so ordering after a control dependency is an acquire load here.
 *
 * Topology comes from a struct shim_machine, which each thread chooses for itself.
 * Workqueues are in pool.c.
 */

#ifndef _PADATA_SHIM_H
#define _PADATA_SHIM_H

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The compiler */

#define __init
#define __ro_after_init
/* Kernel headers that libc includes may define it, too. */
#undef __counted_by
#define __counted_by(...)

#define CONFIG_PADATA		1
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, val)	__atomic_store_n(&(x), (val), __ATOMIC_RELAXED)

/* After this store, other threads may access what was stored before it. */
#define smp_store_release(p, val)					\
do {									\
	shim_point();							\
	__atomic_store_n(p, val, __ATOMIC_RELEASE);			\
	shim_point();							\
} while (0)

/* After this load, what other threads did before their store is visible. */
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* Numbers: as in the kernel, both operands have the same type */

#define __shim_choose(a, b, op)						\
({									\
	__auto_type __a = (a);						\
	__auto_type __b = (b);						\
	static_assert(__builtin_types_compatible_p(typeof(__a), typeof(__b)), \
		      "comparison of two types");			\
	__a op __b ? __a : __b;						\
})
#define min(a, b)		__shim_choose(a, b, <)
#define max(a, b)		__shim_choose(a, b, >)
#define min3(a, b, c)		min(min(a, b), c)
#define max3(a, b, c)		max(max(a, b), c)

#define check_add_overflow(a, b, sum)	__builtin_add_overflow(a, b, sum)
#define struct_size(ptr, member, count)	offsetof(typeof(*(ptr)), member[count])

/* Sanitizers read their settings here. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__ubsan_default_options(void);

/* A place where the thread may yield its CPU, if the program is built for that. */
#ifdef SHIM_JITTER
void shim_point(void);
#else
static inline void shim_point(void) { }
#endif

/*
 * Called for what the kernel would warn of, or worse.  A program can set what to do
 * then; by default the error is reported and the program aborted.
 */
void shim_bug(const char *what);
extern void (*shim_on_bug)(const char *what);

/* What programs may be told: "--name" sets *number to 1, "--name=" is followed by either. */
struct shim_option {
	const char		*name;
	unsigned long		*number;
	const char		**text;
};

/* Reads the command line, or says what may be on it and ends.  The last of @known is empty. */
void shim_options(char **argv, const struct shim_option *known);

/* Random numbers, a sequence for each thread */
uint64_t shim_random(void);
void shim_random_seed(uint64_t seed);

/* <linux/atomic.h> */

typedef struct { int counter; } atomic_t;
#define ATOMIC_INIT(i)		{ (i) }

static inline int atomic_read(const atomic_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

static inline void atomic_set(atomic_t *v, int i)
{
	__atomic_store_n(&v->counter, i, __ATOMIC_RELAXED);
}

static inline int atomic_inc_return_relaxed(atomic_t *v)
{
	return __atomic_add_fetch(&v->counter, 1, __ATOMIC_RELAXED);
}

static inline int atomic_dec_return_relaxed(atomic_t *v)
{
	return __atomic_sub_fetch(&v->counter, 1, __ATOMIC_RELAXED);
}

static inline int atomic_dec_return_release(atomic_t *v)
{
	return __atomic_sub_fetch(&v->counter, 1, __ATOMIC_RELEASE);
}

static inline void atomic_inc(atomic_t *v)
{
	atomic_inc_return_relaxed(v);
}

static inline void atomic_dec(atomic_t *v)
{
	atomic_dec_return_relaxed(v);
}

typedef struct { int64_t counter; } atomic64_t;

#define try_cmpxchg_relaxed(ptr, oldp, new)				\
({									\
	shim_point();							\
	__atomic_compare_exchange_n(ptr, oldp, new, false,		\
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
})

/* <linux/refcount.h> */

#define refcount_t		struct refcount_struct
struct refcount_struct {
	atomic_t		refs;
};

static inline void refcount_set(refcount_t *r, int n)
{
	atomic_set(&r->refs, n);
}

static inline unsigned int refcount_read(const refcount_t *r)
{
	return atomic_read(&r->refs);
}

void refcount_inc(refcount_t *r);
bool refcount_inc_not_zero(refcount_t *r);
bool refcount_dec_and_test(refcount_t *r);

/* <linux/completion.h> */

struct completion {
	pthread_mutex_t		lock;
	pthread_cond_t		wait;
	unsigned int		done;
};

void init_completion(struct completion *x);
void complete(struct completion *x);
void wait_for_completion(struct completion *x);

/* <linux/slab.h> */

#define GFP_KERNEL		0
#define __GFP_NOWARN		0
#define __GFP_NOMEMALLOC	0

void *kzalloc(size_t size, unsigned int gfp);
void kfree(const void *p);

/* The largest allocation that the thread can get. */
extern __thread size_t shim_max_alloc;
/* The number of allocations not freed yet. */
int shim_nr_allocated(void);

/* <linux/printk.h> */

extern atomic_t shim_nr_warnings;

static inline void shim_warn(const char *fmt, ...)
{
	atomic_inc(&shim_nr_warnings);
}

#define pr_warn(...)		shim_warn(__VA_ARGS__)
#define pr_warn_once(...)						\
({									\
	static atomic_t __warned;					\
									\
	if (!atomic_read(&__warned) && atomic_inc_return_relaxed(&__warned) == 1) \
		shim_warn(__VA_ARGS__);					\
})

/* <linux/sched.h>: a task is a thread, and the threads of a pool are its workers */

struct task_struct {
	int			pid;
	char			comm[16];
	unsigned int		flags;
};

enum system_states { SYSTEM_BOOTING, SYSTEM_RUNNING };

extern __thread struct task_struct shim_task;
/* The system's state, as this thread sees it. */
extern __thread enum system_states shim_system_state;

#define current			(&shim_task)
#define system_state		shim_system_state
#define might_sleep()		shim_point()
#define cond_resched()		shim_point()
#define cond_resched_tasks_rcu_qs()	shim_point()

/*
 * <linux/lockdep.h>: checks that the thread that takes a map releases it, and keeps what
 * lockdep would know.  fs_reclaim_acquire() is of <linux/sched/mm.h>.
 */

enum { LD_WAIT_INV, LD_WAIT_CONFIG };

struct lock_class_key {
	int			unused;
};

struct lockdep_map {
	struct lock_class_key	*key;
	int			wait_type;
	bool			in_reclaim;	/* it was taken there */
};

/* Maps that the thread holds. */
extern __thread struct lockdep_map *shim_held[8];
extern __thread int shim_nr_held;
extern __thread bool shim_in_reclaim;

static inline void lockdep_init_map_wait(struct lockdep_map *map, const char *name,
					 struct lock_class_key *key, int subclass, int wait_type)
{
	*map = (struct lockdep_map){ .key = key, .wait_type = wait_type };
}

static inline void lock_map_acquire(struct lockdep_map *map)
{
	if (!map->key)
		shim_bug("a lockdep map was taken before it was set up");
	if (shim_in_reclaim)
		WRITE_ONCE(map->in_reclaim, true);
	shim_held[shim_nr_held++] = map;
}

static inline void lock_map_release(struct lockdep_map *map)
{
	if (!shim_nr_held || shim_held[--shim_nr_held] != map)
		shim_bug("a lockdep map was released that was not held");
}

static inline void fs_reclaim_acquire(unsigned int gfp)
{
	shim_in_reclaim = true;
}

static inline void fs_reclaim_release(unsigned int gfp)
{
	shim_in_reclaim = false;
}

/* <linux/cpumask.h>, and <linux/nodemask.h> of one word */

/* A multiple of 64.  Programs that run on all CPUs of any host are compiled with more. */
#ifndef SHIM_NR_CPUS
#define SHIM_NR_CPUS		64
#endif
#define SHIM_NR_NODES		8

#define SHIM_CPU_WORDS		(SHIM_NR_CPUS / 64)

struct cpumask {
	unsigned long		bits[SHIM_CPU_WORDS];
};

#define nodemask_t		struct nodemask
struct nodemask {
	unsigned long		bits;
};

enum { N_CPU, NR_NODE_STATES };

#define u64			uint64_t

/* The machine as the engine's functions below see it. */
struct shim_machine {
	unsigned int		nr_cpus;
	unsigned int		nr_nodes;
	/* These two change while jobs run. */
	struct cpumask		online;
	struct cpumask		siblings[SHIM_NR_CPUS];
	nodemask_t		nodes[NR_NODE_STATES];
	int			node_of[SHIM_NR_CPUS];
	struct cpumask		cpus_of[SHIM_NR_NODES];
	int			core_of[SHIM_NR_CPUS];
	/* As in a kernel that has not built its NUMA masks yet. */
	bool			no_distances;
};

/* The thread's machine, and the CPU on it that the thread runs on. */
extern __thread struct shim_machine *shim_machine;
extern __thread int shim_cpu;

/* Cores of @threads CPUs, assigned to nodes in turn; all online. */
void shim_machine_init(struct shim_machine *machine, unsigned int cpus,
		       unsigned int threads, unsigned int nodes);

#define nr_cpu_ids		(shim_machine->nr_cpus)
#define node_states		(shim_machine->nodes)
#define cpu_online_mask		(&shim_machine->online)
#define topology_sibling_cpumask(cpu)	(&shim_machine->siblings[cpu])
#define cpu_to_node(cpu)	(shim_machine->node_of[cpu])
#define cpumask_of_node(nid)	(&shim_machine->cpus_of[nid])
#define raw_smp_processor_id()	(shim_cpu)

/* Loads are atomic for masks that CPU hotplug changes. */
static inline unsigned long __cpumask_word(const struct cpumask *mask, int word)
{
	return READ_ONCE(mask->bits[word]);
}

static inline void cpumask_and(struct cpumask *dst, const struct cpumask *a,
			       const struct cpumask *b)
{
	int i;

	for (i = 0; i < SHIM_CPU_WORDS; i++)
		dst->bits[i] = __cpumask_word(a, i) & __cpumask_word(b, i);
}

static inline void cpumask_copy(struct cpumask *dst, const struct cpumask *src)
{
	cpumask_and(dst, src, src);
}

static inline void cpumask_andnot(struct cpumask *dst, const struct cpumask *a,
				  const struct cpumask *b)
{
	int i;

	for (i = 0; i < SHIM_CPU_WORDS; i++)
		dst->bits[i] = __cpumask_word(a, i) & ~__cpumask_word(b, i);
}

static inline unsigned int cpumask_weight(const struct cpumask *mask)
{
	unsigned int weight = 0;
	int i;

	for (i = 0; i < SHIM_CPU_WORDS; i++)
		weight += __builtin_popcountl(__cpumask_word(mask, i));
	return weight;
}

static inline unsigned int cpumask_weight_and(const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask both;

	cpumask_and(&both, a, b);
	return cpumask_weight(&both);
}

static inline bool cpumask_empty(const struct cpumask *mask)
{
	return !cpumask_weight(mask);
}

static inline unsigned int cpumask_first(const struct cpumask *mask)
{
	int i;

	for (i = 0; i < SHIM_CPU_WORDS; i++) {
		unsigned long bits = __cpumask_word(mask, i);

		if (bits)
			return i * 64 + __builtin_ctzl(bits);
	}
	return nr_cpu_ids;
}

static inline unsigned int cpumask_first_and(const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask both;

	cpumask_and(&both, a, b);
	return cpumask_first(&both);
}

static inline bool cpumask_test_cpu(int cpu, const struct cpumask *mask)
{
	return __cpumask_word(mask, cpu / 64) >> cpu % 64 & 1;
}

static inline void cpumask_set_cpu(int cpu, struct cpumask *mask)
{
	__atomic_fetch_or(&mask->bits[cpu / 64], 1UL << cpu % 64, __ATOMIC_RELAXED);
}

static inline void cpumask_clear_cpu(int cpu, struct cpumask *mask)
{
	__atomic_fetch_and(&mask->bits[cpu / 64], ~(1UL << cpu % 64), __ATOMIC_RELAXED);
}

static inline unsigned int num_online_cpus(void)
{
	return cpumask_weight(cpu_online_mask);
}

/* <linux/cpuhotplug.h>: CPUs go offline and online without notice */

enum { CPUHP_AP_ONLINE_DYN };

static inline int cpuhp_setup_state(int state, const char *name,
				    int (*startup)(unsigned int cpu),
				    int (*teardown)(unsigned int cpu))
{
	return 0;
}

/* <linux/init.h>: the engine's only initcall, which the program calls */

extern int (*shim_initcall)(void);
#define early_initcall(fn)		int (*shim_initcall)(void) = fn

int next_node_in(int node, nodemask_t mask);
unsigned int sched_numa_find_nth_cpu(const struct cpumask *cpus, int nth, int node);

/* <linux/workqueue.h>: see pool.c */

#define WQ_CPU_INTENSIVE	1
#define WQ_PERCPU		2

struct workqueue_struct;
struct pool_thread;

struct work_struct {
	void			(*func)(struct work_struct *work);
	struct pool_thread	*thread;	/* whose queue it is on */
	struct work_struct	**prev;		/* this and below belong to the queue */
	struct work_struct	*next;
	int			cpu;
	int			fate;
	bool			pending;
};

/* The item that the thread runs, if it is one of the pool. */
struct work_struct *current_work(void);

#define INIT_WORK(work, fn) \
	(*(work) = (struct work_struct){ .func = (fn) })

struct workqueue_struct *alloc_workqueue(const char *fmt, unsigned int flags,
					 int max_active);
bool queue_work_on(int cpu, struct workqueue_struct *wq, struct work_struct *work);
bool cancel_work(struct work_struct *work);

/* Not formatted, as libc does not know the kernel's formats, but arguments are read. */
void set_worker_desc(const char *fmt, ...);

/* <trace/events/padata.h>: arguments are read, and that is all */

static inline void shim_trace(unsigned int nr, ...)
{
}

#define trace_padata_mt_job_start	shim_trace
#define trace_padata_mt_helper_start	shim_trace
#define trace_padata_mt_chunk		shim_trace
#define trace_padata_mt_helper_end	shim_trace
#define trace_padata_mt_job_end		shim_trace
#define trace_padata_mt_helper_end_enabled()	true

static inline u64 task_sched_runtime(struct task_struct *task)
{
	return 0;
}

#endif /* _PADATA_SHIM_H */
