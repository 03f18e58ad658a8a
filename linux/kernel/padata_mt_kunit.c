// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite for multithreaded padata jobs: what padata_do_multithreaded()
 * guarantees, as an executable specification.
 *
 * Every job of the suite is a trial: its thread function records each chunk it
 * is given, and after the job the record is checked against mt_rules[], the
 * guarantees that hold for every job.  Cases differ in the jobs they run:
 * thousands of random ones, shapes that are easy to get wrong, and jobs set up
 * to force a situation that would seldom arise by chance (a helper that cannot
 * start, threads that wait for each other).
 *
 * The suite also runs on a single CPU, where a helper shares the caller's CPU
 * and works while the thread function sleeps.
 */

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/padata_mt.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "padata_mt.h"
#include "test_padata_mt_cpus.h"

/* Random jobs per rule. */
#define MT_JOBS			1000
/* Failing random jobs per rule, of each kind. */
#define MT_FAILING_JOBS		250
/* Random jobs per thread, where several threads start jobs at the same time. */
#define MT_JOBS_PER_RUNNER	100
#define MT_RUNNERS		8
/* How long to wait for something that a working engine does right away. */
#define MT_PATIENCE		msecs_to_jiffies(20000)
/* Less than the CPU time per second that the scheduler lets a realtime thread have. */
#define MT_HOG_MS		900
/* More than a job uses on its caller's stack. */
#define MT_STACK		768
#define MT_POISON		0x5a

static unsigned long mt_seed;
module_param_named(seed, mt_seed, ulong, 0444);
MODULE_PARM_DESC(seed, "Repeat the random jobs of the run that printed this seed");

/* A chunk, as the thread function saw it. */
struct mt_chunk {
	unsigned long		start;
	unsigned long		end;
	struct task_struct	*task;
	struct work_struct	*work;		/* the helper's, NULL for the caller */
	int			cpu;
};

/*
 * struct mt_trial - a job, and the record of how it ran
 *
 * A case fills in @job and @body, mt_run() runs the job and fills in the rest,
 * mt_broken() checks that.  A trial may be used again afterwards.
 */
struct mt_trial {
	struct padata_mt_job	job;
	const struct padata_mt_backend *backend; /* NULL: padata_mt_boot_backend */
	bool			on_cpus;	/* helpers run on @cpus only */
	struct cpumask		cpus;
	/* Work on a chunk.  NULL: none, chunks are only recorded. */
	void			(*body)(struct mt_trial *t, unsigned long start,
					unsigned long end);
	void			*body_arg;

	struct padata_mt_job	asked;		/* @job, as it was before the run */
	struct task_struct	*caller;
	struct test_padata_mt_cpus some;
	int			ret;
	bool			returned;
	int			stragglers;	/* threads inside after the return */
	atomic_t		late;		/* calls that began or ended after it */
	atomic_t		inside;		/* threads in thread_fn */
	atomic_t		most;		/* most threads inside at once */

	/* For mt_meet(). */
	int			expected;
	atomic_t		arrived;
	struct completion	all_here;

	/* For mt_start_inner(). */
	int			depth;
	const char		*inner_broken;

	const struct mt_chunk	*bad;		/* the chunk that broke a rule */
	atomic_t		nr_chunks;
	unsigned int		capacity;
	struct mt_chunk		chunks[] __counted_by(capacity);
};

/*
 * Lockdep classes, without and with max_chunk, for each depth: see mt_trial.  No job takes a lock
 * that the caller of another holds.
 */
static struct lock_class_key mt_keys[2][3];

static void mt_note_most(struct mt_trial *t, int inside)
{
	int most = atomic_read(&t->most);

	while (most < inside && !atomic_try_cmpxchg(&t->most, &most, inside))
		;
}

static void mt_thread_fn(unsigned long start, unsigned long end, void *arg)
{
	struct mt_trial *t = arg;
	unsigned int slot = atomic_fetch_inc(&t->nr_chunks);

	mt_note_most(t, atomic_inc_return(&t->inside));
	if (slot < t->capacity) {
		t->chunks[slot].start = start;
		t->chunks[slot].end = end;
		t->chunks[slot].task = current;
		t->chunks[slot].work = current_work();
		t->chunks[slot].cpu = raw_smp_processor_id();
	}
	if (t->body)
		t->body(t, start, end);
	if (READ_ONCE(t->returned))
		atomic_inc(&t->late);
	atomic_dec(&t->inside);
}

static void mt_trial_free(void *arg)
{
	struct mt_trial *t = arg;

	kvfree(t);
}

static struct mt_trial *mt_trial_alloc(unsigned int capacity)
{
	struct mt_trial *t;

	t = kvzalloc(struct_size(t, chunks, capacity), GFP_KERNEL);
	if (t)
		t->capacity = capacity;
	return t;
}

/*
 * A trial with room for the chunks of any job: guided claims make about
 * 2 * threads * (ln(size / min_chunk) + 1) of them, and ln(ULONG_MAX) is 44.
 */
static struct mt_trial *mt_trial_new(struct kunit *test)
{
	struct mt_trial *t = mt_trial_alloc(128 * (num_online_cpus() + 1));

	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, mt_trial_free, t), 0);
	return t;
}

static int mt_cmp_chunks(const void *a, const void *b)
{
	const struct mt_chunk *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return 0;
}

static unsigned int mt_nr_chunks(const struct mt_trial *t)
{
	return min_t(unsigned int, atomic_read(&t->nr_chunks), t->capacity);
}

/*
 * An engine that returns too early should fail the test, not make it free
 * memory that threads still use: wait for those threads.
 */
static void mt_wait_for_stragglers(struct mt_trial *t)
{
	unsigned long until = jiffies + MT_PATIENCE;

	while (atomic_read(&t->inside) && time_before(jiffies, until))
		fsleep(1000);
}

static const struct padata_mt_backend *mt_backend(struct mt_trial *t)
{
	const struct padata_mt_backend *backend = t->backend ?: &padata_mt_boot_backend;

	return t->on_cpus ? test_padata_mt_on_cpus(&t->some, backend, &t->cpus) : backend;
}

