// SPDX-License-Identifier: GPL-2.0-only
/*
 * jobs.c - jobs of a few units on two or three threads
 *
 * The caller makes one job, looks at what came of it, and then frees it, so whoever
 * touches it later is found.  Its thread function counts each unit, without atomics: if
 * two threads have the same unit, or the caller does not see what a helper did, that
 * is a data race.
 */

#include <linux/padata_mt.h>

#include "padata_mt.h"

#define MAX_UNITS	8

struct units {
	struct padata_mt_job	job;
	signed char		done[MAX_UNITS];
};

struct model {
	struct kernel_setup	setup;
	int			units;
	int			min_chunk;
	const char		*quiet[7];	/* see mc_quiet() */
};

struct jobs_world {
	const struct model	*model;
	unsigned char		claimed;	/* units */
	unsigned char		ran;		/* threads */
};

#define J	((struct jobs_world *)kernel_world())

static void thread_fn(unsigned long start, unsigned long end, void *arg)
{
	const struct model *model = J->model;
	struct units *units = arg;
	unsigned long unit;

	J->ran |= 1 << mc_self();
	for (unit = start; unit < end; unit++) {
		MC_ASSERT(!(J->claimed & 1 << unit), "a unit is handed out twice");
		J->claimed |= 1 << unit;
		units->done[unit]++;
	}
	MC_ASSERT(end - start >= model->min_chunk || start == 0, "a chunk is too small");
}

static void check_job(const struct units *units, int ret)
{
	int unit;

	for (unit = 0; unit < J->model->units; unit++) {
		MC_ASSERT(J->claimed & 1 << unit, "a unit is not handed out");
		MC_ASSERT(units->done[unit] == 1, "a unit is not done");
	}
	MC_ASSERT(ret >= __builtin_popcount(J->ran), "more threads than were started");
}

static void caller(int nr)
{
	static struct lock_class_key key;
	const struct model *model = J->model;
	struct units *units = mc_alloc(sizeof(*units), "job");
	int ret;

	units->job.thread_fn = thread_fn;
	units->job.fn_arg = units;
	units->job.size = model->units;
	units->job.min_chunk = model->min_chunk;
	units->job.max_threads = model->setup.helpers + 1;
	units->job.max_chunk = MAX_UNITS;

	ret = padata_mt_do_job(&units->job, &key,
			       model->setup.boot ? &padata_mt_boot_backend : padata_mt_runtime_backend());
	check_job(units, ret);
	mc_free(units, MC_SITE("the caller returns"));
	kernel_caller_gone();
}

static void start(const struct model *model)
{
	J->model = model;
	kernel_start(&model->setup, caller);
}

/* What there is for others to see only if helpers are started anew. */
#define QUIET(...)	.quiet = { __VA_ARGS__ }
#define NOT_AGAIN	"in_use"

#define TWO		.helpers = 1, .cpus = { 3 }
#define THREE		.helpers = 2, .cpus = { 7 }
#define MODEL(name, ...)						\
	static const struct model name = { __VA_ARGS__ };		\
	static void start_##name(void) { start(&name); }

MODEL(boot_two, .setup = { TWO, .boot = true, .fates = true }, .units = 3)
MODEL(boot_two_long, .setup = { TWO, .boot = true, .fates = true }, .units = 6)
MODEL(boot_three, .setup = { THREE, .boot = true }, .units = 3, QUIET(NOT_AGAIN))
MODEL(boot_three_late, .setup = { THREE, .boot = true, .fates = true }, .units = 3, QUIET(NOT_AGAIN))
MODEL(boot_three_long, .setup = { THREE, .boot = true }, .units = 5, QUIET(NOT_AGAIN))
MODEL(task_two, .setup = { TWO, .fates = true, .unwanted = 1 }, .units = 3)
MODEL(task_again, .setup = { TWO, .unwanted = 1, .ticks = 1 }, .units = 4)
MODEL(task_again_long, .setup = { TWO, .fates = true, .unwanted = 2, .ticks = 2 }, .units = 5)
MODEL(task_three, .setup = { THREE }, .units = 3, QUIET(NOT_AGAIN))
MODEL(task_restricted, .setup = { TWO, .restricted = true }, .units = 3)

const bool mc_fences;

const char *const *mc_quiet(void)
{
	return J->model->quiet;
}

#define ENTRY(name, words)	{ words, start_##name, kernel_over }

const struct mc_model mc_models[] = {
	ENTRY(boot_two, "boot-two"),
	ENTRY(boot_two_long, "boot-two-long"),
	ENTRY(boot_three, "boot-three"),
	ENTRY(boot_three_late, "boot-three-late"),
	ENTRY(boot_three_long, "boot-three-long"),
	ENTRY(task_two, "task-two"),
	ENTRY(task_again, "task-again"),
	ENTRY(task_again_long, "task-again-long"),
	ENTRY(task_three, "task-three"),
	ENTRY(task_restricted, "task-restricted"),
	{ NULL, NULL, NULL }
};
