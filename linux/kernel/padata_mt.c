// SPDX-License-Identifier: GPL-2.0-only
/*
 * padata_mt.c - run one long job on many threads
 *
 * This is the engine behind padata_do_multithreaded(): it cuts a range into
 * chunks, runs a thread function on each of them, and returns when the whole
 * range is done.  It knows nothing of what the units of the range are.  The
 * other half of padata, ordered streams of small objects, is in padata.c and
 * shares nothing with this file.
 *
 * Who works.  The caller always does, and never waits for a helper to start: a
 * job that gets no helper, or whose helpers all start too late, is done by the
 * caller alone.  Helpers are work items on a bound workqueue, one per chosen
 * CPU.  Bound, because the job decides where its threads run, and because each
 * per-CPU pool has workers from the time the CPU came up, see
 * padata_mt_cpu_online(): to start a helper is to wake one.  Which CPUs are
 * chosen, when, and under which conditions a helper works on is up to a back end:
 * the one for jobs at boot is here, the one for all others in padata_mt_task.c.
 *
 * Who gets what.  Threads claim chunks from a cursor.  A claim takes a share
 * of what remains, so chunks are large at first, when balance does not matter
 * yet, and shrink to the job's minimum at the end, so that no thread has long
 * to wait for the last one.  This is guided self-scheduling (Polychronopoulos
 * and Kuck, IEEE Transactions on Computers C-36(12), 1987), with half of an
 * equal share per claim, since threads here do not start at the same time.
 *
 * When it is over.  Two counts say who may touch what:
 *
 *  - padata_mt_team::inside counts the threads that may touch the job.  The
 *    caller holds one from before the first helper is queued until it finds
 *    nothing left to claim.  A helper has to take one on entry and cannot once
 *    the count has reached zero, so that zero means: closed for good.  The
 *    caller returns only after zero.
 *
 *  - padata_mt_team::ref counts the users of the team itself: the caller and
 *    every queued work item.  A helper that comes after zero therefore still
 *    finds memory to look at, and the caller need not wait for work items that
 *    are about to start, only for threads that are inside.
 *
 * When it fails.  The cursor is moved to the end at once, so that nothing is left
 * to claim.  All below the place it was at has been claimed, and of that only
 * chunks in which a thread failed are not complete, at most one for each thread.
 * What has to be undone is known without a list of what was done.
 */

#include <linux/array_size.h>
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/completion.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/nodemask.h>
#include <linux/overflow.h>
#include <linux/padata.h>
#include <linux/printk.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "padata_mt.h"

#define CREATE_TRACE_POINTS
#include <trace/events/padata.h>

static struct workqueue_struct *padata_mt_wq __ro_after_init;

/* Teams whose callers wait for helpers, for print_padata_info(). */
static LIST_HEAD(padata_mt_waiting);
static DEFINE_RAW_SPINLOCK(padata_mt_waiting_lock);

/*
 * The end of the chunk that begins at @pos: a share of what remains, at least
 * min_chunk and else no more than max_chunk, up to the next boundary.  What would
 * be left over as less than min_chunk goes with it.  No sum can overflow: each is
 * compared with what is left before it is made.
 */
static unsigned long padata_mt_chunk_end(const struct padata_mt_run *run,
					 unsigned long pos)
{
	unsigned long left = run->end - pos;
	unsigned long size = max(min(left / run->shares, run->max_chunk),
				 run->min_chunk);
	unsigned long past, gap;

	if (size >= left)
		return run->end;

	past = (pos + size) % run->align;
	gap = past ? run->align - past : 0;
	if (gap >= left - size)
		return run->end;

	size += gap;
	if (left - size < run->min_chunk)
		return run->end;

	return pos + size;
}

/*
 * padata_mt_claim - claim the next chunk, for @thread
 *
 * The cursor only grows, so a cmpxchg that succeeds proves that nobody else took
 * the chunk, and that the job had not been stopped.  Relaxed, because a claim
 * hands over numbers only: what the caller wrote before the job reaches a helper
 * through queue_work_on(), and what threads wrote in their chunks reaches the
 * caller through padata_mt_team::inside.
 *
 * Return: false if there is nothing left.
 */
