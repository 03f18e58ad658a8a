// SPDX-License-Identifier: GPL-2.0-only
/*
 * deferred_init.c - what x86 decides for itself about mm/deferred_init.c
 */

#include <linux/cpumask.h>
#include <linux/deferred_init.h>
#include <linux/init.h>
#include <linux/minmax.h>

/*
 * Every hardware thread of the node, SMT siblings included: a thread waits for memory most of the
 * time here, which is when its sibling can work.
 */
unsigned int __init
deferred_page_init_max_threads(const struct cpumask *node_cpumask)
{
	return max(cpumask_weight(node_cpumask), 1U);
}
