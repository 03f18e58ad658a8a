// SPDX-License-Identifier: GPL-2.0-only
/*
 * padata_fuzz.c - random jobs for the engine, checked against its guarantees
 *
 * Several threads run one random job after another, with helpers that start at
 * once, late, after the job is over or not at all, on machines whose CPUs come
 * and go.  After each job its chunks are checked against what a job can rely on,
 * as Documentation/core-api/padata.rst lists it; RULES below has the numbers.
 *
 * What cannot be seen in the chunks is left to the sanitizers: thread functions
 * write to memory without any ordering of their own and the caller reads it
 * after the job, so that ThreadSanitizer sees an order that the engine forgot;
 * job and argument are freed or overwritten as soon as the job is over, so that
 * AddressSanitizer sees a helper that still looks at them.
 *
 * All of job N follows from the seed and N, but for what the scheduler makes of
 * it: --seed S --job N runs that job over and over.
 */

#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/padata.h>

#include "pool.h"
#include "shim.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_set_death_callback(fn)	((void)(fn))
#endif

#if defined(__SANITIZE_ADDRESS__)
#define BUILD		"ASan and UBSan"
#elif defined(__SANITIZE_THREAD__)
#define BUILD		"TSan"
#else
#define BUILD		"no sanitizer"
#endif

#define MAX_CALLERS	64
#define NR_MACHINES	8
#define NR_UNITS	64	/* jobs up to this size count each unit */
#define MAX_DEPTH	2	/* of jobs in jobs */
#define MAX_LIVE	2000	/* teams, before it is called a leak */
#define ENOUGH_JOBS	20000	/* for each thing that can happen to have happened */
#define POISON		0xa5
#define NO_JOB		ULONG_MAX
#define FIRST_ALONE	LONG_MAX	/* number of the first without helpers */

enum rule {
	RULE_ONCE = 1,
	RULE_ALIGN,
	RULE_MIN_CHUNK,
	RULE_MAX_THREADS,
	RULE_NO_WAIT,
	RULE_NO_TOUCH,
	RULE_NEST,
	RULE_MALFORMED,
	RULE_COUNTS,
	RULE_PLACES,
};

static const char * const rules[] = {
	[RULE_ONCE]		= "guarantee 1 (every unit once)",
	[RULE_ALIGN]		= "guarantee 2 (chunks are aligned)",
	[RULE_MIN_CHUNK]	= "guarantee 3 (no chunk below min_chunk)",
	[RULE_MAX_THREADS]	= "guarantee 4 (at most max_threads)",
	[RULE_NO_WAIT]		= "guarantee 5 (no helper is waited for to start)",
	[RULE_NO_TOUCH]		= "guarantee 6 (nothing is touched after the end)",
	[RULE_NEST]		= "guarantee 7 (jobs may sleep and nest)",
	[RULE_MALFORMED]	= "guarantee 8 (malformed jobs are refused)",
	[RULE_COUNTS]		= "nr_threads and nr_ran are right",
	[RULE_PLACES]		= "helpers are on CPUs of the job",
};

/* What the thread function does with a chunk. */
enum body { BODY_NOTHING, BODY_YIELD, BODY_SLEEP, BODY_MEET, BODY_NEST, NR_BODIES };

/* A job, and what happens while it runs. */
struct shape {
	unsigned long		start;
	unsigned long		size;
	unsigned long		align;
	unsigned long		min_chunk;
	int			max_threads;
	bool			no_fn;
	bool			numa_aware;
	bool			has_mask;
	bool			no_memory;
	bool			on_stack;
	struct cpumask		mask;
	struct shim_machine	*machine;
	int			cpu;		/* the caller's */
	enum body		body;
	unsigned int		late;		/* helpers, in per cent */
	unsigned int		never;		/* likewise */
};

/* [start, end) was done by @task. */
struct chunk {
	unsigned long		start;
	unsigned long		end;
	unsigned long		task;
};

/* The argument of a job. */
struct trial {
	struct shape		shape;
	unsigned long		nr;
	unsigned int		depth;
	uint64_t		seed;
	struct cpumask		placed;		/* CPUs with a helper */
	atomic_t		inside;
	atomic_t		over;
	atomic_t		nr_chunks;
	int			max_chunks;
	unsigned char		units[NR_UNITS];
	struct chunk		chunks[];
};