bool padata_mt_claim(struct padata_mt_run *run, struct padata_mt_thread *thread)
{
	unsigned long pos = READ_ONCE(run->next);
	unsigned long to;

	do {
		if (pos == run->end)
			return false;
		to = padata_mt_chunk_end(run, pos);
	} while (!try_cmpxchg_relaxed(&run->next, &pos, to));

	thread->start = pos;
	thread->end = to;
	trace_padata_mt_chunk(run->nr, pos, to);
	return true;
}

/*
 * padata_mt_stop - hand out nothing more of a job, which fails with @err
 *
 * Not if there is nothing more to hand out: then the job gets done, unless a
 * thread fails.  By any thread that is inside, any number of times.  One of them
 * alone finds the cursor short of the end.  The caller reads what is written here
 * once all are out, ordered by padata_mt_team::inside.
 */
void padata_mt_stop(struct padata_mt_run *run, int err)
{
	unsigned long pos = xchg_relaxed(&run->next, run->end);

	if (pos == run->end)
		return;
	WRITE_ONCE(run->stopped, pos);
	cmpxchg_relaxed(&run->job->error, 0, err);
}

static struct padata_mt_thread *padata_mt_current_thread(struct padata_mt_run *run)
{
	struct padata_mt_team *team = run->team;
	int i;

	if (READ_ONCE(run->caller.task) == current)
		return &run->caller;

	for (i = 0; team && i < team->nr_helpers; i++) {
		if (READ_ONCE(team->helpers[i].thread.task) == current)
			return &team->helpers[i].thread;
	}
	return NULL;
}

/**
 * padata_mt_fail - let a job fail
 * @job: The job that the calling thread function works on.
 * @err: Negative error number that padata_do_multithreaded() is to return.
 *
 * No chunk is handed out from now on.  The first error of a job counts.  The
 * thread function has to return soon, and counts as not having completed its
 * chunk: what it did of it is for itself to undo.
 *
 * Context: The thread functions of @job, on the thread that was called.
 */
void padata_mt_fail(struct padata_mt_job *job, int err)
{
	struct padata_mt_run *run = job->run;
	struct padata_mt_thread *thread;

	if (WARN_ON_ONCE(!run))
		return;

	thread = padata_mt_current_thread(run);
	if (WARN_ON_ONCE(!thread || err >= 0))
		err = -EINVAL;
	if (thread)
		thread->failed = true;

	/* Before the job is stopped, which sets an error if there is none. */
	cmpxchg_relaxed(&job->error, 0, err);
	padata_mt_stop(run, err);
}
EXPORT_SYMBOL_GPL(padata_mt_fail);

/*
 * What lockdep is to know: the caller waits for the threads, as if for a lock
 * that they hold while they work.  If the caller holds a lock that a thread takes,
 * that makes a circle, and is reported the first time, whether it hangs or not.
 */
static void padata_mt_dep_init(struct padata_mt_run *run, struct lock_class_key *key)
{
	static const char name[] = "padata_mt_job";

	lockdep_init_map(&run->dep_map, name, key, 0);
	run->dep_depth = padata_mt_dep_depth(name);
}

static void padata_mt_dep_wait(struct padata_mt_run *run)
{
	lock_acquire(&run->dep_map, run->dep_depth, 0, 0, 1, NULL, _THIS_IP_);
	lock_release(&run->dep_map, _THIS_IP_);
}

/*
 * Work until nothing is left to claim, or the back end has this thread leave.
 * For threads that are inside.
 */
static void padata_mt_work(struct padata_mt_run *run, struct padata_mt_thread *thread)
{
	const struct padata_mt_job *job = run->job;

	lock_acquire(&run->dep_map, run->dep_depth, 0, 0, 1, NULL, _THIS_IP_);
	while (run->backend->claim(run, thread)) {
		if (!thread->ran)
			atomic_inc(&run->nr_ran);
		thread->ran = true;

		job->thread_fn(thread->start, thread->end, job->fn_arg);
		if (thread->failed)
			break;
		cond_resched();
	}
	lock_release(&run->dep_map, _THIS_IP_);
}

static void padata_mt_put(struct padata_mt_team *team)
{
	if (refcount_dec_and_test(&team->ref))
		kfree(team);
}

/* For threads that are inside, or were until now. */
static void padata_mt_help_inside(struct padata_mt_helper *helper)
{
	const struct padata_mt_backend *backend = helper->team->run.backend;

	WRITE_ONCE(helper->thread.task, current);
	if (backend->enter)
		backend->enter(helper);
	padata_mt_work(&helper->team->run, &helper->thread);
	if (backend->leave)
		backend->leave(helper);
	WRITE_ONCE(helper->thread.task, NULL);
}

