// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs multithreaded padata jobs on request, and checks how they ran.
 * For the selftests in tools/testing/selftests/padata, which run jobs under
 * conditions that a unit test cannot create: load, CPU hotplug, tracing.
 *
 * /sys/kernel/debug/test_padata_mt/run takes the description of a job, as words
 * of the form key=value; the write returns when the job is done:
 *
 *   size= min_chunk= max_chunk= max_threads= nid= numa_aware=
 *		as in struct padata_mt_job; numbers as in C.  size= is required,
 *		max_threads= is INT_MAX by default, and all others are 0.
 *   cpus=LIST	helpers are started on no other CPUs, as in 0-3,8 (default: on any)
 *   fn=WHAT	what the thread function does with a chunk, in addition to the checks:
 *		touch	nothing (default)
 *		sleep	sleeps for us= microseconds
 *		busy	keeps the CPU busy for us= microseconds
 *		work	uses us= microseconds of CPU time, to within a tick
 *		nap	sleeps again and again, for a millisecond each, for us= microseconds
 *		nested	runs a job of TEST_INNER_SIZE units of its own
 *		lock	takes a lock, test_fn_lock
 *		alloc	allocates memory, and frees it
 *		race	for each unit, adds to a variable shared by all threads, without
 *			a lock: for KCSAN to report
 *   us=N	microseconds, for fn=sleep, fn=busy, fn=work, and fn=nap (default 100)
 *   us_helper=N	the same for helpers (default: as us=)
 *   hold=1	the caller holds test_fn_lock.  Not with fn=lock, which would hang.
 *   reclaim=1	the caller holds what lockdep takes for a lock of memory reclaim.  Not
 *		with a thread function that allocates memory.
 *   scope=SCOPE	the caller is in this scope: nofs, noio, or memalloc (for PF_MEMALLOC)
 *   rules=WHICH
 *		boot	helpers as at boot, one on every CPU (default)
 *		now	helpers as padata_do_multithreaded() uses them after boot
 *   jobs=N	run as many of these jobs at the same time (default 1)
 *   context=WHERE
 *		task	in the writing task, as jobs run after boot (default);
 *			jobs after the first are started from kernel threads
 *		kthread	in a new kernel thread that is bound to cpus=, like the
 *			threads that initialise struct pages at boot
 *
 * A description that makes no sense is refused with -EINVAL.
 *
 * What a test waits for it can see, and need not guess how long that takes:
 * /sys/kernel/debug/test_padata_mt/progress has two numbers: the chunks that callers have
 * begun since the module was loaded, and those that helpers have begun.  From a write to
 * /sys/kernel/debug/test_padata_mt/release on, no chunk of the last description keeps a CPU
 * busy or sleeps, but for the rest of its fn=sleep.
 *
 * /sys/kernel/debug/test_padata_mt/result has the jobs of the last description,
 * one per line, as words of the form key=value:
 *
 *   status=	ok, or failed if padata broke a promise
 *   why=	which promise, in words joined by dashes, or none
 *   ret=	what padata_do_multithreaded() returned
 *   chunks= units=	calls of the thread function, and units handed out to them
 *   helped=	units handed out to helpers
 */

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/numa.h>
#include <linux/padata_mt.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "padata_mt.h"
#include "test_padata_mt_cpus.h"

/* Bitmaps have a bit for every unit, so that no check relies on another one. */
#define TEST_MAX_SIZE		((unsigned long)SZ_16M)
#define TEST_MAX_JOBS		64UL
#define TEST_MAX_DESCRIPTION	512
#define TEST_INNER_SIZE		64UL

enum test_fn {
	TEST_TOUCH, TEST_SLEEP, TEST_BUSY, TEST_WORK, TEST_NAP, TEST_NESTED, TEST_LOCK, TEST_ALLOC,
	TEST_RACE,
};

static const char * const test_fns[] = {
	"touch", "sleep", "busy", "work", "nap", "nested", "lock", "alloc", "race",
};

enum test_rules { TEST_BOOT, TEST_NOW };
static const char * const test_rules[] = { "boot", "now" };

enum test_context { TEST_TASK, TEST_KTHREAD };
static const char * const test_contexts[] = { "task", "kthread" };

