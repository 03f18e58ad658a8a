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
	unsigned int		fails;		/* threads that have one of these units fail */
	const char		*quiet[7];	/* see mc_quiet() */
};

struct jobs_world {
	const struct model	*model;
	unsigned char		claimed, ran, failed;	/* units, and the rest threads */
};

#define J	((struct jobs_world *)kernel_world())

static void thread_fn(unsigned long start, unsigned long end, void *arg)
{
	const struct model *model = J->model;
	struct units *units = arg;
	unsigned long unit;

	J->ran |= 1 << mc_self();
	MC_ASSERT(!(J->failed & 1 << mc_self()), "a thread that has failed gets another chunk");
	for (unit = start; unit < end; unit++) {
		MC_ASSERT(!(J->claimed & 1 << unit), "a unit is handed out twice");
		J->claimed |= 1 << unit;
		units->done[unit]++;
	}
	MC_ASSERT(end - start >= model->min_chunk || start == 0, "a chunk is too small");
	for (unit = start; unit < end; unit++) {
		if (model->fails & 1 << unit) {
			padata_mt_fail(&units->job, -EIO);
			J->failed |= 1 << mc_self();
			return;
		}
	}
}

static void check_job(const struct units *units, int ret)
{
	const struct model *model = J->model;
	bool failed = ret;
	int unit;

	MC_ASSERT(ret == units->job.error, "another error is returned");
	if (model->fails)
		MC_ASSERT(ret == -EIO, "the error is not returned");
	else
		MC_ASSERT(!ret, "the job fails");
	for (unit = 0; unit < model->units; unit++) {
		bool claimed = J->claimed & 1 << unit;

		MC_ASSERT(units->done[unit] == claimed, "a unit is not done");
		MC_ASSERT(failed || claimed, "a unit is not handed out");
	}
	/* What is counted is slots: the next helper in one is not, another slot's always is. */
	MC_ASSERT(model->setup.ticks || units->job.nr_ran == __builtin_popcount(J->ran),
		  "the threads are not counted");
	MC_ASSERT(units->job.nr_ran <= units->job.nr_threads,
		  "more threads than were started");
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
			       model->setup.boot ? &padata_mt_boot_backend : padata_mt_runtime_backend);
	check_job(units, ret);
	mc_free(units, MC_SITE("the caller returns"));
	kernel_caller_gone();
}

static void start(const struct model *model)
{
	J->model = model;
	kernel_start(&model->setup, caller);
}

/* What there is for others to see only if the job fails, if helpers are started anew, ... */
#define QUIET(...)	.quiet = { __VA_ARGS__ }
#define NOT_FAILING	"job->error"
#define COUNTED		"nr_ran"	/* from what the caller reads at the end */
#define NOT_AGAIN	"in_use"

#define TWO		.helpers = 1, .cpus = { 3 }
#define THREE		.helpers = 2, .cpus = { 7 }
#define MODEL(name, ...)						\
	static const struct model name = { __VA_ARGS__ };		\
	static void start_##name(void) { start(&name); }

MODEL(boot_two, .setup = { TWO, .boot = true, .fates = true }, .units = 3)
MODEL(boot_two_long, .setup = { TWO, .boot = true, .fates = true }, .units = 6)
MODEL(boot_three, .setup = { THREE, .boot = true }, .units = 3,
      QUIET(COUNTED, NOT_FAILING, NOT_AGAIN))
MODEL(boot_three_late, .setup = { THREE, .boot = true, .fates = true }, .units = 3,
      QUIET(COUNTED, NOT_FAILING, NOT_AGAIN))
MODEL(boot_three_long, .setup = { THREE, .boot = true }, .units = 5,
      QUIET(COUNTED, NOT_FAILING, NOT_AGAIN))
MODEL(boot_fails, .setup = { TWO, .boot = true, .fates = true }, .units = 4, .fails = 2)
MODEL(boot_both_fail, .setup = { TWO, .boot = true }, .units = 4, .fails = 6)
MODEL(boot_three_fail, .setup = { THREE, .boot = true }, .units = 3, .fails = 2,
      QUIET(COUNTED, NOT_AGAIN))
MODEL(task_two, .setup = { TWO, .fates = true, .unwanted = 1 }, .units = 3)
MODEL(task_again, .setup = { TWO, .unwanted = 1, .ticks = 1 }, .units = 4,
      QUIET(COUNTED, NOT_FAILING))
MODEL(task_again_long, .setup = { TWO, .fates = true, .unwanted = 2, .ticks = 2 }, .units = 5,
      QUIET(COUNTED, NOT_FAILING))
MODEL(task_three, .setup = { THREE }, .units = 3,
      QUIET(COUNTED, NOT_FAILING, NOT_AGAIN))
MODEL(task_fails, .setup = { TWO, .ticks = 1, .unwanted = 1 }, .units = 4, .fails = 4,
      QUIET(COUNTED))
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
	ENTRY(boot_fails, "boot-fails"),
	ENTRY(boot_both_fail, "boot-both-fail"),
	ENTRY(boot_three_fail, "boot-three-fail"),
	ENTRY(task_two, "task-two"),
	ENTRY(task_again, "task-again"),
	ENTRY(task_again_long, "task-again-long"),
	ENTRY(task_three, "task-three"),
	ENTRY(task_fails, "task-fails"),
	ENTRY(task_restricted, "task-restricted"),
	{ NULL, NULL, NULL }
};
