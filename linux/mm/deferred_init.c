// SPDX-License-Identifier: GPL-2.0-only
/*
 * deferred_init.c - initialise the rest of the memmap on many threads
 *
 * Early in boot, one CPU initialises the struct pages of the lower zones and of
 * one section of each node's last zone (see defer_init() in mm_init.c).  All
 * others wait until the CPUs are up and are then initialised here, and their
 * pages freed to the buddy allocator: one padata job per node, run by a kthread
 * of that node and helpers on the node's CPUs.
 *
 * Until the jobs start, an allocation that finds its zone empty may initialise
 * some sections itself, by deferred_grow_zone().
 *
 * What is initialised is what memblock says is free.  Struct pages of reserved
 * memory and of holes have been dealt with early, whatever zone they are in.
 */

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/deferred_init.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/memblock.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/nmi.h>
#include <linux/nodemask.h>
#include <linux/padata.h>
#include <linux/page_ref.h>
#include <linux/page-isolation.h>
#include <linux/pageblock-flags.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <linux/topology.h>

#include "internal.h"

/* Nodes whose job is not done yet, and who is told when none is left. */
static atomic_t deferred_nodes_left __initdata;
static __initdata DECLARE_COMPLETION(deferred_nodes_done);

/* From the command line: threads per node, or per cent of its CPUs.  0: unset. */
static unsigned int deferred_threads __initdata;
static unsigned int deferred_threads_pct __initdata;

/*
 * deferred_init_threads=N or N%: most threads that work on one node at a time.
 */
static int __init deferred_init_threads_setup(char *str)
{
	size_t len = strlen(str);
	bool pct = len && str[len - 1] == '%';
	char number[12];
	unsigned int n;

	if (strscpy(number, str, sizeof(number)) < 0)
		goto bad;
	if (pct)
		number[len - 1] = '\0';
	if (kstrtouint(number, 10, &n) || !n || (pct && n > 100))
		goto bad;

	deferred_threads = pct ? 0 : n;
	deferred_threads_pct = pct ? n : 0;
	return 1;
bad:
	pr_warn("deferred_init_threads: '%s' is not a number of threads (1 or more) or a percentage (1%% to 100%%), using the default\n",
		str);
	return 1;
}
__setup("deferred_init_threads=", deferred_init_threads_setup);

/**
 * deferred_page_init_max_threads - threads that initialise a node's memmap
 * @node_cpumask: CPUs to run on: the node's, or for a node without CPUs those
 *                of the nearest that has some
 *
 * Architectures that know better override it.  The command line may lower what
 * they say, by deferred_init_threads=.
 *
 * Return: the most threads to use, one of which is the node's kthread.
 */
unsigned int __init __weak
deferred_page_init_max_threads(const struct cpumask *node_cpumask)
{
	return max(cpumask_weight(node_cpumask), 1U);
}

static unsigned int __init deferred_max_threads(const struct cpumask *cpus)
{
	unsigned int threads = deferred_page_init_max_threads(cpus);
	unsigned int cap = deferred_threads;

	if (deferred_threads_pct) {
		cap = cpumask_weight_and(cpus, cpu_online_mask);
		cap = max(DIV_ROUND_CLOSEST(cap * deferred_threads_pct, 100U), 1U);
	}

	return cap ? min(cap, threads) : threads;
}

/* The CPUs to initialise @nid with: its own, or the nearest there are. */
static const struct cpumask * __init deferred_node_cpus(int nid)
{
	int other, nearest = nid;

	if (cpumask_intersects(cpumask_of_node(nid), cpu_online_mask))
		return cpumask_of_node(nid);

	for_each_node_state(other, N_CPU) {
		if (nearest == nid ||
		    node_distance(nid, other) < node_distance(nid, nearest))
			nearest = other;
	}

	return nearest == nid ? cpu_online_mask : cpumask_of_node(nearest);
}

/*
 * A walk over the free pfn ranges of a zone in order: [spfn, epfn) is what is
 * left of the current one.  Once past the last, spfn is ULONG_MAX.
 *
 * memblock does not change any more, so walks need no lock, and a copy of one
 * goes the same way again.
 */