static void mt_run(struct mt_trial *t)
{
	t->job.thread_fn = mt_thread_fn;
	t->job.fn_arg = t;
	t->asked = t->job;
	t->caller = current;
	t->inner_broken = NULL;
	WRITE_ONCE(t->returned, false);
	atomic_set(&t->late, 0);
	atomic_set(&t->inside, 0);
	atomic_set(&t->most, 0);
	atomic_set(&t->nr_chunks, 0);
	atomic_set(&t->arrived, 0);
	init_completion(&t->all_here);

	t->ret = padata_mt_do_job(&t->job, &mt_keys[!!t->job.max_chunk][t->depth],
				  mt_backend(t));

	WRITE_ONCE(t->returned, true);
	t->stragglers = atomic_read(&t->inside);
	mt_wait_for_stragglers(t);
	sort(t->chunks, mt_nr_chunks(t), sizeof(t->chunks[0]), mt_cmp_chunks, NULL);
}

/* The job's parameters, with defaults in place of 0, or of less than 1. */
static unsigned long mt_align(const struct mt_trial *t)
{
	return max(t->asked.align, 1UL);
}

static unsigned long mt_min_chunk(const struct mt_trial *t)
{
	return max(t->asked.min_chunk, 1UL);
}

static unsigned long mt_max_chunk(const struct mt_trial *t)
{
	return t->asked.max_chunk ?: ULONG_MAX;
}

static int mt_max_threads(const struct mt_trial *t)
{
	return max(t->asked.max_threads, 1);
}

static unsigned long mt_end(const struct mt_trial *t)
{
	return t->asked.start + t->asked.size;
}

static bool mt_first_of_thread(const struct mt_trial *t, unsigned int i)
{
	unsigned int j;

	for (j = 0; j < i; j++) {
		if (t->chunks[j].work == t->chunks[i].work)
			return false;
	}
	return true;
}

/* Helpers that use the same slot one after the other count as one. */
static int mt_nr_threads(const struct mt_trial *t)
{
	unsigned int i;
	int threads = 0;

	for (i = 0; i < mt_nr_chunks(t); i++)
		threads += mt_first_of_thread(t, i);
	return threads;
}

/*
 * The rules.  Chunks are sorted by their place in the range by now, which for
 * guided claims is the order in which the chunks were claimed.
 */
static bool mt_succeeds(struct mt_trial *t)
{
	return t->ret >= 0;
}

/* Chunks are contiguous from the start; @end is where the last one ends. */
static bool mt_follows(struct mt_trial *t, unsigned long *end)
{
	unsigned long pos = t->asked.start;
	unsigned int i;

	for (i = 0; i < mt_nr_chunks(t); i++) {
		t->bad = &t->chunks[i];
		if (t->bad->start != pos || t->bad->end <= pos || t->bad->end > mt_end(t))
			return false;
		pos = t->bad->end;
	}
	*end = pos;
	return atomic_read(&t->nr_chunks) <= t->capacity;
}

static bool mt_covers_once(struct mt_trial *t)
{
	unsigned long end;

	return mt_follows(t, &end) && end == mt_end(t);
}

static bool mt_ends_on_align(struct mt_trial *t)
{
	unsigned int i;

	for (i = 0; i < mt_nr_chunks(t); i++) {
		t->bad = &t->chunks[i];
		if (t->bad->start != t->asked.start && t->bad->start % mt_align(t))
			return false;
		if (t->bad->end != mt_end(t) && t->bad->end % mt_align(t))
			return false;
	}
	return true;
}

static bool mt_fills_min_chunk(struct mt_trial *t)
{
	unsigned int i;

	for (i = 0; i < mt_nr_chunks(t); i++) {
		t->bad = &t->chunks[i];
		if (t->bad->end - t->bad->start < min(mt_min_chunk(t), t->asked.size))
			return false;
	}
	return true;
}

/* A chunk is longer than max_chunk only by what align and min_chunk may add. */
static bool mt_keeps_max_chunk(struct mt_trial *t)
{
	unsigned long most = max(mt_max_chunk(t), mt_min_chunk(t));
	unsigned int i;

	most = size_add(most, mt_align(t) - 1);
	for (i = 0; i < mt_nr_chunks(t); i++) {
		t->bad = &t->chunks[i];
		if (t->bad->end == mt_end(t))
			most = size_add(most, mt_min_chunk(t) - 1);
		if (t->bad->end - t->bad->start > most)
			return false;
	}
	return true;
}

static bool mt_bounds_threads(struct mt_trial *t)
{
	return atomic_read(&t->most) <= mt_max_threads(t) &&
	       mt_nr_threads(t) <= mt_max_threads(t);
}

/* Helpers may take all chunks, but the caller still counts as one of the threads. */
static bool mt_counts_caller(struct mt_trial *t)
{
	unsigned int i;
	int helpers = mt_nr_threads(t);

	for (i = 0; i < mt_nr_chunks(t); i++) {
		if (t->chunks[i].task == t->caller)
			return true;
	}
	return helpers < mt_max_threads(t);
}

static bool mt_is_over(struct mt_trial *t)
{
	return !t->stragglers && !atomic_read(&t->late);
}

static bool mt_counts_threads(struct mt_trial *t)
{
	if (!t->asked.size)
		return t->ret == 0;
	return t->ret >= mt_nr_threads(t) && t->ret <= mt_max_threads(t);
}

/* For padata_mt_boot_backend only: after boot, the scheduler may move a helper. */
static bool mt_stays_on_cpus(struct mt_trial *t)
{
	unsigned int i;

	for (i = 0; i < mt_nr_chunks(t); i++) {
		t->bad = &t->chunks[i];
		if (t->on_cpus && !t->backend && t->bad->task != t->caller &&
		    !cpumask_test_cpu(t->bad->cpu, &t->cpus))
			return false;
	}
	return true;
}

/*
 * A claim takes half of an equal share of what remains, at most max_chunk and at
 * least min_chunk, rounded up to align.  The last one includes any remainder of less
 * than min_chunk.  For a thread that works alone, the share is all that remains.
 *
 * Checked for padata_mt_boot_backend only: it places all helpers, so knows their number.
 */
static bool mt_is_guided(struct mt_trial *t)
{
	unsigned int i, nr = mt_nr_chunks(t);
	unsigned long len, share, most;
	unsigned int shares = 1;

	if (t->backend)
		return true;
	if (t->ret > 1)
		shares = 2 * t->ret;

	for (i = 0; i < nr; i++) {
		t->bad = &t->chunks[i];
		len = t->bad->end - t->bad->start;
		share = min((mt_end(t) - t->bad->start) / shares, mt_max_chunk(t));
		most = size_add(max(share, mt_min_chunk(t)), mt_align(t));
		if (t->bad->end == mt_end(t))
			most = size_add(most, mt_min_chunk(t));
		if (len < share || len > most)
			return false;
	}
	return true;
}

