// SPDX-License-Identifier: GPL-2.0-only
/*
 * shim.c - the kernel around the engine, for models: workers and tasks, see shim.h
 *
 * Thread 0 is the caller.  Thread N is the worker of CPU N, which runs the work items that
 * are queued there, one after the other.  As in kernel/workqueue.c an item is off its
 * queue before its function is called, the worker does not touch it after that, and
 * whether an item is still there to be cancelled is decided under a lock.  A last
 * thread does to the caller what others may do.
 */

#include "shim.h"
#include "sched/charge.h"

enum fate {
	AT_ONCE,	/* the item may run at any time, soon or late */
	HELD,		/* it stays on the queue until the caller has returned, */
	LATE,		/* or is off it, but does not start before that */
	NR_FATES,
};

#define QUEUE	2

#define CALLER_NICE	(-5)

struct thread {
	struct task_struct	*task;
	struct work_struct	*queue[QUEUE];
	unsigned char		fates[QUEUE], queued;
	struct worker		worker;
	/* What a worker has to have again when it is done with an item */
	signed char		nice;
	bool			idle;			/* SCHED_IDLE */
	bool			knows_killed, unpaid, claimed_late;
};

struct world {
	const struct kernel_setup *setup;
	int			ticks, unwanted;
	bool			gone, waits, restricted;
	struct thread		threads[3];
	char			rest[KERNEL_WORLD];
};

_Static_assert(sizeof(struct world) <= MC_WORLD, "MC_WORLD is too small");

#define W		((struct world *)mc_world)
#define SELF		(&W->threads[mc_self()])

struct workqueue_struct kernel_workqueue;
const struct cpumask kernel_siblings[] = { { 1 }, { 2 }, { 4 }, { 8 } };
const struct kernel_setup *kernel_setup(void)
{
	return W->setup;
}

void *kernel_world(void)
{
	return W->rest;
}

static bool always(int nr)
{
	return true;
}

/* Reference counts */

static void check_count(int old, const struct mc_site *site)
{
	if (old <= 0 || old > 100)
		mc_fail("a reference count that is not in use is changed", site);
}

void kernel_refcount_inc(refcount_t *r, const struct mc_site *site)
{
	check_count(mc_add(&r->refs.counter, sizeof(int), 1, MC_RELAXED, site), site);
}

bool kernel_refcount_inc_not_zero(refcount_t *r, const struct mc_site *site)
{
	uint64_t old;
	bool done = mc_add_unless_zero(&r->refs.counter, sizeof(int), 1, &old, MC_RELAXED, site);

	if (done)
		check_count(old, site);
	return done;
}

bool kernel_refcount_dec(refcount_t *r, bool release, bool acquire, const struct mc_site *site)
{
	uint64_t old;
	bool last = mc_dec_and_test(&r->refs.counter, sizeof(int), &old, release, acquire, site);

	check_count(old, site);
	return last;
}

/* Locks and completions */

struct kernel_guard kernel_lock(struct spinlock *lock, const struct mc_site *site)
{
	mc_sync(lock, MC_LOCK, site);
	if (!lock->made)
		mc_fail("a lock that was not initialised", site);
	return (struct kernel_guard){ lock, site };
}

void kernel_unlock(struct kernel_guard *guard)
{
	if (guard->lock)
		mc_unlock(guard->lock, guard->site);
}

void kernel_complete(struct completion *x, const struct mc_site *site)
{
	mc_sync(x, MC_COMPLETE, site);
	if (!x->made)
		mc_fail("a completion that was not initialised", site);
}

/*
 * Nothing that the caller waits for may be held up: its helpers are boosted by now, and
 * none becomes SCHED_IDLE while it waits.
 */
static void check_boosted(const struct mc_site *site)
{
	int i;

	for (i = 1; i <= W->setup->helpers; i++) {
		if (W->threads[i].idle)
			mc_fail("the caller waits for a SCHED_IDLE helper", site);
	}
	W->waits = true;
}

void kernel_wait(struct completion *x, const struct mc_site *site)
{
	check_boosted(site);
	mc_sync(x, MC_WAIT, site);
	W->waits = false;
}

/* Tasks */

struct task_struct *kernel_current(void)
{
	return SELF->task;
}

