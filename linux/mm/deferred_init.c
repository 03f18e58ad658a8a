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
 * What is initialised then is what memblock says is free, and most of the memmap's
 * own pages.  Struct pages of other reserved memory and of holes have been dealt
 * with before, whatever zone they are in, or are left to those who reserved the
 * memory.
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
#include <linux/padata_mt.h>
#include <linux/pgtable.h>
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
 * deferred_init_cores - how many cores some CPUs are
 * @cpus: the CPUs
 *
 * Return: the number of cores that at least one of @cpus is a hardware thread of.
 */
unsigned int __init deferred_init_cores(const struct cpumask *cpus)
{
	unsigned int cores = 0;
	int cpu;

	/* A core counts where its first hardware thread of @cpus is. */
	for_each_cpu(cpu, cpus) {
		if (cpumask_first_and(topology_sibling_cpumask(cpu), cpus) == cpu)
			cores++;
	}

	return cores;
}

/**
 * deferred_page_init_max_threads - threads that initialise a node's memmap
 * @node_cpumask: CPUs to run on: the node's, or for a node without CPUs those
 *                of the nearest that has some
 *
 * One for each core.  What the work takes is stores, and whether a core's second
 * thread adds to what the core can store differs by CPU; where nobody has measured
 * it, siblings are left to whatever else the boot does meanwhile.
 *
 * Architectures on which it has been measured override this.  The command line may
 * lower what they say, by deferred_init_threads=.
 *
 * Return: the most threads to use, one of which is the node's kthread.
 */
