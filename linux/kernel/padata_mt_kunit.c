// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite for multithreaded padata jobs: what padata_do_multithreaded()
 * guarantees, as an executable specification.
 *
 * Every job of the suite is a trial: its thread function records each chunk it
 * is given, and after the job the record is checked against mt_rules[], the
 * guarantees that hold for every job.  Cases differ in the jobs they run:
 * thousands of random ones, shapes that are easy to get wrong, and jobs whose
 * threads wait for each other.  What takes more, such as helpers that start late
 * or never, tools/testing/padata/ has.
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
#include <linux/module.h>
#include <linux/nodemask.h>
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
#include <linux/workqueue.h>

#include "padata_mt.h"
#include "test_padata_mt_cpus.h"

/* Random jobs per rule. */
#define MT_JOBS			1000
/* How long to wait for something that a working engine does right away. */
#define MT_PATIENCE		msecs_to_jiffies(20000)

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

	/* For mt_start_alone(). */
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
static struct lock_class_key mt_keys[2][2];

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

static bool mt_caller_ran(const struct mt_trial *t)
{
	unsigned int i;

	for (i = 0; i < mt_nr_chunks(t); i++) {
		if (t->chunks[i].task == t->caller)
			return true;
	}
	return false;
}

/*
 * Rules of each chunk.  Chunks are sorted by their place in the range by now, which for
 * guided claims is the order in which the chunks were claimed.
 */
static bool mt_follows(const struct mt_trial *t, const struct mt_chunk *chunk)
{
	unsigned long pos = chunk == t->chunks ? t->asked.start : chunk[-1].end;

	return chunk->start == pos && chunk->end > pos && chunk->end <= mt_end(t);
}

static bool mt_ends_on_align(const struct mt_trial *t, const struct mt_chunk *chunk)
{
	return (chunk->start == t->asked.start || !(chunk->start % mt_align(t))) &&
	       (chunk->end == mt_end(t) || !(chunk->end % mt_align(t)));
}

static bool mt_fills_min_chunk(const struct mt_trial *t, const struct mt_chunk *chunk)
{
	return chunk->end - chunk->start >= min(mt_min_chunk(t), t->asked.size);
}

/* A chunk is longer than max_chunk only by what align and min_chunk may add. */
static bool mt_keeps_max_chunk(const struct mt_trial *t, const struct mt_chunk *chunk)
{
	unsigned long most = max(mt_max_chunk(t), mt_min_chunk(t));

	most = size_add(most, mt_align(t) - 1);
	if (chunk->end == mt_end(t))
		most = size_add(most, mt_min_chunk(t) - 1);
	return chunk->end - chunk->start <= most;
}

/* For padata_mt_boot_backend only: after boot, the scheduler may move a helper. */
static bool mt_stays_on_cpus(const struct mt_trial *t, const struct mt_chunk *chunk)
{
	return !t->on_cpus || t->backend || chunk->task == t->caller ||
	       cpumask_test_cpu(chunk->cpu, &t->cpus);
}

/*
 * A claim takes half of an equal share of what remains, at most max_chunk and at
 * least min_chunk, rounded up to align.  The last one includes any remainder of less
 * than min_chunk.  For a thread that works alone, the share is all that remains.
 *
 * Checked for padata_mt_boot_backend only: it places all helpers, so knows their number.
 */
static bool mt_is_guided(const struct mt_trial *t, const struct mt_chunk *chunk)
{
	unsigned int shares = t->ret > 1 ? 2 * t->ret : 1;
	unsigned long share = min((mt_end(t) - chunk->start) / shares, mt_max_chunk(t));
	unsigned long most = size_add(max(share, mt_min_chunk(t)), mt_align(t));

	if (chunk->end == mt_end(t))
		most = size_add(most, mt_min_chunk(t));
	return t->backend ||
	       (chunk->end - chunk->start >= share && chunk->end - chunk->start <= most);
}

/* Rules of the whole job. */
static bool mt_succeeds(const struct mt_trial *t)
{
	return t->ret >= 0;
}

static bool mt_is_covered(const struct mt_trial *t)
{
	unsigned int nr = mt_nr_chunks(t);

	return atomic_read(&t->nr_chunks) <= t->capacity &&
	       (nr ? t->chunks[nr - 1].end : t->asked.start) == mt_end(t);
}