struct caller {
	pthread_t		thread;
	unsigned long		nr;		/* the job it is at, or NO_JOB */
	bool			ended;
	unsigned long		jobs;		/* how many that makes */
	unsigned long		helped;		/* jobs of which a helper did a part */
	unsigned long		helpers;	/* that did so */
};

static struct {
	unsigned long long	seed;
	unsigned long		jobs;
	unsigned long		seconds;
	unsigned long		threads;
	unsigned long		callers;
	unsigned long		stall;
	unsigned long		job;
	bool			one_job;
} opt = {
	.jobs = 1000000, .seconds = 0, .threads = 4, .callers = 3, .stall = 60,
};

static struct shim_machine machines[NR_MACHINES];
static struct caller callers[MAX_CALLERS];
static unsigned long next_job;
static unsigned long inner_jobs;
static bool stopping;
static __thread struct trial *current_trial;

/* Telling what is wrong */

static void describe(char *text, size_t size, const struct shape *s)
{
	int len;

	len = snprintf(text, size, "start=%lu size=%lu align=%lu min_chunk=%lu max_threads=%d",
		       s->start, s->size, s->align, s->min_chunk, s->max_threads);
	snprintf(text + len, size - len, "%s%s, on CPU %d of %u",
		 s->no_fn ? " without thread_fn" : "", s->numa_aware ? " numa_aware" : "",
		 s->cpu, s->machine->nr_cpus);
}

/* Whoever is first tells, and ends the program. */
static void leave(const char *line)
{
	static atomic_t told;

	if (atomic_inc_return_relaxed(&told) == 1) {
		/* Past libc, which a sanitizer that is dying may not enter again. */
		syscall(SYS_write, STDERR_FILENO, line, strlen(line));
		syscall(SYS_exit_group, 1);
	}
	for (;;)
		pause();
}

static void broken(const struct trial *t, enum rule which, const char *fmt, ...)
{
	char line[1024], shape[256], detail[256];
	va_list args;
	int len;

	va_start(args, fmt);
	vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	len = snprintf(line, sizeof(line), "padata_fuzz: FAILED: %s: %s;", rules[which], detail);
	if (t) {
		describe(shape, sizeof(shape), &t->shape);
		len += snprintf(line + len, sizeof(line) - len, " %s %lu: %s;",
				t->depth ? "within job" : "job", t->nr, shape);
	}
	snprintf(line + len, sizeof(line) - len, " seed 0x%llx\n", opt.seed);
	leave(line);
}

static void on_shim_bug(const char *what)
{
	broken(current_trial, RULE_NO_TOUCH, "%s", what);
}

/* Random jobs */

static uint64_t mix(uint64_t a, uint64_t b)
{
	a ^= b * 0xd6e8feb86659fd93;
	a = (a ^ a >> 32) * 0xd6e8feb86659fd93;
	return a ^ a >> 29;
}

static unsigned long below(unsigned long n)
{
	return shim_random() % n;
}

static bool one_in(unsigned long n)
{
	return !below(n);
}

/* All orders of magnitude alike. */
static unsigned long any_number(void)
{
	unsigned int bits = below(65);

	return bits ? shim_random() >> (64 - bits) : 0;
}

/* Beside 0 or a multiple of an eighth of all numbers, where sums wrap around. */
static unsigned long edge_number(void)
{
	return below(9) * (ULONG_MAX / 8 + 1) + below(8) - 4;
}

static void shape_small(struct shape *s)
{
	s->start = one_in(4) ? any_number() : below(100);
	s->size = 1 + below(NR_UNITS);
	s->align = one_in(2) ? below(9) : 1UL << below(6);
	s->min_chunk = one_in(3) ? below(80) : below(8);
}

static void shape_medium(struct shape *s)
{
	s->start = any_number();
	s->size = 1 + below(1 << 16);
	s->align = one_in(4) ? below(2000) : 1UL << below(11);
	s->min_chunk = below(1000);
}

static void shape_any(struct shape *s)
{
	s->start = any_number();
	s->size = any_number();
	s->align = any_number();
	s->min_chunk = any_number();
}