unsigned int __init __weak
deferred_page_init_max_threads(const struct cpumask *node_cpumask)
{
	return max(deferred_init_cores(node_cpumask), 1U);
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
 * The index of the zone of @pgdat that spans *pfn, the lowest if there are
 * several, %MAX_NR_ZONES if there is none.  Cut *next_pfn to where it is valid.
 */
static int __init deferred_zone_idx(pg_data_t *pgdat, unsigned long pfn,
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

/* Initialise struct pages of deferred memory that is reserved. */
static void __init deferred_reserve(unsigned long pfn, unsigned long end_pfn, int nid)
{
	unsigned long next_pfn;
	int zone;

	for (; pfn < end_pfn; pfn = next_pfn) {
		next_pfn = memmap_run_end(pfn, end_pfn);
		/* There is a memmap for all of a section or for none of it. */
		if (!pfn_valid(pfn))
			continue;

		zone = deferred_zone_idx(NODE_DATA(nid), pfn, &next_pfn);
		memmap_init_pages(pfn, next_pfn, zone, nid, MEMMAP_RESERVED);
	}
}

/*
 * What is reserved and grows with memory is the memmap.  Pages of the memmap of deferred
 * sections have struct pages, too, and these wait for the jobs where that is simple: in
 * one range of deferred memory of the same node, in whole blocks, so that no page which is
 * freed is a buddy of one of them.  Who initialises a section does those of its memmap.
 *
 * Until then nobody looks at them because of what the memory is: only the memmap's own code
 * knows, here and in register_page_bootmem_info_node().  Who goes by pfn meets struct pages
 * of deferred pages anyway.  Of other reserved memory that cannot be said, so those struct
 * pages are initialised when memblock retires.
 */
struct deferred_memmap {
	unsigned long pfn;
	unsigned long end_pfn;
	bool found;
	bool registered;	/* as boot memory that may be given back: SECTION_INFO */
};

static struct deferred_memmap deferred_memmaps[MAX_NUMNODES] __initdata;

#define SECTION_MEMMAP_PAGES	(PAGES_PER_SECTION * sizeof(struct page) >> PAGE_SHIFT)

/*
 * The first page of what the memmap of a section lies in, if the section, which begins at
 * @pfn, is there and its memmap is one piece of memory.  Else 0.
 */
static unsigned long __init deferred_section_memmap(unsigned long pfn)
{
	unsigned long addr;
	pgd_t *pgd;
	p4d_t *p4d;
	pud_t *pud;
	pmd_t pmd;

	if (!IS_ENABLED(CONFIG_SPARSEMEM_VMEMMAP) ||
	    (SECTION_MEMMAP_PAGES << PAGE_SHIFT) != PMD_SIZE ||
	    !valid_section_nr(pfn_to_section_nr(pfn)))
		return 0;

	/* An architecture may map it elsewhere than in the kernel's page table. */
	addr = (unsigned long)pfn_to_page(pfn);
	pgd = pgd_offset_k(addr);
	if (pgd_none(*pgd))
		return 0;
	p4d = p4d_offset(pgd, addr);
	if (p4d_none(*p4d))
		return 0;
	pud = pud_offset(p4d, addr);
	if (pud_none(*pud) || pud_leaf(*pud))
		return 0;
	pmd = pmdp_get(pmd_offset(pud, addr));

	return pmd_leaf(pmd) ? pmd_pfn(pmd) : 0;
}

/* A range that memblock has memory for, and whose it is. */
struct deferred_range {
	unsigned long start_pfn;
	unsigned long end_pfn;
	int nid;
};

/* Whether memblock has a page for a node.  @last: in which range the last such page was. */
static bool __init deferred_page_is_of(unsigned long pfn, int nid, struct deferred_range *last)
{
	if (pfn < last->start_pfn || pfn >= last->end_pfn) {
		last->end_pfn = 0;
		last->nid = memblock_search_pfn_nid(pfn, &last->start_pfn, &last->end_pfn);
	}
	return last->end_pfn && last->nid == nid;
}

/* Pages are deferred at a node's end, see defer_init(). */
static struct zone * __init deferred_zone(pg_data_t *pgdat)
{
	return &pgdat->node_zones[pgdat->nr_zones - 1];
}

/* First when memblock retires: no section has been initialised on demand yet. */
static const struct deferred_memmap * __init deferred_find_memmap(int nid)
{
	struct deferred_memmap *memmap = &deferred_memmaps[nid];
	unsigned long first_pfn = first_deferred_pfn(nid);
	unsigned long end_pfn = zone_end_pfn(deferred_zone(NODE_DATA(nid)));
	struct deferred_range of = { }, in = { };
	unsigned long pfn, at;

	if (memmap->found)
		return memmap;
	memmap->found = true;

	/* One section's after the other's, as sparse_init_nid() has allocated it. */
	for (pfn = first_pfn; pfn < end_pfn; pfn += PAGES_PER_SECTION) {
		at = deferred_section_memmap(pfn);
		if (at < first_pfn || at + SECTION_MEMMAP_PAGES > end_pfn)
			continue;
		/* Else no node may have the section registered, or two: one page decides. */
		if (!deferred_page_is_of(at, nid, &in) || !deferred_page_is_of(pfn, nid, &of) ||
		    of.end_pfn < pfn + PAGES_PER_SECTION)
			continue;
		if (!memmap->end_pfn)
			memmap->pfn = at;
		else if (at != memmap->end_pfn)
			break;
		memmap->end_pfn = at + SECTION_MEMMAP_PAGES;
	}
	memmap->pfn = ALIGN(memmap->pfn, MAX_ORDER_NR_PAGES);
	memmap->end_pfn = max(ALIGN_DOWN(memmap->end_pfn, MAX_ORDER_NR_PAGES), memmap->pfn);
	return memmap;
}

/* As deferred_reserve(), for what the memmap of a section lies in, itself in one section. */
static void __init deferred_reserve_section_info(unsigned long pfn, unsigned long end_pfn,
						 int nid, unsigned long section_nr)
{
	unsigned long next_pfn;
	int zone;

	for (; pfn < end_pfn; pfn = next_pfn) {
		next_pfn = end_pfn;
		zone = deferred_zone_idx(NODE_DATA(nid), pfn, &next_pfn);
		memmap_init_section_info(pfn, next_pfn, zone, nid, section_nr);
	}
}

/*
 * Initialise what is left to do of the memmap of the sections that begin in a range.  That
 * of another node's sections is not in the node's range.
 */
static void __init deferred_init_memmap_of(unsigned long pfn, unsigned long end_pfn, int nid)
{
	const struct deferred_memmap *memmap = &deferred_memmaps[nid];
	unsigned long at, end;

	if (memmap->pfn == memmap->end_pfn)
		return;

	for (pfn = ALIGN(pfn, PAGES_PER_SECTION); pfn < end_pfn; pfn += PAGES_PER_SECTION) {
		at = deferred_section_memmap(pfn);
		end = min(at + SECTION_MEMMAP_PAGES, memmap->end_pfn);
		at = max(at, memmap->pfn);
		if (memmap->registered)
			deferred_reserve_section_info(at, end, nid, pfn_to_section_nr(pfn));
		else
			deferred_reserve(at, end, nid);
	}
}

/**
 * deferred_get_page_bootmem - leave get_page_bootmem() to the node's job
 * @section_nr: a section
 * @page: the first page of what the section's memmap lies in
 *
 * Context: Boot, when memblock has retired.
 * Return: true if the struct pages of the section's memmap are not initialised yet.
 * Whoever does that will have each of them registered as SECTION_INFO.
 */
bool __ref deferred_get_page_bootmem(unsigned long section_nr, struct page *page)
{
	unsigned long pfn = section_nr_to_pfn(section_nr);
	int nid = early_pfn_to_nid(pfn);
	struct deferred_memmap *memmap = &deferred_memmaps[nid];
	unsigned long at = page_to_pfn(page);

	if (pfn < first_deferred_pfn(nid) || at < memmap->pfn || at >= memmap->end_pfn)
		return false;

	memmap->registered = true;
	return true;
}

/*
 * A walk over the free pfn ranges of a zone in order: [spfn, epfn) is what is
 * left of the current one.  Once past the last, spfn is ULONG_MAX.
 *
 * memblock does not change any more: nothing is given back to it after
 * memblock_free_all(), and it is discarded when all jobs are over.  So walks need no
 * lock, and a copy of one goes the same way again.
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

/*
 * Initialise and free what lies below @limit, which is in the section that the walk
 * is in.  Freeing a page looks at its buddies, which are of the same block, so all
 * of a block is initialised before any of it is freed.
 *
 * Return: number of pages.
 */
static unsigned long __init deferred_init_step(struct deferred_walk *walk,
					       unsigned long limit)
{
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
		memmap_free_pages(zone, spfn, epfn);
	}

	return nr;
}

/* What the threads of a node share. */
struct deferred_node {
	struct zone *zone;
	atomic_long_t nr_pages;
};

/*
 * The job's thread function.  Chunks are cut at section boundaries, so no two
 * threads of a node are in the same section, and none looks at struct pages that
 * another is at work on.  Where two nodes meet within a section, one may look at
 * those of the other, but only to find that they are no buddies: they are of
 * another zone.
 */
static void __init deferred_init_chunk(unsigned long start_pfn,
				       unsigned long end_pfn, void *arg)
{
	struct deferred_node *node = arg;
	struct deferred_walk walk;
	unsigned long nr = 0;

	deferred_init_memmap_of(start_pfn, end_pfn, zone_to_nid(node->zone));

	deferred_walk_init(&walk, node->zone, start_pfn);
	while (walk.spfn < end_pfn) {
		nr += deferred_init_step(&walk, memmap_step_end(walk.spfn, end_pfn));
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
	struct zone *zone = deferred_zone(pgdat);
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

	if (first_pfn == ULONG_MAX)
		return;
	/* Struct pages that are nobody's, or somebody else's, are not touched. */
	if (WARN_ON(first_pfn < pgdat->node_start_pfn ||
		    first_pfn > pgdat_end_pfn(pgdat)))
		return;
	WARN_ON(pgdat->nr_zones < MAX_NR_ZONES && populated_zone(zone + 1));
	if (first_pfn >= zone_end_pfn(zone))
		return;

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
 * deferred_init_reserved - initialise struct pages of reserved, deferred memory
 * @pfn: first page of a range that memblock has reserved
 * @end_pfn: end of the range
 * @nid: its node
 *
 * They are not free, so deferred_init_memmap() will leave them out, but for those of
 * the memmap itself that it may initialise.  Those that are initialised early are
 * left alone here.
 *
 * Context: Boot, in memblock_free_all(): when memblock retires.
 * Return: where the deferred part begins, @end_pfn if there is none.  Struct
 * pages from there on are initialised, and PageReserved, or will be.
 */
unsigned long __ref deferred_init_reserved(unsigned long pfn,
					   unsigned long end_pfn, int nid)
{
	unsigned long first_pfn = clamp(first_deferred_pfn(nid), pfn, end_pfn);
	const struct deferred_memmap *memmap;

	if (first_pfn == end_pfn)
		return end_pfn;

	memmap = deferred_find_memmap(nid);
	deferred_reserve(first_pfn, clamp(memmap->pfn, first_pfn, end_pfn), nid);
	deferred_reserve(clamp(memmap->end_pfn, first_pfn, end_pfn), end_pfn, nid);
	return first_pfn;
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
 * Return: true if the zone may have grown, by us or by somebody else, or if there was
 * nothing left of it: the allocation is worth one more try.
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
			nr += deferred_init_step(&walk, ALIGN(walk.spfn + 1,
							      MAX_ORDER_NR_PAGES));
			touch_nmi_watchdog();
		}
	}
	if (walk.spfn == ULONG_MAX)
		first_pfn = ULONG_MAX;
	deferred_init_memmap_of(pgdat->first_deferred_pfn,
				min(first_pfn, zone_end_pfn(zone)), zone_to_nid(zone));
	WRITE_ONCE(pgdat->first_deferred_pfn, first_pfn);
out:
	pgdat_resize_unlock(pgdat, &flags);
	return true;
}
