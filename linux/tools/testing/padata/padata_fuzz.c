// SPDX-License-Identifier: GPL-2.0-only
/*
 * padata_fuzz.c - run random jobs and check the engine against its guarantees
 *
 * Several threads run one random job after another, with helpers that start at
 * once, late, after the job is over or not at all, on machines whose CPUs go
 * offline and online.  After each job its chunks are checked against the guarantees
 * listed in Documentation/core-api/padata-mt.rst; RULES below has the numbers.
 *
 * Half of the jobs use the back end for boot.  The others use one defined here, which
 * does everything that the engine allows a back end to do: now and then no CPU is free,
 * and helpers leave in the middle of the job and others start in their slots.  It checks
 * in turn that the engine calls it correctly, and what lockdep knows of the job.
 *
 * What does not show in the chunks is left to the sanitizers: thread functions
 * write to memory without any ordering of their own and the caller reads it
 * after the job, so that ThreadSanitizer notices an ordering that the engine lacks;
 * job and argument are freed or overwritten as soon as the job is over, so that
 * AddressSanitizer notices a helper that still accesses them.
 *
 *   padata_fuzz-asan [--jobs=N] [--seed=S] [--job=N] [--stall=SECONDS]
 *
 * Everything about job N follows from the seed and N, except for scheduling: --seed=S --job=N
 * runs that job over and over.  A job without an end in so many seconds has failed.
 */

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sanitizer/common_interface_defs.h>

#include <linux/padata_mt.h>

#include "padata_mt.h"
#include "pool.h"
#include "shim.h"

#ifdef __SANITIZE_ADDRESS__
#define BUILD		"ASan and UBSan"
#else
#define BUILD		"TSan"
#endif

#define NR_CALLERS	3
#define NR_HELPERS	4
#define NR_MACHINES	8
#define SMALL		64	/* the size of most jobs, at most */
#define MAX_DEPTH	2	/* of nested jobs */
#define MAX_LIVE	2000	/* teams, before this counts as a leak */
#define ENOUGH_JOBS	20000	/* by then every possible event should have happened */
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
	RULE_MAX_CHUNK,
	RULE_COUNTS,
	RULE_CPUS,
	RULE_BACKEND,
	RULE_LOCKDEP,
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
	[RULE_MAX_CHUNK]	= "max_chunk is kept",
	[RULE_COUNTS]		= "threads are counted",
	[RULE_CPUS]		= "helpers are on CPUs of the job",
	[RULE_BACKEND]		= "back ends are called in order",
	[RULE_LOCKDEP]		= "lockdep knows what the job must not do",
};

/* What the thread function does with a chunk. */
enum body { BODY_NOTHING, BODY_YIELD, BODY_SLEEP, BODY_MEET, BODY_NEST, NR_BODIES };

/* A job, and what happens while it runs. */
struct shape {
	unsigned long		start;
	unsigned long		size;
	unsigned long		align;
	unsigned long		min_chunk;
	unsigned long		max_chunk;
	int			max_threads;
	bool			task;		/* with the back end defined here */
	bool			no_fn;
	bool			numa_aware;
	bool			on_stack;
	size_t			max_alloc;	/* limit to a single allocation */
	struct shim_machine	*machine;
	int			cpu;		/* the caller's */
	int			nid;
	enum body		body;
	unsigned int		late;		/* helpers, in per cent */
	unsigned int		never;		/* likewise, and all below */
	unsigned int		refuse;		/* claims of helpers */
	unsigned int		start_more;	/* claims of the caller */
	unsigned int		no_cpu;		/* attempts to start a helper */
};

/* [start, end) was done with @work by a helper, or by the caller. */
struct chunk {
	unsigned long		start;
	unsigned long		end;
	struct work_struct	*work;
};

/* One helper at a time. */
struct slot {
	int			used;		/* how often */
	struct task_struct	*task;		/* after boot: the helper, since its first claim */
};