/* Names begin with the number of the guarantee they belong to. */
static const struct mt_rule {
	const char *says;
	bool (*kept)(struct mt_trial *t);
} mt_rules[] = {
	{ "1: a job that is well formed succeeds", mt_succeeds },
	{ "1: every unit is handed out exactly once", mt_covers_once },
	{ "2: chunks end on align or where the job ends", mt_ends_on_align },
	{ "3: no chunk is shorter than min_chunk, unless the job is", mt_fills_min_chunk },
	{ "4: at most max_threads threads are inside at once", mt_bounds_threads },
	{ "4: the caller is one of max_threads", mt_counts_caller },
	{ "6: no thread is inside once the call has returned", mt_is_over },
	{ "threads are counted right", mt_counts_threads },
	{ "helpers run on the CPUs that the back end chooses", mt_stays_on_cpus },
	{ "no chunk is longer than max_chunk, unless align or min_chunk is", mt_keeps_max_chunk },
	{ "chunks shrink with what remains, down to min_chunk", mt_is_guided },
};

/* The first rule that @t breaks, or NULL. */
static const char *mt_broken(struct mt_trial *t)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mt_rules); i++) {
		t->bad = NULL;
		if (!mt_rules[i].kept(t))
			return mt_rules[i].says;
	}
	return NULL;
}

/* @nr: which random job it is, to find it again with the same seed. */
static void mt_fail(struct kunit *test, const struct mt_trial *t,
		    const char *broken, unsigned int nr)
{
	const struct padata_mt_job *asked = &t->asked;

	KUNIT_FAIL(test, "broken: \"%s\" by job %u of seed=0x%lx\n"
		   "start=%lu size=%lu align=%lu min_chunk=%lu max_chunk=%lu max_threads=%d nid=%d numa_aware=%d, helpers on %*pbl\n"
		   "returned %d, %u chunks, at most %d inside, %d left inside, %d late, bad chunk %lu to %lu on CPU %d\n",
		   broken, nr, mt_seed, asked->start, asked->size,
		   asked->align, asked->min_chunk, asked->max_chunk, asked->max_threads,
		   asked->nid, asked->numa_aware,
		   cpumask_pr_args(t->on_cpus ? &t->cpus : cpu_online_mask),
		   t->ret, atomic_read(&t->nr_chunks), atomic_read(&t->most),
		   t->stragglers, atomic_read(&t->late),
		   t->bad ? t->bad->start : 0, t->bad ? t->bad->end : 0,
		   t->bad ? t->bad->cpu : -1);
}

static void mt_run_and_judge(struct kunit *test, struct mt_trial *t)
{
	const char *broken;

	mt_run(t);
	broken = mt_broken(t);
	if (broken)
		mt_fail(test, t, broken, 0);
}

/*
 * Random jobs
 */

/* Each case has its own random numbers, so that they repeat when it is run alone. */
static void mt_seed_rng(struct kunit *test, struct rnd_state *rng, u32 more)
{
	u32 name = full_name_hash(NULL, test->name, strlen(test->name));

	prandom_seed_state(rng, mt_seed + name + more);
}

static u32 mt_below(struct rnd_state *rng, u32 ceil)
{
	return prandom_u32_state(rng) % ceil;
}

/* A random number of random bit length: small ones are as likely as large ones. */
static unsigned long mt_any(struct rnd_state *rng)
{
	unsigned int bits = mt_below(rng, BITS_PER_LONG + 1);
	u64 high = prandom_u32_state(rng);
	u64 both = high << 32 | prandom_u32_state(rng);

	return bits ? (unsigned long)both >> (BITS_PER_LONG - bits) : 0;
}

/* Mostly a part of @size, as more means a single chunk.  Often a power of two. */
static unsigned long mt_any_part(struct rnd_state *rng, unsigned long size)
{
	unsigned long part = mt_any(rng);

	if (mt_below(rng, 8))
		part %= size / 4 + 1;
	if (part && mt_below(rng, 2))
		part = rounddown_pow_of_two(part);
	return part;
}

/* Not so small that a trial lacks the room for all chunks. */
static unsigned long mt_any_max_chunk(struct rnd_state *rng, unsigned long size)
{
	return mt_below(rng, 2) ? max(mt_any_part(rng, size), size / 32) : 0;
}

static int mt_any_threads(struct rnd_state *rng)
{
	static const int odd[] = { INT_MIN, -1, 0, 1, INT_MAX };

	if (mt_below(rng, 3))
		return 1 + mt_below(rng, 2 * num_online_cpus() + 2);
	return odd[mt_below(rng, ARRAY_SIZE(odd))];
}

/* Mostly on any CPU, sometimes on none. */
static void mt_choose_any_cpus(struct mt_trial *t, struct rnd_state *rng)
{
	unsigned int cpu;

	t->on_cpus = !mt_below(rng, 3);
	cpumask_clear(&t->cpus);
	for_each_online_cpu(cpu) {
		if (mt_below(rng, 2))
			cpumask_set_cpu(cpu, &t->cpus);
	}
}

/* A few naps let helpers in.  More take too long without high resolution timers. */
static void mt_nap(struct mt_trial *t, unsigned long start, unsigned long end)
{
	if (atomic_read(&t->nr_chunks) <= 2)
		usleep_range(20, 50);
	else
		cond_resched();
}

static void mt_make_random(struct mt_trial *t, struct rnd_state *rng)
{
	struct padata_mt_job *job = &t->job;

	job->start = mt_any(rng);
	if (mt_below(rng, 2))
		job->start = ULONG_MAX - job->start;
	job->size = min(mt_any(rng), ULONG_MAX - job->start);
	job->align = mt_any_part(rng, job->size);
	job->min_chunk = mt_any_part(rng, job->size);
	job->max_chunk = mt_any_max_chunk(rng, job->size);
	job->max_threads = mt_any_threads(rng);
	job->numa_aware = mt_below(rng, 2);
	job->nid = mt_below(rng, nr_node_ids);
	mt_choose_any_cpus(t, rng);
	t->body = mt_below(rng, 16) ? NULL : mt_nap;
}