static const char * const test_scopes[] = { "none", "nofs", "noio", "memalloc" };
static const unsigned int test_scope_flags[] = {
	0, PF_MEMALLOC_NOFS, PF_MEMALLOC_NOIO, PF_MEMALLOC,
};

/* What was asked for. */
struct test_desc {
	struct padata_mt_job	job;
	bool			on_cpus;	/* helpers run on @cpus only */
	struct cpumask		cpus;
	unsigned long		max_threads;
	unsigned long		nid;
	unsigned long		numa_aware;
	unsigned long		us;
	unsigned long		us_helper;
	unsigned long		hold;
	unsigned long		reclaim;
	unsigned long		jobs;
	int			scope;
	int			rules;
	int			fn;
	int			context;
};

/*
 * struct test_job - one job and its outcome
 *
 * Set up by test_job_init(), written by the job's threads while it runs, and
 * kept until the next description, for reads of the result file.
 */
struct test_job {
	const struct test_desc	*desc;
	struct padata_mt_job	job;
	struct test_padata_mt_cpus some;
	struct task_struct	*caller;
	unsigned long		*seen;		/* a bit for every unit */
	atomic_long_t		helped;
	const char		*why;		/* the first promise broken */
	atomic_t		chunks;
	atomic_t		inside;
	atomic_t		most;
	bool			returned;
	int			ret;
	struct completion	*go;
	struct completion	done;
};

/* All jobs of a description. */
struct test_set {
	struct test_desc	desc;
	struct completion	go;
	unsigned int		nr;
	struct test_job		jobs[] __counted_by(nr);
};

static DEFINE_MUTEX(test_lock);			/* one description at a time */
static DEFINE_MUTEX(test_fn_lock);		/* for thread functions to take */
/* Lockdep classes: what the thread function may do depends on max_chunk. */
static struct lock_class_key test_key, test_bounded_key;
static struct test_set *test_last;		/* under test_lock */
static struct dentry *test_dir;

static atomic_long_t test_nr_own;		/* chunks that callers have begun */
static atomic_long_t test_nr_helped;		/* chunks that helpers have begun */
static bool test_released;

static void test_broke(struct test_job *tj, const char *why)
{
	cmpxchg(&tj->why, NULL, why);
}

/*
 * Work done by the thread function
 */
static void test_inner_fn(unsigned long start, unsigned long end, void *arg)
{
	atomic_long_t *units = arg;

	atomic_long_add(end - start, units);
}

static const struct padata_mt_backend *test_backend(const struct test_job *tj)
{
	return tj->desc->rules == TEST_BOOT ? &padata_mt_boot_backend : padata_mt_runtime_backend();
}

static void test_nest(struct test_job *tj)
{
	static struct lock_class_key test_inner_key;
	atomic_long_t units = ATOMIC_LONG_INIT(0);
	struct padata_mt_job inner = tj->desc->job;

	inner.thread_fn = test_inner_fn;
	inner.fn_arg = &units;
	inner.size = TEST_INNER_SIZE;
	inner.min_chunk = 1;
	if (padata_mt_do_job(&inner, &test_inner_key, test_backend(tj)) < 0)
		test_broke(tj, "inner-job-refused");
	else if (atomic_long_read(&units) != TEST_INNER_SIZE)
		test_broke(tj, "inner-job-incomplete");
}

/* Like long loops in the kernel, this lets other tasks run if it is not preempted. */
static void test_stay_busy(unsigned long us)
{
	ktime_t until = ktime_add_us(ktime_get(), us);

	while (!READ_ONCE(test_released) && ktime_before(ktime_get(), until)) {
		cpu_relax();
		cond_resched();
	}
}

static void test_nap(unsigned long us)
{
	ktime_t until = ktime_add_us(ktime_get(), us);

	while (!READ_ONCE(test_released) && ktime_before(ktime_get(), until))
		fsleep(1000);
}

/* If other tasks get the CPU meanwhile, this takes that much longer. */
static void test_use_cpu_time(unsigned long us)
{
	u64 until = READ_ONCE(current->se.sum_exec_runtime) + us * NSEC_PER_USEC;

	while (!READ_ONCE(test_released) &&
	       READ_ONCE(current->se.sum_exec_runtime) < until) {
		cpu_relax();
		cond_resched();
	}
}

static void test_take_lock(void)
{
	mutex_lock(&test_fn_lock);
	mutex_unlock(&test_fn_lock);
}

