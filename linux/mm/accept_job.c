// SPDX-License-Identifier: GPL-2.0-only
/*
 * accept_job.c - accept the memory of a confidential guest on many CPUs
 *
 * Memory of a TDX or SEV-SNP guest has to be accepted before it is used.  By default, a block is
 * accepted by the allocation that needs it, which waits for that.
 *
 * With accept_memory=background, idle CPUs accept all that is left when boot is over.  Allocations
 * do not wait for this: they accept what they need, as before, or find it done.
 *
 * With accept_memory=eager, threads of deferred init accept what they free.  What is freed before
 * there is a second CPU is left to a job, too.
 */

#include <linux/align.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/memory_hotplug.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/padata_mt.h>
#include <linux/page-flags.h>
#include <linux/pfn.h>
#include <linux/pgtable.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/prio.h>
#include <linux/sizes.h>
#include <linux/vmstat.h>

#include "accept_job.h"
#include "internal.h"

/*
 * Blocks that a job has for each CPU.  At the end of each job CPUs wait for the last one, which is
 * 1 % of its time.
 */
#define ACCEPT_BLOCKS_PER_CPU	64

/*
 * Memory hotplug waits for a job: for no longer than this, and until threads are done with the unit
 * that they are at.  For that, the kthread has the lowest priority of normal tasks: with the idle
 * policy, it would wait for most of a second for each task that wants its CPU.
 */
#define ACCEPT_JIFFIES		(HZ / 2)

/* What is accepted at once.  On x86, this is the unit of the table. */
#define ACCEPT_NR_PAGES		(PMD_SIZE / PAGE_SIZE)

bool accept_background __initdata;

/* Blocks of MAX_ORDER_NR_PAGES from @pfn on; and whether @deadline came before all were done. */
struct accept_blocks {
	unsigned long	pfn;
	unsigned long	nr;
	unsigned long	deadline;	/* in jiffies */
	bool		late;
};

/*
 * Interrupts are off while a range is accepted, and who else needs a part of it waits: so accept
 * unit by unit.  The block stays on its list meanwhile.  An allocation takes it off the list before
 * it waits for the unit that a thread is at, and the thread leaves the others to it.
 *
 * The unit behind the block comes last, and a thread at the next block has mostly accepted that by
 * then.  So accept_page(), which looks again under zone->lock whether the block is still there, has
 * nothing left to accept, and the block is free as soon as it is off the list.
 */
static void accept_block(struct accept_blocks *blocks, struct page *page)
{
	phys_addr_t phys = page_to_phys(page);
	unsigned long i;

	for (i = 0; i <= MAX_ORDER_NR_PAGES; i += ACCEPT_NR_PAGES) {
		if (!PageUnaccepted(page))
			return;
		/* All write the same, and it is read when they are done. */
		if (time_after(jiffies, blocks->deadline)) {
			WRITE_ONCE(blocks->late, true);
			return;
		}
		accept_memory(phys + PFN_PHYS(i), PAGE_SIZE);
		cond_resched();
	}
	accept_page(page);
}

static void accept_blocks_chunk(unsigned long start, unsigned long end, void *arg)
{
	struct accept_blocks *blocks = arg;

	for (; start < end; start++) {
		struct page *page = pfn_to_online_page(blocks->pfn + start * MAX_ORDER_NR_PAGES);

		if (page)
			accept_block(blocks, page);
	}
}

/* Each chunk is one block, which takes 1 to 6 ms.  Return the number of threads. */
static int accept_blocks(struct accept_blocks *blocks, int nid)
{
	struct padata_mt_job job = {
		.thread_fn	= accept_blocks_chunk,
		.fn_arg		= blocks,
		.size		= blocks->nr,
		.max_chunk	= 1,
		.max_threads	= num_online_cpus(),
		.nid		= nid,
	};
	int nr_threads;

	/* No struct page goes away. */
	get_online_mems();
	blocks->deadline = jiffies + ACCEPT_JIFFIES;
	blocks->late = false;
	nr_threads = padata_do_multithreaded(&job);
	put_online_mems();
	return nr_threads;
}

/* From the end of the node to its start, as allocations begin at the start. */
static void accept_node(pg_data_t *pgdat)
{
	unsigned long start_pfn = ALIGN_DOWN(pgdat->node_start_pfn, MAX_ORDER_NR_PAGES);
	struct accept_blocks blocks = {
		.pfn = ALIGN(pgdat_end_pfn(pgdat), MAX_ORDER_NR_PAGES),
	};
	int nid = pgdat->node_id, nr_threads = 0;
	unsigned long nr_pages = sum_zone_node_page_state(nid, NR_UNACCEPTED);
	u64 start = sched_clock();
	s64 ns;

	while (blocks.pfn > start_pfn && sum_zone_node_page_state(nid, NR_UNACCEPTED)) {
		blocks.nr = min((blocks.pfn - start_pfn) / MAX_ORDER_NR_PAGES,
				(unsigned long)ACCEPT_BLOCKS_PER_CPU * num_online_cpus());
		blocks.pfn -= blocks.nr * MAX_ORDER_NR_PAGES;
		do {
			nr_threads = max(nr_threads, accept_blocks(&blocks, nid));
		} while (blocks.late);
	}
	nr_pages -= sum_zone_node_page_state(nid, NR_UNACCEPTED);
	if (!nr_pages)
		return;

	/* As for deferred init: other clocks tick in jiffies at boot. */
	ns = max_t(s64, sched_clock() - start, 0);
	pr_info("node %d: %lu MiB accepted in %lld ms, %d threads\n", nid,
		nr_pages / (SZ_1M / PAGE_SIZE), div_s64(ns, NSEC_PER_MSEC), nr_threads);
}

/* Helpers of a job give way to others, but its caller does not. */
static int accept_node_thread(void *data)
{
	sched_set_normal(current, MAX_NICE);
	while (system_state < SYSTEM_RUNNING)
		schedule_timeout_idle(HZ / 10);

	accept_node(data);
	return 0;
}

/* As soon as there are jobs and CPUs for them. */
static int __init accept_eagerly(void)
{
	int nid;

	if (!lazy_accept) {
		for_each_node_state(nid, N_MEMORY)
			accept_node(NODE_DATA(nid));
	}
	return 0;
}
pure_initcall(accept_eagerly);

static int __init accept_in_background(void)
{
	struct task_struct *task;
	int nid;

	if (!accept_background)
		return 0;
	/* A realtime task would wait, without sleeping, for a unit that the kthread is at. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		pr_info("accept_memory=background: not with PREEMPT_RT\n");
		return 0;
	}

	for_each_node_state(nid, N_MEMORY) {
		if (!sum_zone_node_page_state(nid, NR_UNACCEPTED))
			continue;
		task = kthread_create_on_node(accept_node_thread, NODE_DATA(nid), nid,
					      "kaccept%d", nid);
		if (IS_ERR(task))
			pr_warn("node %d: no thread to accept memory in the background\n", nid);
		else
			wake_up_process(task);
	}
	return 0;
}
late_initcall(accept_in_background);
