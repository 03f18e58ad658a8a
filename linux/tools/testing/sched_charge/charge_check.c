// SPDX-License-Identifier: GPL-2.0-only
/*
 * charge_check.c - check that the CPU time of helpers is charged to the right groups
 *
 *   charge_check [SEED]
 *
 * Random threads take bandwidth for random tasks in a tree of task groups, work, and
 * settle, while periods begin, limits are written and tasks are moved.  After each step,
 * all groups are checked.  A group's runtime less its debt is its balance: no time may be
 * lost or counted twice, however it is taken, owed and repaid.
 *
 * Then the nice values of helpers, and whether they are in the way, for fixed cases.
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

struct shim_lock shim_rcu;
struct rq shim_rqs[SHIM_NR_CPUS];
int shim_cpu;
bool shim_scx;

static unsigned int seed = 1;
static unsigned long step;
static const char *doing = "start";

/* Each group's parent comes before it; the first is the root. */
static struct task_group groups[NR_GROUPS];
static int64_t balances[NR_GROUPS];
static struct cfs_bandwidth before[NR_GROUPS];

/* What a task's helper has taken, if anything. */
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
	for (; below; below = below->parent) {
		if (below == tg)
			return true;
	}
	return false;
}

static int64_t balance(const struct cfs_bandwidth *cfs_b)
{
	return (int64_t)(cfs_b->runtime - cfs_b->debt);
}

/* Stop all timers and make all periods idle, so that what a step does to them shows. */
static void begin_step(const char *what)
{
	int i;

	doing = what;
	for (i = 0; i < NR_GROUPS; i++) {
		struct cfs_bandwidth *cfs_b = &groups[i].cfs_bandwidth;

		cfs_b->timer = false;
		cfs_b->idle = 1;
		before[i] = *cfs_b;
	}
}

static void end_step(void)
{
	int i;

	for (i = 0; i < NR_GROUPS; i++) {
		struct cfs_bandwidth *cfs_b = &groups[i].cfs_bandwidth;

		shim_need(!cfs_b->lock.held, "a lock is still held");
		if (!is_limited(&groups[i]))
			continue;
		shim_need(balance(cfs_b) == balances[i], "a group's balance is wrong");
		shim_need(cfs_b->debt <= before[i].debt || !cfs_b->runtime,
			  "a group owes what it could have paid");
	}
	shim_need(!shim_rcu.held, "RCU is still held");
}

/* @tg and the groups above it have used bandwidth, so their periods go on. */
static void check_used(const struct task_group *tg)
{
	int i;

	for (i = 0; i < NR_GROUPS; i++) {
		const struct cfs_bandwidth *cfs_b = &groups[i].cfs_bandwidth;
		bool paid = is_limited(&groups[i]) && is_above(&groups[i], tg);

		shim_need(!paid || cfs_b->timer, "no period follows");
		shim_need(!paid || !cfs_b->idle, "the period counts as idle");
		shim_need(paid || cfs_b->runtime == before[i].runtime,
			  "a group that has not paid has another runtime");
		shim_need(paid || cfs_b->debt == before[i].debt,
			  "a group that has not paid has another debt");
	}
}

/* Whether all groups from @tg up have something left, and no debts. */
static bool all_have(const struct task_group *tg)
{
	for (; tg; tg = tg->parent) {
		if (is_limited(tg) && (tg->cfs_bandwidth.debt || !tg->cfs_bandwidth.runtime))
			return false;
	}
	return true;
}

/* Whoever has looked may spend as much as it wants, also when nothing is left any more. */
static void spend(int nr, u64 ns)
{
	struct task_struct *p = &tasks[nr];
	u64 cgroup_ns = p->cgroup_ns + ns, system_ns = p->system_ns + ns;
	int i;

	begin_step("sched_charge()");
	shim_need(sched_task_has_quota(p) == all_have(p->tg), "whether anything is left is wrong");
	sched_charge(p, ns);
	shim_need(p->cgroup_ns == cgroup_ns, "the time is not in the cgroup's cpu.stat");
	shim_need(p->system_ns == system_ns, "it is not system time there");
	for (i = 0; i < NR_GROUPS; i++)
		balances[i] -= is_above(&groups[i], p->tg) ? ns : 0;
	check_used(p->tg);
	end_step();
}