/* The argument of a job. */
struct trial {
	struct shape		shape;
	unsigned long		nr;
	unsigned int		depth;
	uint64_t		seed;
	struct task_struct	*caller;
	struct cpumask		helper_cpus;	/* boot: CPUs with a helper */
	struct cpumask		allowed;	/* after boot: CPUs for helpers */
	struct slot		slots[SHIM_NR_CPUS];
	int			changes;	/* of machines, before; -1: some meanwhile */
	int			nid;		/* the last helper was to be near this node */
	int			next_cpu;	/* or else, for the next, or -1 */
	int			nr_slots;	/* that had a helper */
	int			nr_again;	/* how often one had another */
	bool			prepared;
	bool			released;
	atomic_t		at_work;	/* after boot: helpers that have not left */
	atomic_t		inside;
	atomic_t		over;
	atomic_t		nr_chunks;
	int			max_chunks;
	struct chunk		chunks[];
};

struct caller {
	pthread_t		thread;
	unsigned long		nr;		/* the current job, or NO_JOB */
	bool			ended;
	unsigned long		jobs;		/* how many jobs it has run */
	unsigned long		again;		/* helpers started in a used slot */
};

static struct {
	unsigned long		seed;
	unsigned long		jobs;
	unsigned long		stall;
	unsigned long		job;		/* NO_JOB: all of them */
} opt = { .jobs = 1000000, .stall = 60, .job = NO_JOB };

static struct shim_machine machines[NR_MACHINES];
static struct caller callers[NR_CALLERS];
static unsigned long next_job;
static unsigned long inner_jobs;
static bool engine_is_up;		/* with its workqueue */
static __thread struct trial *current_trial;

/* Reporting errors */

static void describe(char *text, size_t size, const struct shape *s)
{
	int len;

	len = snprintf(text, size, "start=%lu size=%lu align=%lu min_chunk=%lu max_threads=%d",
		       s->start, s->size, s->align, s->min_chunk, s->max_threads);
	if (s->max_chunk)
		len += snprintf(text + len, size - len, " max_chunk=%lu", s->max_chunk);
	snprintf(text + len, size - len, "%s nid=%d%s, %s, on CPU %d of %u",
		 s->no_fn ? " without thread_fn" : "", s->nid, s->numa_aware ? " numa_aware" : "",
		 s->task ? "task" : "boot", s->cpu, s->machine->nr_cpus);
}

