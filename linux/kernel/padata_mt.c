// SPDX-License-Identifier: GPL-2.0-only
/*
 * padata_mt.c - run one long job on many threads
 *
 * This is the engine behind padata_do_multithreaded(): it cuts a range into
 * chunks, runs a thread function on each of them, and returns when the whole
 * range is done.  It shares nothing with padata.c.
 *
 * Who works.  The caller always does, and never waits for a helper to start: a
 * job that gets no helper, or whose helpers all start too late, is done by the
 * caller alone.  Helpers are work items, one per chosen CPU.  Which CPUs are
 * chosen, when, and on what conditions a helper goes on working is up to a back end.
 * The one for jobs at boot is here.  Its workqueue is bound, because each per-CPU pool
 * has workers from the time the CPU came up, see padata_mt_cpu_online(): starting a
 * helper just wakes one.  Jobs after boot have a back end of their own, or no helpers.
 *
 * Who gets what.  Threads claim chunks from a cursor.  A claim takes a share
 * of what remains, so chunks are large at first, when balance does not matter
 * yet, and shrink to the job's minimum at the end, so that no thread waits long
 * for the last one to finish.  This is guided self-scheduling (Polychronopoulos
 * and Kuck, IEEE Transactions on Computers C-36(12), 1987), with half of an
 * equal share per claim, since threads here do not start at the same time.
 *
 * When it is over.  Two counts of struct padata_mt_team say who may touch what:
 *
 *  - inside: threads that may touch the job.  The caller is one of them until it finds
 *    nothing left to claim.  A helper has to increment the count on entry, and cannot once
 *    it has reached zero: then the job is closed, and the caller returns.
 *
 *  - ref: the caller and each queued work item, which may touch the team's own memory.  So
 *    a helper that starts after the job was closed finds that out, and the caller need not
 *    wait for work items that are about to start, only for threads that are inside.
 */

#include <linux/cpuhotplug.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/nodemask.h>
#include <linux/overflow.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched/cputime.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include "padata_mt.h"

#define CREATE_TRACE_POINTS
#include <trace/events/padata.h>

static struct workqueue_struct *padata_mt_wq __ro_after_init;

/*
 * The end of the chunk that begins at @pos: 1/@shares of what remains, at most max_chunk
 * but no less than min_chunk, rounded up to the next boundary.  If less than min_chunk
 * would be left over, the chunk takes that, too.
 */
static unsigned long padata_mt_chunk_end(const struct padata_mt_job *job, unsigned long pos,
					 unsigned long shares)
{
	unsigned long end = job->start + job->size, left = end - pos, align = max(job->align, 1UL);
	unsigned long size = min(left / shares, job->max_chunk ?: ULONG_MAX);
	unsigned long past, to;

	size = max3(size, job->min_chunk, 1UL);
	if (size >= left)
		return end;

	/* Overflows if there is no boundary. */
	past = (pos + size) % align;
	to = pos + size + (past ? align - past : 0);
	if (to < pos + size || to >= end || end - to < job->min_chunk)
		return end;
	return to;
}

/*
 * padata_mt_claim - claim the next chunk, for whichever thread
 *
 * The cursor only grows, so a cmpxchg that succeeds proves that nobody else took
 * the chunk.  Relaxed, because a claim hands over numbers only: what the caller wrote
 * before the job reaches a helper through queue_work_on(), and what threads wrote in
 * their chunks reaches the caller through padata_mt_team::inside.
 *
 * Return: false if there is nothing left.
 */
bool padata_mt_claim(struct padata_mt_team *team, struct padata_mt_helper *helper,
		     struct padata_mt_chunk *chunk)
{
	chunk->start = READ_ONCE(team->next);
	do {
		if (chunk->start == team->end)
			return false;
		chunk->end = padata_mt_chunk_end(team->job, chunk->start, team->divisor);
	} while (!try_cmpxchg_relaxed(&team->next, &chunk->start, chunk->end));

	trace_padata_mt_chunk(team->nr, chunk->start, chunk->end);
	return true;
}

/*
 * Work until nothing is left to claim, or until the back end makes @helper leave, %NULL for the
 * caller.  Called by threads that are inside.
 */
static void padata_mt_do_chunks(struct padata_mt_team *team, struct padata_mt_helper *helper)
{
	const struct padata_mt_job *job = team->job;
	struct padata_mt_chunk chunk;

	lock_map_acquire(&team->dep_map);
	while (team->backend->claim(team, helper, &chunk)) {
		job->thread_fn(chunk.start, chunk.end, job->fn_arg);
		cond_resched_tasks_rcu_qs();
	}
	lock_map_release(&team->dep_map);
}

