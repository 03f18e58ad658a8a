// SPDX-License-Identifier: GPL-2.0-only
/*
 * deferred_init.c - initialise the rest of the memmap on many threads
 *
 * Early in boot, one CPU initialises the struct pages of the lower zones and of one section of
 * each node's last zone (see defer_init() in mm_init.c).  All others wait until the CPUs are
 * up and are then initialised here, and their pages freed to the buddy allocator: one padata
 * job per node, run by a kthread of that node and helpers on the node's CPUs.
 *
 * What is initialised is what memblock says is free.  Struct pages of reserved memory and of
 * holes have been dealt with before, whatever zone they are in, or are left to the code that
 * reserved the memory.
 *
 * Threads claim section by section.  So do allocations that find their zone empty
 * (deferred_grow()), and code that needs certain struct pages (deferred_async.c).
 *
 * __init functions are only called by a thread that has claimed a section, or has yet to
 * set DEFERRED_OVER: boot waits for that before it frees init memory.
 */

#include <linux/cpumask.h>
#include <linux/deferred_init.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/memblock.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/padata_mt.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/topology.h>
#include <linux/wait.h>

#include "internal.h"
#include "deferred_init.h"
#include "memmap_bulk.h"

enum deferred_phase deferred_phase;

/* The nodes that have deferred pages and are prepared, in order. */
struct deferred_node *deferred_nodes;

/* Nodes whose job is not done yet, and what is to be done after the last. */
static atomic_t deferred_nodes_left;
static void (*deferred_rest)(void);

/* Threads that wait for struct pages now, and those that wait for DEFERRED_OVER. */
static atomic_t deferred_waiters = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(deferred_over_wait);

/* From the command line: threads per node, or per cent of its CPUs.  0: unset. */
static unsigned int deferred_threads __initdata;
static unsigned int deferred_threads_pct __initdata;

/*
 * deferred_init_threads=N or N%: most threads that work on one node at a time, instead of
 * one for each CPU.
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
 * @node_cpumask: CPUs to run on: the node's, or for a node without CPUs those of the nearest
 *                that has some
 *
 * All of them.  An architecture overrides this if it has measured something else, and
 * deferred_init_threads= on the command line overrides both.
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
	unsigned int nr = cpumask_weight_and(cpus, cpu_online_mask);

	if (deferred_threads_pct)
		return max(DIV_ROUND_CLOSEST(nr * deferred_threads_pct, 100U), 1U);
	if (deferred_threads)
		return min(deferred_threads, nr);
	return deferred_page_init_max_threads(cpus);
}

/*
 * The index of the zone of @pgdat that spans @pfn, the lowest if there are several,
 * %MAX_NR_ZONES if there is none.  Lowers *next_pfn to the end of what it is valid for.
 */
static int __meminit deferred_zone_idx(pg_data_t *pgdat, unsigned long pfn,
				       unsigned long *next_pfn)
{
	struct zone *zone = pgdat->node_zones;
	int i;

	for (i = 0; i < MAX_NR_ZONES; i++, zone++) {
		if (zone_spans_pfn(zone, pfn)) {
			*next_pfn = min(*next_pfn, zone_end_pfn(zone));
			return i;
		}
	}

	*next_pfn = pfn + 1;
	return MAX_NR_ZONES;
}

/*
 * Initialise the struct pages of the deferred part of a range that memblock has reserved, and
 * make them PageReserved: they are not free, so the jobs skip them.  Return where that part
 * begins, @end_pfn if there is none.
 */
unsigned long __meminit deferred_init_reserved(unsigned long pfn, unsigned long end_pfn, int nid)
{
	unsigned long first_pfn = clamp(first_deferred_pfn(nid), pfn, end_pfn);
	unsigned long next_pfn;
	int zone;

	for (pfn = first_pfn; pfn < end_pfn; pfn = next_pfn) {
		next_pfn = memmap_run_end(pfn, end_pfn);
		/* There is a memmap for all of a section or for none of it. */
		if (!pfn_valid(pfn))
			continue;

		zone = deferred_zone_idx(NODE_DATA(nid), pfn, &next_pfn);
		memmap_init_pages(pfn, next_pfn, zone, nid, MEMMAP_RESERVED);
	}
	return first_pfn;
}

