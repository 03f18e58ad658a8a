/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _PADATA_ALONE_H
#define _PADATA_ALONE_H

struct padata_mt_job;

/* padata_do_multithreaded() and padata_mt_fail() of a kernel without CONFIG_PADATA. */
int alone_do(struct padata_mt_job *job);
void alone_fail(struct padata_mt_job *job, int err);

#endif /* _PADATA_ALONE_H */