static void shape_edge(struct shape *s)
{
	s->start = one_in(2) ? below(8) : edge_number();
	s->size = edge_number();
	s->align = one_in(4) ? any_number() : edge_number();
	s->min_chunk = one_in(4) ? any_number() : edge_number();
}

/* A range that wraps around is cut off at the end, or kept to be refused. */
static void shape_range(struct shape *s)
{
	unsigned int dice = below(100);
	unsigned long last;

	if (dice < 75)
		shape_small(s);
	else if (dice < 80)
		shape_medium(s);
	else if (dice < 92)
		shape_any(s);
	else
		shape_edge(s);

	last = ULONG_MAX - s->size;
	if (one_in(20))
		s->start = last - (last > 8 ? below(8) : 0);
	if (s->start > last && !one_in(8))
		s->start = last;
	if (one_in(50))
		s->size = 0;
	s->no_fn = one_in(50);
}

static int any_max_threads(void)
{
	static const int odd[] = { INT_MIN, -1, 0, 1, 64, 65, INT_MAX, INT_MAX };

	return one_in(6) ? odd[below(8)] : (int)(1 + below(8));
}

static void shape_threads(struct shape *s)
{
	s->max_threads = any_max_threads();
	s->numa_aware = one_in(4);
	s->machine = &machines[below(NR_MACHINES)];
	s->cpu = below(s->machine->nr_cpus);
	s->has_mask = one_in(3);
	s->mask.bits = one_in(8) ? 0 : shim_random() | (one_in(2) ? shim_random() : 0);
	if (s->machine->nr_cpus < 64)
		s->mask.bits &= (1UL << s->machine->nr_cpus) - 1;
	s->no_memory = one_in(30);
}

static void shape_events(struct shape *s)
{
	unsigned int dice = below(100);

	s->on_stack = one_in(2);
	s->body = dice < 45 ? BODY_NOTHING : dice < 75 ? BODY_YIELD : dice < 95 ? BODY_MEET :
		  dice < 98 ? BODY_SLEEP : BODY_NEST;
	s->late = one_in(3) ? below(101) : below(10);
	s->never = one_in(20) ? 100 : one_in(4) ? below(101) : 0;
}

static void shape_make(struct shape *s, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	shim_random_seed(seed);
	shape_range(s);
	shape_threads(s);
	shape_events(s);
}

static uint64_t job_seed(unsigned long nr)
{
	return mix(opt.seed, nr + 1);
}

static bool shape_wraps(const struct shape *s)
{
	return s->start > ULONG_MAX - s->size;
}

static int shape_max_threads(const struct shape *s)
{
	int cpus = s->machine->nr_cpus;

	return s->max_threads < 1 ? 1 : s->max_threads < cpus + 1 ? s->max_threads : cpus + 1;
}

/*
 * No claim takes less than one of 2 * threads of what is left, so each time that
 * many claims leave less than half of it.
 */
static int shape_max_chunks(const struct shape *s)
{
	unsigned long most = 2UL * shape_max_threads(s) * 64;

	return s->size < most ? s->size : most;
}

/*
 * Machines, one of each kind.  Any but the first CPU can go offline, and is then
 * nobody's sibling, not even its own.
 */
static void machines_init(void)
{
	static const unsigned int kinds[NR_MACHINES][3] = {
		{ 1, 1, 1 }, { 2, 1, 1 }, { 2, 2, 1 }, { 4, 1, 2 },
		{ 8, 2, 2 }, { 7, 2, 3 }, { 16, 2, 4 }, { 64, 4, 8 },
	};
	unsigned int i;

	for (i = 0; i < NR_MACHINES; i++)
		shim_machine_init(&machines[i], kinds[i][0], kinds[i][1], kinds[i][2]);
	machines[3].no_distances = true;
	machines[5].housekeeping[HK_TYPE_DOMAIN].bits &= ~2UL;
	machines[6].housekeeping[HK_TYPE_WQ].bits &= 0xff0;
}