static void padata_mt_team_put(struct padata_mt_team *team)
{
	if (refcount_dec_and_test(&team->ref))
		kfree(team);
}

/*
 * Called by threads that are inside.  From here on, hung task and SysRq reports about
 * the worker name the job and its thread function.
 *
 * lockdep is told that jobs with max_chunk may be waited for in reclaim, so that it reports a
 * thread_fn that allocates memory.  Not by the caller, which may hold locks.
 */
static void padata_mt_helper_work(struct padata_mt_helper *helper)
{
	struct padata_mt_team *team = helper->team;
	u64 began = task_sched_runtime(current);

	helper->runtime = began;
	if (team->job->max_chunk) {
		fs_reclaim_acquire(GFP_KERNEL);
		lock_map_acquire(&team->dep_map);
		lock_map_release(&team->dep_map);
		fs_reclaim_release(GFP_KERNEL);
	}
	set_worker_desc("job %u %ps", team->nr, team->job->thread_fn);
	padata_mt_do_chunks(team, helper);
	if (trace_padata_mt_helper_end_enabled())
		trace_padata_mt_helper_end(team->nr, task_sched_runtime(current) - began);
}

/*
 * padata_mt_helper_fn - a helper's work item
 *
 * It may run at any time, even long after the job is over, or not at all if the
 * caller cancels it first, but at most once for each time that it is queued:
 * cancelling either removes it or does not.
 *
 * The increment on entry need not be ordered.  What the thread reads after it was
 * written before the item was queued, and the worker has taken the pool lock since;
 * and the thread's stores depend on the outcome of the increment.
 *
 * The decrement on exit is a release, and the one that reaches zero is also an
 * acquire, so the thread that reaches zero sees all that the threads wrote.  If that
 * thread is not the caller, complete() makes it visible to the caller, too.
 */
void padata_mt_helper_fn(struct work_struct *work)
{
	struct padata_mt_helper *helper = container_of(work, struct padata_mt_helper, work);
	struct padata_mt_team *team = helper->team;

	if (refcount_inc_not_zero(&team->inside)) {
		padata_mt_helper_work(helper);
		if (refcount_dec_and_test(&team->inside))
			complete(&team->all_out);
	}

	/*
	 * Pairs with the acquire in padata_mt_start_helpers(): what this helper wrote
	 * comes before all that the next one in this slot reads or writes.
	 */
	smp_store_release(&helper->in_use, false);

	/* Frees @work too, if last.  The workqueue is done with it. */
	padata_mt_team_put(team);
}

/*
 * Isolated CPUs work, too: nothing else runs on them yet.  The caller's CPU is the one it runs on
 * now, and the core of that CPU has a thread.  The caller may migrate later: this is only a hint,
 * nothing breaks without it.
 */
static unsigned int padata_mt_boot_prepare(struct padata_mt_team *team, unsigned int nr)
{
	struct padata_mt_where *where = team->where;

	where->wq = padata_mt_wq;
	where->caller_cpu = raw_smp_processor_id();
	where->nid = team->job->numa_aware ? cpu_to_node(where->caller_cpu) : team->job->nid;
	cpumask_copy(&where->free, cpu_online_mask);
	nr = min(nr, cpumask_weight(&where->free));
	cpumask_clear_cpu(where->caller_cpu, &where->free);
	cpumask_andnot(&where->spread, &where->free,
		       topology_sibling_cpumask(where->caller_cpu));
	return nr;
}

/*
 * The CPU for the next helper, on the nearest node that has one.  On a node, cores that have no
 * thread come first, then the other siblings.  The caller's own CPU comes last of all: it is of
 * use if the thread function sleeps.
 */
static int padata_mt_boot_choose_cpu(struct padata_mt_team *team)
{
	struct padata_mt_where *where = team->where;
	int cpu, core;

	if (cpumask_empty(&where->free))
		return where->caller_cpu;

	if (team->job->numa_aware)
		where->nid = next_node_in(where->nid, node_states[N_CPU]);
	cpu = sched_numa_find_nth_cpu(&where->free, 0, where->nid);
	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first(&where->free);
	core = cpumask_first_and(&where->spread, cpumask_of_node(cpu_to_node(cpu)));
	if (core < nr_cpu_ids)
		cpu = core;
	/* Clear it explicitly: once offline, it is no longer its own sibling. */
	cpumask_clear_cpu(cpu, &where->free);
	cpumask_clear_cpu(cpu, &where->spread);
	cpumask_andnot(&where->spread, &where->spread,
		       topology_sibling_cpumask(cpu));
	return cpu;
}

