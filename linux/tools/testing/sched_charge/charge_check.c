// SPDX-License-Identifier: GPL-2.0-only
/*
 * charge_check.c - check that the CPU time of helpers is charged to the right groups
 *
 *   charge_check [SEED]
 *
 * Random tasks in a tree of task groups are charged, while periods begin, limits are
 * written and tasks are moved.  A group's balance is its runtime and what its runqueues
 * have of it, or owe: no time may be lost or counted twice.
 *
 * Then where helpers may be, and whether they are in the way, for fixed cases.
 */

#include <stdio.h>
#include <stdlib.h>

#include "charge_shim.h"
#include "charge.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define STEPS			1000000UL
#define NR_GROUPS		6
#define NR_TASKS		4
#define MAX_QUOTA		100
#define MAX_NS			60

bool shim_rcu;
struct rq shim_rqs[SHIM_NR_CPUS];
struct task_struct *shim_current;
int shim_cpu;
bool shim_scx;

static unsigned int seed = 1;
static unsigned long step;
static const char *doing = "start";

/* Each group's parent comes before it; the first is the root. */
static struct task_group groups[NR_GROUPS];
static struct task_struct tasks[NR_TASKS];

void shim_fail(const char *what)
{
	printf("charge_check: FAILED: %s (%s, step %lu, seed %u)\n", what, doing, step, seed);
	exit(1);
}

/* Time of helpers */

static bool is_limited(const struct task_group *tg)
{
	return tg->cfs_bandwidth.quota != RUNTIME_INF;
}

static bool is_above(const struct task_group *tg, const struct task_group *below)
{
	while (below && below != tg)
		below = below->parent;
	return below;
}

static s64 balance(const struct task_group *tg)
{
	s64 sum = tg->cfs_bandwidth.runtime;
	int cpu;

	for (cpu = 0; cpu < SHIM_NR_CPUS; cpu++)
		sum += tg->cfs_rqs[cpu].runtime_remaining;
	return sum;
}

/* Whether all groups from @tg up have more than @ns left, which is no more than a quarter. */
static bool all_have(const struct task_group *tg, u64 ns)
{
	for (; tg; tg = tg->parent) {
		const struct cfs_bandwidth *cfs_b = &tg->cfs_bandwidth;

		if (is_limited(tg) && (cfs_b->runtime <= ns || cfs_b->quota < 4 * ns))
			return false;
	}
	return true;
}

/* @tg has paid @ns on @cpu, or nothing. */
static void check_group(const struct task_group *tg, const struct task_group *before, int cpu,
			bool pays, u64 ns)
{
	s64 owed = before->cfs_rqs[cpu].runtime_remaining - tg->cfs_rqs[cpu].runtime_remaining;

	shim_need(!tg->cfs_bandwidth.lock, "a lock is still held");
	shim_need(balance(tg) == balance(before) - (s64)(pays ? ns : 0), "a balance is wrong");
	shim_need(owed == (pays ? ns - min(ns, before->cfs_bandwidth.runtime) : 0),
		  "a runqueue does not owe what its group cannot pay");
	shim_need(tg->cfs_bandwidth.timer == pays, "whether another period follows");
	shim_need(tg->cfs_bandwidth.idle == !pays, "whether the period counts as idle");
}

static void spend(struct task_struct *p, u64 ns)
{
	u64 cgroup_ns = p->cgroup_ns + ns, system_ns = p->system_ns + ns, spent = random() % MAX_NS;
	static struct task_group before[NR_GROUPS];
	int i;

	shim_need(sched_task_has_quota(p, spent) == all_have(p->tg, spent), "whether any is left");
	for (i = 0; i < NR_GROUPS; i++) {
		groups[i].cfs_bandwidth.timer = false;
		groups[i].cfs_bandwidth.idle = 1;
		before[i] = groups[i];
	}
	shim_current = p;
	shim_cpu = p->cpu;
	sched_charge(ns);
	shim_need(!shim_rcu && !raw_rq()->lock, "a lock is still held");
	shim_need(p->cgroup_ns == cgroup_ns, "the time is not in the cgroup's cpu.stat");
	shim_need(p->system_ns == system_ns, "it is not system time there");
	for (i = 0; i < NR_GROUPS; i++)
		check_group(&groups[i], &before[i], p->cpu,
			    is_limited(&groups[i]) && is_above(&groups[i], p->tg), ns);
}

