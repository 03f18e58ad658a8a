// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs multithreaded padata jobs on request, and checks how they were done.
 * For the selftests in tools/testing/selftests/padata, which make the
 * conditions around a job that a unit test cannot: load, CPU hotplug, tracing.
 *
 * /sys/kernel/debug/test_padata_mt/run takes the description of a job, words of
 * the form key=value, and returns from the write when the job is done:
 *
 *   start= size= align= min_chunk= max_threads= numa_aware=
 *		as in struct padata_mt_job; numbers as in C.  size= has to be
 *		given, all else is 0 by default, and max_threads the highest.
 *   cpus=LIST	the job's cpumask, as in 0-3,8 (default: none given)
 *   fn=WHAT	what the thread function does with a chunk, besides the checks:
 *		touch	nothing (default)
 *		sleep	sleeps for us= microseconds
 *		busy	keeps the CPU busy for as long
 *		nested	runs a job of TEST_INNER_SIZE units of its own
 *		none	there is no thread function: the job is malformed
 *   us=N	microseconds, for fn=sleep and fn=busy (default 100)
 *   jobs=N	run as many of these jobs at the same time (default 1)
 *   context=WHERE
 *		task	in the writer, as jobs run after boot (default); jobs
 *			after the first are started from kernel threads
 *		kthread	in a fresh kernel thread that is allowed on cpus= only,
 *			as the threads that initialise struct pages at boot are
 *
 * A description that makes no sense is refused with -EINVAL, and a line in the
 * log says why.  A job that padata refuses is a result.
 *
 * /sys/kernel/debug/test_padata_mt/result has the jobs of the last description,
 * one per line, as words of the form key=value:
 *
 *   status=	ok, or failed if padata broke a promise or refused the job
 *   why=	which promise, in words joined by dashes, or none
 *   ret=	what padata_do_multithreaded() returned
 *   chunks= units=	calls of the thread function, and what they were given
 *   nr_threads= nr_ran=	as in struct padata_mt_job
 *   inside=	the most threads that were in the thread function at once
 *   strays=	chunks that helpers ran on CPUs outside cpus=; not a failure by
 *		itself, as helpers of a CPU that goes offline finish elsewhere
 *   elapsed_ns=	how long it took
 *   units_by_cpu=	CPU:UNITS pairs, separated by commas
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/padata.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/* There is a bit for every unit, so that checks need not trust each other. */
#define TEST_MAX_SIZE		((unsigned long)SZ_16M)
#define TEST_MAX_JOBS		64U
#define TEST_MAX_US		1000000UL
#define TEST_MAX_DESCRIPTION	512
#define TEST_INNER_SIZE		64UL

enum test_fn { TEST_TOUCH, TEST_SLEEP, TEST_BUSY, TEST_NESTED, TEST_NONE };
static const char * const test_fns[] = { "touch", "sleep", "busy", "nested", "none" };

enum test_context { TEST_TASK, TEST_KTHREAD };
static const char * const test_contexts[] = { "task", "kthread" };

/* What was asked for.  Only job.cpumask may be used while cpus is filled in. */
struct test_desc {
	struct padata_mt_job	job;
	struct cpumask		cpus;
	unsigned long		us;
	unsigned int		jobs;
	int			fn;
	int			context;
};

/*
 * struct test_job - one job, and what became of it
 *
 * Set up by test_job_init(), written by the job's threads while it runs, and
 * kept until the next description for whoever reads the result.
 */
