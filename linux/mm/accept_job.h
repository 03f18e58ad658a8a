/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * accept_job.h - accept the memory of a confidential guest in the background
 */

#ifndef _MM_ACCEPT_JOB_H
#define _MM_ACCEPT_JOB_H

#include <linux/types.h>

/* accept_memory=: not eager; background. */
extern bool lazy_accept;
extern bool accept_background;

#endif /* _MM_ACCEPT_JOB_H */