/* The first to report an error ends the program. */
static void leave(const char *line)
{
	static atomic_t reports;

	if (atomic_inc_return_relaxed(&reports) == 1) {
		/* Bypasses libc, which a sanitizer that is dying may not enter again. */
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
	snprintf(line + len, sizeof(line) - len, " seed 0x%lx\n", opt.seed);
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

static bool by_chance(unsigned int per_cent)
{
	return per_cent && below(100) < per_cent;
}

/* All orders of magnitude are equally likely. */
static unsigned long any_number(void)
{
	unsigned int bits = below(65);

	return bits ? shim_random() >> (64 - bits) : 0;
}

/* Near 0 or a multiple of an eighth of all numbers, where sums wrap around. */
static unsigned long edge_number(void)
{
	return below(9) * (ULONG_MAX / 8 + 1) + below(8) - 4;
}

static void shape_small(struct shape *s)
{
	s->start = one_in(4) ? any_number() : below(100);
	s->size = 1 + below(SMALL);
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

/* Not so small that there are more chunks than fit, see shape_max_chunks(). */
static void shape_max_chunk(struct shape *s)
{
	if (one_in(2))
		return;
	if (s->size <= SMALL)
		s->max_chunk = below(s->size + 8);
	else
		s->max_chunk = s->size / (2 + below(64)) + below(8);
}

/* A range that wraps around is cut off at the end, or kept to be refused. */
static void shape_range(struct shape *s)
{
	unsigned int percent = below(100);
	unsigned long last;

	if (percent < 75)
		shape_small(s);
	else if (percent < 80)
		shape_medium(s);
	else if (percent < 92)
		shape_any(s);
	else
		shape_edge(s);

	shape_max_chunk(s);
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

/* Enough for a team with so many helpers, or next to nothing. */
static size_t memory_for(unsigned long helpers)
{
	struct padata_mt_team *team;

	return helpers ? sizeof(*team->where) + struct_size(team, helpers, helpers) : 1;
}

static void shape_threads(struct shape *s)
{
	s->max_threads = any_max_threads();
	s->numa_aware = one_in(4);
	s->machine = &machines[below(NR_MACHINES)];
	s->cpu = below(s->machine->nr_cpus);
	s->nid = below(s->machine->nr_nodes);
	s->max_alloc = SIZE_MAX;
	if (one_in(30))
		s->max_alloc = memory_for(below(8));
}

static void shape_events(struct shape *s)
{
	unsigned int percent = below(100);

	s->on_stack = one_in(2);
	s->body = percent < 45 ? BODY_NOTHING :
		  percent < 75 ? BODY_YIELD :
		  percent < 95 ? BODY_MEET :
		  percent < 98 ? BODY_SLEEP : BODY_NEST;
	s->late = one_in(3) ? below(101) : below(10);
	s->never = one_in(20) ? 100 : one_in(4) ? below(101) : 0;
}

/* What the job's back end does. */
static void shape_trouble(struct shape *s)
{
	s->task = one_in(2);
	if (!s->task)
		return;

	s->refuse = one_in(3) ? 0 : below(60);
	s->start_more = below(101);
	s->no_cpu = one_in(2) ? below(101) : 0;
}

static void shape_make(struct shape *s, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	shim_random_seed(seed);
	shape_range(s);
	shape_threads(s);
	shape_events(s);
	shape_trouble(s);
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

	return max(min(s->max_threads, cpus + 1), 1);
}

/*
 * Each claim takes at least one part in 2 * threads of what is left, so each time that
 * many claims leave less than half of it.  Chunks that max_chunk limits have that length.
 */
static int shape_max_chunks(const struct shape *s)
{
	unsigned long most = 2UL * shape_max_threads(s) * 64;

	if (s->max_chunk)
		most += s->size / s->max_chunk + 1;
	return min(s->size, most);
}

/*
 * Machines, one of each kind.  Any but the first CPU can go offline, and then is no
 * CPU's sibling, not even its own.
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
}

/* Counts the changes to all machines together. */
static atomic_t changes_begun, changes_over;

/* If this returns the same again, and not -1, nothing has changed or is about to. */
static int changes(void)
{
	int begun = atomic_read(&changes_begun);

	return atomic_read(&changes_over) == begun ? begun : -1;
}

static void hotplug(struct shim_machine *machine)
{
	int cpu = below(machine->nr_cpus), sibling;
	bool online = one_in(2);

	if (!cpu)
		return;
	atomic_inc(&changes_begun);
	(online ? cpumask_set_cpu : cpumask_clear_cpu)(cpu, &machine->online);
	for (sibling = 0; sibling < (int)machine->nr_cpus; sibling++) {
		bool shared = machine->core_of[sibling] == machine->core_of[cpu] &&
			      cpumask_test_cpu(sibling, &machine->online);

		(online && shared ? cpumask_set_cpu : cpumask_clear_cpu)
			(sibling, &machine->siblings[cpu]);
		(online && shared ? cpumask_set_cpu : cpumask_clear_cpu)
			(cpu, &machine->siblings[sibling]);
	}
	atomic_inc(&changes_over);
}

/* What the job itself does */

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

/*
 * With max_chunk no lock may be taken that sleeps and, as soon as there is a helper, no memory
 * allocated.
 */
static void check_lockdep(const struct trial *t)
{
	const struct lockdep_map *map = shim_nr_held ? shim_held[shim_nr_held - 1] : NULL;
	bool strict = t->shape.max_chunk;

	if (!map || map->wait_type != (strict ? LD_WAIT_CONFIG : LD_WAIT_INV))
		broken(t, RULE_LOCKDEP, "locks that sleep");
	if (READ_ONCE(map->in_reclaim) ? !strict : strict && current != t->caller)
		broken(t, RULE_LOCKDEP, "allocations");
}

/* Errors found in here are reported at once; the rest is recorded in the chunks. */
static void do_chunk(unsigned long start, unsigned long end, void *arg)
{
	struct trial *t = arg, *outer = current_trial;
	struct chunk *chunk;
	int inside = atomic_inc_return_relaxed(&t->inside);
	int i = atomic_inc_return_relaxed(&t->nr_chunks) - 1;

	current_trial = t;
	check_lockdep(t);
	if (atomic_read(&t->over))
		broken(t, RULE_NO_TOUCH, "chunk %lu to %lu is done after the end", start, end);
	if (inside > shape_max_threads(&t->shape))
		broken(t, RULE_MAX_THREADS, "%d threads are in thread_fn", inside);
	if (i >= t->max_chunks)
		broken(t, RULE_ONCE, "more than %d chunks", t->max_chunks);
	chunk = &t->chunks[i];
	*chunk = (struct chunk){ .start = start, .end = end, .work = current_work() };

	body(t, start);
	atomic_dec(&t->inside);
	current_trial = outer;
}

/* The CPUs on the cores of @cpus. */
static unsigned long cores_of(const struct shim_machine *m, unsigned long cpus)
{
	unsigned long found = cpus;
	int cpu;

	for (cpu = 0; cpu < (int)m->nr_cpus; cpu++) {
		if (cpus >> cpu & 1)
			found |= __cpumask_word(&m->siblings[cpu], 0);
	}
	return found;
}

static int distance(const struct shim_machine *m, int cpu, int nid)
{
	return m->no_distances ? 0 : abs(m->node_of[cpu] - nid);
}

/*
 * Helpers are near the job's node or each node in turn, and on a node first on cores without a
 * thread, then on their siblings; the caller's own CPU is last.
 */
static void check_place(struct trial *t, int cpu)
{
	const struct shim_machine *m = t->shape.machine;
	unsigned long used = t->helper_cpus.bits[0] | 1UL << shim_cpu;
	unsigned long free = __cpumask_word(&m->online, 0) & ~used;
	unsigned long cores = free & ~cores_of(m, used) & m->cpus_of[m->node_of[cpu]].bits[0];
	int other;

	if (t->changes < 0 || t->changes != changes()) {
		t->changes = -1;
		return;
	}
	if (t->shape.numa_aware && free)
		t->nid = next_node_in(t->nid, m->nodes[N_CPU]);
	if (!(free >> cpu & 1) && (free || cpu != shim_cpu))
		broken(t, RULE_CPUS, "a helper is on CPU %d, and CPUs 0x%lx are free", cpu, free);
	if (cores && !(cores >> cpu & 1))
		broken(t, RULE_CPUS, "a helper is on CPU %d, cores of 0x%lx are free", cpu, cores);
	for (other = 0; free && other < (int)m->nr_cpus; other++) {
		if (!(free >> other & 1) ||
		    distance(m, other, t->nid) >= distance(m, cpu, t->nid))
			continue;
		broken(t, RULE_CPUS, "a helper near node %d is on CPU %d, CPU %d is free",
		       t->nid, cpu, other);
	}
}

/* Called for each helper that is queued. */
static void check_boot_cpu(struct trial *t, int cpu)
{
	check_place(t, cpu);
	if (cpumask_test_cpu(cpu, &t->helper_cpus))
		broken(t, RULE_CPUS, "two helpers are on CPU %d", cpu);
	cpumask_set_cpu(cpu, &t->helper_cpus);
}

static void check_task_cpu(struct trial *t, int cpu)
{
	if (cpu != t->next_cpu)
		broken(t, RULE_CPUS, "a helper is on CPU %d, not on %d", cpu, t->next_cpu);
	t->next_cpu = -1;
}

static struct trial *trial_of(const struct padata_mt_team *team)
{
	return team->job->fn_arg;
}

static struct slot *slot_of(const struct padata_mt_helper *helper)
{
	return &trial_of(helper->team)->slots[helper - helper->team->helpers];
}

/* Called by the caller, so helpers must not access any of it. */
static void count_slot(struct trial *t, struct work_struct *work)
{
	struct padata_mt_helper *helper = container_of(work, struct padata_mt_helper, work);

	if (slot_of(helper)->used++)
		t->nr_again++;
	else
		t->nr_slots++;
}

static enum pool_fate choose_fate(struct work_struct *work, int cpu)
{
	struct trial *t = current_trial;
	const struct shape *s = &t->shape;

	if (cpu < 0 || cpu >= (int)s->machine->nr_cpus)
		broken(t, RULE_CPUS, "a helper is on CPU %d, which does not exist", cpu);
	(s->task ? check_task_cpu : check_boot_cpu)(t, cpu);
	count_slot(t, work);

	if (by_chance(s->never))
		return POOL_NEVER;
	return by_chance(s->late) ? POOL_LATE : POOL_RUN;
}

/* The back end of jobs after boot */

static void must_be_caller(const struct padata_mt_team *team, const char *what)
{
	struct trial *t = trial_of(team);

	if (current != t->caller || current != team->caller)
		broken(t, RULE_BACKEND, "%s is not called by the caller", what);
}

static unsigned int fuzz_prepare(struct padata_mt_team *team, unsigned int nr)
{
	struct trial *t = trial_of(team);

	must_be_caller(team, "prepare()");
	if (t->prepared || !nr)
		broken(t, RULE_BACKEND, "prepared again, or for nobody");
	t->prepared = true;
	if (one_in(16))
		return 0;

	team->where->wq = alloc_workqueue("padata_fuzz", 0, 0);
	cpumask_copy(&t->allowed, cpu_online_mask);
	return 1 + below(nr);
}

/* Any of the CPUs, if one is free. */
static int fuzz_choose_cpu(struct padata_mt_team *team)
{
	struct trial *t = trial_of(team);
	unsigned long cpus = t->allowed.bits[0];
	unsigned int skip;

	must_be_caller(team, "choose_cpu()");
	if (t->next_cpu >= 0)
		broken(t, RULE_BACKEND, "CPU %d was asked for and not used", t->next_cpu);
	if (!cpus || by_chance(t->shape.no_cpu))
		return -1;

	for (skip = below(__builtin_popcountl(cpus)); skip; skip--)
		cpus &= cpus - 1;
	t->next_cpu = __builtin_ctzl(cpus);
	return t->next_cpu;
}

/*
 * A chunk ends where @most, or min_chunk if that is more, makes it end, or on the next
 * boundary, or at the end if less than min_chunk is left.
 */
static void check_length(const struct trial *t, unsigned long start, unsigned long end,
			 unsigned long most)
{
	const struct shape *s = &t->shape;
	__uint128_t last = (__uint128_t)start + max3(most, s->min_chunk, 1UL);

	if (s->align)
		last = (last + s->align - 1) / s->align * s->align;
	if (end == s->start + s->size)
		last += max(s->min_chunk, 1UL) - 1;
	if (end > last)
		broken(t, RULE_MAX_CHUNK, "chunk %lu to %lu", start, end);
}

/*
 * Returns whether the helper claims a chunk, else it leaves.  Its slot is not atomic, so that
 * a sanitizer notices two helpers in one.
 */
static bool claim_helper(struct padata_mt_team *team, struct padata_mt_helper *helper,
			 struct padata_mt_chunk *chunk)
{
	struct trial *t = trial_of(team);
	struct slot *slot = slot_of(helper);

	if (current_work() != &helper->work || helper->team != team)
		broken(t, RULE_BACKEND, "a thread claims for another");
	if (!slot->task)
		atomic_inc(&t->at_work);
	else if (slot->task != current)
		broken(t, RULE_BACKEND, "two helpers are in a slot");
	slot->task = current;
	if (!by_chance(t->shape.refuse) && padata_mt_claim(team, helper, chunk))
		return true;
	slot->task = NULL;
	atomic_dec(&t->at_work);
	return false;
}

static bool claim_caller(struct padata_mt_team *team, struct padata_mt_chunk *chunk)
{
	must_be_caller(team, "claim()");
	if (by_chance(trial_of(team)->shape.start_more))
		padata_mt_start_helpers(team);
	return padata_mt_claim(team, NULL, chunk);
}

/* A thread gets half of an equal share of the rest, or all if the caller is alone. */
static bool fuzz_claim(struct padata_mt_team *team, struct padata_mt_helper *helper,
		       struct padata_mt_chunk *chunk)
{
	struct trial *t = trial_of(team);
	unsigned long end = t->shape.start + t->shape.size;
	unsigned long shares = team->where ? 2 * (team->nr_helpers + 1UL) : 1;

	if (!(helper ? claim_helper(team, helper, chunk) : claim_caller(team, chunk)))
		return false;
	check_length(t, chunk->start, chunk->end, (end - chunk->start) / shares);
	return true;
}

static void fuzz_release(struct padata_mt_team *team)
{
	struct trial *t = trial_of(team);

	must_be_caller(team, "release()");
	if (t->released)
		broken(t, RULE_BACKEND, "released twice");
	if (refcount_read(&team->inside) || atomic_read(&t->at_work))
		broken(t, RULE_BACKEND, "released with helpers inside");
	t->released = true;
}

static const struct padata_mt_backend fuzz_backend = {
	.prepare	= fuzz_prepare,
	.choose_cpu	= fuzz_choose_cpu,
	.claim		= fuzz_claim,
	.release	= fuzz_release,
};

const struct padata_mt_backend *padata_mt_runtime_backend(void)
{
	return &fuzz_backend;
}

/* Checks after the job */

static int compare_chunks(const void *one, const void *other)
{
	const struct chunk *a = one, *b = other;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static int compare_works(const void *one, const void *other)
{
	const struct chunk *a = one, *b = other;

	return a->work < b->work ? -1 : a->work > b->work;
}

static void check_chunk(const struct trial *t, const struct chunk *chunk, unsigned long pos)
{
	const struct shape *s = &t->shape;
	unsigned long least = min(s->min_chunk, s->size);
	unsigned long end = s->start + s->size;

	if (chunk->start != pos || chunk->end <= pos || chunk->end > end)
		broken(t, RULE_ONCE, "after %lu comes %lu to %lu", pos, chunk->start, chunk->end);
	if (chunk->end != end && s->align && chunk->end % s->align)
		broken(t, RULE_ALIGN, "chunk %lu to %lu", chunk->start, chunk->end);
	if (chunk->end - chunk->start < least)
		broken(t, RULE_MIN_CHUNK, "chunk %lu to %lu", chunk->start, chunk->end);
	if (s->max_chunk)
		check_length(t, chunk->start, chunk->end, s->max_chunk);
}

/* Sorts the chunks, and returns where they end. */
static unsigned long check_chunks(struct trial *t, int nr)
{
	unsigned long pos = t->shape.start;
	int i;

	qsort(t->chunks, nr, sizeof(t->chunks[0]), compare_chunks);
	for (i = 0; i < nr; i++) {
		check_chunk(t, &t->chunks[i], pos);
		pos = t->chunks[i].end;
	}
	return pos;
}

/* Helpers that use a slot one after the other count as one. */
static int count_slots(struct trial *t, int nr)
{
	int i, slots = 0;

	qsort(t->chunks, nr, sizeof(t->chunks[0]), compare_works);
	for (i = 0; i < nr; i++)
		slots += !i || t->chunks[i].work != t->chunks[i - 1].work;
	return slots;
}

/* CPU 0 is never offline. */
static bool must_have_helpers(const struct shape *s)
{
	unsigned long least = max3(s->align, s->min_chunk, 1UL);

	return READ_ONCE(engine_is_up) && !s->task &&
	       s->max_alloc >= memory_for(shape_max_threads(s)) && s->max_threads > 1 &&
	       s->size / least > 1;
}

/* The caller has a chunk, too. */
static int helpers_with_chunks(const struct shape *s)
{
	unsigned long chunks = s->size / max3(s->align, s->min_chunk, 1UL);

	return chunks ? min(chunks - 1, (unsigned long)INT_MAX) : 0;
}

static void check_counts(struct trial *t, int ret, int nr)
{
	const struct shape *s = &t->shape;
	bool alone = s->max_alloc < memory_for(1);
	int ran = count_slots(t, nr);

	if (ret > shape_max_threads(s))
		broken(t, RULE_MAX_THREADS, "%d threads were put to work", ret);
	if (ret != (s->size ? t->nr_slots + 1 : 0))
		broken(t, RULE_COUNTS, "it returned %d, with %d helpers", ret, t->nr_slots);
	if (ran > ret)
		broken(t, RULE_COUNTS, "%d threads of %d got a chunk", ran, ret);
	if (t->nr_slots > helpers_with_chunks(s))
		broken(t, RULE_COUNTS, "%d helpers for %d chunks besides the caller's", t->nr_slots,
		       helpers_with_chunks(s));
	if (alone && t->nr_slots)
		broken(t, RULE_CPUS, "%d helpers for a job that can have none", t->nr_slots);
	if (!t->nr_slots && must_have_helpers(s))
		broken(t, RULE_CPUS, "no helper, with memory for some");
}

static void check_refused(const struct trial *t, int ret)
{
	if (ret != -EINVAL)
		broken(t, RULE_MALFORMED, "it returned %d", ret);
	if (atomic_read(&t->nr_chunks))
		broken(t, RULE_MALFORMED, "%d chunks of it were done", atomic_read(&t->nr_chunks));
	if (t->nr_slots || t->prepared || t->released)
		broken(t, RULE_MALFORMED, "it got helpers");
}

static void check(struct trial *t, int ret)
{
	int nr = atomic_read(&t->nr_chunks);
	unsigned long end;

	if (atomic_read(&t->inside) || atomic_read(&t->at_work))
		broken(t, RULE_NO_TOUCH, "threads are still at work");
	if (t->shape.no_fn || shape_wraps(&t->shape)) {
		check_refused(t, ret);
		return;
	}
	if (t->released != (t->shape.task && t->shape.size))
		broken(t, RULE_BACKEND, "a back end was not released");

	end = check_chunks(t, nr);
	if (end != t->shape.start + t->shape.size)
		broken(t, RULE_ONCE, "all after %lu is left", end);
	check_counts(t, ret, nr);
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
		.max_chunk	= s->max_chunk,
		.max_threads	= s->max_threads,
		.nid		= s->nid,
		.numa_aware	= s->numa_aware,
	};
}

/* The job is on the stack, which is soon overwritten. */
static int run_on_stack(struct trial *t)
{
	struct padata_mt_job job;
	int ret;

	job_make(&job, t);
	ret = padata_do_multithreaded(&job);
	memset(&job, POISON, sizeof(job));
	__asm__ volatile("" : : "r" (&job) : "memory");
	return ret;
}

static int run_on_heap(struct trial *t)
{
	struct padata_mt_job *job = malloc(sizeof(*job));
	int ret;

	if (!job)
		shim_bug("no memory for a job");
	job_make(job, t);
	ret = padata_do_multithreaded(job);
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
	t->next_cpu = -1;
	t->caller = current;
	return t;
}

static void count(struct caller *caller, const struct trial *t)
{
	if (!caller) {
		__atomic_add_fetch(&inner_jobs, 1, __ATOMIC_RELAXED);
		return;
	}
	WRITE_ONCE(caller->jobs, caller->jobs + 1);
	caller->again += t->nr_again;
}

/* One job from beginning to end, perhaps within a chunk of @parent. */
static void run_trial(struct trial *parent, uint64_t seed, unsigned long nr, struct caller *caller)
{
	enum system_states state = shim_system_state;
	struct shim_machine *machine = shim_machine;
	struct trial *t;
	int cpu = shim_cpu, ret;

	t = trial_make(seed);
	t->nr = nr;
	t->depth = parent ? parent->depth + 1 : 0;
	current_trial = t;
	shim_machine = t->shape.machine;
	shim_cpu = t->shape.cpu;
	shim_max_alloc = t->shape.max_alloc;
	shim_system_state = t->shape.task ? SYSTEM_RUNNING : SYSTEM_BOOTING;
	if (one_in(16))
		hotplug(shim_machine);
	t->changes = changes();
	t->nid = t->shape.numa_aware ? shim_machine->node_of[shim_cpu] : t->shape.nid;

	ret = (t->shape.on_stack ? run_on_stack : run_on_heap)(t);
	atomic_set(&t->over, 1);
	check(t, ret);
	count(caller, t);

	shim_max_alloc = SIZE_MAX;
	shim_system_state = state;
	shim_machine = machine;
	shim_cpu = cpu;
	current_trial = parent;
	memset(t, POISON, sizeof(*t));
	free(t);
}

static bool claim_job(unsigned long *nr)
{
	*nr = __atomic_fetch_add(&next_job, 1, __ATOMIC_RELAXED);
	return *nr < opt.jobs;
}

static void *caller_fn(void *arg)
{
	struct caller *caller = arg;
	unsigned long nr;

	while (claim_job(&nr)) {
		if (opt.job != NO_JOB)
			nr = opt.job;
		WRITE_ONCE(caller->nr, nr);
		run_trial(NULL, job_seed(nr), nr, caller);
	}
	WRITE_ONCE(caller->nr, NO_JOB);
	WRITE_ONCE(caller->ended, true);
	return NULL;
}

/* Report the jobs that were running, any of which may be the cause. */
static void leave_for(const char *why)
{
	char line[2048];
	unsigned long i;
	int len;

	len = snprintf(line, sizeof(line), "padata_fuzz: FAILED: %s; under way:", why);
	for (i = 0; i < NR_CALLERS && len < 1500; i++) {
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
	snprintf(line + len, sizeof(line) - len, " seed 0x%lx\n", opt.seed);
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

/* The watchdog */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static unsigned long jobs_done(void)
{
	unsigned long i, sum = READ_ONCE(inner_jobs);

	for (i = 0; i < NR_CALLERS; i++)
		sum += READ_ONCE(callers[i].jobs);
	return sum;
}

static bool all_ended(void)
{
	unsigned long i;

	for (i = 0; i < NR_CALLERS; i++) {
		if (!READ_ONCE(callers[i].ended))
			return false;
	}
	return true;
}

/* For each caller: the number of jobs it had done, and when that last changed. */
static void watch_stalls(double time)
{
	static unsigned long seen[NR_CALLERS];
	static double since[NR_CALLERS];
	struct trial t = {};
	unsigned long i;

	for (i = 0; i < NR_CALLERS; i++) {
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

/* One for a job, one for a job without the engine, one for a missing workqueue. */
static void check_warnings(void)
{
	int nr = atomic_read(&shim_nr_warnings);

	if (nr > 3)
		broken(NULL, RULE_MALFORMED, "there were %d warnings", nr);
}

static void watch(double start)
{
	double shown = start;

	while (!all_ended()) {
		double time = now();

		usleep(20000);
		if (shim_nr_allocated() > MAX_LIVE)
			broken(NULL, RULE_NO_TOUCH, "%d teams are not freed", shim_nr_allocated());
		check_warnings();
		watch_stalls(time);
		if (time - shown >= 1) {
			shown = time;
			printf("padata_fuzz: %lu jobs in %.0f s\n", jobs_done(), time - start);
			fflush(stdout);
		}
	}
}

/* Helpers started in used slots, by callers which have ended. */
static unsigned long nr_again(void)
{
	unsigned long i, sum = 0;

	for (i = 0; i < NR_CALLERS; i++)
		sum += callers[i].again;
	return sum;
}

static bool all_happened(const struct pool_stats *stats)
{
	return stats->run && stats->late && stats->cancelled && nr_again();
}

/* What must hold when all jobs are done and all helpers are gone. */
static void check_end(const struct pool_stats *stats, unsigned long jobs)
{
	check_warnings();
	if (shim_nr_allocated())
		broken(NULL, RULE_NO_TOUCH, "%d teams were not freed", shim_nr_allocated());
	if (jobs > ENOUGH_JOBS && opt.job == NO_JOB && !all_happened(stats))
		leave("padata_fuzz: FAILED: all jobs go the same way: that tests nothing\n");
}

static void start_callers(void)
{
	unsigned long i;

	for (i = 0; i < NR_CALLERS; i++) {
		if (pthread_create(&callers[i].thread, NULL, caller_fn, &callers[i]))
			shim_bug("a caller could not be started");
	}
}

/* Jobs without helpers: the earliest at boot, or those of a kernel short of memory. */
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
	struct pool_stats stats;
	unsigned long i, jobs;
	double start = now(), seconds;

	run_without_pool();
	pool_choose_fate = choose_fate;
	pool_start(NR_HELPERS, opt.seed);
	shim_initcall();
	engine_is_up = true;
	start_callers();
	watch(start);
	for (i = 0; i < NR_CALLERS; i++)
		pthread_join(callers[i].thread, NULL);
	pool_stop(&stats);
	seconds = now() - start;
	jobs = jobs_done();
	check_end(&stats, jobs);

	printf("padata_fuzz: ok: %lu jobs, %.1f s, %.0f jobs/s, seed 0x%lx\n", jobs, seconds,
	       jobs / seconds, opt.seed);
	return 0;
}

int main(int argc, char **argv)
{
	const struct shim_option known[] = {
		{ "--jobs=", &opt.jobs }, { "--seed=", &opt.seed }, { "--job=", &opt.job },
		{ "--stall=", &opt.stall }, { }
	};
	int i;

	opt.seed = mix(time(NULL), getpid()) & UINT32_MAX;
	shim_options(argv, known);
	machines_init();
	for (i = 0; i < NR_CALLERS; i++)
		callers[i].nr = NO_JOB;
	shim_on_bug = on_shim_bug;
	__sanitizer_set_death_callback(on_sanitizer);
	signal(SIGABRT, on_abort);
	printf("padata_fuzz: seed 0x%lx, %s\n", opt.seed, BUILD);
	fflush(stdout);
	return run();
}