/* A walk over free pfn ranges, see deferred_walk_init(). */
struct deferred_walk {
	struct zone *zone;
	const struct deferred_node *node;
	u64 idx;
	unsigned long spfn;
	unsigned long epfn;
};

/* The next free range of a zone by memblock, which does not change before the jobs are ready. */
static void __init deferred_walk_memblock(struct deferred_walk *walk)
{
	phys_addr_t start, end;

	do {
		__next_mem_range(&walk->idx, zone_to_nid(walk->zone), MEMBLOCK_NONE,
				 &memblock.memory, &memblock.reserved, &start, &end, NULL);
		if (walk->idx == U64_MAX) {
			walk->spfn = ULONG_MAX;
			walk->epfn = ULONG_MAX;
			return;
		}
		walk->spfn = max(PFN_UP(start), walk->zone->zone_start_pfn);
		walk->epfn = min(PFN_DOWN(end), zone_end_pfn(walk->zone));
	} while (walk->spfn >= walk->epfn);
}

static void __ref deferred_walk_next(struct deferred_walk *walk)
{
	const struct deferred_node *node = walk->node;

	if (!node) {
		deferred_walk_memblock(walk);
	} else if (walk->idx < node->nr_free) {
		walk->spfn = node->free[walk->idx].spfn;
		walk->epfn = node->free[walk->idx++].epfn;
	} else {
		walk->spfn = ULONG_MAX;
		walk->epfn = ULONG_MAX;
	}
}

/*
 * Start a walk over the free pfn ranges of @zone in order: [spfn, epfn) is what is left of the
 * current one.  Once past the last, spfn is ULONG_MAX.  The ranges are those of @node or,
 * before it is prepared, memblock's.  They do not change, so a walk needs no lock, and a copy
 * of it visits the same ranges again.
 */
static void deferred_walk_init(struct deferred_walk *walk, struct zone *zone,
			       const struct deferred_node *node, unsigned long pfn)
{
	walk->zone = zone;
	walk->node = node;
	walk->idx = node ? node->first_free[deferred_section(node, pfn)] : 0;
	do {
		deferred_walk_next(walk);
	} while (walk->epfn <= pfn && walk->epfn != ULONG_MAX);
	walk->spfn = max(walk->spfn, pfn);
}

/* Take the next piece that is below @limit off the walk. */
static bool deferred_walk_take(struct deferred_walk *walk, unsigned long limit,
			       unsigned long *spfn, unsigned long *epfn)
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

/*
 * Initialise and free what the walk has left below @limit, which is not past the end of
 * the section that the walk is in.  Freeing a page looks at its buddies, which are of the
 * same block, so all of a block is initialised before any of it is freed.
 *
 * Return: number of pages.
 */
static unsigned long __ref deferred_init_step(struct deferred_walk *walk, unsigned long limit)
{
	enum meminit_context context = walk->node ? MEMINIT_DEFERRED : MEMINIT_EARLY;
	struct deferred_walk again = *walk;
	struct zone *zone = walk->zone;
	unsigned long spfn, epfn, nr = 0;

	while (deferred_walk_take(walk, limit, &spfn, &epfn)) {
		memmap_init_pages(spfn, epfn, zone_idx(zone), zone_to_nid(zone),
				  MEMMAP_FREE);
		nr += epfn - spfn;
	}
	while (deferred_walk_take(&again, limit, &spfn, &epfn)) {
		memmap_init_pageblocks(spfn, epfn, MIGRATE_MOVABLE);
		memmap_free_pages(zone, spfn, epfn, context);
	}

	return nr;
}

/*
 * Claim a section, and initialise and free what is left of it, or with @one_block what is left
 * of one of its blocks of MAX_ORDER_NR_PAGES.  Return false if another thread has claimed it,
 * or nothing is left.
 *
 * While a thread works on a section, no other looks at the struct pages of its free pages.
 * Where two nodes meet within a section, one may look at those of the other, but only to find
 * that they are not buddies: they are of another zone.
 */