/*
 * padata_mt_help - a helper's work item
 *
 * It may run at any time up to long after the job is over, or not at all if the
 * caller cancels it first, but never twice for one time that it was queued:
 * cancelling removes it or does not.
 *
 * The increment that enters need not be ordered.  What the thread reads then
 * was written before the item was queued, and the worker has taken the pool lock
 * since; and its stores depend on the outcome.
 *
 * The decrement that leaves is a release, and the one that reaches zero also an
 * acquire, so that whoever sees zero sees all that the threads wrote.  If that
 * is not the caller, complete() passes it on.
 */
void padata_mt_help(struct work_struct *work)
{
	struct padata_mt_helper *helper;
	struct padata_mt_team *team;

	helper = container_of(work, struct padata_mt_helper, work);
	team = helper->team;

	if (refcount_inc_not_zero(&team->inside)) {
		padata_mt_help_inside(helper);
		if (refcount_dec_and_test(&team->inside))
			complete(&team->all_out);
	}

	/*
	 * Pairs with the acquire in padata_mt_recruit(): the next helper in this
	 * room must not find it half left.
	 */
	smp_store_release(&helper->hired, false);

	/* Frees @work too, if last.  The workqueue is done with it. */
	padata_mt_put(team);
}

/*
 * The CPUs that helpers of @job may run on.  A job that names none keeps off
 * CPUs that were isolated from unbound work.
 */
void padata_mt_job_cpus(const struct padata_mt_job *job, struct cpumask *cpus)
{
	cpumask_copy(cpus, cpu_online_mask);
	if (job->cpumask) {
		cpumask_and(cpus, cpus, job->cpumask);
		return;
	}

	cpumask_and(cpus, cpus, housekeeping_cpumask(HK_TYPE_DOMAIN));
	cpumask_and(cpus, cpus, housekeeping_cpumask(HK_TYPE_WQ));
}

/*
 * The caller counts as placed on the CPU it runs on now, and that core as
 * taken.  It may migrate later: this is a hint, nothing breaks without it.
 */
static unsigned int padata_mt_boot_prepare(struct padata_mt_team *team, unsigned int nr)
{
	struct padata_mt_places *places = &team->places;
	const struct padata_mt_job *job = team->run.job;
	int this_cpu = raw_smp_processor_id();

	padata_mt_job_cpus(job, &places->cpus);
	nr = min(nr, cpumask_weight(&places->cpus));

	places->home = -1;
	if (cpumask_test_and_clear_cpu(this_cpu, &places->cpus))
		places->home = this_cpu;

	cpumask_andnot(&places->cores, &places->cpus,
		       topology_sibling_cpumask(this_cpu));
	places->nid = cpu_to_node(this_cpu);
	places->rotate = job->numa_aware;
	return nr;
}

/* The CPU of @from that is nearest to the caller, or to the next node in turn. */
static int padata_mt_pick(struct padata_mt_places *places,
			  const struct cpumask *from)
{
	int cpu;

	if (places->rotate)
		places->nid = next_node_in(places->nid, node_states[N_CPU]);

	cpu = sched_numa_find_nth_cpu(from, 0, places->nid);
	return cpu < nr_cpu_ids ? cpu : cpumask_first(from);
}

/*
 * The CPU for the next helper: one per core first, then the other siblings.
 * The caller's own CPU is last.  It is of use to a thread function that sleeps.
 */
static int padata_mt_boot_place(struct padata_mt_team *team)
{
	struct padata_mt_places *places = &team->places;
	int cpu;

	if (cpumask_empty(&places->cpus))
		return places->home;

	cpu = padata_mt_pick(places, cpumask_empty(&places->cores) ?
				     &places->cpus : &places->cores);
	/* Not only as its own sibling: it is none once it is offline. */
	cpumask_clear_cpu(cpu, &places->cpus);
	cpumask_clear_cpu(cpu, &places->cores);
	cpumask_andnot(&places->cores, &places->cores,
		       topology_sibling_cpumask(cpu));
	return cpu;
}

static void padata_mt_boot_wait(struct padata_mt_team *team)
{
	wait_for_completion(&team->all_out);
}