static void mt_rule_desc(const struct mt_rule *rule, char *desc)
{
	strscpy(desc, rule->says, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(mt_rule, mt_rules, mt_rule_desc);

static void mt_any_jobs(struct kunit *test, struct mt_trial *t,
			const struct mt_rule *rule, struct rnd_state *rng,
			unsigned int jobs)
{
	unsigned int nr;

	for (nr = 0; nr < jobs; nr++) {
		mt_make_random(t, rng);
		mt_run(t);
		t->bad = NULL;
		if (!rule->kept(t)) {
			mt_fail(test, t, rule->says, nr);
			return;
		}
	}
}

static void mt_test_any_job(struct kunit *test)
{
	const struct mt_rule *rule = test->param_value;
	struct mt_trial *t = mt_trial_new(test);
	struct rnd_state rng;

	mt_seed_rng(test, &rng, rule - mt_rules);
	mt_any_jobs(test, t, rule, &rng, MT_JOBS);
}

/* As after boot, with as many helpers as the machine has CPUs to spare for, or none. */
static void mt_test_any_job_after_boot(struct kunit *test)
{
	const struct mt_rule *rule = test->param_value;
	struct mt_trial *t = mt_trial_new(test);
	struct rnd_state rng;

	t->backend = padata_mt_runtime_backend();
	mt_seed_rng(test, &rng, rule - mt_rules);
	mt_any_jobs(test, t, rule, &rng, MT_JOBS);
}

/*
 * Shapes that are easy to get wrong
 */
static const struct mt_shape {
	const char *name;
	unsigned long start, size, align, min_chunk;
	int max_threads;
} mt_shapes[] = {
	{ "one unit", 0, 1, 1, 1, INT_MAX },
	{ "one unit, the last there is", ULONG_MAX - 1, 1, 1, 1, INT_MAX },
	{ "the longest job", 0, ULONG_MAX, 1, 1, INT_MAX },
	{ "the longest job, align just as long", 0, ULONG_MAX, ULONG_MAX, 1, INT_MAX },
	{ "the longest job, min_chunk just as long", 0, ULONG_MAX, 1, ULONG_MAX, INT_MAX },
	{ "rounding up would wrap around", ULONG_MAX - 1000, 1000, 4096, 1, INT_MAX },
	{ "rounding up wraps to a boundary", ULONG_MAX - 1000, 1000, 256, 10, INT_MAX },
	{ "align greater than size", 100, 50, 1000, 1, INT_MAX },
	{ "align greater than size, with a boundary", 990, 50, 1000, 1, INT_MAX },
	{ "align not a power of two", 7, 100003, 1000, 10, INT_MAX },
	{ "align prime and greater than min_chunk", 5, 99991, 97, 11, INT_MAX },
	{ "min_chunk greater than size", 3, 100, 1, 101, INT_MAX },
	{ "min_chunk greater than half of size", 3, 100, 1, 51, INT_MAX },
	{ "min_chunk not a multiple of align", 1, 10000, 64, 100, INT_MAX },
	{ "one unit left over", 0, 1025, 1024, 1024, INT_MAX },
	{ "one unit short", 0, 2047, 1024, 1024, INT_MAX },
	{ "as many units as threads", 0, 4, 1, 1, 4 },
	{ "more threads than units", 0, 3, 1, 1, 100 },
	{ "align and min_chunk 0", 11, 1000, 0, 0, INT_MAX },
	{ "max_threads 0", 0, 1000, 1, 1, 0 },
	{ "max_threads negative", 0, 1000, 1, 1, -1 },
	{ "size 0", 10, 0, 4, 4, INT_MAX },
	{ "size 0 at the end of the range", ULONG_MAX, 0, 4, 4, INT_MAX },
};

static void mt_shape_desc(const struct mt_shape *shape, char *desc)
{
	strscpy(desc, shape->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(mt_shape, mt_shapes, mt_shape_desc);

static void mt_test_shape(struct kunit *test)
{
	const struct mt_shape *shape = test->param_value;
	struct mt_trial *t = mt_trial_new(test);

	t->job.start = shape->start;
	t->job.size = shape->size;
	t->job.align = shape->align;
	t->job.min_chunk = shape->min_chunk;
	t->job.max_threads = shape->max_threads;

	mt_run_and_judge(test, t);
	t->body = mt_nap;
	mt_run_and_judge(test, t);
}

/*
 * Jobs whose threads wait for each other
 */

/*
 * Stay inside until the expected number of threads are.  The last one then waits,
 * to give threads that should not come the time to do so.
 */
static void mt_meet(struct mt_trial *t, unsigned long start, unsigned long end)
{
	if (completion_done(&t->all_here))
		return;

	if (atomic_inc_return(&t->arrived) >= t->expected) {
		fsleep(2000);
		complete_all(&t->all_here);
	} else if (!wait_for_completion_timeout(&t->all_here, MT_PATIENCE)) {
		complete_all(&t->all_here);
	}
}

/* A job with enough chunks for all CPUs, and helpers on any CPU. */
static void mt_set_wide(struct mt_trial *t, int max_threads)
{
	memset(&t->job, 0, sizeof(t->job));
	t->job.size = 100 * (num_online_cpus() + 1);
	t->job.max_threads = max_threads;
	t->on_cpus = false;
	t->body = mt_meet;
}

static void mt_set_helper_cpus(struct mt_trial *t, const struct cpumask *cpus)
{
	mt_set_wide(t, INT_MAX);
	cpumask_copy(&t->cpus, cpus);
	t->on_cpus = true;
}

static bool mt_caller_ran(const struct mt_trial *t)
{
	unsigned int i;

	for (i = 0; i < mt_nr_chunks(t); i++) {
		if (t->chunks[i].task == t->caller)
			return true;
	}
	return false;
}

static void mt_expect_threads(struct kunit *test, struct mt_trial *t, int threads)
{
	t->expected = threads;
	mt_run_and_judge(test, t);
	KUNIT_EXPECT_EQ(test, t->ret, threads);
	KUNIT_EXPECT_EQ(test, mt_nr_threads(t), threads);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->most), threads);
	KUNIT_EXPECT_TRUE(test, mt_caller_ran(t));
}

/* 4: max_threads threads work, including the caller, and not one more. */
static void mt_test_max_threads_work(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);
	int threads;

	for (threads = 1; threads <= num_online_cpus() + 1; threads++) {
		mt_set_wide(t, threads);
		mt_expect_threads(test, t, threads);
	}
}

/* There is one helper per CPU and no more, however many threads are allowed. */
static void mt_test_one_helper_per_cpu(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);

	mt_set_wide(t, INT_MAX);
	mt_expect_threads(test, t, num_online_cpus() + 1);
}

static void mt_test_numa_aware_job_works(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);

	mt_set_wide(t, INT_MAX);
	t->job.numa_aware = true;
	mt_expect_threads(test, t, num_online_cpus() + 1);
}