static bool __ref deferred_init_section(struct deferred_node *node, unsigned long section,
					bool one_block)
{
	unsigned long end_pfn = section_nr_to_pfn(pfn_to_section_nr(node->first_pfn) + section + 1);
	unsigned long limit = min(end_pfn, node->end_pfn), end = limit, nr;
	int left = atomic_read(&node->state[section]);
	struct deferred_walk walk;

	/* Fully ordered: pairs with the release below. */
	if (left <= 0 || atomic_cmpxchg(&node->state[section], left, SECTION_CLAIMED) != left)
		return false;

	deferred_walk_init(&walk, node->zone, node, end_pfn - left);
	if (one_block)
		end = min(ALIGN(walk.spfn + 1, MAX_ORDER_NR_PAGES), limit);
	nr = deferred_init_step(&walk, end);
	/* Not before they are free: the sum may count a page twice, but misses none. */
	atomic_long_sub(nr, &node->nr_left);

	/* Pairs with the acquire in deferred_pending(), and with the claim above. */
	atomic_set_release(&node->state[section],
			   walk.spfn < limit ? end_pfn - walk.spfn : SECTION_DONE);
	return true;
}

/* Whether a section is not initialised yet.  If not, all stores to it are visible. */
bool deferred_pending(const struct deferred_node *node, unsigned long section)
{
	/* Pairs with the release in deferred_init_section(). */
	return atomic_read_acquire(&node->state[section]) != SECTION_DONE;
}

/*
 * Sleep while other threads initialise a section or two, which takes some tenths of a
 * millisecond each.  Because of deferred_waiters, threads that begin another section
 * meanwhile do so at their usual priority.
 */
static void deferred_sleep(void)
{
	atomic_inc(&deferred_waiters);
	usleep_range(100, 500);
	atomic_dec(&deferred_waiters);
}

/* Initialise the sections of a range, or wait for the threads that have claimed them. */
void deferred_init_range(struct deferred_node *node, unsigned long pfn, unsigned long end_pfn)
{
	unsigned long section;

	pfn = max(pfn, node->first_pfn);
	end_pfn = min(end_pfn, node->end_pfn);
	for (; pfn < end_pfn; pfn = ALIGN(pfn + 1, PAGES_PER_SECTION)) {
		section = deferred_section(node, pfn);
		while (deferred_pending(node, section)) {
			if (!deferred_init_section(node, section, false))
				deferred_sleep();
		}
		cond_resched();
	}
}

/*
 * An allocation that finds its zone below a watermark initialises some of the zone's deferred
 * pages itself, and takes from them.  Until the jobs are ready, the zone grows from its first
 * deferred page on.  Then, growers claim sections like threads of the jobs, but from the end, as
 * the jobs begin with the first.
 *
 * An allocation that may not sleep may have interrupts off, and pages may be zeroed or poisoned
 * when they are freed.  So it initialises one block of MAX_ORDER_NR_PAGES at a time.
 */

/* Grow a zone before the jobs are ready, by enough for the allocation. */
bool __init deferred_grow_zone(struct zone *zone, unsigned int order)
{
	pg_data_t *pgdat = zone->zone_pgdat;
	unsigned long first_pfn = READ_ONCE(pgdat->first_deferred_pfn);
	unsigned long flags, nr = 0;
	struct deferred_walk walk;

	/* Pairs with the lock in deferred_prepare_node(), and with other growers. */
	pgdat_resize_lock(pgdat, &flags);

	/* Another thread was faster.  There may be enough now, or the jobs are ready. */
	if (first_pfn == ULONG_MAX || pgdat->first_deferred_pfn != first_pfn)
		goto out;

	deferred_walk_init(&walk, zone, NULL, first_pfn);
	while (walk.spfn != ULONG_MAX && nr < 1UL << order)
		nr += deferred_init_step(&walk, ALIGN(walk.spfn + 1, MAX_ORDER_NR_PAGES));
	WRITE_ONCE(pgdat->first_deferred_pfn, walk.spfn);
out:
	pgdat_resize_unlock(pgdat, &flags);
	return true;
}

/* Initialise the last section that can be claimed, or a block of it. */
static bool deferred_init_last(struct deferred_node *node, bool one_block)
{
	unsigned long section = node->nr_sections;

	while (section--) {
		if (deferred_init_section(node, section, one_block))
			return true;
	}
	return false;
}