struct deferred_walk {
	struct zone *zone;
	u64 idx;
	unsigned long spfn;
	unsigned long epfn;
};

static void __init deferred_walk_next(struct deferred_walk *walk)
{
	__next_mem_pfn_range_in_zone(&walk->idx, walk->zone, &walk->spfn,
				     &walk->epfn);
}

/* Start a walk over what is free in @zone from @pfn on. */
static void __init deferred_walk_init(struct deferred_walk *walk,
				      struct zone *zone, unsigned long pfn)
{
	walk->zone = zone;
	walk->idx = 0;

	do {
		deferred_walk_next(walk);
	} while (walk->spfn < pfn && walk->epfn <= pfn);

	walk->spfn = max(walk->spfn, pfn);
}

/* Take the next piece that is below @limit off the walk. */
static bool __init deferred_walk_take(struct deferred_walk *walk,
				      unsigned long limit, unsigned long *spfn,
				      unsigned long *epfn)
{
	if (walk->spfn >= limit)
		return false;

	*spfn = walk->spfn;
	*epfn = min(walk->epfn, limit);
	walk->spfn = *epfn;
	if (walk->spfn == walk->epfn)
		deferred_walk_next(walk);
	return true;
}

/* A struct page as words to store, where it has the common 64 bytes. */
#define DEFERRED_PAGE_WORDS	(64 / sizeof(unsigned long))

union deferred_template {
	struct page page;
	unsigned long word[DEFERRED_PAGE_WORDS];
};

/* Make the template of a page, with an lru that compares equal to any other. */
static void __init deferred_make_template(union deferred_template *template,
					  unsigned long pfn, struct zone *zone)
{
	__init_single_page(&template->page, pfn, zone_idx(zone),
			   zone_to_nid(zone));
	template->page.lru.next = NULL;
	template->page.lru.prev = NULL;
}

/*
 * Whether all struct pages of [pfn, end_pfn) are the same but for lru, which
 * points to itself, so that it is enough to store them.  Asked of the kernel's
 * own __init_single_page(), rather than of a list of configurations.  What it
 * may make of the pfn, a section number or an address, is the same throughout a
 * section or grows from page to page: the first and the last page will do.
 */
static bool __init deferred_can_stamp(union deferred_template *template,
				      unsigned long pfn, unsigned long end_pfn,
				      struct zone *zone)
{
	union deferred_template last;

	if (sizeof(struct page) != sizeof(template->word) ||
	    offsetof(struct page, lru) != sizeof(unsigned long) ||
	    page_ref_tracepoint_active(page_ref_set))
		return false;

	deferred_make_template(template, pfn, zone);
	deferred_make_template(&last, end_pfn - 1, zone);

	return !memcmp(template, &last, sizeof(last));
}

/*
 * Store the template to [page, end).  Word by word from registers: a structure
 * assignment reads the template again for every page, which costs more than
 * __init_single_page() does.
 */
static void __init deferred_stamp_pages(struct page *page, struct page *end,
					const union deferred_template *template)
{
	unsigned long flags = template->word[0];
	unsigned long w3 = template->word[3];
	unsigned long w4 = template->word[4];
	unsigned long w5 = template->word[5];
	unsigned long w6 = template->word[6];
	unsigned long w7 = template->word[7];

	for (; page < end; page++) {
		unsigned long *word = (unsigned long *)page;

		word[0] = flags;
		word[1] = (unsigned long)&page->lru;
		word[2] = (unsigned long)&page->lru;
		word[3] = w3;
		word[4] = w4;
		word[5] = w5;
		word[6] = w6;
		word[7] = w7;
	}
}

/* Initialise [pfn, end_pfn), which is within one section. */
static void __init deferred_init_pages(struct zone *zone, unsigned long pfn,
				       unsigned long end_pfn)
{
	struct page *page = pfn_to_page(pfn);
	union deferred_template template;

	if (deferred_can_stamp(&template, pfn, end_pfn, zone)) {
		deferred_stamp_pages(page, page + (end_pfn - pfn), &template);
		return;
	}

	for (; pfn < end_pfn; pfn++, page++)
		__init_single_page(page, pfn, zone_idx(zone), zone_to_nid(zone));
}

