// SPDX-License-Identifier: GPL-2.0-only
/*
 * shim.c - kernel primitives for the engine in userspace, see shim.h
 *
 * Workqueues are not here but in pool.c.
 */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim.h"

#define REFCOUNT_MAX	(INT_MAX / 2)

void (*shim_on_bug)(const char *what);

void shim_bug(const char *what)
{
	if (shim_on_bug)
		shim_on_bug(what);
	fprintf(stderr, "padata: %s\n", what);
	abort();
}

static bool shim_option_is(const struct shim_option *option, const char *arg)
{
	size_t len = strlen(option->name);
	char *end = (char *)arg + len;

	if (strncmp(arg, option->name, len))
		return false;
	if (option->text) {
		*option->text = end;
		return true;
	}
	*option->number = 1;
	if (option->name[len - 1] == '=')
		*option->number = strtoul(end, &end, 0);
	return !*end;
}

void shim_options(char **argv, const struct shim_option *known)
{
	const struct shim_option *option;

	while (*++argv) {
		for (option = known; option->name && !shim_option_is(option, *argv); option++)
			;
		if (option->name)
			continue;
		for (option = known; option->name; option++)
			printf("%s\n", option->name);
		exit(!!strcmp(*argv, "--help"));
	}
}

/*
 * The first report ends the program.  UBSan has a runtime separate from ASan's, and
 * its reports can only be noticed by the signal.  Leaks of what the engine
 * allocates are counted here; the sanitizer's own way to find leaks needs
 * ptrace(), which containers often forbid.
 */
const char *__asan_default_options(void)
{
	return "detect_leaks=0:quarantine_size_mb=64";
}

const char *__tsan_default_options(void)
{
	return "halt_on_error=1:detect_deadlocks=0";
}

const char *__ubsan_default_options(void)
{
	return "abort_on_error=1:print_stacktrace=1";
}

/* Random numbers: splitmix64 */

static __thread uint64_t shim_random_state;

void shim_random_seed(uint64_t seed)
{
	shim_random_state = seed;
}

uint64_t shim_random(void)
{
	uint64_t z = shim_random_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

#ifdef SHIM_JITTER
/* Rare enough not to cost much, and now and then long enough to matter. */
void shim_point(void)
{
	uint64_t number = shim_random();

	if (number & 31)
		return;
	if (number & 2016)
		sched_yield();
	else
		nanosleep(&(struct timespec){ .tv_nsec = number >> 32 & 32767 }, NULL);
}
#endif

/* References */

void refcount_inc(refcount_t *r)
{
	int old;

	shim_point();
	old = __atomic_fetch_add(&r->refs.counter, 1, __ATOMIC_RELAXED);
	if (old <= 0 || old > REFCOUNT_MAX)
		shim_bug("a reference count that is not in use was raised");
	shim_point();
}

bool refcount_inc_not_zero(refcount_t *r)
{
	int old = refcount_read(r);

	shim_point();
	do {
		if (!old)
			return false;
	} while (!__atomic_compare_exchange_n(&r->refs.counter, &old, old + 1, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	if (old < 0 || old > REFCOUNT_MAX)
		shim_bug("a reference count that is not in use was raised");
	shim_point();
	return true;
}

bool refcount_dec_and_test(refcount_t *r)
{
	int old;

	shim_point();
	old = __atomic_fetch_sub(&r->refs.counter, 1, __ATOMIC_RELEASE);
	if (old <= 0 || old > REFCOUNT_MAX)
		shim_bug("a reference was dropped that was not held");
	if (old != 1)
		return false;

	/* Takes the place of smp_acquire__after_ctrl_dep(). */
	__atomic_load_n(&r->refs.counter, __ATOMIC_ACQUIRE);
	shim_point();
	return true;
}

/* Completions */

void init_completion(struct completion *x)
{
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->wait, NULL);
	x->done = 0;
}

void complete(struct completion *x)
{
	shim_point();
	pthread_mutex_lock(&x->lock);
	x->done++;
	pthread_cond_signal(&x->wait);
	pthread_mutex_unlock(&x->lock);
	shim_point();
}

void wait_for_completion(struct completion *x)
{
	pthread_mutex_lock(&x->lock);
	while (!x->done)
		pthread_cond_wait(&x->wait, &x->lock);
	x->done--;
	pthread_mutex_unlock(&x->lock);
}

/* Memory */

__thread size_t shim_max_alloc = SIZE_MAX;

static atomic_t shim_allocated;

void *kzalloc(size_t size, unsigned int gfp)
{
	void *p = size > shim_max_alloc ? NULL : calloc(1, size);

	if (p)
		atomic_inc(&shim_allocated);
	return p;
}

void kfree(const void *p)
{
	if (p)
		atomic_dec(&shim_allocated);
	free((void *)p);
}

int shim_nr_allocated(void)
{
	return atomic_read(&shim_allocated);
}

/* Messages */

atomic_t shim_nr_warnings;

/* The machine */

static struct shim_machine shim_one_cpu = {
	.nr_cpus = 1,
	.nr_nodes = 1,
	.online = { { 1 } },
	.siblings = { { { 1 } } },
	.cpus_of = { { { 1 } } },
	.nodes = { { 1 } },
};

__thread struct shim_machine *shim_machine = &shim_one_cpu;
__thread int shim_cpu;
__thread struct task_struct shim_task;
__thread enum system_states shim_system_state;
__thread struct lockdep_map *shim_held[8];
__thread int shim_nr_held;
__thread bool shim_in_reclaim;

void shim_machine_init(struct shim_machine *machine, unsigned int cpus,
		       unsigned int threads, unsigned int nodes)
{
	unsigned int cpu;

	*machine = (struct shim_machine){ .nr_cpus = cpus, .nr_nodes = nodes };
	for (cpu = 0; cpu < cpus; cpu++) {
		unsigned int core = cpu / threads, first = core * threads;
		int node = core % nodes;

		machine->core_of[cpu] = core;
		machine->node_of[cpu] = node;
		cpumask_set_cpu(cpu, &machine->cpus_of[node]);
		machine->nodes[N_CPU].bits |= 1UL << node;
		cpumask_set_cpu(cpu, &machine->online);
		for (; first < cpus && first / threads == core; first++)
			cpumask_set_cpu(first, &machine->siblings[cpu]);
	}
}

/* The first node of @mask after @node, or from the beginning. */
int next_node_in(int node, nodemask_t mask)
{
	int i;

	for (i = 1; i <= SHIM_NR_NODES; i++) {
		int next = (node + i) % SHIM_NR_NODES;

		if (mask.bits >> next & 1)
			return next;
	}
	return SHIM_NR_NODES;
}

/* The distance between nodes is the difference of their numbers. */
unsigned int sched_numa_find_nth_cpu(const struct cpumask *cpus, int nth, int node)
{
	int away, cpu;

	if (shim_machine->no_distances)
		return nr_cpu_ids;

	for (away = 0; away < SHIM_NR_NODES; away++) {
		for (cpu = 0; cpu < (int)nr_cpu_ids; cpu++) {
			if (cpumask_test_cpu(cpu, cpus) &&
			    abs(cpu_to_node(cpu) - node) == away && !nth--)
				return cpu;
		}
	}
	return nr_cpu_ids;
}