static bool mt_bounds_threads(const struct mt_trial *t)
{
	return atomic_read(&t->most) <= mt_max_threads(t) &&
	       mt_nr_threads(t) <= mt_max_threads(t);
}

/* Helpers may take all chunks, but the caller still counts as one of the threads. */
static bool mt_counts_caller(const struct mt_trial *t)
{
	return mt_caller_ran(t) || mt_nr_threads(t) < mt_max_threads(t);
}

static bool mt_is_over(const struct mt_trial *t)
{
	return !t->stragglers && !atomic_read(&t->late);
}

static bool mt_counts_threads(const struct mt_trial *t)
{
	if (!t->asked.size)
		return t->ret == 0;
	return t->ret >= mt_nr_threads(t) && t->ret <= mt_max_threads(t);
}

/* Names begin with the number of the guarantee they belong to. */
static const struct mt_rule {
	const char *says;
	bool (*job_keeps)(const struct mt_trial *t);
	bool (*chunk_keeps)(const struct mt_trial *t, const struct mt_chunk *chunk);
} mt_rules[] = {
	{ "1: a job that is well formed succeeds", mt_succeeds },
	{ "1: every unit is handed out exactly once", mt_is_covered, mt_follows },
	{ "2: chunks end on align or where the job ends", NULL, mt_ends_on_align },
	{ "3: no chunk is shorter than min_chunk, unless the job is", NULL, mt_fills_min_chunk },
	{ "4: at most max_threads threads are inside at once", mt_bounds_threads },
	{ "4: the caller is one of max_threads", mt_counts_caller },
	{ "6: no thread is inside once the call has returned", mt_is_over },
	{ "threads are counted right", mt_counts_threads },
	{ "helpers run on the CPUs that the back end chooses", NULL, mt_stays_on_cpus },
	{ "no chunk is longer than max_chunk, unless align or min_chunk is", NULL,
	  mt_keeps_max_chunk },
	{ "chunks shrink with what remains, down to min_chunk", NULL, mt_is_guided },
};

static bool mt_keeps(struct mt_trial *t, const struct mt_rule *rule)
{
	unsigned int i;

	for (i = 0; rule->chunk_keeps && i < mt_nr_chunks(t); i++) {
		t->bad = &t->chunks[i];
		if (!rule->chunk_keeps(t, t->bad))
			return false;
	}
	t->bad = NULL;
	return !rule->job_keeps || rule->job_keeps(t);
}

/* The first rule that @t breaks, or NULL. */
static const char *mt_broken(struct mt_trial *t)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mt_rules); i++) {
		if (!mt_keeps(t, &mt_rules[i]))
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

/* Each case has its own random numbers, so that they repeat when it is run alone. */
static void mt_any_jobs(struct kunit *test, const struct padata_mt_backend *backend)
{
	const struct mt_rule *rule = test->param_value;
	u32 name = full_name_hash(NULL, test->name, strlen(test->name));
	struct mt_trial *t = mt_trial_new(test);
	struct rnd_state rng;
	unsigned int nr;

	t->backend = backend;
	prandom_seed_state(&rng, mt_seed + name + (rule - mt_rules));
	for (nr = 0; nr < MT_JOBS; nr++) {
		mt_make_random(t, &rng);
		mt_run(t);
		if (!mt_keeps(t, rule)) {
			mt_fail(test, t, rule->says, nr);
			return;
		}
	}
}

static void mt_test_any_job(struct kunit *test)
{
	mt_any_jobs(test, NULL);
}

/* As after boot, with as many helpers as the machine has CPUs to spare for, or none. */
static void mt_test_any_job_after_boot(struct kunit *test)
{
	mt_any_jobs(test, padata_mt_runtime_backend());
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
	int numa_aware;

	for (numa_aware = 0; numa_aware <= 1; numa_aware++) {
		mt_set_wide(t, INT_MAX);
		t->job.numa_aware = numa_aware;
		mt_expect_threads(test, t, num_online_cpus() + 1);
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

/* 7: jobs nest.  After boot, helpers get no helpers. */
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
	KUNIT_CASE(mt_test_helper_runs_on_its_cpu),
	KUNIT_CASE(mt_test_no_cpus_caller_alone),
	KUNIT_CASE(mt_test_long_job_lets_tasks_rcu_go_on),
	KUNIT_CASE(mt_test_helper_gets_no_helpers),
	KUNIT_CASE(mt_test_malformed_job_refused),
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