/* Return false if no page is left, or all that are left are claimed and @gfp may not sleep. */
static bool deferred_grow_node(struct deferred_node *node, gfp_t gfp)
{
	bool may_sleep = gfpflags_allow_blocking(gfp);
	long nr_left = atomic_long_read(&node->nr_left);

	/* Until this or another thread has added some pages. */
	while (nr_left && atomic_long_read(&node->nr_left) == nr_left) {
		if (deferred_init_last(node, !may_sleep))
			continue;
		if (!may_sleep)
			return false;
		deferred_sleep();
	}
	return nr_left;
}

/*
 * Initialise some deferred pages of @zone, where an allocation found nothing, in any context that
 * may allocate.  If other threads are at work on all that is left, wait for one of these, if @gfp
 * allows.  When the jobs are ready, nothing is done for an allocation with neither direct nor
 * kswapd reclaim in @gfp, and alloc_pages_nolock() may call this.  Return whether it is worth
 * one more try, as this or another thread may have grown the zone.
 */
bool __ref deferred_grow(struct zone *zone, unsigned int order, gfp_t gfp)
{
	struct deferred_node *node;

	if (zone_end_pfn(zone) != pgdat_end_pfn(zone->zone_pgdat))
		return false;
	/* Pairs with the release in deferred_prepare_node(), so that its node is found below. */
	if (smp_load_acquire(&zone->zone_pgdat->first_deferred_pfn) != ULONG_MAX)
		return deferred_grow_zone(zone, order);
	if (!(gfp & __GFP_RECLAIM))
		return false;

	for_each_deferred_node(node) {
		if (node->zone == zone)
			return deferred_grow_node(node, gfp);
	}
	return false;
}

/*
 * Whether a thread of the job runs at the lowest priority.  It does while boot goes on: boot
 * is what users wait for, and its allocations initialise sections themselves.  It does not
 * while a thread waits for struct pages, nor when there may be no section left to claim, as
 * allocations then depend on the job's threads.  Nor on PREEMPT_RT, where a thread that is
 * preempted with zone->lock held would block all others.
 */
static bool deferred_low_priority(const struct deferred_node *node)
{
	return deferred_async && !IS_ENABLED(CONFIG_PREEMPT_RT) &&
	       !atomic_read(&deferred_waiters) &&
	       atomic_long_read(&node->nr_left) > node->max_threads * PAGES_PER_SECTION;
}

/* The job's thread function. */
static void deferred_init_chunk(unsigned long start_pfn, unsigned long end_pfn, void *arg)
{
	struct deferred_node *node = arg;
	int nice = task_nice(current);
	unsigned long pfn;

	for (pfn = start_pfn; pfn < end_pfn; pfn = ALIGN(pfn + 1, PAGES_PER_SECTION)) {
		set_user_nice(current, deferred_low_priority(node) ? MAX_NICE : nice);
		deferred_init_section(node, deferred_section(node, pfn), false);
		cond_resched();
	}

	set_user_nice(current, nice);
}

/* Most pages of a chunk while boot goes on: some sections, more if they are small. */
#define MAX_CHUNK	max(4 * PAGES_PER_SECTION, SZ_512M >> PAGE_SHIFT)

static void deferred_init_node(struct deferred_node *node)
{
	u64 begin = sched_clock();
	struct padata_mt_job job = {
		.thread_fn   = deferred_init_chunk,
		.fn_arg      = node,
		.start       = node->first_pfn,
		.size        = node->end_pfn - node->first_pfn,
		.align       = PAGES_PER_SECTION,
		.min_chunk   = PAGES_PER_SECTION,
		/* While boot goes on, a thread may hardly run, and its chunk waits. */
		.max_chunk   = deferred_async ? MAX_CHUNK : 0,
		.max_threads = node->max_threads,
		.cpumask     = node->cpus,
	};
	s64 ns;

	padata_do_multithreaded(&job);
	/* What others have claimed, or have claimed and left in the middle. */
	deferred_init_range(node, node->first_pfn, node->end_pfn);

	/* Other clocks tick in jiffies until later in boot.  CPUs' clocks may differ. */
	ns = max_t(s64, sched_clock() - begin, 0);
	pr_info("node %d initialised, %lu pages in %lldms, %d threads (%d took part)\n",
		zone_to_nid(node->zone), node->nr_pages,
		div_s64(ns, NSEC_PER_MSEC), job.nr_threads, job.nr_ran);
}