/* 4: less than one thread means one, the caller. */
static void mt_test_max_threads_below_one_means_one(struct kunit *test)
{
	static const int below[] = { 0, -1, INT_MIN };
	struct mt_trial *t = mt_trial_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(below); i++) {
		mt_set_wide(t, below[i]);
		mt_expect_threads(test, t, 1);
	}
}

/* Each helper runs on the CPU that was chosen for it. */
static void mt_test_helper_runs_on_its_cpu(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		mt_set_helper_cpus(t, cpumask_of(cpu));
		mt_expect_threads(test, t, 2);
	}
}

/* 5: without CPUs for helpers the caller does the job alone. */
static void mt_test_no_cpus_caller_alone(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);

	mt_set_helper_cpus(t, cpu_none_mask);
	mt_expect_threads(test, t, 1);
}

static bool mt_share_core(const struct mt_trial *t)
{
	unsigned int i, j;

	for (i = 0; i < mt_nr_chunks(t); i++) {
		const struct cpumask *core = topology_sibling_cpumask(t->chunks[i].cpu);

		for (j = 0; j < i; j++) {
			if (t->chunks[j].task != t->chunks[i].task &&
			    cpumask_test_cpu(t->chunks[j].cpu, core))
				return true;
		}
	}
	return false;
}

static int mt_nr_cores(struct cpumask *scratch, int nid)
{
	int cores = 0;

	cpumask_and(scratch, cpu_online_mask, cpumask_of_node(nid));
	while (!cpumask_empty(scratch)) {
		cpumask_andnot(scratch, scratch,
			       topology_sibling_cpumask(cpumask_first(scratch)));
		cores++;
	}
	return cores;
}

/*
 * No core of a node gets a second thread while another has none.  The caller is bound to
 * a CPU, as it counts as being where it was when the job began.
 */
static void mt_test_one_thread_per_core_first(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);
	unsigned int cpu;

	if (cpumask_weight(topology_sibling_cpumask(cpumask_first(cpu_online_mask))) == 1)
		kunit_skip(test, "needs SMT siblings");

	for_each_online_cpu(cpu) {
		int nid = cpu_to_node(cpu), cores = mt_nr_cores(&t->cpus, nid);

		KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(cpu)), 0);
		mt_set_wide(t, cores);
		t->job.nid = nid;
		mt_expect_threads(test, t, cores);
		KUNIT_EXPECT_FALSE(test, mt_share_core(t));
	}
}

/* 6: the job waits for a helper that is inside, however long it takes. */
static void mt_meet_and_linger(struct mt_trial *t, unsigned long start,
			       unsigned long end)
{
	mt_meet(t, start, end);
	if (current != t->caller)
		msleep(20);
}

static void mt_test_waits_for_helpers_inside(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);

	mt_set_wide(t, 2);
	t->job.size = 2;
	t->body = mt_meet_and_linger;
	mt_expect_threads(test, t, 2);
	KUNIT_EXPECT_EQ(test, t->stragglers, 0);
}

/*
 * Jobs whose helper cannot start
 */

/* A thread that keeps work items off a CPU until it is stopped. */
struct mt_hog {
	struct task_struct	*task;
	struct completion	running;
	bool			gave_up;
	int			cpu;
};

/*
 * Gives up eventually, or a job that waits for its helper would never return.
 * cond_resched() lets a caller of higher priority run on the same CPU, on
 * kernels that do not preempt.
 */
static int mt_hog_fn(void *arg)
{
	struct mt_hog *hog = arg;
	ktime_t until = ktime_add_ms(ktime_get(), MT_HOG_MS);

	sched_set_fifo_low(current);
	complete(&hog->running);
	while (!kthread_should_stop() && !READ_ONCE(hog->gave_up)) {
		if (ktime_after(ktime_get(), until))
			WRITE_ONCE(hog->gave_up, true);
		cond_resched();
		cpu_relax();
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void mt_hog_stop(void *arg)
{
	struct mt_hog *hog = arg;

	if (hog->task)
		kthread_stop(hog->task);
	hog->task = NULL;
}

/*
 * Hog a CPU, and move the calling thread to another.  If there is none, that
 * thread runs despite the hog, thanks to its higher priority, but work items do
 * not.  A KUnit case's thread ends with the case: no need to restore anything.
 */
static struct mt_hog *mt_hog_start(struct kunit *test)
{
	struct mt_hog *hog = kunit_kzalloc(test, sizeof(*hog), GFP_KERNEL);
	unsigned int cpu = cpumask_last(cpu_online_mask);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, hog);
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	sched_set_fifo(current);

	hog->cpu = cpu;
	init_completion(&hog->running);
	task = kthread_run_on_cpu(mt_hog_fn, hog, cpu, "padata_mt_hog/%u");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	hog->task = task;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, mt_hog_stop, hog), 0);
	wait_for_completion(&hog->running);
	return hog;
}

static void mt_work_nothing(struct work_struct *work)
{
}

/* Return when all work items queued on @cpu so far have run. */
static void mt_flush_cpu(int cpu)
{
	struct workqueue_struct *wqs[] = { system_wq, system_highpri_wq };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wqs); i++) {
		struct work_struct work;

		INIT_WORK_ONSTACK(&work, mt_work_nothing);
		queue_work_on(cpu, wqs[i], &work);
		flush_work(&work);
		destroy_work_on_stack(&work);
	}
	msleep(20);
}

/*
 * Run the trial's job while its only helper cannot start.  For a part of each second the
 * scheduler takes the CPU from realtime tasks, and on a busy host the hog may give up
 * before the job is done: then try again.
 */
static struct mt_hog *mt_run_with_late_helper(struct kunit *test, struct mt_trial *t)
{
	struct mt_hog *hog;
	int i;

	for (i = 0; i < 10; i++) {
		hog = mt_hog_start(test);
		mt_set_helper_cpus(t, cpumask_of(hog->cpu));
		t->body = NULL;
		mt_run_and_judge(test, t);
		if (mt_nr_threads(t) == 1 && !READ_ONCE(hog->gave_up))
			break;
		mt_hog_stop(hog);
		msleep(1000);
	}

	return hog;
}

/* 5: a job does not need its helpers. */
static void mt_test_done_before_helper_starts(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);
	struct mt_hog *hog = mt_run_with_late_helper(test, t);

	KUNIT_EXPECT_FALSE_MSG(test, hog->gave_up,
			       "the job waited for a helper that could not start");
	KUNIT_EXPECT_EQ_MSG(test, t->ret, 2, "no helper was queued");
	KUNIT_EXPECT_EQ(test, mt_nr_threads(t), 1);
	KUNIT_EXPECT_TRUE(test, mt_caller_ran(t));
}

