/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * deferred_init.h - what an architecture may decide about deferred struct page init
 */
#ifndef _LINUX_DEFERRED_INIT_H
#define _LINUX_DEFERRED_INIT_H

struct cpumask;

unsigned int deferred_page_init_max_threads(const struct cpumask *node_cpumask);

#endif /* _LINUX_DEFERRED_INIT_H */