/*
 * Free [pfn, end_pfn), which is within one block of MAX_ORDER_NR_PAGES, in the
 * largest naturally aligned pieces.  Pageblocks that begin in it become movable.
 */
static void __init deferred_free_pages(unsigned long pfn, unsigned long end_pfn)
{
	unsigned long block;

	for (block = pageblock_align(pfn); block < end_pfn;
	     block += pageblock_nr_pages)
		set_pageblock_migratetype(pfn_to_page(block), MIGRATE_MOVABLE);

	while (pfn < end_pfn) {
		unsigned int order = MAX_PAGE_ORDER;

		if (pfn)
			order = min(order, __ffs(pfn));
		order = min(order, __fls(end_pfn - pfn));

		__free_pages_core(pfn_to_page(pfn), order, MEMINIT_EARLY);
		pfn += 1UL << order;
	}
}

/*
 * Initialise and free what lies below @limit in the block of MAX_ORDER_NR_PAGES
 * that the walk is in.  Freeing a page looks at its buddies, which are in the
 * same block, so all of a block is initialised before any of it is freed.  And
 * no more than a block, so that its struct pages are still in the cache.
 *
 * Return: number of pages.
 */
static unsigned long __init deferred_init_block(struct deferred_walk *walk,
						unsigned long limit)
{
	unsigned long block_end = ALIGN(walk->spfn + 1, MAX_ORDER_NR_PAGES);
	struct deferred_walk again = *walk;
	unsigned long spfn, epfn, nr = 0;

	limit = min(limit, block_end);

	while (deferred_walk_take(walk, limit, &spfn, &epfn)) {
		deferred_init_pages(walk->zone, spfn, epfn);
		nr += epfn - spfn;
	}
	while (deferred_walk_take(&again, limit, &spfn, &epfn))
		deferred_free_pages(spfn, epfn);

	return nr;
}

/* What the threads of a node share. */
struct deferred_node {
	struct zone *zone;
	atomic_long_t nr_pages;
};

/*
 * The job's thread function.  Chunks are cut at section boundaries, so no two
 * threads of a node are in the same block, and none looks at struct pages that
 * another is at work on.  Where two nodes meet within a block, one may look at
 * those of the other, but only to find that they are no buddies: they are of
 * another zone.
 */
static void __init deferred_init_chunk(unsigned long start_pfn,
				       unsigned long end_pfn, void *arg)
{
	struct deferred_node *node = arg;
	struct deferred_walk walk;
	unsigned long nr = 0;

	deferred_walk_init(&walk, node->zone, start_pfn);
	while (walk.spfn < end_pfn) {
		nr += deferred_init_block(&walk, end_pfn);
		cond_resched();
	}

	/* Read when the job is over, which orders it. */
	atomic_long_add(nr, &node->nr_pages);
}

/*
 * Take the deferred pages of a node away from deferred_grow_zone().
 * Return the first of them, or ULONG_MAX if there are none.
 */
static unsigned long __init deferred_claim_node(pg_data_t *pgdat)
{
	unsigned long flags, first_pfn;

	/* Pairs with the lock in deferred_grow_zone(): pages are its or ours. */
	pgdat_resize_lock(pgdat, &flags);
	first_pfn = pgdat->first_deferred_pfn;
	WRITE_ONCE(pgdat->first_deferred_pfn, ULONG_MAX);
	pgdat_resize_unlock(pgdat, &flags);

	return first_pfn;
}

