// SPDX-License-Identifier: GPL-2.0-only
/*
 * pool.c - threads that stand in for a bound workqueue, see pool.h
 *
 * As in kernel/workqueue.c, an item is off its queue and no longer pending
 * before its function is called, and nothing touches it after that.  Whether an
 * item can be cancelled is decided under the lock of its queue.  An item may be
 * queued again while it runs, and then goes to the thread that runs it: two threads
 * never run it at the same time.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pool.h"

#define POOL_NR_LATE	8
#define POOL_LATE_NS	50000

struct pool_thread {
	pthread_t		thread;
	unsigned int		nr;
	uint64_t		seed;

	pthread_mutex_t		lock;		/* this and all up to nr_late */
	pthread_cond_t		wake;
	struct work_struct	*first;
	struct work_struct	**last;
	unsigned long		cancelled;
	bool			idle;
	bool			stop;

	/* Items off the queue: the one that runs, and those that have not run yet. */
	struct work_struct	*running;
	struct work_struct	*late[POOL_NR_LATE];
	unsigned int		nr_late;

	/* Belongs to the thread itself. */
	unsigned long		nr_run;
	unsigned long		nr_run_late;
};

/* There is one pool, and one workqueue. */
struct workqueue_struct {
	struct pool_thread	*threads;
	unsigned int		nr;
};

static struct workqueue_struct pool;

enum pool_fate (*pool_choose_fate)(struct work_struct *work, int cpu);
void (*pool_on_start)(unsigned int nr);

static __thread struct work_struct *pool_current_work;

static void pool_unlink(struct pool_thread *thread, struct work_struct *work)
{
	*work->prev = work->next;
	if (work->next)
		work->next->prev = work->prev;
	else
		thread->last = work->prev;
	work->pending = false;
}

static void pool_link(struct pool_thread *thread, struct work_struct *work)
{
	work->prev = thread->last;
	work->next = NULL;
	*thread->last = work;
	thread->last = &work->next;
	work->pending = true;
}

/* The workqueue */

struct workqueue_struct *alloc_workqueue(const char *fmt, unsigned int flags,
					 int max_active)
{
	return pool.nr ? &pool : NULL;
}

void set_worker_desc(const char *fmt, ...)
{
	if (!pool_current_work)
		shim_bug("a thread that is no worker describes itself as one");
}

struct work_struct *current_work(void)
{
	return pool_current_work;
}

/* With the lock held. */
static bool pool_runs(const struct pool_thread *thread, const struct work_struct *work)
{
	unsigned int i;

	for (i = 0; i < thread->nr_late; i++) {
		if (thread->late[i] == work)
			return true;
	}
	return thread->running == work;
}

/* The thread whose queue @work is on or must go to, else @wanted; locked. */
static struct pool_thread *pool_lock(const struct work_struct *work,
				     struct pool_thread *wanted)
{
	struct pool_thread *last = work->thread;

	if (last) {
		pthread_mutex_lock(&last->lock);
		if (work->pending || pool_runs(last, work))
			return last;
		pthread_mutex_unlock(&last->lock);
	}
	pthread_mutex_lock(&wanted->lock);
	return wanted;
}

/* Each item is queued and cancelled by one thread only. */
bool queue_work_on(int cpu, struct workqueue_struct *wq, struct work_struct *work)
{
	struct pool_thread *wanted = &wq->threads[(unsigned int)cpu % wq->nr], *thread;
	bool queued = false;

	if (cpu < 0 || !cpumask_test_cpu(cpu, cpu_online_mask))
		wanted = &wq->threads[shim_random() % wq->nr];

	shim_point();
	thread = pool_lock(work, wanted);
	if (thread != wanted && !work->pending)
		shim_bug("an item was queued that still runs elsewhere, and goes there");
	if (!work->pending) {
		work->thread = thread;
		work->cpu = cpu;
		work->fate = pool_choose_fate ? pool_choose_fate(work, cpu) : POOL_RUN;
		pool_link(thread, work);
		queued = true;
		if (thread->idle && work->fate != POOL_NEVER)
			pthread_cond_signal(&thread->wake);
	}
	pthread_mutex_unlock(&thread->lock);
	shim_point();
	return queued;
}