/* Called if anything still uses a job that has already returned. */
static void mt_thread_fn_trap(unsigned long start, unsigned long end, void *arg)
{
	struct mt_trial *t = arg;

	atomic_inc(&t->late);
}

static void mt_poison_job(struct mt_trial *t)
{
	memset(&t->job, MT_POISON, sizeof(t->job));
	t->job.thread_fn = mt_thread_fn_trap;
	t->job.fn_arg = t;
	t->job.start = 0;
}

/* @stack takes the place of the job on the stack, while a late helper gets to run. */
static noinline bool mt_stack_is_left_alone(struct mt_hog *hog)
{
	u8 stack[MT_STACK];

	memset(stack, MT_POISON, sizeof(stack));
	barrier_data(stack);
	mt_hog_stop(hog);
	mt_flush_cpu(hog->cpu);
	return !memchr_inv(stack, MT_POISON, sizeof(stack));
}

/* 6: a helper that gets to run after the return does not touch any of the job. */
static void mt_test_late_helper_touches_nothing(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);
	struct mt_hog *hog = mt_run_with_late_helper(test, t);
	struct padata_mt_job poisoned;
	int chunks;

	KUNIT_ASSERT_EQ_MSG(test, t->ret, 2, "no helper was queued");
	KUNIT_ASSERT_EQ_MSG(test, mt_nr_threads(t), 1, "the helper was not late");
	chunks = atomic_read(&t->nr_chunks);

	mt_poison_job(t);
	poisoned = t->job;
	KUNIT_EXPECT_TRUE(test, mt_stack_is_left_alone(hog));
	KUNIT_EXPECT_MEMEQ(test, &t->job, &poisoned, sizeof(poisoned));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->late), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->nr_chunks), chunks);
}

/* Free the CPU in the middle of the job, and wait for the helper to join. */
static void mt_let_helper_in(struct mt_trial *t, unsigned long start,
			     unsigned long end)
{
	if (current == t->caller)
		mt_hog_stop(t->body_arg);
	mt_meet(t, start, end);
}

/* A helper that starts in the middle of the job gets its share of the rest. */
static void mt_test_late_helper_joins(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);
	struct mt_hog *hog = mt_hog_start(test);

	mt_set_helper_cpus(t, cpumask_of(hog->cpu));
	t->body = mt_let_helper_in;
	t->body_arg = hog;
	mt_expect_threads(test, t, 2);
}

/*
 * Helpers after boot, on a CPU that other tasks want
 */

/* A thread that keeps a CPU busy for some time, whenever it is asked to. */
struct mt_visitor {
	struct task_struct	*task;
	struct completion	wanted;
	struct completion	over;		/* the helper went on, or gave up */
	int			visits;
	bool			delayed;	/* it was asleep, still on the runqueue */
	bool			went_on;	/* the helper got a chunk after that */
	bool			too_late;
};

static int mt_visitor_fn(void *arg)
{
	struct mt_visitor *v = arg;

	while (!kthread_should_stop()) {
		if (!wait_for_completion_timeout(&v->wanted, msecs_to_jiffies(10)))
			continue;
		mdelay(2);
		WRITE_ONCE(v->visits, v->visits + 1);
	}
	return 0;
}

static void mt_visitor_stop(void *arg)
{
	struct mt_visitor *v = arg;

	kthread_stop(v->task);
}

/* Wake the visitor.  Return whether it is asleep again, but still on the runqueue. */
static bool mt_visit(struct mt_visitor *v)
{
	ktime_t until = ktime_add_ms(ktime_get(), 50);
	int before = READ_ONCE(v->visits);

	complete(&v->wanted);
	while (ktime_before(ktime_get(), until)) {
		if (READ_ONCE(v->visits) != before && READ_ONCE(v->task->se.sched_delayed))
			return true;
		cond_resched();
	}
	return false;
}

/*
 * The helper returns from its chunk as soon as the visitor is delayed.  Only the caller
 * could start another helper, but the caller stays in its own chunk.
 */
static void mt_be_visited(struct mt_trial *t, unsigned long start, unsigned long end)
{
	struct mt_visitor *v = t->body_arg;
	int i;

	if (current == t->caller) {
		wait_for_completion_timeout(&v->over, MT_PATIENCE / 4);
		WRITE_ONCE(v->too_late, true);
		return;
	}

	if (READ_ONCE(v->too_late))
		return;
	if (v->delayed)
		v->went_on = true;
	for (i = 0; i < 20 && !v->delayed; i++)
		v->delayed = mt_visit(v);
	if (v->went_on || !v->delayed)
		complete(&v->over);
}

static struct mt_visitor *mt_visitor_start(struct kunit *test, int cpu)
{
	struct mt_visitor *v = kunit_kzalloc(test, sizeof(*v), GFP_KERNEL);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, v);
	init_completion(&v->wanted);
	init_completion(&v->over);
	task = kthread_run_on_cpu(mt_visitor_fn, v, cpu, "padata_mt_visitor/%u");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	v->task = task;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, mt_visitor_stop, v), 0);
	return v;
}

/*
 * A task that sleeps does not want the CPU, even while the scheduler delays taking it
 * off the runqueue.
 */
static void mt_test_sleepers_do_not_want_the_cpu(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);
	int cpu = cpumask_last(cpu_online_mask);
	struct mt_visitor *v;
	bool delayed = false;
	int i;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	if (!padata_mt_runtime_backend()->prepare)
		kunit_skip(test, "jobs after boot have no helpers");
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	v = mt_visitor_start(test, cpu);

	/*
	 * Retry: no helper starts if the CPU is not idle, and one leaves for any task
	 * that happens to want the CPU.  If sleepers counted, it would leave each time.
	 */
	for (i = 0; i < 10 && !v->went_on; i++) {
		mt_set_helper_cpus(t, cpumask_of(cpu));
		t->job.max_chunk = 1;
		t->backend = padata_mt_runtime_backend();
		t->body = mt_be_visited;
		t->body_arg = v;
		v->too_late = false;
		v->delayed = false;
		reinit_completion(&v->over);
		mt_run_and_judge(test, t);
		delayed |= v->delayed;
	}
	if (!delayed)
		kunit_skip(test, "no task was delayed");
	KUNIT_EXPECT_TRUE_MSG(test, v->went_on, "the helper left for a task that sleeps");
}

