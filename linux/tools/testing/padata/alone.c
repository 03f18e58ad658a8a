// SPDX-License-Identifier: GPL-2.0-only
/*
 * alone.c - jobs in a kernel without CONFIG_PADATA, where callers have no helpers
 *
 * All the code for such jobs is in <linux/padata_mt.h>.  Compiled with SHIM_NO_PADATA.
 */

#include <linux/padata_mt.h>

#include "alone.h"

int alone_do(struct padata_mt_job *job)
{
	return padata_do_multithreaded(job);
}

void alone_fail(struct padata_mt_job *job, int err)
{
	padata_mt_fail(job, err);
}