/* Runqueues get back what they owe and a little more, as by distribute_cfs_runtime(). */
static void new_period(struct task_group *tg)
{
	struct cfs_bandwidth *cfs_b = &tg->cfs_bandwidth;
	int cpu;

	cfs_b->runtime = is_limited(tg) ? cfs_b->quota : 0;
	for (cpu = 0; cpu < SHIM_NR_CPUS; cpu++) {
		s64 *remaining = &tg->cfs_rqs[cpu].runtime_remaining;
		s64 more = *remaining < 1 ? min(1 - *remaining, (s64)cfs_b->runtime) : 0;

		cfs_b->runtime -= more;
		*remaining += more;
	}
}

/* As in tg_set_cfs_bandwidth(), for any group but the root. */
static void new_limit(struct task_group *tg)
{
	int cpu;

	tg->cfs_bandwidth.quota = random() % 4 ? 1 + random() % MAX_QUOTA : RUNTIME_INF;
	for (cpu = 0; cpu < SHIM_NR_CPUS; cpu++) {
		tg->cfs_rqs[cpu].runtime_enabled = is_limited(tg);
		tg->cfs_rqs[cpu].runtime_remaining = 0;
	}
	new_period(tg);
}

/* As in set_task_rq() */
static void move(struct sched_entity *se, struct task_group *tg, int cpu)
{
	se->cfs_rq = &tg->cfs_rqs[cpu];
	se->parent = tg->parent ? &tg->ses[cpu] : NULL;
}

static void move_task(struct task_struct *p)
{
	p->tg = &groups[random() % NR_GROUPS];
	p->cpu = random() % SHIM_NR_CPUS;
	move(&p->se, p->tg, p->cpu);
}

static void any_step(void)
{
	struct task_struct *p = &tasks[random() % NR_TASKS];
	int what = random() % 16;

	if (!what)
		new_limit(&groups[1 + random() % (NR_GROUPS - 1)]);
	else if (what < 4)
		new_period(&groups[random() % NR_GROUPS]);
	else if (what == 4)
		move_task(p);
	else
		spend(p, random() % MAX_NS);
}

static void make_group(struct task_group *tg, struct task_group *parent)
{
	int cpu;

	tg->cfs_bandwidth.quota = RUNTIME_INF;
	tg->parent = parent;
	for (cpu = 0; cpu < SHIM_NR_CPUS; cpu++) {
		tg->cfs_rqs[cpu].rq = cpu_rq(cpu);
		tg->cfs_rqs[cpu].tg = tg;
		if (parent)
			move(&tg->ses[cpu], parent, cpu);
	}
}

static void check_time(void)
{
	int i;

	doing = "time";
	srandom(seed);
	for (i = 0; i < NR_GROUPS; i++)
		make_group(&groups[i], i ? &groups[random() % i] : NULL);
	for (i = 0; i < NR_TASKS; i++)
		move_task(&tasks[i]);
	for (step = 1; step <= STEPS; step++)
		any_step();
	printf("charge_check: checked %lu steps, seed %u\n", STEPS, seed);
}

/* Whether a helper should be on CPU 1 */

static const struct place_case {
	const char		*what;
	unsigned int		running;	/* on its CPU, with sleeping ones */
	unsigned int		asleep;
	bool			cookies;	/* core scheduling is in use */
	bool			scx;
	bool			unwanted;
} place_cases[] = {
	{ "to be started on an idle CPU", 0, 0, false, false, false },
	{ "alone", 1, 0, false, false, false },
	{ "beside one that sleeps", 2, 1, false, false, false },
	{ "beside another one", 2, 0, false, false, true },
	{ "beside one that sleeps and one that does not", 3, 1, false, false, true },
	{ "under a BPF scheduler", 0, 0, false, true, true },
	{ "under core scheduling", 0, 0, true, false, true },
};

static void check_place(const struct place_case *one)
{
	doing = one->what;
	shim_scx = one->scx;
	shim_rqs[1] = (struct rq){ .cpu = 1, .core_enabled = one->cookies };
	shim_rqs[1].nr_running = one->running;
	shim_rqs[1].cfs.h_nr_queued = one->running;
	shim_rqs[1].cfs.h_nr_runnable = one->running - one->asleep;
	shim_need(sched_helper_unwanted(1) == one->unwanted, "whether it is in the way");
}

static void check_places(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(place_cases); i++)
		check_place(&place_cases[i]);
	printf("charge_check: checked %zu places\n", ARRAY_SIZE(place_cases));
}

int main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoul(argv[1], NULL, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	check_time();
	check_places();
	printf("charge_check: ok\n");
	return 0;
}