/* Jobs at boot: there is nobody to disturb, so use as many threads as can help. */
const struct padata_mt_backend padata_mt_boot_backend = {
	.prepare	= padata_mt_boot_prepare,
	.choose_cpu	= padata_mt_boot_choose_cpu,
	.claim		= padata_mt_claim,
};
EXPORT_SYMBOL_FOR_PADATA_TESTS(padata_mt_boot_backend);

/* Jobs after boot are done by their callers alone, unless there is a back end for them. */
const struct padata_mt_backend * __weak padata_mt_runtime_backend(void)
{
	static const struct padata_mt_backend alone = { .claim = padata_mt_claim };

	return &alone;
}
EXPORT_SYMBOL_FOR_PADATA_TESTS(padata_mt_runtime_backend);

/*
 * The most helpers that can make sense: no more than the job allows, and no more than
 * there are chunks besides the caller's.
 */
static unsigned int padata_mt_max_helpers(const struct padata_mt_job *job)
{
	unsigned long chunks = job->size / max3(job->align, job->min_chunk, 1UL);

	if (!padata_mt_wq || job->max_threads <= 1 || chunks <= 1)
		return 0;

	return min3((unsigned long)num_online_cpus(), job->max_threads - 1UL,
		    chunks - 1);
}

static void padata_mt_team_init(struct padata_mt_team *team, const struct padata_mt_job *job,
				struct lock_class_key *key,
				const struct padata_mt_backend *backend)
{
	static atomic_t last_nr = ATOMIC_INIT(0);

	team->job = job;
	team->backend = backend;
	team->caller = current;
	team->next = job->start;
	team->end = job->start + job->size;
	team->divisor = 1;
	team->nr = atomic_inc_return_relaxed(&last_nr);
	refcount_set(&team->inside, 1);
	refcount_set(&team->ref, 1);
	init_completion(&team->all_out);
	/*
	 * Tell lockdep that the caller waits for its threads: the job acts as a lock that they
	 * hold while they work.  If thread_fn takes a lock that the caller holds, that is then
	 * a circular dependency, and is reported whether or not it deadlocks.  With max_chunk
	 * it acts as a spinlock, under which no lock may be taken that sleeps.
	 */
	lockdep_init_map_wait(&team->dep_map, "padata_mt_job", key, 0,
			      job->max_chunk ? LD_WAIT_CONFIG : LD_WAIT_INV);
	lock_map_acquire(&team->dep_map);
	lock_map_release(&team->dep_map);
}

/*
 * Helpers may look at the team after the caller has returned, so it cannot be
 * on the caller's stack.  Without memory for it, there are no helpers.  The allocation
 * neither reclaims, nor wakes kswapd, nor uses reserves.
 */
static struct padata_mt_team *
padata_mt_team_alloc(const struct padata_mt_job *job, struct lock_class_key *key,
		     const struct padata_mt_backend *backend)
{
	unsigned int nr = backend->prepare ? padata_mt_max_helpers(job) : 0;
	struct padata_mt_team *team;
	size_t size;

	if (!nr)
		return NULL;
	size = struct_size(team, helpers, nr);
	team = kzalloc(size + sizeof(*team->where), __GFP_NOWARN | __GFP_NOMEMALLOC);
	if (!team)
		return NULL;

	team->where = (void *)team + size;
	padata_mt_team_init(team, job, key, backend);
	team->nr_helpers = backend->prepare(team, nr);
	if (!team->nr_helpers) {
		kfree(team);
		return NULL;
	}
	team->divisor = 2UL * (team->nr_helpers + 1);
	return team;
}

static void padata_mt_queue_helper(struct padata_mt_team *team,
				   struct padata_mt_helper *helper, int cpu)
{
	/*
	 * A new item each time.  The workqueue may not have noticed yet that the last
	 * helper in this slot is gone, and would queue the same item where that one ran.
	 */
	INIT_WORK(&helper->work, padata_mt_helper_fn);

	helper->team = team;
	helper->in_use = true;
	refcount_inc(&team->ref);
	trace_padata_mt_helper_start(team->nr, cpu);
	queue_work_on(cpu, team->where->wq, &helper->work);
}