static void test_race(unsigned long nr)
{
	static unsigned long racy;

	for (; nr; nr--) {
		racy++;
		barrier();
	}
}

static void test_work(struct test_job *tj, unsigned long start, unsigned long end)
{
	unsigned long us = current == tj->caller ? tj->desc->us : tj->desc->us_helper;

	switch (tj->desc->fn) {
	case TEST_SLEEP:
		if (!READ_ONCE(test_released))
			fsleep(us);
		break;
	case TEST_BUSY:
		test_stay_busy(us);
		break;
	case TEST_WORK:
		test_use_cpu_time(us);
		break;
	case TEST_NAP:
		test_nap(us);
		break;
	case TEST_NESTED:
		test_nest(tj);
		break;
	case TEST_LOCK:
		test_take_lock();
		break;
	case TEST_ALLOC:
		kfree(kmalloc(SZ_64, GFP_KERNEL));
		break;
	case TEST_RACE:
		test_race(end - start);
		break;
	}
}

static void test_check_chunk(struct test_job *tj, unsigned long start,
			     unsigned long end)
{
	const struct padata_mt_job *asked = &tj->desc->job;

	if (end > asked->size || start >= end) {
		test_broke(tj, "chunk-outside-job");
		return;
	}

	if (end - start < min(asked->min_chunk, asked->size))
		test_broke(tj, "chunk-shorter-than-min-chunk");
	for (; start < end; start++) {
		if (test_and_set_bit(start, tj->seen))
			test_broke(tj, "unit-handed-out-twice");
	}
}

static void test_note_most(struct test_job *tj, int inside)
{
	int most = atomic_read(&tj->most);

	while (most < inside && !atomic_try_cmpxchg(&tj->most, &most, inside))
		;
}

static void test_thread_fn(unsigned long start, unsigned long end, void *arg)
{
	struct test_job *tj = arg;

	test_note_most(tj, atomic_inc_return(&tj->inside));
	atomic_long_inc(current == tj->caller ? &test_nr_own : &test_nr_helped);
	atomic_inc(&tj->chunks);
	test_check_chunk(tj, start, end);
	if (current != tj->caller)
		atomic_long_add(end - start, &tj->helped);
	test_work(tj, start, end);
	if (READ_ONCE(tj->returned))
		test_broke(tj, "thread-inside-after-return");
	atomic_dec(&tj->inside);
}

/*
 * Running jobs
 */
static void test_check_job(struct test_job *tj)
{
	int max_threads = max(tj->desc->job.max_threads, 1);

	if (tj->ret < 0)
		test_broke(tj, "job-refused");
	else if (!bitmap_full(tj->seen, tj->desc->job.size))
		test_broke(tj, "unit-not-handed-out");
	if (atomic_read(&tj->inside))
		test_broke(tj, "thread-inside-after-return");
	if (atomic_read(&tj->most) > max_threads)
		test_broke(tj, "more-than-max-threads-inside");
	if (tj->ret > max_threads || (tj->ret < 1 && tj->desc->job.size))
		test_broke(tj, "threads-counted-wrong");
}

static int test_do_scoped(struct test_job *tj)
{
	struct lock_class_key *key = tj->job.max_chunk ? &test_bounded_key : &test_key;
	const struct padata_mt_backend *backend = test_backend(tj);
	bool reclaim = tj->desc->reclaim;
	unsigned int flags;
	int ret;

	flags = memalloc_flags_save(test_scope_flags[tj->desc->scope]);
	if (reclaim)
		fs_reclaim_acquire(GFP_KERNEL);
	if (tj->desc->on_cpus)
		backend = test_padata_mt_on_cpus(&tj->some, backend, &tj->desc->cpus);
	if (tj->desc->rules == TEST_NOW && !tj->desc->on_cpus)
		ret = padata_do_multithreaded_key(&tj->job, key);
	else
		ret = padata_mt_do_job(&tj->job, key, backend);
	if (reclaim)
		fs_reclaim_release(GFP_KERNEL);
	memalloc_flags_restore(flags);
	return ret;
}

static void test_run_job(struct test_job *tj)
{
	tj->why = NULL;
	tj->caller = current;
	tj->job = tj->desc->job;
	tj->job.fn_arg = tj;

	if (tj->desc->hold)
		mutex_lock(&test_fn_lock);
	tj->ret = test_do_scoped(tj);
	if (tj->desc->hold)
		mutex_unlock(&test_fn_lock);

	WRITE_ONCE(tj->returned, true);
	test_check_job(tj);
}