/* Jobs at boot: nobody is there to be disturbed, so as many threads as can help. */
const struct padata_mt_backend padata_mt_boot = {
	.prepare	= padata_mt_boot_prepare,
	.place		= padata_mt_boot_place,
	.claim		= padata_mt_claim,
	.wait		= padata_mt_boot_wait,
};
EXPORT_SYMBOL_NS_GPL(padata_mt_boot, PADATA_MT_INTERNAL);

/*
 * The most helpers that can make sense: what the job allows, and what there are
 * chunks for besides the caller's.
 */
static unsigned int padata_mt_max_helpers(const struct padata_mt_job *job)
{
	unsigned long chunks = job->size / max3(job->align, job->min_chunk, 1UL);

	if (!padata_mt_wq || job->max_threads <= 1 || chunks <= 1)
		return 0;

	return min3((unsigned long)num_online_cpus(), job->max_threads - 1UL,
		    chunks - 1);
}

static void padata_mt_run_init(struct padata_mt_run *run, struct padata_mt_job *job,
			       struct lock_class_key *key,
			       const struct padata_mt_backend *backend)
{
	static atomic_t last_nr = ATOMIC_INIT(0);

	*run = (struct padata_mt_run){
		.job		= job,
		.backend	= backend,
		.next		= job->start,
		.end		= job->start + job->size,
		.stopped	= job->start + job->size,
		.align		= max(job->align, 1UL),
		.min_chunk	= max(job->min_chunk, 1UL),
		.max_chunk	= job->max_chunk ?: ULONG_MAX,
		.shares		= 1,
		.nr		= atomic_inc_return_relaxed(&last_nr),
		.caller.task	= current,
	};
	padata_mt_dep_init(run, key);
}

/*
 * Helpers may look at the team after the caller has returned, so it cannot be
 * on the caller's stack.  No memory is reclaimed for it: without, there is no help.
 */
static struct padata_mt_team *
padata_mt_team_alloc(struct padata_mt_job *job, struct lock_class_key *key,
		     const struct padata_mt_backend *backend)
{
	unsigned int nr = padata_mt_max_helpers(job);
	struct padata_mt_team *team;

	if (!nr)
		return NULL;

	team = kzalloc(struct_size(team, helpers, nr), GFP_NOWAIT | __GFP_NOWARN);
	if (!team)
		return NULL;

	team->run.job = job;
	nr = backend->prepare(team, nr);
	if (!nr) {
		kfree(team);
		return NULL;
	}

	padata_mt_run_init(&team->run, job, key, backend);
	team->run.team = team;
	team->run.shares = 2UL * (nr + 1);
	team->nr_helpers = nr;
	refcount_set(&team->inside, 1);
	refcount_set(&team->ref, 1);
	init_completion(&team->all_out);
	return team;
}

static void padata_mt_hire(struct padata_mt_team *team, struct padata_mt_helper *helper,
			   int cpu)
{
	if (!helper->team) {
		helper->team = team;
		INIT_WORK(&helper->work, padata_mt_help);
		team->nr_hired++;
	}

	helper->hired = true;
	helper->cpu = cpu;
	refcount_inc(&team->ref);
	trace_padata_mt_helper(team->run.nr, cpu);
	queue_work_on(cpu, padata_mt_wq, &helper->work);
}

/*
 * padata_mt_recruit - hire as many helpers as there are rooms and places for
 *
 * By the caller, while it has not closed the team.
 *
 * CPU hotplug is not held off.  If a CPU goes away before its helper starts,
 * the workqueue runs the helper elsewhere; if it has gone already, elsewhere or
 * never.  All that the job can lose is the help.
 */
void padata_mt_recruit(struct padata_mt_team *team)
{
	int i, cpu;

	for (i = 0; i < team->nr_helpers; i++) {
		struct padata_mt_helper *helper = &team->helpers[i];

		/* Pairs with the release in padata_mt_help(). */
		if (smp_load_acquire(&helper->hired))
			continue;
		cpu = team->run.backend->place(team);
		if (cpu < 0)
			return;
		padata_mt_hire(team, helper, cpu);
	}
}