int kernel_cpu(void)
{
	return mc_self();
}

bool kernel_realtime(struct task_struct *task, const struct mc_site *site)
{
	return W->setup->restricted && mc_load(&task->realtime, 1, MC_RELAXED, site);
}

unsigned long kernel_task_mask(const struct task_cpumask *mask, const struct mc_site *site)
{
	if (!W->setup->restricted)
		return ~0UL;
	return mc_load(&mask->bits, sizeof(mask->bits), MC_RELAXED, site);
}

int task_nice(struct task_struct *task)
{
	return W->threads[task->nr].nice;
}

void kernel_set_normal(struct task_struct *task, int nice, const struct mc_site *site)
{
	struct thread *thread = &W->threads[task->nr];

	if (thread != SELF) {
		mc_until(always, 0, site);
		if (!thread->idle)
			mc_fail("the priority of a worker is changed that has left", site);
	}
	thread->idle = false;
	thread->nice = nice;
}

void kernel_set_policy(struct task_struct *task, int policy)
{
	if (W->waits)
		mc_fail("a helper becomes SCHED_IDLE while the caller waits", NULL);
	SELF->idle = policy == SCHED_IDLE;
}

u64 task_sched_runtime(struct task_struct *task)
{
	return 0;
}

unsigned long kernel_jiffies(const struct mc_site *site)
{
	if (W->ticks < W->setup->ticks && mc_choose(2, site))
		W->ticks++;
	return W->ticks;
}

/* sched/charge.c */

bool sched_task_has_quota(struct task_struct *p)
{
	return true;
}

void sched_charge(struct task_struct *p, u64 ns)
{
	/* That lock and the runqueue's */
	struct kernel_guard guard = kernel_lock(&p->pi_lock, MC_SITE("lock &p->pi_lock"));

	kernel_unlock(&guard);
	SELF->unpaid = false;
}

bool sched_cpu_may_help(int cpu)
{
	return cpu;
}

bool sched_whole_core_idle(int cpu)
{
	return true;
}

bool sched_helper_unwanted(void)
{
	if (W->unwanted == W->setup->unwanted || !mc_choose(2, MC_SITE("another task wants the CPU")))
		return false;
	W->unwanted++;
	return true;
}

/* Fatal signals: the caller gets them */

bool kernel_killed(struct task_struct *task, const struct mc_site *site)
{
	if (task->nr || !W->setup->killed || !mc_load(&task->killed, 1, MC_RELAXED, site))
		return false;
	SELF->knows_killed = true;
	return true;
}

bool kernel_knows_killed(void)
{
	return SELF->knows_killed;
}

/* Workers */

bool kernel_queue_work(int cpu, struct work_struct *work, const struct mc_site *site)
{
	struct thread *thread = &W->threads[cpu];
	int at;

	mc_sync(thread->queue, MC_PASS, site);
	if (cpu < 1 || cpu > W->setup->helpers || thread->queued == QUEUE)
		mc_fail("a work item is queued on a CPU that is none, or where too many are", site);
	at = thread->queued++;
	thread->queue[at] = work;
	thread->fates[at] = AT_ONCE;
	if (W->setup->fates)
		thread->fates[at] = mc_choose(NR_FATES, MC_SITE("when the work item starts"));
	return true;
}

static struct work_struct *take(struct thread *thread, int at)
{
	struct work_struct *work = thread->queue[at];

	for (thread->queued--; at < thread->queued; at++) {
		thread->queue[at] = thread->queue[at + 1];
		thread->fates[at] = thread->fates[at + 1];
	}
	thread->queue[at] = NULL;
	thread->fates[at] = AT_ONCE;
	return work;
}

/* What fails orders nothing. */
bool kernel_cancel_work(struct work_struct *work, const struct mc_site *site)
{
	int cpu, at;

	mc_until(always, 0, site);
	for (cpu = 1; cpu <= W->setup->helpers; cpu++) {
		struct thread *thread = &W->threads[cpu];

		for (at = 0; at < thread->queued; at++) {
			if (thread->queue[at] != work)
				continue;
			mc_pass(thread->queue, site);
			take(thread, at);
					return true;
		}
	}
	return false;
}

struct worker *current_wq_worker(void)
{
	return mc_self() ? &SELF->worker : NULL;
}