struct test_job {
	const struct test_desc	*desc;
	struct padata_mt_job	job;
	struct task_struct	*caller;
	unsigned long		*seen;		/* a bit for every unit */
	atomic_long_t		*units;		/* for every CPU */
	const char		*why;		/* the first promise broken */
	atomic_t		chunks;
	atomic_t		strays;
	atomic_t		inside;
	atomic_t		most;
	bool			returned;
	int			ret;
	u64			elapsed_ns;
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
static struct test_set *test_last;		/* under test_lock */
static struct dentry *test_dir;

static void test_broke(struct test_job *tj, const char *why)
{
	cmpxchg(&tj->why, NULL, why);
}

/*
 * What the thread function does
 */
static void test_inner_fn(unsigned long start, unsigned long end, void *arg)
{
	atomic_long_t *units = arg;

	atomic_long_add(end - start, units);
}

static void test_nest(struct test_job *tj)
{
	atomic_long_t units = ATOMIC_LONG_INIT(0);
	struct padata_mt_job inner = tj->desc->job;

	inner.thread_fn = test_inner_fn;
	inner.fn_arg = &units;
	inner.start = 0;
	inner.size = TEST_INNER_SIZE;
	inner.align = 0;
	inner.min_chunk = 1;
	if (padata_do_multithreaded(&inner))
		test_broke(tj, "inner-job-refused");
	else if (atomic_long_read(&units) != TEST_INNER_SIZE)
		test_broke(tj, "inner-job-incomplete");
}

static void test_stay_busy(unsigned long us)
{
	ktime_t until = ktime_add_us(ktime_get(), us);

	while (ktime_before(ktime_get(), until))
		cpu_relax();
}

static void test_work(struct test_job *tj)
{
	switch (tj->desc->fn) {
	case TEST_SLEEP:
		fsleep(tj->desc->us);
		break;
	case TEST_BUSY:
		test_stay_busy(tj->desc->us);
		break;
	case TEST_NESTED:
		test_nest(tj);
		break;
	}
}

static void test_mark_units(struct test_job *tj, unsigned long start,
			    unsigned long end)
{
	unsigned long first = tj->desc->job.start;

	for (; start < end; start++) {
		if (test_and_set_bit(start - first, tj->seen))
			test_broke(tj, "unit-handed-out-twice");
	}
}

static void test_check_chunk(struct test_job *tj, unsigned long start,
			     unsigned long end)
{
	const struct padata_mt_job *asked = &tj->desc->job;
	unsigned long align = max(asked->align, 1UL);
	unsigned long last = asked->start + asked->size;

	if (start < asked->start || end > last || start >= end) {
		test_broke(tj, "chunk-outside-job");
		return;
	}

	if ((start != asked->start && start % align) ||
	    (end != last && end % align))
		test_broke(tj, "boundary-not-on-align");
	if (end - start < min(asked->min_chunk, asked->size))
		test_broke(tj, "chunk-shorter-than-min-chunk");
	test_mark_units(tj, start, end);
}

static void test_note_cpu(struct test_job *tj, unsigned long units)
{
	const struct cpumask *cpus = tj->desc->job.cpumask;
	int cpu = raw_smp_processor_id();

	atomic_long_add(units, &tj->units[cpu]);
	if (current != tj->caller && cpus && !cpumask_test_cpu(cpu, cpus))
		atomic_inc(&tj->strays);
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
	atomic_inc(&tj->chunks);
	test_check_chunk(tj, start, end);
	test_note_cpu(tj, end - start);
	test_work(tj);
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

	if (tj->ret) {
		test_broke(tj, "job-refused");
		return;
	}

	if (atomic_read(&tj->inside))
		test_broke(tj, "thread-inside-after-return");
	if (!bitmap_full(tj->seen, tj->desc->job.size))
		test_broke(tj, "unit-not-handed-out");
	if (atomic_read(&tj->most) > max_threads)
		test_broke(tj, "more-than-max-threads-inside");
	if (tj->job.nr_threads > max_threads || tj->job.nr_ran > tj->job.nr_threads)
		test_broke(tj, "threads-counted-wrong");
}

static void test_run_job(struct test_job *tj)
{
	u64 begin;

	tj->why = NULL;
	tj->caller = current;
	tj->job = tj->desc->job;
	tj->job.fn_arg = tj;

	begin = ktime_get_ns();
	tj->ret = padata_do_multithreaded(&tj->job);
	tj->elapsed_ns = ktime_get_ns() - begin;

	WRITE_ONCE(tj->returned, true);
	test_check_job(tj);
}

static int test_runner(void *arg)
{
	struct test_job *tj = arg;

	wait_for_completion(tj->go);
	/* May fail if CPUs went away.  The job has to cope. */
	if (tj->desc->job.cpumask && tj->desc->context == TEST_KTHREAD)
		set_cpus_allowed_ptr(current, tj->desc->job.cpumask);
	test_run_job(tj);
	kthread_complete_and_exit(&tj->done, 0);
}

static int test_job_init(struct test_job *tj, struct test_set *set)
{
	tj->desc = &set->desc;
	tj->why = "not-started";
	tj->go = &set->go;
	init_completion(&tj->done);
	tj->seen = kvcalloc(BITS_TO_LONGS(tj->desc->job.size) + 1, sizeof(long),
			    GFP_KERNEL);
	tj->units = kvcalloc(nr_cpu_ids, sizeof(*tj->units), GFP_KERNEL);
	return tj->seen && tj->units ? 0 : -ENOMEM;
}

static void test_set_free(struct test_set *set)
{
	unsigned int i;

	for (i = 0; set && i < set->nr; i++) {
		kvfree(set->jobs[i].seen);
		kvfree(set->jobs[i].units);
	}
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
	if (desc->job.cpumask)
		set->desc.job.cpumask = &set->desc.cpus;
	init_completion(&set->go);
	for (i = 0; i < set->nr && !ret; i++)
		ret = test_job_init(&set->jobs[i], set);
	if (!ret)
		return set;

	test_set_free(set);
	return ERR_PTR(ret);
}

/*
 * All jobs start at once.  A thread that could not be created leaves its job
 * undone, and the write fails.
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
static int test_parse_name(const char *value, const char * const *names,
			   size_t nr, int *to)
{
	int i = match_string(names, nr, value);

	if (i < 0)
		return i;
	*to = i;
	return 0;
}

static int test_parse_number(struct test_desc *desc, const char *key,
			     const char *value)
{
	const struct { const char *key; unsigned long *to; } numbers[] = {
		{ "start", &desc->job.start },
		{ "size", &desc->job.size },
		{ "align", &desc->job.align },
		{ "min_chunk", &desc->job.min_chunk },
		{ "us", &desc->us },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (!strcmp(key, numbers[i].key))
			return kstrtoul(value, 0, numbers[i].to);
	}
	return -EINVAL;
}

static int test_parse_word(struct test_desc *desc, const char *key,
			   const char *value)
{
	if (!strcmp(key, "max_threads"))
		return kstrtoint(value, 0, &desc->job.max_threads);
	if (!strcmp(key, "numa_aware"))
		return kstrtobool(value, &desc->job.numa_aware);
	if (!strcmp(key, "jobs"))
		return kstrtouint(value, 0, &desc->jobs);
	if (!strcmp(key, "fn"))
		return test_parse_name(value, test_fns, ARRAY_SIZE(test_fns),
				       &desc->fn);
	if (!strcmp(key, "context"))
		return test_parse_name(value, test_contexts,
				       ARRAY_SIZE(test_contexts), &desc->context);
	if (!strcmp(key, "cpus")) {
		desc->job.cpumask = &desc->cpus;
		return cpulist_parse(value, &desc->cpus);
	}
	return test_parse_number(desc, key, value);
}

static int test_parse(struct test_desc *desc, char *words)
{
	char *word, *value;

	while ((word = strsep(&words, " \t\n"))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		if (!value || test_parse_word(desc, word, value)) {
			pr_err("cannot make sense of '%s%s%s'\n", word,
			       value ? "=" : "", value ?: "");
			return -EINVAL;
		}
	}
	return 0;
}

static bool test_in_range(const char *key, unsigned long value,
			  unsigned long low, unsigned long high)
{
	if (value >= low && value <= high)
		return true;
	pr_err("%s=%lu is not within %lu to %lu\n", key, value, low, high);
	return false;
}

static int test_describe(struct test_desc *desc, char *words)
{
	memset(desc, 0, sizeof(*desc));
	desc->job.size = ULONG_MAX;
	desc->job.max_threads = INT_MAX;
	desc->us = 100;
	desc->jobs = 1;
	if (test_parse(desc, words))
		return -EINVAL;
	if (!test_in_range("size", desc->job.size, 0, TEST_MAX_SIZE) ||
	    !test_in_range("jobs", desc->jobs, 1, TEST_MAX_JOBS) ||
	    !test_in_range("us", desc->us, 1, TEST_MAX_US))
		return -EINVAL;

	if (desc->fn != TEST_NONE)
		desc->job.thread_fn = test_thread_fn;
	return 0;
}

/*
 * Files
 */
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

static void test_show_units(struct seq_file *m, const struct test_job *tj)
{
	unsigned int cpu;
	char sep = '=';

	seq_puts(m, " units_by_cpu");
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (!atomic_long_read(&tj->units[cpu]))
			continue;
		seq_printf(m, "%c%u:%lu", sep, cpu, atomic_long_read(&tj->units[cpu]));
		sep = ',';
	}
	seq_puts(m, sep == '=' ? "=none\n" : "\n");
}

static void test_show_job(struct seq_file *m, const struct test_job *tj)
{
	unsigned long units = bitmap_weight(tj->seen, tj->desc->job.size);

	seq_printf(m, "status=%s why=%s ret=%d chunks=%d units=%lu",
		   tj->why ? "failed" : "ok", tj->why ?: "none", tj->ret,
		   atomic_read(&tj->chunks), units);
	seq_printf(m, " nr_threads=%d nr_ran=%d inside=%d strays=%d elapsed_ns=%llu",
		   tj->job.nr_threads, tj->job.nr_ran, atomic_read(&tj->most),
		   atomic_read(&tj->strays), tj->elapsed_ns);
	test_show_units(m, tj);
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
	return PTR_ERR_OR_ZERO(test_dir);
}
module_init(test_padata_mt_init);

/* No job is running by now: files in use keep the module. */
static void __exit test_padata_mt_exit(void)
{
	debugfs_remove(test_dir);
	test_set_free(test_last);
}
module_exit(test_padata_mt_exit);

MODULE_DESCRIPTION("Runs multithreaded padata jobs for selftests");
MODULE_LICENSE("GPL");