/* With padata_mt_waiting_lock, as it may be asked for from any context. */
static void padata_mt_wait(struct padata_mt_team *team)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&padata_mt_waiting_lock, flags);
	list_add(&team->waiting, &padata_mt_waiting);
	raw_spin_unlock_irqrestore(&padata_mt_waiting_lock, flags);

	team->run.backend->wait(team);

	raw_spin_lock_irqsave(&padata_mt_waiting_lock, flags);
	list_del(&team->waiting);
	raw_spin_unlock_irqrestore(&padata_mt_waiting_lock, flags);
}

/*
 * Send away the helpers that have not started, and wait for those inside.  A
 * helper between the two, off the queue but not inside yet, is neither: once
 * the caller's count is gone, it is either inside and waited for, or finds the
 * job closed.
 */
static void padata_mt_finish(struct padata_mt_team *team)
{
	const struct padata_mt_backend *backend = team->run.backend;
	int i;

	for (i = 0; i < team->nr_helpers; i++) {
		if (team->helpers[i].team && cancel_work(&team->helpers[i].work))
			padata_mt_put(team);
	}

	/* Pairs with the decrement in padata_mt_help(). */
	if (!refcount_dec_and_test(&team->inside))
		padata_mt_wait(team);
	if (backend->release)
		backend->release(team);
}

/* The first chunk at or after @pos that was claimed and not completed. */
static const struct padata_mt_thread *
padata_mt_next_failed(const struct padata_mt_run *run, unsigned long pos)
{
	const struct padata_mt_thread *first = NULL, *thread = &run->caller;
	int nr = run->team ? run->team->nr_helpers : 0;
	int i;

	for (i = 0; i <= nr; i++) {
		if (i)
			thread = &run->team->helpers[i - 1].thread;
		if (thread->failed && thread->start >= pos &&
		    (!first || thread->start < first->start))
			first = thread;
	}
	return first;
}

/* All that was completed, in as few calls as can be.  All helpers are out. */
static void padata_mt_undo(const struct padata_mt_run *run)
{
	const struct padata_mt_job *job = run->job;
	unsigned long pos = job->start;

	while (pos != run->stopped) {
		const struct padata_mt_thread *failed = padata_mt_next_failed(run, pos);
		unsigned long to = failed ? failed->start : run->stopped;

		if (to != pos)
			job->undo_fn(pos, to, job->fn_arg);
		pos = failed ? failed->end : to;
	}
}

static bool padata_mt_job_valid(const struct padata_mt_job *job)
{
	unsigned long end;

	return job->thread_fn &&
	       !check_add_overflow(job->start, job->size, &end);
}

static void padata_mt_run(struct padata_mt_run *run)
{
	struct padata_mt_job *job = run->job;
	struct padata_mt_team *team = run->team;

	job->run = run;
	trace_padata_mt_job_start(run->nr, job, team ? team->nr_helpers + 1 : 1);
	if (team)
		padata_mt_recruit(team);
	padata_mt_work(run, &run->caller);
	if (team)
		padata_mt_finish(team);

	job->nr_threads = team ? team->nr_hired + 1 : 1;
	job->nr_ran = atomic_read(&run->nr_ran);
	job->run = NULL;
	if (job->error && job->undo_fn)
		padata_mt_undo(run);
	trace_padata_mt_job_end(run->nr, job->nr_ran, job->error);
}

/*
 * padata_mt_do - padata_do_multithreaded() with a back end of choice
 *
 * For tests, which are to see both back ends at any time.
 */
int padata_mt_do(struct padata_mt_job *job, struct lock_class_key *key,
		 const struct padata_mt_backend *backend)
{
	struct padata_mt_run alone;
	struct padata_mt_team *team;

	might_sleep();

	if (!padata_mt_job_valid(job)) {
		pr_warn_once("padata: job from %pS refused: thread_fn %ps, start %lu, size %lu\n",
			     (void *)_RET_IP_, job->thread_fn, job->start,
			     job->size);
		return -EINVAL;
	}

	job->nr_threads = 0;
	job->nr_ran = 0;
	job->error = 0;
	if (!job->size)
		return 0;

	team = padata_mt_team_alloc(job, key, backend);
	if (!team)
		padata_mt_run_init(&alone, job, key, backend);
	padata_mt_dep_wait(team ? &team->run : &alone);
	padata_mt_run(team ? &team->run : &alone);
	if (team)
		padata_mt_put(team);
	return job->error;
}
EXPORT_SYMBOL_NS_GPL(padata_mt_do, PADATA_MT_INTERNAL);

