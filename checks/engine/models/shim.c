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

/* The CPU time that each worker has used before */
#define BEFORE	100

struct thread {
	struct task_struct	*task;
	struct work_struct	*queue[QUEUE];
	unsigned char		fates[QUEUE], queued;
	struct worker		worker;
	unsigned char		runtime;	/* one for each chunk that it did as a helper */
	bool			claimed_late;
};

struct world {
	const struct kernel_setup *setup;
	int			ticks, unwanted, taken, charged;
	bool			gone, realtime, elsewhere;	/* the last two: see restricting_thread() */
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

/* Completions */

void kernel_complete(struct completion *x, const struct mc_site *site)
{
	mc_sync(x, MC_COMPLETE, site);
	if (!x->made)
		mc_fail("a completion that was not initialised", site);
}

void kernel_wait(struct completion *x, const struct mc_site *site)
{
	mc_sync(x, MC_WAIT, site);
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

/*
 * What others change of the caller is no memory of the model: each look sees the last change.
 * In the kernel nothing orders the two either, but no CPU keeps a store to itself for as long
 * as a chunk takes.
 */
static void look(const struct mc_site *site)
{
	if (W->setup->restricted && mc_self())
		mc_until(always, 0, site);
}

bool kernel_realtime(const struct mc_site *site)
{
	look(site);
	return W->realtime;
}

unsigned long kernel_task_mask(const struct task_cpumask *mask, const struct mc_site *site)
{
	look(site);
	return W->elsewhere ? 1 : ~0UL;
}

u64 task_sched_runtime(struct task_struct *task)
{
	return BEFORE + SELF->runtime;
}

unsigned long kernel_jiffies(const struct mc_site *site)
{
	if (W->ticks < W->setup->ticks && mc_choose(2, site))
		W->ticks++;
	return W->ticks;
}

/* sched/charge.c */

u64 kernel_take(atomic64_t *v, u64 i, const struct mc_site *site)
{
	u64 ns = mc_xchg(&v->counter, sizeof(v->counter), i, MC_RELAXED, site);

	W->taken += ns;
	return ns;
}

/* There is always some left.  Who asks counts its own time as used until it is to be charged. */
bool sched_task_has_quota(struct task_struct *p, u64 ns)
{
	MC_ASSERT(!W->setup->restricted || !mc_self() || W->taken + ns >= SELF->runtime,
		  "a helper takes for left what it has used");
	return true;
}

void sched_charge(u64 ns)
{
	MC_ASSERT(!mc_self(), "a helper charges itself");
	W->charged += ns;
}

/* What is asked of an idle CPU by the caller is another matter. */
bool sched_helper_unwanted(int cpu)
{
	if (!mc_self())
		return false;
	if (W->unwanted == W->setup->unwanted || !mc_choose(2, MC_SITE("another task wants the CPU")))
		return false;
	W->unwanted++;
	return true;
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
		if (fate == LATE)
			mc_until(caller_is_gone, 0, MC_SITE("the work item starts late"));
		thread->worker.current_func = work->func;
		work->func(work);
		thread->worker.current_func = NULL;
	}
}

static void restricting_thread(int nr)
{
	if (mc_choose(2, MC_SITE("the caller is made realtime, or its mask changed")))
		W->realtime = true;
	else
		W->elsewhere = true;
}

/* One more chunk, if it had just looked whether it may. */
void kernel_on_claim(unsigned long start, unsigned long end)
{
	bool late = W->realtime || W->elsewhere;

	if (!mc_self())
		return;
	MC_ASSERT(!late || !SELF->claimed_late,
		  "a helper claims a chunk although the caller may not have help");
	SELF->claimed_late = late;
	SELF->runtime++;
}

void kernel_caller_gone(void)
{
	int i, used = 0;

	for (i = 1; i <= W->setup->helpers; i++) {
		MC_ASSERT(!W->threads[i].queued, "a helper that has not started is not cancelled");
		used += W->threads[i].runtime;
	}
	MC_ASSERT(W->charged == (W->setup->boot ? 0 : used), "the caller is charged for another time");
	W->gone = true;
}

void kernel_start(const struct kernel_setup *setup, void (*caller)(int nr))
{
	static const char *const names[] = { "caller", "worker 1", "worker 2" };
	int i;

	W->setup = setup;
	for (i = 0; i <= setup->helpers; i++) {
		W->threads[i].task = mc_alloc(sizeof(struct task_struct), names[i]);
		mc_thread(names[i], i ? worker_thread : caller, i);
	}
	if (setup->restricted)
		mc_thread("admin", restricting_thread, 0);
	if (kernel_padata_mt_init() || kernel_padata_mt_task_init())
		mc_fail("the initcall fails", NULL);
}

void kernel_over(void)
{
	MC_ASSERT(mc_allocated() == W->setup->helpers + 1, "memory is left");
}
