/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_padata_mt_cpus.h - for tests of multithreaded jobs: helpers on some CPUs only
 */
#ifndef _KERNEL_TEST_PADATA_MT_CPUS_H
#define _KERNEL_TEST_PADATA_MT_CPUS_H

#include <linux/container_of.h>
#include <linux/cpumask.h>
#include <linux/minmax.h>

#include "padata_mt.h"

/* As @base, but for helpers on CPUs that are not in @cpus.  Lives as long as its job. */
struct test_padata_mt_cpus {
	struct padata_mt_backend backend;
	const struct padata_mt_backend *base;
	const struct cpumask	*cpus;
};

static inline const struct test_padata_mt_cpus *
test_padata_mt_cpus_of(const struct padata_mt_team *team)
{
	return container_of_const(team->backend, struct test_padata_mt_cpus, backend);
}

static inline unsigned int test_padata_mt_cpus_prepare(struct padata_mt_team *team,
						       unsigned int nr)
{
	const struct test_padata_mt_cpus *some = test_padata_mt_cpus_of(team);

	return some->base->prepare(team, min(nr, cpumask_weight(some->cpus)));
}

/* One of @cpus that the back end chooses sooner or later. */
static inline int test_padata_mt_cpus_choose_cpu(struct padata_mt_team *team)
{
	const struct test_padata_mt_cpus *some = test_padata_mt_cpus_of(team);
	bool last;
	int cpu;

	do {
		last = cpumask_empty(&team->where->free);
		cpu = some->base->choose_cpu(team);
		if (cpu < 0 || cpumask_test_cpu(cpu, some->cpus))
			return cpu;
	} while (!last);
	return -1;
}

/* The back end of a job whose helpers are on @cpus.  A @base without helpers stays as it is. */
static inline const struct padata_mt_backend *
test_padata_mt_on_cpus(struct test_padata_mt_cpus *some, const struct padata_mt_backend *base,
		       const struct cpumask *cpus)
{
	if (!base->prepare)
		return base;
	some->base = base;
	some->cpus = cpus;
	some->backend = *base;
	some->backend.prepare = test_padata_mt_cpus_prepare;
	some->backend.choose_cpu = test_padata_mt_cpus_choose_cpu;
	return &some->backend;
}

#endif /* _KERNEL_TEST_PADATA_MT_CPUS_H */