static void hotplug(struct shim_machine *machine)
{
	int cpu = below(machine->nr_cpus), sibling;
	bool online = one_in(2);

	if (!cpu)
		return;
	(online ? cpumask_set_cpu : cpumask_clear_cpu)(cpu, &machine->online);
	for (sibling = 0; sibling < (int)machine->nr_cpus; sibling++) {
		bool shared = machine->core_of[sibling] == machine->core_of[cpu] &&
			      cpumask_test_cpu(sibling, &machine->online);

		(online && shared ? cpumask_set_cpu : cpumask_clear_cpu)
			(sibling, &machine->siblings[cpu]);
		(online && shared ? cpumask_set_cpu : cpumask_clear_cpu)
			(cpu, &machine->siblings[sibling]);
	}
}

/* The job's own side */

static void run_trial(struct trial *parent, uint64_t seed, unsigned long nr, struct caller *caller);

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = below(30000) }, NULL);
}

/* Give another thread the chance to be in the thread function as well. */
static void meet(struct trial *t)
{
	int i;

	for (i = 0; i < 8 && atomic_read(&t->inside) < 2; i++)
		sched_yield();
}

static void body(struct trial *t, unsigned long start)
{
	switch (t->shape.body) {
	case BODY_YIELD:
		if (one_in(4))
			sched_yield();
		break;
	case BODY_SLEEP:
		if (one_in(8))
			nap();
		break;
	case BODY_MEET:
		meet(t);
		break;
	case BODY_NEST:
		if (t->depth < MAX_DEPTH && one_in(4))
			run_trial(t, mix(t->seed, start), t->nr, NULL);
		break;
	case BODY_NOTHING:
	default:
		break;
	}
}

static void mark_units(struct trial *t, unsigned long start, unsigned long end)
{
	for (; start != end; start++) {
		unsigned long unit = start - t->shape.start;

		if (unit >= t->shape.size)
			broken(t, RULE_ONCE, "%lu to %lu is not of the job", start, end);
		t->units[unit]++;
	}
}

/* What goes wrong in here is told here; the rest is left in the chunks. */
static void do_chunk(unsigned long start, unsigned long end, void *arg)
{
	struct trial *t = arg, *outer = current_trial;
	int inside = atomic_inc_return_relaxed(&t->inside);
	int i = atomic_inc_return_relaxed(&t->nr_chunks) - 1;

	current_trial = t;
	if (atomic_read(&t->over))
		broken(t, RULE_NO_TOUCH, "chunk %lu to %lu is done after the end", start, end);
	if (inside > shape_max_threads(&t->shape))
		broken(t, RULE_MAX_THREADS, "%d threads are in thread_fn", inside);
	if (i >= t->max_chunks)
		broken(t, RULE_ONCE, "more than %d chunks", t->max_chunks);
	t->chunks[i] = (struct chunk){ start, end, shim_task };
	if (t->shape.size <= NR_UNITS)
		mark_units(t, start, end);

	body(t, start);
	atomic_dec(&t->inside);
	current_trial = outer;
}

/* For each helper that is queued. */
static enum pool_fate choose_fate(int cpu)
{
	struct trial *t = current_trial;
	const struct shape *s = &t->shape;
	unsigned long allowed = s->machine->housekeeping[0].bits & s->machine->housekeeping[1].bits;

	if (s->has_mask)
		allowed = s->mask.bits;
	if (cpu < 0 || cpu >= (int)s->machine->nr_cpus)
		broken(t, RULE_PLACES, "a helper is on CPU %d, which does not exist", cpu);
	if (!(allowed >> cpu & 1))
		broken(t, RULE_PLACES, "a helper is on CPU %d, not one of 0x%lx", cpu, allowed);
	if (cpumask_test_cpu(cpu, &t->placed))
		broken(t, RULE_PLACES, "two helpers are on CPU %d", cpu);
	cpumask_set_cpu(cpu, &t->placed);

	if (below(100) < s->never)
		return POOL_NEVER;
	return below(100) < s->late ? POOL_LATE : POOL_RUN;
}

/* After the end */