/* All struct pages are initialised. */
static void deferred_init_over(void)
{
	/*
	 * A barrier on each CPU, for readers that have none: a reader that sees that a
	 * zone is contiguous, or that the key is off where code is not patched, may
	 * otherwise have read a struct page before it was initialised.
	 */
	kick_all_cpus_sync();
	if (deferred_rest)
		deferred_rest();

	/* Pairs with the acquire in deferred_wait_over(). */
	smp_store_release(&deferred_phase, DEFERRED_OVER);
	wake_up_all(&deferred_over_wait);
}

static int deferred_init_kthread(void *data)
{
	deferred_init_node(data);
	if (atomic_dec_and_test(&deferred_nodes_left))
		deferred_init_over();
	return 0;
}

/*
 * Fill in the free ranges of a node from @first_pfn on, for which there is room, and mark the
 * sections that they are in.
 */
static void __init deferred_fill(struct deferred_node *node, unsigned long first_pfn)
{
	unsigned long room = node->nr_free, section;
	struct deferred_walk walk;

	node->nr_free = 0;
	for (deferred_walk_init(&walk, node->zone, NULL, first_pfn);
	     walk.spfn != ULONG_MAX && !WARN_ON(node->nr_free == room);
	     deferred_walk_next(&walk)) {
		for (section = deferred_section(node, walk.spfn);
		     section <= deferred_section(node, walk.epfn - 1); section++) {
			if (atomic_read(&node->state[section]) == SECTION_DONE)
				node->first_free[section] = node->nr_free;
			atomic_set(&node->state[section], PAGES_PER_SECTION);
		}
		node->free[node->nr_free++] = (struct deferred_free) {
			.spfn = walk.spfn, .epfn = walk.epfn,
		};
		node->nr_pages += walk.epfn - walk.spfn;
	}
	atomic_long_set(&node->nr_left, node->nr_pages);
}

/*
 * Allocate what describes a node's deferred pages.  An allocation may itself initialise some
 * of them.  Return NULL if there are none.
 */
static struct deferred_node * __init deferred_alloc_node(pg_data_t *pgdat)
{
	/* Pages are deferred at a node's end, see defer_init(). */
	struct zone *zone = &pgdat->node_zones[pgdat->nr_zones - 1];
	gfp_t gfp = GFP_KERNEL | __GFP_NOFAIL;
	struct deferred_node *node;

	if (pgdat->first_deferred_pfn >= zone_end_pfn(zone))
		return NULL;
	/* Struct pages of no node, or of another node, must not be touched. */
	if (WARN_ON(pgdat->first_deferred_pfn < pgdat->node_start_pfn))
		return NULL;

	node = kvcalloc(1, sizeof(*node), gfp);
	node->zone = zone;
	node->first_pfn = pgdat->first_deferred_pfn;
	node->end_pfn = zone_end_pfn(zone);
	node->nr_sections = deferred_section(node, node->end_pfn - 1) + 1;
	node->state = kvcalloc(node->nr_sections, sizeof(*node->state), gfp);
	node->first_free = kvcalloc(node->nr_sections, sizeof(*node->first_free), gfp);
	/* There cannot be more between those that are reserved. */
	node->nr_free = memblock.memory.cnt + memblock.reserved.cnt;
	node->free = kvcalloc(node->nr_free, sizeof(*node->free), gfp);
	/* Its own if any is online, else the nearest. */
	node->cpus = cpumask_of_node(numa_nearest_node(pgdat->node_id, N_CPU));
	node->max_threads = deferred_max_threads(node->cpus);
	return node;
}

/* From here on sections of the node can be claimed.  @last is where it goes in the list. */
static void __init deferred_prepare_node(struct deferred_node *node, struct deferred_node **last)
{
	pg_data_t *pgdat = node->zone->zone_pgdat;
	unsigned long flags;

	/* Pairs with the lock in deferred_grow_zone(): a page is its or the node's. */
	pgdat_resize_lock(pgdat, &flags);
	deferred_fill(node, pgdat->first_deferred_pfn);
	/* Counted now, so that what boot sizes by managed pages gets its full size. */
	atomic_long_add(node->nr_pages, &node->zone->managed_pages);
	/* Pairs with the acquires in for_each_deferred_node(). */
	smp_store_release(last, node);
	/* Pairs with the acquire in deferred_grow(). */
	smp_store_release(&pgdat->first_deferred_pfn, ULONG_MAX);
	pgdat_resize_unlock(pgdat, &flags);
}