static bool work_or_end(int nr)
{
	struct thread *thread = &W->threads[nr];

	return W->gone || (thread->queued && thread->fates[0] != HELD);
}

static bool caller_is_gone(int nr)
{
	return W->gone;
}

static int own_policy(void)
{
	return W->setup->batch ? SCHED_BATCH : SCHED_NORMAL;
}

static void check_worker(void)
{
	struct thread *thread = SELF;

	MC_ASSERT(!thread->nice, "a worker is left with another nice value");
	MC_ASSERT(!thread->idle, "a worker is left with another policy");
	MC_ASSERT(!thread->unpaid, "a worker leaves that has not paid for its last chunk");
}

static void worker_thread(int nr)
{
	struct thread *thread = SELF;

	for (;;) {
		struct work_struct *work;
		int fate;

		mc_until(work_or_end, nr, MC_SITE("a work item is taken"));
			if (!thread->queued)
			return;
		mc_pass(thread->queue, NULL);
		fate = thread->fates[0];
		work = take(thread, 0);
			thread->worker.current_work = work;
		if (fate == LATE)
			mc_until(caller_is_gone, 0, MC_SITE("the work item starts late"));
		thread->worker.current_func = work->func;
		work->func(work);
		check_worker();
		thread->worker = (struct worker){ };
	}
}

/* What others may do to the caller */

static void killer_thread(int nr)
{
	struct task_struct *task = W->threads[0].task;

	mc_store(&task->killed, 1, true, MC_RELAXED, MC_SITE("the caller is killed"));
}

static void restricting_thread(int nr)
{
	struct task_struct *task = W->threads[0].task;
	bool realtime = mc_choose(2, MC_SITE("made realtime, or its mask changed"));
	struct kernel_guard guard = kernel_lock(&task->pi_lock, MC_SITE("lock &task->pi_lock"));

	if (realtime)
		mc_store(&task->realtime, 1, true, MC_RELAXED, MC_SITE("the caller is made realtime"));
	else
		mc_store(&task->cpus_mask.bits, sizeof(unsigned long), 1, MC_RELAXED,
			 MC_SITE("the caller's mask is changed"));
	kernel_unlock(&guard);
	W->restricted = true;
}

/* It has claimed a chunk: one more, if it had just looked whether it may. */
void kernel_on_claim(unsigned long start, unsigned long end)
{
	if (mc_self() && W->restricted && SELF->claimed_late)
		mc_fail("a helper claims a chunk although the caller may not have help", NULL);
	SELF->claimed_late = W->restricted;
	if (mc_self() && !W->setup->boot) {
		MC_ASSERT(!SELF->unpaid, "a helper claims a chunk before it has paid for the last");
		SELF->unpaid = true;
	}
	if (mc_self() && !W->setup->boot && own_policy() != SCHED_NORMAL)
		mc_fail("a helper claims a chunk at a priority of its own", NULL);
}

void kernel_caller_gone(void)
{
	int i;

	for (i = 1; i <= W->setup->helpers; i++)
		MC_ASSERT(!W->threads[i].queued, "a helper that has not started is not cancelled");
	W->gone = true;
}

void kernel_start(const struct kernel_setup *setup, void (*caller)(int nr))
{
	static const char *const names[] = { "caller", "worker 1", "worker 2" };
	int i;

	W->setup = setup;
	for (i = 0; i <= setup->helpers; i++) {
		struct task_struct *task = mc_alloc(sizeof(*task), names[i]);

		W->threads[i].task = task;
		task->nr = i;
		task->pi_lock.made = true;
		task->cpus_mask.bits = ~0UL;
		if (i)
			task->policy = own_policy();
		else
			W->threads[i].nice = CALLER_NICE;
		mc_thread(names[i], i ? worker_thread : caller, i);
	}
	if (setup->killed)
		mc_thread("killer", killer_thread, 0);
	if (setup->restricted)
		mc_thread("admin", restricting_thread, 0);
	if (kernel_padata_mt_init() || kernel_padata_mt_task_init())
		mc_fail("the initcall fails", NULL);
}

void kernel_over(void)
{
	MC_ASSERT(mc_allocated() == W->setup->helpers + 1, "memory is left");
}