static int compare_chunks(const void *one, const void *other)
{
	const struct chunk *a = one, *b = other;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static int compare_tasks(const void *one, const void *other)
{
	const struct chunk *a = one, *b = other;

	return a->task < b->task ? -1 : a->task > b->task;
}

/* Most jobs have few chunks, nearly in order. */
static void sort_chunks(struct chunk *chunks, int nr, int (*compare)(const void *, const void *))
{
	int i, j;

	if (nr > 64) {
		qsort(chunks, nr, sizeof(*chunks), compare);
		return;
	}
	for (i = 1; i < nr; i++) {
		struct chunk chunk = chunks[i];

		for (j = i; j && compare(&chunks[j - 1], &chunk) > 0; j--)
			chunks[j] = chunks[j - 1];
		chunks[j] = chunk;
	}
}

static void check_units(const struct trial *t)
{
	unsigned long i;

	for (i = 0; i < t->shape.size; i++) {
		if (t->units[i] != 1)
			broken(t, RULE_ONCE, "unit %lu was done %u times", t->shape.start + i,
			       t->units[i]);
	}
}

static void check_chunks(struct trial *t, int nr)
{
	const struct shape *s = &t->shape;
	unsigned long pos = s->start, end = s->start + s->size;
	unsigned long least = s->min_chunk < s->size ? s->min_chunk : s->size;
	int i;

	sort_chunks(t->chunks, nr, compare_chunks);
	for (i = 0; i < nr; i++) {
		const struct chunk *chunk = &t->chunks[i];

		if (chunk->start != pos || chunk->end <= pos || chunk->end > end)
			broken(t, RULE_ONCE, "after %lu comes %lu to %lu", pos, chunk->start,
			       chunk->end);
		if (chunk->end != end && s->align && chunk->end % s->align)
			broken(t, RULE_ALIGN, "chunk %lu to %lu", chunk->start, chunk->end);
		if (chunk->end - chunk->start < least)
			broken(t, RULE_MIN_CHUNK, "chunk %lu to %lu", chunk->start, chunk->end);
		pos = chunk->end;
	}
	if (pos != end)
		broken(t, RULE_ONCE, "nobody got %lu to %lu", pos, end);
}

static int count_tasks(struct trial *t, int nr)
{
	int i, tasks = 0;

	sort_chunks(t->chunks, nr, compare_tasks);
	for (i = 0; i < nr; i++)
		tasks += !i || t->chunks[i].task != t->chunks[i - 1].task;
	return tasks;
}

static void check_counts(struct trial *t, const struct padata_mt_job *job, int nr)
{
	const struct shape *s = &t->shape;
	int helpers = cpumask_weight(&t->placed), tasks = count_tasks(t, nr);
	bool alone = s->no_memory || (s->has_mask && !s->mask.bits);

	if (job->nr_threads > shape_max_threads(s))
		broken(t, RULE_MAX_THREADS, "%d threads were put to work", job->nr_threads);
	if (job->nr_threads != (s->size ? helpers + 1 : 0))
		broken(t, RULE_COUNTS, "nr_threads is %d, with %d helpers", job->nr_threads,
		       helpers);
	if (job->nr_ran != tasks || tasks > job->nr_threads)
		broken(t, RULE_COUNTS, "nr_ran is %d of %d, %d got a chunk", job->nr_ran,
		       job->nr_threads, tasks);
	if (alone && helpers)
		broken(t, RULE_PLACES, "%d helpers for a job that can have none", helpers);
}

static void check_refused(const struct trial *t, const struct padata_mt_job *job, int ret)
{
	if (ret != -EINVAL)
		broken(t, RULE_MALFORMED, "it returned %d", ret);
	if (atomic_read(&t->nr_chunks))
		broken(t, RULE_MALFORMED, "%d chunks of it were done", atomic_read(&t->nr_chunks));
	if (cpumask_weight(&t->placed))
		broken(t, RULE_MALFORMED, "it got helpers");
}

/* @job is a copy: the one that was run is gone. */
static void check(struct trial *t, const struct padata_mt_job *job, int ret)
{
	int nr = atomic_read(&t->nr_chunks);

	if (atomic_read(&t->inside))
		broken(t, RULE_NO_TOUCH, "threads are still at work");
	if (t->shape.no_fn || shape_wraps(&t->shape)) {
		check_refused(t, job, ret);
		return;
	}
	if (ret)
		broken(t, RULE_MALFORMED, "a well-formed job returned %d", ret);
	if (t->shape.size <= NR_UNITS)
		check_units(t);
	check_chunks(t, nr);
	check_counts(t, job, nr);
}

/* Running jobs */

static void job_make(struct padata_mt_job *job, struct trial *t)
{
	const struct shape *s = &t->shape;

	*job = (struct padata_mt_job){
		.thread_fn	= s->no_fn ? NULL : do_chunk,
		.fn_arg		= t,
		.start		= s->start,
		.size		= s->size,
		.align		= s->align,
		.min_chunk	= s->min_chunk,
		.max_threads	= s->max_threads,
		.numa_aware	= s->numa_aware,
		.cpumask	= s->has_mask ? &s->mask : NULL,
		.nr_threads	= -1,
		.nr_ran		= -1,
	};
}

/* The job is on the stack, and soon something else is. */
static int run_on_stack(struct trial *t, struct padata_mt_job *copy)
{
	struct padata_mt_job job;
	int ret;

	job_make(&job, t);
	ret = padata_do_multithreaded(&job);
	*copy = job;
	memset(&job, POISON, sizeof(job));
	__asm__ volatile("" : : "r" (&job) : "memory");
	return ret;
}

static int run_on_heap(struct trial *t, struct padata_mt_job *copy)
{
	struct padata_mt_job *job = malloc(sizeof(*job));
	int ret;

	if (!job)
		shim_bug("no memory for a job");
	job_make(job, t);
	ret = padata_do_multithreaded(job);
	*copy = *job;
	free(job);
	return ret;
}

static struct trial *trial_make(uint64_t seed)
{
	struct trial *t;
	struct shape s;
	int chunks;

	shape_make(&s, seed);
	chunks = shape_max_chunks(&s);
	t = malloc(sizeof(*t) + chunks * sizeof(t->chunks[0]));
	if (!t)
		shim_bug("no memory for a trial");
	memset(t, 0, sizeof(*t));
	t->shape = s;
	t->seed = seed;
	t->max_chunks = chunks;
	return t;
}

static void count(struct caller *caller, const struct padata_mt_job *job)
{
	if (!caller) {
		__atomic_add_fetch(&inner_jobs, 1, __ATOMIC_RELAXED);
		return;
	}
	WRITE_ONCE(caller->jobs, caller->jobs + 1);
	if (job->nr_ran > 1) {
		caller->helped++;
		caller->helpers += job->nr_ran - 1;
	}
}

/* One job from beginning to end, perhaps within a chunk of @parent. */
static void run_trial(struct trial *parent, uint64_t seed, unsigned long nr, struct caller *caller)
{
	struct shim_machine *machine = shim_machine;
	struct padata_mt_job job;
	struct trial *t;
	int cpu = shim_cpu, ret;

	t = trial_make(seed);
	t->nr = nr;
	t->depth = parent ? parent->depth + 1 : 0;
	current_trial = t;
	shim_machine = t->shape.machine;
	shim_cpu = t->shape.cpu;
	shim_no_memory = t->shape.no_memory;
	if (one_in(16))
		hotplug(shim_machine);

	ret = (t->shape.on_stack ? run_on_stack : run_on_heap)(t, &job);
	atomic_set(&t->over, 1);
	check(t, &job, ret);
	count(caller, &job);

	shim_no_memory = false;
	shim_machine = machine;
	shim_cpu = cpu;
	current_trial = parent;
	memset(t, POISON, sizeof(*t));
	free(t);
}

static bool claim_job(unsigned long *nr)
{
	*nr = __atomic_fetch_add(&next_job, 1, __ATOMIC_RELAXED);
	return *nr < opt.jobs && !READ_ONCE(stopping);
}

static void *caller_fn(void *arg)
{
	struct caller *caller = arg;
	unsigned long nr;

	shim_task = MAX_CALLERS + (caller - callers);
	while (claim_job(&nr)) {
		if (opt.one_job)
			nr = opt.job;
		WRITE_ONCE(caller->nr, nr);
		run_trial(NULL, job_seed(nr), nr, caller);
	}
	WRITE_ONCE(caller->nr, NO_JOB);
	WRITE_ONCE(caller->ended, true);
	return NULL;
}

/* Tell which jobs were under way, of which any may be the one. */
static void leave_for(const char *why)
{
	char line[2048];
	unsigned long i;
	int len;

	len = snprintf(line, sizeof(line), "padata_fuzz: FAILED: %s; under way:", why);
	for (i = 0; i < opt.callers && len < 1500; i++) {
		unsigned long nr = READ_ONCE(callers[i].nr);
		struct shape s;

		if (nr == NO_JOB)
			continue;
		shape_make(&s, job_seed(nr));
		len += snprintf(line + len, sizeof(line) - len, " job %lu: ", nr);
		describe(line + len, 256, &s);
		len += strlen(line + len);
		len += snprintf(line + len, sizeof(line) - len, ";");
	}
	snprintf(line + len, sizeof(line) - len, " seed 0x%llx\n", opt.seed);
	leave(line);
}

static void on_sanitizer(void)
{
	leave_for(BUILD " reports (see above) what is most likely against guarantee 6");
}

static void on_abort(int signum)
{
	leave_for("UBSan reports (see above) undefined arithmetic, or else it aborted");
}

/* Watching */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static unsigned long jobs_done(void)
{
	unsigned long i, sum = READ_ONCE(inner_jobs);

	for (i = 0; i < opt.callers; i++)
		sum += READ_ONCE(callers[i].jobs);
	return sum;
}

static bool all_ended(void)
{
	unsigned long i;

	for (i = 0; i < opt.callers; i++) {
		if (!READ_ONCE(callers[i].ended))
			return false;
	}
	return true;
}

/* Of each caller: how many jobs it had done, and when that was new. */
static void watch_stalls(double time)
{
	static unsigned long seen[MAX_CALLERS];
	static double since[MAX_CALLERS];
	struct trial t = {};
	unsigned long i;

	for (i = 0; i < opt.callers; i++) {
		unsigned long jobs = READ_ONCE(callers[i].jobs), nr = READ_ONCE(callers[i].nr);

		if (jobs != seen[i] || !since[i] || nr == NO_JOB) {
			seen[i] = jobs;
			since[i] = time;
		} else if (time - since[i] > opt.stall) {
			t.nr = nr;
			shape_make(&t.shape, job_seed(nr));
			broken(&t, RULE_NO_WAIT, "no end after %lu s", opt.stall);
		}
	}
}

/* One is for a job, one for starting without a workqueue. */
static void check_warnings(void)
{
	int nr = atomic_read(&shim_nr_warnings);

	if (nr > 2)
		broken(NULL, RULE_MALFORMED, "there were %d warnings", nr);
}

static void watch(double start)
{
	double told = start;

	while (!all_ended()) {
		double time = now();

		usleep(20000);
		if (opt.seconds && time - start > opt.seconds)
			WRITE_ONCE(stopping, true);
		if (shim_nr_allocated() > MAX_LIVE)
			broken(NULL, RULE_NO_TOUCH, "%d teams are not freed", shim_nr_allocated());
		check_warnings();
		watch_stalls(time);
		if (time - told >= 1) {
			told = time;
			printf("padata_fuzz: %lu jobs in %.0f s\n", jobs_done(), time - start);
			fflush(stdout);
		}
	}
}

/* What has to be so when all jobs are done and all helpers gone. */
static void check_end(const struct pool_stats *stats, unsigned long jobs)
{
	check_warnings();
	if (shim_nr_allocated())
		broken(NULL, RULE_NO_TOUCH, "%d teams were not freed", shim_nr_allocated());
	if (jobs > ENOUGH_JOBS && !opt.one_job && !(stats->run && stats->late && stats->cancelled))
		leave("padata_fuzz: FAILED: helpers do not run, or always: that tests nothing\n");
}

static void start_callers(void)
{
	unsigned long i;

	for (i = 0; i < opt.callers; i++) {
		if (pthread_create(&callers[i].thread, NULL, caller_fn, &callers[i]))
			shim_bug("a caller could not be started");
	}
}

/* Jobs before there are helpers: the kernel's earliest, or one short of memory. */
static void run_without_pool(void)
{
	unsigned long nr, jobs = opt.jobs < 1000 ? opt.jobs / 2 : 1000;

	for (nr = FIRST_ALONE; nr < FIRST_ALONE + jobs; nr++) {
		if (nr == FIRST_ALONE + jobs / 2)
			shim_initcall();
		callers[0].nr = nr;
		run_trial(NULL, job_seed(nr), nr, NULL);
	}
}

static int run(void)
{
	unsigned long i, jobs, helped = 0, helpers = 0;
	struct pool_stats stats;
	double start = now(), seconds;

	run_without_pool();
	pool_choose_fate = choose_fate;
	pool_start(opt.threads, opt.seed);
	shim_initcall();
	start_callers();
	watch(start);
	for (i = 0; i < opt.callers; i++) {
		pthread_join(callers[i].thread, NULL);
		helped += callers[i].helped;
		helpers += callers[i].helpers;
	}
	pool_stop(&stats);
	seconds = now() - start;
	jobs = jobs_done();
	check_end(&stats, jobs);

	printf("padata_fuzz: helpers: %lu ran, %lu of them late, %lu were cancelled\n",
	       stats.run, stats.late, stats.cancelled);
	printf("padata_fuzz: jobs that were helped: %lu, by %lu threads\n", helped, helpers);
	printf("padata_fuzz: ok: %lu jobs, %lu callers, %lu helpers, ", jobs, opt.callers,
	       opt.threads);
	printf("%.1f s, %.0f jobs/s, seed 0x%llx\n", seconds, jobs / seconds, opt.seed);
	return 0;
}

static void print_usage(FILE *out)
{
	fprintf(out,
		"usage: padata_fuzz [--jobs N] [--seconds N] [--seed S] [--job N]\n"
		"                   [--threads N] [--callers N] [--stall N]\n"
		"\n"
		"Run random jobs and check what the engine guarantees (%s).\n"
		"\n"
		"  --jobs N      end after N jobs (default 1000000)\n"
		"  --seconds N   or after N seconds\n"
		"  --seed S      the same jobs as in another run\n"
		"  --job N       only job N of the seed, over and over\n"
		"  --threads N   helper threads (default 4)\n"
		"  --callers N   threads that start jobs (default 3)\n"
		"  --stall N     a job that takes N seconds has failed (default 60)\n",
		BUILD);
}

static unsigned long parse_number(const char *text, unsigned long least, unsigned long most)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || end == text || *end || value < least || value > most) {
		fprintf(stderr, "padata_fuzz: '%s' is not from %lu to %lu\n", text, least, most);
		exit(2);
	}
	return value;
}

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "jobs", required_argument, NULL, 'n' },
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'S' },
		{ "job", required_argument, NULL, 'j' },
		{ "threads", required_argument, NULL, 't' },
		{ "callers", required_argument, NULL, 'c' },
		{ "stall", required_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'n':
			opt.jobs = parse_number(optarg, 1, LONG_MAX);
			break;
		case 's':
			opt.seconds = parse_number(optarg, 1, INT_MAX);
			break;
		case 'S':
			opt.seed = parse_number(optarg, 0, ULONG_MAX);
			break;
		case 'j':
			opt.job = parse_number(optarg, 0, ULONG_MAX - 1);
			opt.one_job = true;
			break;
		case 't':
			opt.threads = parse_number(optarg, 1, 64);
			break;
		case 'c':
			opt.callers = parse_number(optarg, 1, MAX_CALLERS);
			break;
		case 'w':
			opt.stall = parse_number(optarg, 1, INT_MAX);
			break;
		case 'h':
			print_usage(stdout);
			exit(0);
		default:
			print_usage(stderr);
			exit(2);
		}
	}
	if (optind != argc) {
		print_usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int i;

	opt.seed = mix(time(NULL), getpid()) & UINT32_MAX;
	parse_options(argc, argv);
	machines_init();
	for (i = 0; i < MAX_CALLERS; i++)
		callers[i].nr = NO_JOB;
	shim_on_bug = on_shim_bug;
	__sanitizer_set_death_callback(on_sanitizer);
	signal(SIGABRT, on_abort);
	printf("padata_fuzz: seed 0x%llx, %lu callers, %lu helpers, %s\n",
	       opt.seed, opt.callers, opt.threads, BUILD);
	fflush(stdout);
	return run();
}