/*
 * Many jobs
 */

/* A chunk that starts a job, whose chunks start jobs, and so on. */
static void mt_start_inner(struct mt_trial *t, unsigned long start,
			   unsigned long end)
{
	struct mt_trial *inner = mt_trial_alloc(16);
	const char *broken;

	if (!inner) {
		WRITE_ONCE(t->inner_broken, "no memory for an inner job");
		return;
	}

	inner->job.start = start;
	inner->job.size = 8;
	inner->job.max_threads = t->job.max_threads;
	inner->depth = t->depth - 1;
	inner->body = inner->depth ? mt_start_inner : mt_nap;
	mt_run(inner);
	broken = mt_broken(inner) ?: inner->inner_broken;
	if (broken)
		WRITE_ONCE(t->inner_broken, broken);
	mt_trial_free(inner);
}

/* 7: jobs nest. */
static void mt_test_jobs_nest(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);

	t->job.size = 8;
	t->job.max_threads = INT_MAX;
	t->depth = 2;
	t->body = mt_start_inner;
	mt_run_and_judge(test, t);
	KUNIT_EXPECT_STREQ(test, t->inner_broken ?: "", "");
}

/* A helper that starts a job, as it would after boot. */
static void mt_start_alone(struct mt_trial *t, unsigned long start, unsigned long end)
{
	struct mt_trial *inner;

	mt_meet(t, start, end);
	if (current == t->caller)
		return;

	inner = mt_trial_alloc(128);
	if (!inner) {
		WRITE_ONCE(t->inner_broken, "no memory for an inner job");
		return;
	}
	inner->backend = padata_mt_runtime_backend();
	inner->depth = t->depth - 1;
	inner->job.size = 1000;
	inner->job.max_chunk = 10;
	inner->job.max_threads = INT_MAX;
	inner->body = mt_nap;
	mt_run(inner);
	if (mt_broken(inner))
		WRITE_ONCE(t->inner_broken, mt_broken(inner));
	if (inner->ret != 1)
		WRITE_ONCE(t->inner_broken, "a helper got helpers");
	mt_trial_free(inner);
}

/* 7: after boot, helpers get no helpers. */
static void mt_test_helper_gets_no_helpers(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);

	mt_set_wide(t, 2);
	t->job.size = 2;
	t->depth = 1;
	t->body = mt_start_alone;
	mt_expect_threads(test, t, 2);
	KUNIT_EXPECT_STREQ(test, t->inner_broken ?: "", "");
}

struct mt_runner {
	struct mt_trial		*t;
	struct rnd_state	rng;
	struct completion	done;
	const char		*broken;
	unsigned int		nr;
};

static int mt_runner_fn(void *arg)
{
	struct mt_runner *runner = arg;

	for (runner->nr = 0; runner->nr < MT_JOBS_PER_RUNNER; runner->nr++) {
		mt_make_random(runner->t, &runner->rng);
		mt_run(runner->t);
		runner->broken = mt_broken(runner->t);
		if (runner->broken)
			break;
	}
	kthread_complete_and_exit(&runner->done, 0);
}

static void mt_runner_start(struct kunit *test, struct mt_runner *runner, u32 nr)
{
	runner->t = mt_trial_new(test);
	mt_seed_rng(test, &runner->rng, nr);
	init_completion(&runner->done);
}

/* 7: jobs run at the same time. */
static void mt_test_jobs_at_the_same_time(struct kunit *test)
{
	struct task_struct *tasks[MT_RUNNERS];
	struct mt_runner *runners;
	unsigned int i;

	runners = kunit_kcalloc(test, MT_RUNNERS, sizeof(*runners), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, runners);
	for (i = 0; i < MT_RUNNERS; i++)
		mt_runner_start(test, &runners[i], i);

	for (i = 0; i < MT_RUNNERS; i++)
		tasks[i] = kthread_run(mt_runner_fn, &runners[i], "padata_mt_run/%u", i);
	for (i = 0; i < MT_RUNNERS; i++) {
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, tasks[i]);
		if (IS_ERR(tasks[i]))
			continue;
		wait_for_completion(&runners[i].done);
		if (runners[i].broken)
			mt_fail(test, runners[i].t, runners[i].broken, runners[i].nr);
	}
}

static void mt_sleep(struct mt_trial *t, unsigned long start, unsigned long end)
{
	fsleep(100 * (end - start));
}

/* 7: the thread function may sleep. */
static void mt_test_thread_fn_may_sleep(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);

	mt_set_wide(t, INT_MAX);
	t->job.size = 64;
	t->body = mt_sleep;
	mt_run_and_judge(test, t);
}

/* The chunks of a job whose two threads do not sleep until the job is done. */
#define MT_BUSY_MS		10
#define MT_BUSY_CHUNKS		6000

struct mt_busy_job {
	struct mt_trial		*t;
	struct completion	done;
	bool			stop;
};

static void mt_keep_busy(struct mt_trial *t, unsigned long start, unsigned long end)
{
	const struct mt_busy_job *busy = t->body_arg;
	ktime_t until = ktime_add_ms(ktime_get(), MT_BUSY_MS);

	while (!READ_ONCE(busy->stop) && ktime_before(ktime_get(), until))
		cpu_relax();
}

static int mt_busy_fn(void *arg)
{
	struct mt_busy_job *busy = arg;

	mt_run(busy->t);
	kthread_complete_and_exit(&busy->done, 0);
}

/*
 * Code patching waits for Tasks RCU: until no task can still be in old code.  For a
 * task that does not sleep, the end of a chunk has to be a quiescent state.
 */
static void mt_test_long_job_lets_tasks_rcu_go_on(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);
	struct mt_busy_job busy = { .t = t };
	struct task_struct *task;

	if (!IS_ENABLED(CONFIG_TASKS_RCU))
		kunit_skip(test, "needs CONFIG_TASKS_RCU");

	init_completion(&busy.done);
	mt_set_wide(t, 2);
	t->job.size = MT_BUSY_CHUNKS;
	t->job.max_chunk = 1;
	t->body = mt_keep_busy;
	t->body_arg = &busy;
	task = kthread_run(mt_busy_fn, &busy, "padata_mt_busy");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	while (!atomic_read(&t->nr_chunks))
		fsleep(1000);
	synchronize_rcu_tasks();
	KUNIT_EXPECT_FALSE(test, READ_ONCE(t->returned));
	WRITE_ONCE(busy.stop, true);
	wait_for_completion(&busy.done);
	KUNIT_EXPECT_EQ(test, t->ret, 2);
}