static void __init deferred_init_node(pg_data_t *pgdat)
{
	const struct cpumask *cpus = deferred_node_cpus(pgdat->node_id);
	/* Pages are deferred at a node's end, see defer_init(). */
	struct zone *zone = &pgdat->node_zones[pgdat->nr_zones - 1];
	struct deferred_node node = { .zone = zone };
	unsigned long first_pfn = deferred_claim_node(pgdat);
	u64 begin = sched_clock();
	struct padata_mt_job job = {
		.thread_fn   = deferred_init_chunk,
		.fn_arg      = &node,
		.start       = first_pfn,
		.align       = PAGES_PER_SECTION,
		.min_chunk   = PAGES_PER_SECTION,
		.max_threads = deferred_max_threads(cpus),
		.cpumask     = cpus,
	};
	s64 ns;

	if (first_pfn >= zone_end_pfn(zone))
		return;
	WARN_ON_ONCE(first_pfn < zone->zone_start_pfn);

	job.size = zone_end_pfn(zone) - first_pfn;
	padata_do_multithreaded(&job);

	/* Other clocks tick in jiffies until later in boot.  CPUs may differ. */
	ns = max_t(s64, sched_clock() - begin, 0);
	pr_info("node %d initialised, %ld pages in %lldms, %d threads (%d took part)\n",
		pgdat->node_id, atomic_long_read(&node.nr_pages),
		div_s64(ns, NSEC_PER_MSEC), job.nr_threads, job.nr_ran);
}

static int __init deferred_init_kthread(void *data)
{
	deferred_init_node(data);

	/* Pairs with the wait in deferred_init_memmap(). */
	if (atomic_dec_and_test(&deferred_nodes_left))
		complete(&deferred_nodes_done);
	return 0;
}

/* Without memory for a kthread, the caller does the node itself. */
static void __init deferred_start_node(int nid)
{
	struct task_struct *task;

	task = kthread_create(deferred_init_kthread, NODE_DATA(nid),
			      "pgdatinit%d", nid);
	if (IS_ERR(task)) {
		deferred_init_kthread(NODE_DATA(nid));
		return;
	}

	kthread_bind_mask(task, deferred_node_cpus(nid));
	wake_up_process(task);
}

/**
 * deferred_init_memmap - initialise and free all deferred pages
 *
 * Nodes are done at the same time, each by a kthread "pgdatinitN" and its
 * helpers.  What was deferred is free when this returns.
 *
 * Context: Boot, once, when CPUs and workqueues are up.  May sleep.
 */
void __init deferred_init_memmap(void)
{
	int nid;

	atomic_set(&deferred_nodes_left, num_node_state(N_MEMORY));
	for_each_node_state(nid, N_MEMORY)
		deferred_start_node(nid);

	wait_for_completion(&deferred_nodes_done);
}

/**
 * deferred_grow_zone - initialise some deferred pages of a zone on demand
 * @zone: where an allocation found nothing
 * @order: of the allocation
 *
 * Initialises whole sections, until they hold a section's worth of free pages
 * and enough for @order, or until none are left.
 *
 * Context: Any context that may allocate, interrupts included.  Takes the node's
 * resize lock.  Does nothing once the node's job has started.
 * Return: true if the zone may have grown, by us or by somebody else.
 */
bool __init deferred_grow_zone(struct zone *zone, unsigned int order)
{
	pg_data_t *pgdat = zone->zone_pgdat;
	unsigned long first_pfn = READ_ONCE(pgdat->first_deferred_pfn);
	unsigned long want = ALIGN(1UL << order, PAGES_PER_SECTION);
	unsigned long flags, nr = 0;
	struct deferred_walk walk;

	if (zone_end_pfn(zone) != pgdat_end_pfn(pgdat) || first_pfn == ULONG_MAX)
		return false;

	/* Pairs with the lock in deferred_claim_node(), and with other growers. */
	pgdat_resize_lock(pgdat, &flags);

	/* Somebody was faster.  There may be enough now. */
	if (pgdat->first_deferred_pfn != first_pfn)
		goto out;

	deferred_walk_init(&walk, zone, first_pfn);
	while (walk.spfn != ULONG_MAX && nr < want) {
		first_pfn = ALIGN(walk.spfn + 1, PAGES_PER_SECTION);
		while (walk.spfn < first_pfn) {
			nr += deferred_init_block(&walk, first_pfn);
			touch_nmi_watchdog();
		}
	}
	if (walk.spfn == ULONG_MAX)
		first_pfn = ULONG_MAX;
	WRITE_ONCE(pgdat->first_deferred_pfn, first_pfn);
out:
	pgdat_resize_unlock(pgdat, &flags);
	return true;
}