/*
 * padata_do_multithreaded_key - padata_do_multithreaded() with its lockdep class
 *
 * Each call of that macro has one of its own, @key.
 */
int padata_do_multithreaded_key(struct padata_mt_job *job, struct lock_class_key *key)
{
	const struct padata_mt_backend *backend = &padata_mt_task;

	if (system_state < SYSTEM_RUNNING)
		backend = &padata_mt_boot;
	return padata_mt_do(job, key, backend);
}
EXPORT_SYMBOL_GPL(padata_do_multithreaded_key);

/* What is to be printed of a job, once the lock is dropped. */
struct padata_mt_info {
	unsigned int		nr;
	void			*thread_fn;
	unsigned int		nr_pids;
	pid_t			pids[8];
};

static void padata_mt_get_info(const struct padata_mt_team *team,
			       struct padata_mt_info *info)
{
	int i;

	*info = (struct padata_mt_info){
		.nr = team->run.nr,
		.thread_fn = team->run.job->thread_fn,
	};
	for (i = 0; i < team->nr_helpers && info->nr_pids < ARRAY_SIZE(info->pids); i++) {
		struct task_struct *task = READ_ONCE(team->helpers[i].thread.task);

		if (task)
			info->pids[info->nr_pids++] = task_pid_nr(task);
	}
}

static bool padata_mt_find_info(const struct task_struct *task, struct padata_mt_info *info)
{
	struct padata_mt_team *team;
	unsigned long flags;
	bool found = false;

	if (!raw_spin_trylock_irqsave(&padata_mt_waiting_lock, flags))
		return false;
	list_for_each_entry(team, &padata_mt_waiting, waiting) {
		if (team->run.caller.task == task) {
			padata_mt_get_info(team, info);
			found = true;
			break;
		}
	}
	raw_spin_unlock_irqrestore(&padata_mt_waiting_lock, flags);
	return found;
}

/**
 * print_padata_info - say which job a task waits for
 * @task: The task, for which nothing is said if it waits for no job's helpers.
 *
 * Names the job's thread function and PIDs of helpers that have not come back from
 * it.  Those who wait are on a list, and while its lock is held with interrupts off
 * neither the team goes away nor, for RCU's sake, the workers.
 *
 * Context: Any.  Says nothing rather than wait for a lock.
 */
void print_padata_info(struct task_struct *task)
{
	struct padata_mt_info info;
	unsigned int i;

	if (!padata_mt_find_info(task, &info))
		return;
	pr_info("padata: job %u, thread_fn %ps, waits for its helpers\n", info.nr,
		info.thread_fn);
	for (i = 0; i < info.nr_pids; i++)
		pr_info("padata: job %u: helper %d\n", info.nr, info.pids[i]);
}

/* It is enough that a worker starts on it. */
static void padata_mt_spare(struct work_struct *work)
{
	kfree(work);
}

/*
 * Have a second worker made on a CPU that came up.
 *
 * A pool never lets its last idle worker go to work: that one first makes
 * another, by way of kthreadd, which makes one thread at a time.  If the helpers
 * of a job were the first work items of their CPUs, they would stand in line
 * there.  This has it done while CPUs are brought up.  A pool keeps two idle
 * workers from then on, so helpers start by a wake-up.  Without memory for it,
 * they start later.
 */
static int padata_mt_cpu_online(unsigned int cpu)
{
	struct work_struct *work = kzalloc(sizeof(*work), GFP_KERNEL);

	if (work) {
		INIT_WORK(work, padata_mt_spare);
		queue_work_on(cpu, padata_mt_wq, work);
	}
	return 0;
}

/*
 * Before CPUs are brought up, and before any job.  %WQ_CPU_INTENSIVE, because a
 * thread function may run for long and must not keep other work items of its CPU
 * from starting.
 */
static int __init padata_mt_init(void)
{
	int ret;

	padata_mt_wq = alloc_workqueue("padata_mt", WQ_CPU_INTENSIVE, 0);
	if (!padata_mt_wq) {
		pr_warn("padata: no workqueue, multithreaded jobs run on one thread\n");
		return -ENOMEM;
	}

	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "padata/mt:online",
				padata_mt_cpu_online, NULL);
	return min(ret, 0);
}
early_initcall(padata_mt_init);