static void mt_mark(struct mt_trial *t, unsigned long start, unsigned long end)
{
	u8 *marks = t->body_arg;

	for (; start < end; start++)
		marks[start]++;
}

/* The caller sees all that the threads wrote, without taking a lock itself. */
static void mt_test_writes_are_seen(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);
	unsigned long size = 1 << 16;
	unsigned int round;
	u8 *marks;

	marks = kunit_kmalloc(test, size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, marks);
	for (round = 0; round < 100; round++) {
		memset(marks, 0, size);
		mt_set_wide(t, INT_MAX);
		t->job.size = size;
		t->job.min_chunk = 64;
		t->body = mt_mark;
		t->body_arg = marks;
		mt_run_and_judge(test, t);
		KUNIT_ASSERT_NULL(test, memchr_inv(marks, 1, size));
	}
}

/* A thread that works alone gets more than one chunk, too, if max_chunk is set. */
static void mt_test_max_chunk_bounds_one_thread(struct kunit *test)
{
	struct mt_trial *t = mt_trial_new(test);

	t->job.size = 1000;
	t->job.max_chunk = 64;
	mt_run_and_judge(test, t);
	KUNIT_EXPECT_EQ(test, mt_nr_chunks(t), DIV_ROUND_UP(1000, 64));
}

/*
 * Malformed and empty jobs, and parameters of 0
 */

/* 8: a malformed job is refused, and none of it runs. */
static void mt_test_malformed_job_refused(struct kunit *test)
{
	static const unsigned long wraps[][2] = {
		{ ULONG_MAX, 1 }, { 1, ULONG_MAX }, { ULONG_MAX, ULONG_MAX },
		{ ULONG_MAX / 2 + 1, ULONG_MAX / 2 + 1 },
	};
	struct mt_trial *t = mt_trial_new(test);
	struct padata_mt_job no_fn = { .size = 1, .max_threads = 4 };
	unsigned int i;

	KUNIT_EXPECT_EQ(test, padata_do_multithreaded(&no_fn), -EINVAL);

	for (i = 0; i < ARRAY_SIZE(wraps); i++) {
		mt_set_wide(t, INT_MAX);
		t->body = NULL;
		t->job.start = wraps[i][0];
		t->job.size = wraps[i][1];
		mt_run(t);
		KUNIT_EXPECT_EQ(test, t->ret, -EINVAL);
		KUNIT_EXPECT_EQ(test, atomic_read(&t->nr_chunks), 0);
	}
}

/* 8: a job of size 0 is done before it begins. */
static void mt_test_size_zero_succeeds(struct kunit *test)
{
	static const unsigned long starts[] = { 0, 1, ULONG_MAX };
	struct mt_trial *t = mt_trial_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		mt_set_wide(t, INT_MAX);
		t->job.start = starts[i];
		t->job.size = 0;
		mt_run_and_judge(test, t);
		KUNIT_EXPECT_EQ(test, atomic_read(&t->nr_chunks), 0);
	}
}

/* 8: align and min_chunk of 0 mean 1: the chunks are the same. */
static void mt_test_zero_means_one(struct kunit *test)
{
	struct mt_trial *zero = mt_trial_new(test);
	struct mt_trial *one = mt_trial_new(test);
	unsigned int i;

	mt_set_wide(zero, INT_MAX);
	mt_set_wide(one, INT_MAX);
	zero->body = NULL;
	one->body = NULL;
	one->job.align = 1;
	one->job.min_chunk = 1;
	mt_run_and_judge(test, zero);
	mt_run_and_judge(test, one);

	KUNIT_ASSERT_EQ(test, mt_nr_chunks(zero), mt_nr_chunks(one));
	for (i = 0; i < mt_nr_chunks(one); i++) {
		KUNIT_EXPECT_EQ(test, zero->chunks[i].start, one->chunks[i].start);
		KUNIT_EXPECT_EQ(test, zero->chunks[i].end, one->chunks[i].end);
	}
}

static int mt_suite_init(struct kunit_suite *suite)
{
	if (!mt_seed)
		mt_seed = get_random_long();
	kunit_info(suite, "padata_mt_kunit.seed=0x%lx repeats these random jobs\n",
		   mt_seed);
	return 0;
}

static struct kunit_case mt_cases[] = {
	KUNIT_CASE_PARAM(mt_test_any_job, mt_rule_gen_params),
	KUNIT_CASE_PARAM(mt_test_any_job_after_boot, mt_rule_gen_params),
	KUNIT_CASE_PARAM(mt_test_shape, mt_shape_gen_params),
	KUNIT_CASE(mt_test_max_threads_work),
	KUNIT_CASE(mt_test_one_helper_per_cpu),
	KUNIT_CASE(mt_test_numa_aware_job_works),
	KUNIT_CASE(mt_test_max_threads_below_one_means_one),
	KUNIT_CASE(mt_test_helper_runs_on_its_cpu),
	KUNIT_CASE(mt_test_one_thread_per_core_first),
	KUNIT_CASE(mt_test_no_cpus_caller_alone),
	KUNIT_CASE(mt_test_done_before_helper_starts),
	KUNIT_CASE(mt_test_waits_for_helpers_inside),
	KUNIT_CASE(mt_test_late_helper_touches_nothing),
	KUNIT_CASE(mt_test_late_helper_joins),
	KUNIT_CASE(mt_test_sleepers_do_not_want_the_cpu),
	KUNIT_CASE(mt_test_thread_fn_may_sleep),
	KUNIT_CASE(mt_test_long_job_lets_tasks_rcu_go_on),
	KUNIT_CASE(mt_test_jobs_at_the_same_time),
	KUNIT_CASE(mt_test_jobs_nest),
	KUNIT_CASE(mt_test_helper_gets_no_helpers),
	KUNIT_CASE(mt_test_writes_are_seen),
	KUNIT_CASE(mt_test_max_chunk_bounds_one_thread),
	KUNIT_CASE(mt_test_malformed_job_refused),
	KUNIT_CASE(mt_test_size_zero_succeeds),
	KUNIT_CASE(mt_test_zero_means_one),
	{}
};

static struct kunit_suite mt_suite = {
	.name = "padata_mt",
	.suite_init = mt_suite_init,
	.test_cases = mt_cases,
};

kunit_test_suite(mt_suite);

MODULE_DESCRIPTION("KUnit suite of multithreaded padata jobs");
MODULE_LICENSE("GPL");