static int test_runner(void *arg)
{
	struct test_job *tj = arg;

	wait_for_completion(tj->go);
	/* May fail if CPUs went offline.  The job has to cope. */
	if (tj->desc->on_cpus && tj->desc->context == TEST_KTHREAD)
		set_cpus_allowed_ptr(current, &tj->desc->cpus);
	test_run_job(tj);
	kthread_complete_and_exit(&tj->done, 0);
}

static int test_job_init(struct test_job *tj, struct test_set *set)
{
	tj->desc = &set->desc;
	tj->why = "not-started";
	tj->go = &set->go;
	init_completion(&tj->done);
	tj->seen = kvcalloc(BITS_TO_LONGS(tj->desc->job.size) + 1, sizeof(long), GFP_KERNEL);
	return tj->seen ? 0 : -ENOMEM;
}

static void test_set_free(struct test_set *set)
{
	unsigned int i;

	for (i = 0; set && i < set->nr; i++)
		kvfree(set->jobs[i].seen);
	kvfree(set);
}

static struct test_set *test_set_alloc(const struct test_desc *desc)
{
	struct test_set *set;
	unsigned int i;
	int ret = 0;

	set = kvzalloc(struct_size(set, jobs, desc->jobs), GFP_KERNEL);
	if (!set)
		return ERR_PTR(-ENOMEM);

	set->nr = desc->jobs;
	set->desc = *desc;
	init_completion(&set->go);
	for (i = 0; i < set->nr && !ret; i++)
		ret = test_job_init(&set->jobs[i], set);
	if (!ret)
		return set;

	test_set_free(set);
	return ERR_PTR(ret);
}

/*
 * All jobs start at once.  If a thread cannot be created, its job and those
 * after it are not run, and the write fails.
 */
static int test_set_run(struct test_set *set)
{
	unsigned int first = set->desc.context == TEST_TASK ? 1 : 0;
	unsigned int i, started;
	int ret = 0;

	for (started = first; started < set->nr; started++) {
		struct task_struct *task;

		task = kthread_run(test_runner, &set->jobs[started],
				   "test_padata/%u", started);
		if (IS_ERR(task)) {
			ret = PTR_ERR(task);
			break;
		}
	}

	complete_all(&set->go);
	if (first)
		test_run_job(&set->jobs[0]);
	for (i = first; i < started; i++)
		wait_for_completion(&set->jobs[i].done);
	return ret;
}

/*
 * Descriptions
 */
static int test_parse_number(struct test_desc *desc, const char *key, const char *value)
{
	const struct { const char *key; unsigned long *to; } numbers[] = {
		{ "size", &desc->job.size },
		{ "min_chunk", &desc->job.min_chunk },
		{ "max_chunk", &desc->job.max_chunk },
		{ "max_threads", &desc->max_threads },
		{ "nid", &desc->nid },
		{ "numa_aware", &desc->numa_aware },
		{ "us", &desc->us },
		{ "us_helper", &desc->us_helper },
		{ "hold", &desc->hold },
		{ "reclaim", &desc->reclaim },
		{ "jobs", &desc->jobs },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (!strcmp(key, numbers[i].key))
			return kstrtoul(value, 0, numbers[i].to);
	}
	return -EINVAL;
}

static int test_parse_word(struct test_desc *desc, const char *key, const char *value)
{
	const struct { const char *key; int *to; const char * const *names; size_t nr; } words[] = {
		{ "scope", &desc->scope, test_scopes, ARRAY_SIZE(test_scopes) },
		{ "rules", &desc->rules, test_rules, ARRAY_SIZE(test_rules) },
		{ "fn", &desc->fn, test_fns, ARRAY_SIZE(test_fns) },
		{ "context", &desc->context, test_contexts, ARRAY_SIZE(test_contexts) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(key, words[i].key)) {
			*words[i].to = match_string(words[i].names, words[i].nr, value);
			return min(*words[i].to, 0);
		}
	}
	if (!strcmp(key, "cpus")) {
		desc->on_cpus = true;
		return cpulist_parse(value, &desc->cpus);
	}
	return test_parse_number(desc, key, value);
}