/* A period begins, as in __refill_cfs_bandwidth_runtime() without a burst. */
static void refill(struct task_group *tg)
{
	struct cfs_bandwidth *cfs_b = &tg->cfs_bandwidth;
	u64 debt = cfs_b->debt, repaid = min(debt, cfs_b->quota / 2);

	cfs_b->lock.held = true;
	cfs_b->runtime = cfs_b->quota;
	cfs_bandwidth_repay(cfs_b);
	cfs_b->lock.held = false;
	shim_need(cfs_b->runtime == cfs_b->quota - repaid,
		  "it has not paid half of its quota at most");
	shim_need(cfs_b->debt == debt - repaid, "its debt is not less by what it paid");
	shim_need(cfs_b->idle == !debt, "a period that repays something is not idle");
	balances[tg - groups] = balance(cfs_b);
}

static void new_period(struct task_group *tg)
{
	begin_step("a new period");
	if (is_limited(tg))
		refill(tg);
	end_step();
}

/* cpu.max is written, which is not possible for the root. */
static void new_limit(struct task_group *tg)
{
	begin_step("a new limit");
	tg->cfs_bandwidth.quota = random() % 4 ? 1 + random() % MAX_QUOTA : RUNTIME_INF;
	if (is_limited(tg))
		refill(tg);
	end_step();
}

static void any_step(void)
{
	int nr = random() % NR_TASKS;

	switch (random() % 16) {
	case 0:
		new_limit(&groups[1 + random() % (NR_GROUPS - 1)]);
		break;
	case 1 ... 3:
		new_period(&groups[random() % NR_GROUPS]);
		break;
	case 4:
		tasks[nr].tg = &groups[random() % NR_GROUPS];
		break;
	default:
		spend(nr, random() % MAX_NS);
	}
}

static void check_time(void)
{
	int i;

	srandom(seed);
	for (i = 0; i < NR_GROUPS; i++) {
		groups[i].cfs_bandwidth.quota = RUNTIME_INF;
		groups[i].parent = i ? &groups[random() % i] : NULL;
	}
	for (i = 0; i < NR_TASKS; i++)
		tasks[i].tg = &groups[random() % NR_GROUPS];
	for (step = 1; step <= STEPS; step++)
		any_step();
	printf("charge_check: checked %lu steps, seed %u\n", STEPS, seed);
}

/* A helper on CPU 1, whose sibling is CPU 0 */

static const struct place_case {
	const char		*what;
	unsigned int		running;	/* on its CPU, with sleeping ones */
	unsigned int		asleep;
	int			enabled;	/* the CPU with core scheduling, or -1 */
	int			cookie;		/* the CPU with a task that has one, or -1 */
	bool			scx;
	bool			allowed;	/* if the CPU were idle */
	bool			unwanted;
} place_cases[] = {
	{ "alone", 1, 0, -1, -1, false, true, false },
	{ "beside one that sleeps", 2, 1, -1, -1, false, true, false },
	{ "beside another one", 2, 0, -1, -1, false, true, true },
	{ "beside one that sleeps and one that does not", 3, 1, -1, -1, false, true, true },
	{ "under a BPF scheduler", 1, 0, -1, -1, true, false, true },
	{ "a cookie on its CPU", 1, 0, 1, 1, false, false, true },
	{ "a cookie on its sibling", 1, 0, 1, 0, false, false, true },
	{ "a cookie on another core", 1, 0, 1, 2, false, true, false },
	{ "a cookie without core scheduling", 1, 0, -1, 1, false, true, false },
};

static void check_place(const struct place_case *one)
{
	int cpu;

	doing = one->what;
	shim_cpu = 1;
	shim_scx = one->scx;
	for (cpu = 0; cpu < SHIM_NR_CPUS; cpu++) {
		shim_rqs[cpu] = (struct rq){ .cpu = cpu, .core_enabled = cpu == one->enabled,
					     .core_tree.used = cpu == one->cookie };
	}
	shim_rqs[1].nr_running = one->running;
	shim_rqs[1].cfs.h_nr_queued = one->running;
	shim_rqs[1].cfs.h_nr_runnable = one->running - one->asleep;
	shim_need(sched_helper_unwanted() == one->unwanted, "whether it is in the way");
	shim_need(!sched_cpu_may_help(1), "a CPU that is not idle may help");
	shim_rqs[1].nr_running = 0;
	shim_need(sched_cpu_may_help(1) == one->allowed, "whether a helper may be there");
	shim_need(sched_whole_core_idle(1), "a core that is idle");
	shim_rqs[0].nr_running = 1;
	shim_need(!sched_whole_core_idle(1), "a core of which one CPU is idle");
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