bool cancel_work(struct work_struct *work)
{
	struct pool_thread *thread = work->thread;
	bool pending;

	shim_point();
	if (!thread)
		return false;
	pthread_mutex_lock(&thread->lock);
	pending = work->pending;
	if (pending) {
		pool_unlink(thread, work);
		thread->cancelled++;
	}
	pthread_mutex_unlock(&thread->lock);
	shim_point();
	return pending;
}

/* The threads */

static struct work_struct *pool_dequeue(struct pool_thread *thread)
{
	struct work_struct *work = thread->first;

	while (work && work->fate == POOL_NEVER)
		work = work->next;
	if (work)
		pool_unlink(thread, work);
	return work;
}

static struct work_struct *pool_dequeue_late(struct pool_thread *thread)
{
	unsigned int i = shim_random() % thread->nr_late;
	struct work_struct *work = thread->late[i];

	thread->late[i] = thread->late[--thread->nr_late];
	thread->nr_run_late++;
	return work;
}

/* Wait for an item, or until a late item is due. */
static void pool_wait(struct pool_thread *thread)
{
	struct timespec until;

	thread->idle = true;
	if (thread->nr_late) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += POOL_LATE_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&thread->wake, &thread->lock, &until);
	} else {
		pthread_cond_wait(&thread->wake, &thread->lock);
	}
	thread->idle = false;
}

/* With the lock held.  NULL: nothing is left, and the pool is to stop. */
static struct work_struct *pool_choose(struct pool_thread *thread)
{
	bool waited = false;

	for (;;) {
		struct work_struct *work = pool_dequeue(thread);

		if (!work) {
			if (thread->nr_late && (waited || thread->stop))
				return pool_dequeue_late(thread);
			if (thread->stop)
				return NULL;
			pool_wait(thread);
			waited = true;
		} else if (work->fate == POOL_LATE && thread->nr_late < POOL_NR_LATE) {
			thread->late[thread->nr_late++] = work;
			if (shim_random() % 4 == 0)
				return pool_dequeue_late(thread);
		} else {
			return work;
		}
	}
}

/* The function that ran before has returned. */
static struct work_struct *pool_next(struct pool_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	thread->running = NULL;
	thread->running = pool_choose(thread);
	pool_current_work = thread->running;
	if (thread->running)
		shim_cpu = thread->running->cpu;
	pthread_mutex_unlock(&thread->lock);
	return pool_current_work;
}

static void *pool_thread_fn(void *arg)
{
	struct pool_thread *thread = arg;
	struct work_struct *work;

	shim_random_seed(thread->seed);
	shim_task.pid = thread->nr + 1;
	if (pool_on_start)
		pool_on_start(thread->nr);
	while ((work = pool_next(thread))) {
		thread->nr_run++;
		shim_point();
		work->func(work);
		if (shim_nr_held)
			shim_bug("a work item came back with a lockdep map held");
	}
	return NULL;
}

static void pool_thread_start(struct pool_thread *thread, unsigned int nr, uint64_t seed)
{
	thread->nr = nr;
	thread->seed = seed;
	thread->last = &thread->first;
	pthread_mutex_init(&thread->lock, NULL);
	pthread_cond_init(&thread->wake, NULL);
	if (pthread_create(&thread->thread, NULL, pool_thread_fn, thread))
		shim_bug("a thread of the pool could not be started");
}

void pool_start(unsigned int threads, uint64_t seed)
{
	unsigned int i;

	pool.threads = calloc(threads, sizeof(*pool.threads));
	if (!pool.threads)
		shim_bug("no memory for the pool");
	for (i = 0; i < threads; i++)
		pool_thread_start(&pool.threads[i], i, seed + i);
	pool.nr = threads;
}

static void pool_thread_stop(struct pool_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	thread->stop = true;
	pthread_cond_signal(&thread->wake);
	pthread_mutex_unlock(&thread->lock);
	pthread_join(thread->thread, NULL);
	if (thread->first)
		shim_bug("a helper was neither run nor cancelled");
}

void pool_stop(struct pool_stats *stats)
{
	unsigned int i;

	*stats = (struct pool_stats){};
	for (i = 0; i < pool.nr; i++) {
		struct pool_thread *thread = &pool.threads[i];

		pool_thread_stop(thread);
		stats->run += thread->nr_run;
		stats->late += thread->nr_run_late;
		stats->cancelled += thread->cancelled;
	}
	free(pool.threads);
	pool = (struct workqueue_struct){};
}