static int test_describe(struct test_desc *desc, char *words)
{
	char *word, *value;

	memset(desc, 0, sizeof(*desc));
	desc->job.thread_fn = test_thread_fn;
	desc->job.size = ULONG_MAX;
	desc->max_threads = INT_MAX;
	desc->us = 100;
	desc->jobs = 1;
	while ((word = strsep(&words, " \t\n"))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		if (!value || test_parse_word(desc, word, value))
			return -EINVAL;
	}
	if (desc->job.size > TEST_MAX_SIZE || desc->jobs > TEST_MAX_JOBS || !desc->jobs ||
	    !numa_valid_node(desc->nid))
		return -EINVAL;

	desc->job.max_threads = min_t(unsigned long, desc->max_threads, INT_MAX);
	desc->job.nid = desc->nid;
	desc->job.numa_aware = desc->numa_aware;
	desc->us_helper = desc->us_helper ?: desc->us;
	return 0;
}

/*
 * Files
 */
/* The set takes the place of the last one. */
static int test_run_words(char *words)
{
	struct test_desc *desc __free(kfree) = kmalloc(sizeof(*desc), GFP_KERNEL);
	struct test_set *set;
	int ret;

	if (!desc)
		return -ENOMEM;
	ret = test_describe(desc, words);
	if (ret)
		return ret;
	set = test_set_alloc(desc);
	if (IS_ERR(set))
		return PTR_ERR(set);

	WRITE_ONCE(test_released, false);
	ret = test_set_run(set);
	test_set_free(test_last);
	test_last = set;
	return ret;
}

static ssize_t test_run_write(struct file *file, const char __user *buf,
			      size_t count, loff_t *ppos)
{
	char *words;
	int ret;

	if (count > TEST_MAX_DESCRIPTION)
		return -EINVAL;
	words = memdup_user_nul(buf, count);
	if (IS_ERR(words))
		return PTR_ERR(words);

	ret = mutex_lock_interruptible(&test_lock);
	if (!ret) {
		ret = test_run_words(words);
		mutex_unlock(&test_lock);
	}
	kfree(words);
	return ret ?: count;
}

static const struct file_operations test_run_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= test_run_write,
	.llseek	= noop_llseek,
};

static ssize_t test_release_write(struct file *file, const char __user *buf,
				  size_t count, loff_t *ppos)
{
	WRITE_ONCE(test_released, true);
	return count;
}

static const struct file_operations test_release_fops = {
	.owner	= THIS_MODULE,
	.write	= test_release_write,
	.llseek	= noop_llseek,
};

static int progress_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%ld %ld\n", atomic_long_read(&test_nr_own),
		   atomic_long_read(&test_nr_helped));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(progress);

static void test_show_job(struct seq_file *m, const struct test_job *tj)
{
	seq_printf(m, "status=%s why=%s ret=%d chunks=%d units=%u helped=%ld\n",
		   tj->why ? "failed" : "ok", tj->why ?: "none", tj->ret,
		   atomic_read(&tj->chunks), bitmap_weight(tj->seen, tj->desc->job.size),
		   atomic_long_read(&tj->helped));
}

static int result_show(struct seq_file *m, void *unused)
{
	unsigned int i;
	int ret;

	ret = mutex_lock_interruptible(&test_lock);
	if (ret)
		return ret;
	for (i = 0; test_last && i < test_last->nr; i++)
		test_show_job(m, &test_last->jobs[i]);
	mutex_unlock(&test_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int __init test_padata_mt_init(void)
{
	test_dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("run", 0200, test_dir, NULL, &test_run_fops);
	debugfs_create_file("result", 0400, test_dir, NULL, &result_fops);
	debugfs_create_file("progress", 0400, test_dir, NULL, &progress_fops);
	debugfs_create_file("release", 0200, test_dir, NULL, &test_release_fops);
	return PTR_ERR_OR_ZERO(test_dir);
}
module_init(test_padata_mt_init);

/* No job is running by now: open files pin the module. */
static void __exit test_padata_mt_exit(void)
{
	debugfs_remove(test_dir);
	test_set_free(test_last);
}
module_exit(test_padata_mt_exit);

MODULE_DESCRIPTION("Runs multithreaded padata jobs for selftests");
MODULE_LICENSE("GPL");