/*
 * padata_mt_start_helpers - start a helper in each free slot, in order, while there are CPUs
 *
 * Called by the caller, before it closes the team.
 *
 * CPU hotplug is not held off.  If a CPU goes away before its helper starts, the
 * workqueue runs the helper elsewhere; if the CPU was gone before the helper was
 * queued, elsewhere or never.  All that the job can lose is a helper.
 */
void padata_mt_start_helpers(struct padata_mt_team *team)
{
	int i, cpu;

	for (i = 0; i < team->nr_helpers; i++) {
		struct padata_mt_helper *helper = &team->helpers[i];

		/* Pairs with the release in padata_mt_helper_fn(). */
		if (smp_load_acquire(&helper->in_use))
			continue;
		cpu = team->backend->choose_cpu(team);
		if (cpu < 0)
			return;
		padata_mt_queue_helper(team, helper, cpu);
		team->nr_used = max(team->nr_used, i + 1);
	}
}

/*
 * Cancel the helpers that have not started, and wait for those inside.  A helper
 * between the two, off the queue but not inside yet, needs neither: once the
 * caller's count is gone, it is either inside and waited for, or finds the job
 * closed.
 */
static void padata_mt_finish(struct padata_mt_team *team)
{
	int i;

	for (i = 0; i < team->nr_used; i++) {
		if (cancel_work(&team->helpers[i].work))
			padata_mt_team_put(team);
	}

	/* Pairs with the decrement in padata_mt_helper_fn(). */
	if (!refcount_dec_and_test(&team->inside))
		wait_for_completion(&team->all_out);
	if (team->backend->release)
		team->backend->release(team);
}

/* Return how many threads were put to work. */
static int padata_mt_run_job(struct padata_mt_team *team)
{
	trace_padata_mt_job_start(team->nr, team->job, team->nr_helpers + 1);
	padata_mt_start_helpers(team);
	padata_mt_do_chunks(team, NULL);
	padata_mt_finish(team);
	trace_padata_mt_job_end(team->nr, team->nr_used + 1);
	return team->nr_used + 1;
}

/* padata_do_multithreaded() with a back end of choice: tests need both at any time. */
int padata_mt_do_job(const struct padata_mt_job *job, struct lock_class_key *key,
		     const struct padata_mt_backend *backend)
{
	struct padata_mt_team alone = {}, *team;
	unsigned long end;
	int nr_threads;

	might_sleep();

	if (!job->thread_fn || check_add_overflow(job->start, job->size, &end)) {
		pr_warn_once("padata: job from %s refused: thread_fn %ps, start %lu, size %lu\n",
			     current->comm, job->thread_fn, job->start, job->size);
		return -EINVAL;
	}
	if (!job->size)
		return 0;

	team = padata_mt_team_alloc(job, key, backend);
	if (!team) {
		padata_mt_team_init(&alone, job, key, backend);
		return padata_mt_run_job(&alone);
	}
	nr_threads = padata_mt_run_job(team);
	padata_mt_team_put(team);
	return nr_threads;
}
EXPORT_SYMBOL_FOR_PADATA_TESTS(padata_mt_do_job);

/* Each call site of padata_do_multithreaded() has a lockdep class of its own, @key. */
int padata_do_multithreaded_key(const struct padata_mt_job *job, struct lock_class_key *key)
{
	return padata_mt_do_job(job, key, system_state < SYSTEM_RUNNING ?
				&padata_mt_boot_backend : padata_mt_runtime_backend());
}
EXPORT_SYMBOL_FOR_PADATA_TESTS(padata_do_multithreaded_key);

static void padata_mt_spare_worker_fn(struct work_struct *work)
{
	kfree(work);
}

/*
 * Make the pool of a CPU that came up create a second worker.
 *
 * The last idle worker of a pool never starts on a work item before it has created
 * another worker, through kthreadd, which creates one thread at a time.  So that helpers
 * do not all wait for that, it is done as CPUs are brought up, by an item that does
 * nothing else.  From then on a pool keeps two idle workers.  Without memory for the item,
 * helpers start later.
 */
static int padata_mt_cpu_online(unsigned int cpu)
{
	struct work_struct *work = kzalloc(sizeof(*work), GFP_KERNEL);

	if (work) {
		INIT_WORK(work, padata_mt_spare_worker_fn);
		queue_work_on(cpu, padata_mt_wq, work);
	}
	return 0;
}

/*
 * Runs before CPUs are brought up.  A job before that has no helpers.
 * %WQ_CPU_INTENSIVE, because a thread function may run for long and must not keep
 * other work items on its CPU from starting.
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
