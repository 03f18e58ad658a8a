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
 * padata_mt_cpu_online(): to start a helper is to wake one.
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
 */

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/nodemask.h>
#include <linux/overflow.h>
#include <linux/padata.h>
#include <linux/printk.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#define CREATE_TRACE_POINTS
#include <trace/events/padata.h>

/*
 * struct padata_mt_run - a job while it runs, as its threads see it
 *
 * On the caller's stack if the caller works alone, else in the team.  Constant
 * but for the cursor and nr_ran.
 */
struct padata_mt_run {
	const struct padata_mt_job *job;
	unsigned long		next;		/* the cursor: all below is claimed */
	unsigned long		end;
	unsigned long		align;
	unsigned long		min_chunk;
	unsigned long		shares;		/* a claim takes 1/shares of the rest */
	unsigned int		nr;		/* names the job in trace events */
	atomic_t		nr_ran;		/* threads that got a chunk */
};

/* CPUs that can still be given a helper, and how to choose among them. */
struct padata_mt_places {
	struct cpumask		cpus;		/* without a thread of this job */
	struct cpumask		cores;		/* those on cores without one */
	int			home;		/* the caller's CPU, if it is one of them */
	int			nid;		/* where to look for the nearest */
	bool			rotate;		/* take nodes in turn */
};

struct padata_mt_helper {
	struct work_struct	work;
	struct padata_mt_team	*team;
};

/*
 * struct padata_mt_team - a job's helpers, and what they share with the caller
 *
 * Allocated before the first helper is queued, freed by whoever drops the last
 * reference.  run.job is valid for threads that are inside, all else for those
 * that hold a reference.
 */
struct padata_mt_team {
	struct padata_mt_run	run;
	refcount_t		inside;		/* threads that may touch the job */
	refcount_t		ref;		/* caller and queued helpers */
	struct completion	all_out;	/* inside reached 0 while the caller waits */
	struct padata_mt_places	places;		/* the caller's, while it queues */
	int			nr_helpers;
	struct padata_mt_helper	helpers[] __counted_by(nr_helpers);
};

static struct workqueue_struct *padata_mt_wq __ro_after_init;

/*
 * The end of the chunk that begins at @pos: a share of what remains, at least
 * min_chunk, up to the next boundary.  What would be left over as less than
 * min_chunk goes with it.  No sum can overflow: each is compared with what is
 * left before it is made.
 */