/* Without memory for a kthread, the caller does the node itself. */
static void __init deferred_start_node(struct deferred_node *node)
{
	struct task_struct *task;

	task = kthread_create(deferred_init_kthread, node, "pgdatinit%d", zone_to_nid(node->zone));
	if (IS_ERR(task)) {
		deferred_init_kthread(node);
		return;
	}

	kthread_bind_mask(task, node->cpus);
	wake_up_process(task);
}

/*
 * Initcalls are to find free pages, and not to initialise sections in the contexts that they
 * allocate in: twice the high watermark, which grows with memory, and what they may need.
 */
static void __init deferred_wait_ahead(const struct deferred_node *node)
{
	unsigned long ahead = node->nr_pages / 256 + 2 * PAGES_PER_SECTION;

	while (atomic_long_read(&node->nr_left) + min(ahead, node->nr_pages) > node->nr_pages)
		deferred_sleep();
}

static void __init deferred_start_nodes(void)
{
	struct deferred_node *node;

	for_each_deferred_node(node)
		atomic_inc(&deferred_nodes_left);
	WRITE_ONCE(deferred_phase, DEFERRED_STARTED);
	for_each_deferred_node(node)
		deferred_start_node(node);
	if (!deferred_nodes)
		deferred_init_over();
}

/* Wait for DEFERRED_OVER.  If that takes long, the kernel log says who waits for what. */
void deferred_wait_over(const char *who)
{
	struct deferred_node *node;

	/* A hint to threads of the jobs, see deferred_low_priority(). */
	atomic_inc(&deferred_waiters);
	while (!wait_event_timeout(deferred_over_wait,
				   /* Pairs with the release in deferred_init_over(). */
				   smp_load_acquire(&deferred_phase) == DEFERRED_OVER, 30 * HZ)) {
		for_each_deferred_node(node) {
			if (atomic_long_read(&node->nr_left))
				pr_warn("%s waits for struct pages of node %d to be initialised\n",
					who, zone_to_nid(node->zone));
		}
	}
	atomic_dec(&deferred_waiters);
}

/* Boot waits until all deferred pages are initialised.  From then on nobody is to ask. */
void __init deferred_init_end(void)
{
	deferred_wait_over("boot");
	static_branch_disable(&deferred_pages);
}

/*
 * Make the jobs ready, when CPUs and workqueues are up.  From here on deferred pages count as
 * managed, and nr_deferred_pages() returns how many of them are not free yet.  If boot cannot go
 * on beside the jobs, they run here, so that nothing after this finds deferred pages.
 */
void __init deferred_init_prepare(void)
{
	struct deferred_node **last = &deferred_nodes, *node;
	int nid;

	if (IS_ENABLED(CONFIG_DEFERRED_INIT_ASYNC))
		deferred_async_decide();
	for_each_node_state(nid, N_MEMORY) {
		node = deferred_alloc_node(NODE_DATA(nid));
		if (!node)
			continue;
		deferred_prepare_node(node, last);
		last = &node->next;
	}
	/* After all of the above: pairs with whoever acts on it, see enum deferred_phase. */
	smp_store_release(&deferred_phase, DEFERRED_READY);

	if (!deferred_async) {
		deferred_start_nodes();
		deferred_init_end();
	}
}

/*
 * Go on with boot while deferred pages are initialised, all nodes at the same time.  @rest needs
 * all of them, and is called when the last is done, which may be now.
 */
void __init deferred_init_start(void (*rest)(void))
{
	struct deferred_node *node;

	if (!deferred_async) {
		rest();
		return;
	}

	deferred_rest = rest;
	deferred_start_nodes();
	if (!deferred_nodes)
		deferred_init_end();
	for_each_deferred_node(node)
		deferred_wait_ahead(node);
}
