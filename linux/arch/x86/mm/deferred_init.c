// SPDX-License-Identifier: GPL-2.0-only
/*
 * deferred_init.c - deferred struct page init on x86
 *
 * What x86 decides for itself about mm/deferred_init.c.
 */

#include <linux/cpumask.h>
#include <linux/deferred_init.h>
#include <linux/init.h>
#include <linux/minmax.h>

/*
 * Every hardware thread of the node, as measured on x86.  In the thread sweeps published with
 * "mm: parallelize deferred_init_memmap()" (2020) each of six machines is fastest with all
 * threads.  Deferred init took, in ms, with as many threads as the node has cores, and with
 * all:
 *
 *   Skylake, 2 nodes, 52 threads each		174	138
 *   Haswell, 2 nodes, 36 threads each		101	 90
 *   Broadwell, KVM guest, 32 threads		134	126
 *   Zen, KVM guest, 16 threads			 65	 47
 *   Haswell, KVM guest, 4 threads		 76	 53
 *   Zen, KVM guest, 4 threads			 28	 22
 *
 * A thread waits for memory most of the time here, which is when its sibling can
 * work.  That was with plain stores.  With the non-temporal ones of memmap_bulk.c, 16
 * threads on 16 cores without siblings (Emerald Rapids) still take 0.70 of the time of 8.
 */
unsigned int __init
deferred_page_init_max_threads(const struct cpumask *node_cpumask)
{
	return max(cpumask_weight(node_cpumask), 1U);
}