static unsigned long padata_mt_chunk_end(const struct padata_mt_run *run,
					 unsigned long pos)
{
	unsigned long left = run->end - pos;
	unsigned long size = max(left / run->shares, run->min_chunk);
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
 * Claim the next chunk.  The cursor only grows, so a cmpxchg that succeeds
 * proves that nobody else took [*start, *end).  Relaxed, because a claim hands
 * over numbers only: what the caller wrote before the job reaches a helper
 * through queue_work_on(), and what threads wrote in their chunks reaches the
 * caller through padata_mt_team::inside.
 */
static bool padata_mt_claim(struct padata_mt_run *run, unsigned long *start,
			    unsigned long *end)
{
	unsigned long pos = READ_ONCE(run->next);
	unsigned long to;

	do {
		if (pos == run->end)
			return false;
		to = padata_mt_chunk_end(run, pos);
	} while (!try_cmpxchg_relaxed(&run->next, &pos, to));

	*start = pos;
	*end = to;
	return true;
}

/* Work until nothing is left to claim.  For threads that are inside. */
static void padata_mt_work(struct padata_mt_run *run)
{
	const struct padata_mt_job *job = run->job;
	unsigned long start, end;
	bool ran = false;

	while (padata_mt_claim(run, &start, &end)) {
		if (!ran)
			atomic_inc(&run->nr_ran);
		ran = true;

		trace_padata_mt_chunk(run->nr, start, end);
		job->thread_fn(start, end, job->fn_arg);
		cond_resched();
	}
}

static void padata_mt_put(struct padata_mt_team *team)
{
	if (refcount_dec_and_test(&team->ref))
		kfree(team);
}

/*
 * A helper's work item.  It may run at any time up to long after the job is
 * over, or not at all if the caller cancels it first, but never twice: it is
 * queued once, and cancelling removes it or does not.
 *
 * The increment that enters need not be ordered.  What the thread reads then
 * was constant since before the item was queued, and the worker has taken the
 * pool lock since; and its stores depend on the outcome.
 *
 * The decrement that leaves is a release, and the one that reaches zero also an
 * acquire, so that whoever sees zero sees all that the threads wrote.  If that
 * is not the caller, complete() passes it on.
 */
static void padata_mt_help(struct work_struct *work)
{
	struct padata_mt_helper *helper;
	struct padata_mt_team *team;

	helper = container_of(work, struct padata_mt_helper, work);
	team = helper->team;

	if (refcount_inc_not_zero(&team->inside)) {
		padata_mt_work(&team->run);
		if (refcount_dec_and_test(&team->inside))
			complete(&team->all_out);
	}

	/* Frees @work too, if last.  The workqueue is done with it. */
	padata_mt_put(team);
}

/*
 * The CPUs that helpers of @job may run on.  A job that names none keeps off
 * CPUs that were isolated from unbound work.
 */
static void padata_mt_job_cpus(const struct padata_mt_job *job,
			       struct cpumask *cpus)
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
 *
 * Return: the number of places.
 */
static unsigned int padata_mt_places_init(struct padata_mt_places *places,
					  const struct padata_mt_job *job)
{
	int this_cpu = raw_smp_processor_id();
	unsigned int nr;

	padata_mt_job_cpus(job, &places->cpus);
	nr = cpumask_weight(&places->cpus);

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
static int padata_mt_place(struct padata_mt_places *places)
{
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

/*
 * Helpers may look at the team after the caller has returned, so it cannot be
 * on the caller's stack.  Nothing is reclaimed for it: no memory, no help.
 */
static struct padata_mt_team *
padata_mt_team_alloc(const struct padata_mt_job *job)
{
	unsigned int nr = padata_mt_max_helpers(job);
	struct padata_mt_team *team;

	if (!nr)
		return NULL;

	team = kzalloc(struct_size(team, helpers, nr), GFP_NOWAIT | __GFP_NOWARN);
	if (!team)
		return NULL;

	nr = min(nr, padata_mt_places_init(&team->places, job));
	if (!nr) {
		kfree(team);
		return NULL;
	}

	team->nr_helpers = nr;
	refcount_set(&team->inside, 1);
	refcount_set(&team->ref, nr + 1);
	init_completion(&team->all_out);
	return team;
}

/*
 * CPU hotplug is not held off.  If a CPU goes away before its helper starts,
 * the workqueue runs the helper elsewhere; if it has gone already, elsewhere or
 * never.  All that the job can lose is the help.
 */
static void padata_mt_queue_helpers(struct padata_mt_team *team)
{
	int i;

	for (i = 0; i < team->nr_helpers; i++) {
		struct padata_mt_helper *helper = &team->helpers[i];
		int cpu = padata_mt_place(&team->places);

		helper->team = team;
		INIT_WORK(&helper->work, padata_mt_help);
		trace_padata_mt_helper(team->run.nr, cpu);
		queue_work_on(cpu, padata_mt_wq, &helper->work);
	}
}

/*
 * Send away the helpers that have not started, and wait for those inside.  A
 * helper between the two, off the queue but not inside yet, is neither: once
 * the caller's count is gone, it is either inside and waited for, or finds the
 * job closed.
 */
static void padata_mt_finish(struct padata_mt_team *team)
{
	int i;

	for (i = 0; i < team->nr_helpers; i++) {
		if (cancel_work(&team->helpers[i].work))
			padata_mt_put(team);
	}

	/* Pairs with the decrement in padata_mt_help(). */
	if (!refcount_dec_and_test(&team->inside))
		wait_for_completion(&team->all_out);
}

static void padata_mt_run_init(struct padata_mt_run *run,
			       const struct padata_mt_job *job, int threads)
{
	static atomic_t last_nr = ATOMIC_INIT(0);

	run->job = job;
	run->next = job->start;
	run->end = job->start + job->size;
	run->align = max(job->align, 1UL);
	run->min_chunk = max(job->min_chunk, 1UL);
	run->shares = threads > 1 ? 2UL * threads : 1;
	run->nr = atomic_inc_return_relaxed(&last_nr);
	atomic_set(&run->nr_ran, 0);
}

static bool padata_mt_job_valid(const struct padata_mt_job *job)
{
	unsigned long end;

	return job->thread_fn &&
	       !check_add_overflow(job->start, job->size, &end);
}

/**
 * padata_do_multithreaded - run a job on many threads
 * @job: What to do, see &struct padata_mt_job.  It must stay as it is until
 *       the call returns.
 *
 * Cuts the range [@job->start, @job->start + @job->size) into chunks and calls
 * @job->thread_fn for each of them, from the caller and from helper threads, in
 * no particular order and at the same time.  Returns when all of it is done;
 * from then on nothing touches @job, its argument or the caller's stack, and
 * all that the threads wrote is visible to the caller.
 *
 * Every unit is handed out exactly once.  The job never depends on a helper:
 * without memory, without CPUs for helpers, or before workqueues are up, the
 * caller does it alone.  Jobs may run at the same time, and a thread function
 * may start another job.
 *
 * Context: Process context, may sleep.  The caller must not hold a lock that
 * @job->thread_fn takes.
 * Return: 0 when the job is done; %-EINVAL, with nothing done, if @job has no
 * thread function or its range wraps around.
 */
int padata_do_multithreaded(struct padata_mt_job *job)
{
	struct padata_mt_run alone, *run = &alone;
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
	if (!job->size)
		return 0;

	team = padata_mt_team_alloc(job);
	if (team)
		run = &team->run;
	job->nr_threads = team ? team->nr_helpers + 1 : 1;

	padata_mt_run_init(run, job, job->nr_threads);
	trace_padata_mt_job_start(run->nr, job, job->nr_threads);
	if (team)
		padata_mt_queue_helpers(team);
	padata_mt_work(run);
	if (team)
		padata_mt_finish(team);

	job->nr_ran = atomic_read(&run->nr_ran);
	trace_padata_mt_job_end(run->nr, job->nr_ran);
	if (team)
		padata_mt_put(team);
	return 0;
}
EXPORT_SYMBOL_GPL(padata_do_multithreaded);

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
