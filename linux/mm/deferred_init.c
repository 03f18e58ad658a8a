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
 * Boot continues while the jobs run, and waits for them before it frees init memory.
 * Until a section is initialised it is not online: pfn_to_online_page() has no page of
 * it.  Boot waits for the jobs at once with deferred_init=sync, and in kernels in which
 * something looks at struct pages without that check: see deferred_can_go_on().
 *
 * An allocation that finds its zone empty initialises a section itself, by
 * deferred_init_zone(): before deferred_init_prepare() the first that is left, and from
 * then on one that no thread has claimed yet.  Code that needs certain struct pages calls
 * deferred_init_pfns(); code that needs all of them calls deferred_init_wait().
 *
 * What is initialised here is what memblock says is free, and most of the memmap's
 * own pages.  Struct pages of other reserved memory and of holes have been dealt
 * with before, whatever zone they are in, or are left to the code that reserved the
 * memory.
 */

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/deferred_init.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/jump_label.h>
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
#include <linux/overflow.h>
#include <linux/padata_mt.h>
#include <linux/page_ext.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/topology.h>
#include <linux/wait.h>

#include "internal.h"
#include "memmap_bulk.h"
#include "shuffle.h"

/* A range of pages that memblock says are free. */
struct deferred_free {
	unsigned long spfn;
	unsigned long epfn;
};

/*
 * The deferred pages of a node, section by section: bit 0 of the bitmaps is the section
 * that begins at first_pfn.
 *
 * Set up by deferred_init_prepare().  After that only the bitmaps, the counts and
 * max_threads change.  Freed by deferred_init_finish(), once no thread uses it any more.
 */
struct deferred_node {
	struct zone *zone;
	unsigned long first_pfn;
	unsigned long end_pfn;

	/*
	 * Sections that no thread has claimed.  The thread whose test_and_clear_bit() clears
	 * the bit initialises the section.
	 */
	unsigned long *unclaimed;

	/*
	 * Sections that are not initialised.  The thread that claimed one clears its bit
	 * with a release, and readers test it with an acquire: without the pair, a reader
	 * could see the section online, but its struct pages as they were before.
	 */
	unsigned long *pending;
	atomic_long_t nr_pending;

	/* Free pages when the jobs were made ready, and those that are still deferred. */
	unsigned long nr_pages;
	atomic_long_t nr_left;

	/* Most threads that the job may use.  Set before it starts. */
	unsigned int max_threads;

	/* The ranges of free pages.  A copy, as memblock may change while jobs run. */
	unsigned long nr_free;
	struct deferred_free *free;

	/* How often deferred_grow_atomic() has grown the zone.  Protected by the resize lock. */
	unsigned long nr_grown;
};

struct deferred_nodes {
	int nr;
	struct deferred_node node[] __counted_by(nr);
};

/* Set by deferred_init_prepare() as a release, which pairs with the acquire of readers. */
static struct deferred_nodes *deferred_nodes;

/* Nodes whose job is not done yet. */
static atomic_t deferred_nodes_left __initdata;

/* Completed by each kthread when it has left this code, which is freed after the last. */
static int deferred_nr_kthreads __initdata;
static DECLARE_COMPLETION(deferred_kthread_left);

/* Whether boot continues while the jobs run. */
static bool deferred_go_on __initdata = true;

/* Jobs have been started, so they can be waited for. */
static bool deferred_started;

/* All struct pages are initialised, and what comes after that is done.  Its waiters. */
static bool deferred_over;
static DECLARE_WAIT_QUEUE_HEAD(deferred_wait);

/* Threads that wait for struct pages now. */
static atomic_t deferred_waiters = ATOMIC_INIT(0);

/* Threads that look at deferred_nodes, or are in code that is freed after boot. */
static atomic_t deferred_users = ATOMIC_INIT(0);

/* Waits for all struct pages, except at the end of boot: total, longest, and whose. */
static DEFINE_SPINLOCK(deferred_waited_lock);
static u64 deferred_waited_ns;		/* under deferred_waited_lock */
static u64 deferred_longest_ns;		/* under deferred_waited_lock */
static const char *deferred_longest;	/* under deferred_waited_lock */

/* From the command line: threads per node, or per cent of its CPUs.  0: unset. */
static unsigned int deferred_threads __initdata;
static unsigned int deferred_threads_pct __initdata;

/*
 * deferred_init_threads=N or N%: most threads that work on one node at a time,
 * instead of what the architecture says.
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

/*
 * deferred_init=sync or async: whether boot waits until all struct pages are initialised
 * before it starts device drivers.
 */
static int __init deferred_init_setup(char *str)
{
	if (!strcmp(str, "sync"))
		deferred_go_on = false;
	else if (!strcmp(str, "async"))
		deferred_go_on = true;
	else
		pr_warn("deferred_init: '%s' is neither sync nor async, using the default\n", str);
	return 1;
}
__setup("deferred_init=", deferred_init_setup);

/**
 * deferred_init_cores - count the cores that CPUs belong to
 * @cpus: the CPUs
 *
 * Return: the number of cores that at least one of @cpus is a hardware thread of.
 */
unsigned int __init deferred_init_cores(const struct cpumask *cpus)
{
	unsigned int cores = 0;
	int cpu;

	/* Count each core at its first hardware thread that is in @cpus. */
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
 * One for each core.  The work consists of stores, and whether a core's second thread
 * adds to what the core can store depends on the CPU.  Where that has not been
 * measured, SMT siblings are left to whatever else boot does meanwhile.
 *
 * Architectures on which it has been measured override this, and
 * deferred_init_threads= on the command line overrides both.
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
	unsigned int nr = max(cpumask_weight_and(cpus, cpu_online_mask), 1U);

	if (deferred_threads_pct)
		return max(DIV_ROUND_CLOSEST(nr * deferred_threads_pct, 100U), 1U);
	if (deferred_threads)
		return min(deferred_threads, nr);

	return deferred_page_init_max_threads(cpus);
}

/* The CPUs to initialise @nid with: its own if any is online, else the nearest. */
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
 * The index of the zone of @pgdat that spans @pfn, the lowest if there are several,
 * %MAX_NR_ZONES if there is none.  Lowers *next_pfn to the end of what it is valid for.
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

#define NO_SECTION	ULONG_MAX

/*
 * Initialise struct pages of deferred memory that is reserved.  @section_nr: if the
 * memory is to be registered as a section's memmap, that section, else %NO_SECTION.
 */
static void __init deferred_reserve(unsigned long pfn, unsigned long end_pfn, int nid,
				    unsigned long section_nr)
{
	unsigned long next_pfn;
	int zone;

	for (; pfn < end_pfn; pfn = next_pfn) {
		next_pfn = memmap_run_end(pfn, end_pfn);
		/* There is a memmap for all of a section or for none of it. */
		if (!pfn_valid(pfn))
			continue;

		zone = deferred_zone_idx(NODE_DATA(nid), pfn, &next_pfn);
		if (section_nr == NO_SECTION)
			memmap_init_pages(pfn, next_pfn, zone, nid, MEMMAP_RESERVED);
		else
			memmap_init_section_info(pfn, next_pfn, zone, nid, section_nr);
	}
}

/*
 * The memmap is the only reserved memory that grows with the size of memory.  The pages
 * that hold the memmap of deferred sections have struct pages, too.  If these pages are
 * one range of deferred memory of the same node, in the order of sections, their struct
 * pages are initialised along with the section that they are in.
 *
 * Until then only this file, register_page_bootmem_info_node() and hugetlb_vmemmap.c could
 * access these struct pages other than by a pfn walk, and pfn walkers have to cope with
 * deferred pages anyway.  memblock_free_all() initialises those of other reserved memory.
 */
struct deferred_memmap {
	unsigned long pfn;
	unsigned long end_pfn;
	unsigned long section_nr;	/* the one whose memmap is at pfn */
	bool found;
	bool registered;	/* as boot memory that may be given back: SECTION_INFO */
};

static struct deferred_memmap deferred_memmaps[MAX_NUMNODES] __initdata;

/* Rounded up: the memmap of powerpc's smallest sections is less than a page. */
#define SECTION_MEMMAP_PAGES	DIV_ROUND_UP(PAGES_PER_SECTION * sizeof(struct page), PAGE_SIZE)

/*
 * The pfn of the first page that holds the memmap of the section that begins at @pfn, or
 * 0 if there is no such section or its memmap is not one piece of memory.
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

	/* An architecture may map the memmap outside the kernel's page table. */
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

/* A memory range of memblock, and its node. */
struct deferred_range {
	unsigned long start_pfn;
	unsigned long end_pfn;
	int nid;
};

/* Whether @pfn is memory of @nid.  @last caches the range that was found last. */
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

/* First called in memblock_free_all(), before any section is initialised on demand. */
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

	/* Section by section, which is how sparse_init_nid() has allocated the memmap. */
	for (pfn = first_pfn; pfn < end_pfn; pfn += PAGES_PER_SECTION) {
		at = deferred_section_memmap(pfn);
		/* Else no node or two might register the section: one page decides. */
		if (at < first_pfn || at + SECTION_MEMMAP_PAGES > end_pfn ||
		    !deferred_page_is_of(at, nid, &in) || !deferred_page_is_of(pfn, nid, &of) ||
		    of.end_pfn < pfn + PAGES_PER_SECTION) {
			if (memmap->end_pfn)
				break;
			continue;
		}
		if (!memmap->end_pfn) {
			memmap->pfn = at;
			memmap->section_nr = pfn_to_section_nr(pfn);
		} else if (at != memmap->end_pfn) {
			break;
		}
		memmap->end_pfn = at + SECTION_MEMMAP_PAGES;
	}
	return memmap;
}

/* Initialise struct pages of those memmap pages in a range that are left to the jobs. */
static void __init deferred_init_memmap_in(unsigned long pfn, unsigned long end_pfn, int nid)
{
	const struct deferred_memmap *memmap = &deferred_memmaps[nid];
	unsigned long next_pfn, nr;

	pfn = max(pfn, memmap->pfn);
	end_pfn = min(end_pfn, memmap->end_pfn);
	for (; pfn < end_pfn; pfn = next_pfn) {
		nr = (pfn - memmap->pfn) / SECTION_MEMMAP_PAGES;
		next_pfn = min(memmap->pfn + (nr + 1) * SECTION_MEMMAP_PAGES, end_pfn);
		deferred_reserve(pfn, next_pfn, nid, memmap->registered ?
						     memmap->section_nr + nr : NO_SECTION);
	}
}

/**
 * deferred_get_page_bootmem - leave get_page_bootmem() to the node's job
 * @section_nr: a section
 * @page: the first of the pages that hold the section's memmap
 *
 * Context: Boot, after memblock_free_all().
 * Return: true if the struct pages of these pages are not initialised yet.  The thread
 * that initialises them then registers each as SECTION_INFO.
 */
bool __ref deferred_get_page_bootmem(unsigned long section_nr, struct page *page)
{
	int nid = early_pfn_to_nid(section_nr_to_pfn(section_nr));
	struct deferred_memmap *memmap = &deferred_memmaps[nid];
	unsigned long at = page_to_pfn(page);

	if (at < first_deferred_pfn(nid) || at < memmap->pfn || at >= memmap->end_pfn)
		return false;

	memmap->registered = true;
	return true;
}

/*
 * A walk over the free pfn ranges of a zone in order: [spfn, epfn) is what is
 * left of the current one.  Once past the last, spfn is ULONG_MAX.
 *
 * Until the jobs are made ready, the ranges are memblock's, which do not change: nothing
 * is given back to memblock after memblock_free_all().  From then on they are the node's
 * own.  So walks need no lock, and a copy of a walk visits the same ranges again.
 */
struct deferred_walk {
	struct zone *zone;
	const struct deferred_node *node;
	u64 idx;
	unsigned long spfn;
	unsigned long epfn;
};

static void __init deferred_walk_next(struct deferred_walk *walk)
{
	const struct deferred_node *node = walk->node;

	if (!node) {
		__next_mem_pfn_range_in_zone(&walk->idx, walk->zone, &walk->spfn,
					     &walk->epfn);
	} else if (walk->idx < node->nr_free) {
		walk->spfn = node->free[walk->idx].spfn;
		walk->epfn = node->free[walk->idx++].epfn;
	} else {
		walk->spfn = ULONG_MAX;
		walk->epfn = ULONG_MAX;
	}
}

/* Skip what is below @pfn. */
static void __init deferred_walk_skip(struct deferred_walk *walk, unsigned long pfn)
{
	while (walk->spfn < pfn && walk->epfn <= pfn)
		deferred_walk_next(walk);
	walk->spfn = max(walk->spfn, pfn);
}

/* Start a walk over what is free in @zone from @pfn on.  @node: the zone's, or %NULL. */
static void __init deferred_walk_init(struct deferred_walk *walk, struct zone *zone,
				      const struct deferred_node *node, unsigned long pfn)
{
	walk->zone = zone;
	walk->node = node;
	walk->idx = 0;
	deferred_walk_next(walk);
	deferred_walk_skip(walk, pfn);
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
 * Initialise and free what the walk has left below @limit, which is not past the end of
 * the section that the walk is in.  Freeing a page looks at its buddies, which are of the
 * same block, so all of a block is initialised before any of it is freed.
 *
 * Return: number of pages.
 */
static unsigned long __init deferred_init_step(struct deferred_walk *walk,
					       unsigned long limit)
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

static unsigned long deferred_section_idx(const struct deferred_node *node,
					  unsigned long pfn)
{
	return pfn_to_section_nr(pfn) - pfn_to_section_nr(node->first_pfn);
}

/*
 * Claim the section that @pfn is in for this thread to initialise.  Return false if it
 * has been claimed before, or the node has no memory there.
 *
 * While a thread works on a section, no other looks at the struct pages of its free pages
 * or memmap pages.  Where two nodes meet within a section, one may look at those of the
 * other, but only to find that they are not buddies: they are of another zone.
 */
static bool __init deferred_claim(struct deferred_node *node, unsigned long pfn)
{
	return test_and_clear_bit(deferred_section_idx(node, pfn), node->unclaimed);
}

/* Initialise and free what is in a section that this thread has claimed. */
static void __init deferred_init_section(struct deferred_node *node,
					 struct deferred_walk *walk, unsigned long pfn)
{
	unsigned long end_pfn = min(ALIGN(pfn + 1, PAGES_PER_SECTION), node->end_pfn);
	unsigned long nr = 0;

	deferred_init_memmap_in(pfn, end_pfn, zone_to_nid(node->zone));
	deferred_walk_skip(walk, pfn);
	while (walk->spfn < end_pfn)
		nr += deferred_init_step(walk, memmap_step_end(walk->spfn, end_pfn));

	/* Not before they are free: the sum may count a page twice, but misses none. */
	atomic_long_sub(nr, &node->nr_left);

	/* Pairs with the acquires of the bit, see struct deferred_node. */
	clear_bit_unlock(deferred_section_idx(node, pfn), node->pending);
	/* Pairs with deferred_wait_pending(): none pending means that all bits are clear. */
	smp_mb__before_atomic();
	atomic_long_dec(&node->nr_pending);
}

/*
 * Whether a thread of the job runs at the lowest priority.  It does while boot continues:
 * boot is what users wait for, and its allocations initialise sections themselves.  It
 * does not while a thread waits for struct pages, nor when there may be no section left
 * to claim, as allocations then depend on the job's threads.  Nor on PREEMPT_RT, where a
 * thread that is preempted with zone->lock held would block all others.
 */
static bool __init deferred_low_priority(const struct deferred_node *node)
{
	return deferred_go_on && !IS_ENABLED(CONFIG_PREEMPT_RT) &&
	       !atomic_read(&deferred_waiters) &&
	       atomic_long_read(&node->nr_pending) > node->max_threads;
}

/* The job's thread function. */
static void __init deferred_init_chunk(unsigned long start_pfn,
				       unsigned long end_pfn, void *arg)
{
	struct deferred_node *node = arg;
	struct deferred_walk walk;
	int nice = task_nice(current);
	unsigned long pfn;

	deferred_walk_init(&walk, node->zone, node, start_pfn);
	for (pfn = start_pfn; pfn < end_pfn; pfn = ALIGN(pfn + 1, PAGES_PER_SECTION)) {
		set_user_nice(current, deferred_low_priority(node) ? MAX_NICE : nice);
		if (deferred_claim(node, pfn))
			deferred_init_section(node, &walk, pfn);
		cond_resched();
	}

	set_user_nice(current, nice);
}

/*
 * Whether boot can continue while struct pages are initialised.  Not if something looks
 * at them without asking for an online pfn, or has to see pages before they are in use:
 *
 * - Without memory hotplug every pfn counts as online.
 * - Without a virtual memmap page_to_pfn() reads the struct page.
 * - KASAN and KMSAN leave pages unpoisoned until the last one is initialised.
 * - page_ext is set up when all struct pages are.  Its users, page_owner and
 *   page_table_check among them, have to see drivers' pages.
 * - Free pages are shuffled once all are there, which only helps before they are in use.
 */
static bool __init deferred_can_go_on(void)
{
	return IS_ENABLED(CONFIG_MEMORY_HOTPLUG) && IS_ENABLED(CONFIG_SPARSEMEM_VMEMMAP) &&
	       !IS_ENABLED(CONFIG_KASAN) && !IS_ENABLED(CONFIG_KMSAN) &&
	       !page_ext_needed() && !is_shuffle_order(MAX_PAGE_ORDER);
}

/* How many free ranges a node has from @pfn on. */
static unsigned long __init deferred_count_free(const struct deferred_node *node,
						unsigned long pfn)
{
	struct deferred_walk walk;
	unsigned long nr = 0;

	for (deferred_walk_init(&walk, node->zone, NULL, pfn);
	     walk.spfn != ULONG_MAX; deferred_walk_next(&walk))
		nr++;
	return nr;
}

/* Fill in the free ranges of a node from @pfn on.  There is room for nr_free of them. */
static void __init deferred_fill_free(struct deferred_node *node, unsigned long pfn)
{
	unsigned long room = node->nr_free;
	struct deferred_walk walk;

	node->nr_free = 0;
	for (deferred_walk_init(&walk, node->zone, NULL, pfn);
	     walk.spfn != ULONG_MAX && !WARN_ON(node->nr_free == room);
	     deferred_walk_next(&walk)) {
		node->free[node->nr_free++] = (struct deferred_free) {
			.spfn = walk.spfn, .epfn = walk.epfn,
		};
		node->nr_pages += walk.epfn - walk.spfn;
	}
}

/* Mark the sections from @first_pfn on in which a node has memory. */
static void __init deferred_fill_sections(struct deferred_node *node, unsigned long first_pfn)
{
	unsigned long spfn, epfn, pfn, nr = 0;
	int i;

	for_each_mem_pfn_range(i, zone_to_nid(node->zone), &spfn, &epfn, NULL) {
		spfn = max(spfn, first_pfn);
		epfn = min(epfn, node->end_pfn);
		for (pfn = spfn; pfn < epfn; pfn = ALIGN(pfn + 1, PAGES_PER_SECTION))
			nr += !__test_and_set_bit(deferred_section_idx(node, pfn),
						  node->pending);
	}
	atomic_long_set(&node->nr_pending, nr);
}

/*
 * Allocate what describes a node's deferred pages.  An allocation may itself initialise
 * some of them.  Return false if there are none.
 */
static bool __init deferred_alloc_node(struct deferred_node *node, pg_data_t *pgdat)
{
	gfp_t gfp = GFP_KERNEL | __GFP_NOFAIL;
	unsigned long nr;

	node->zone = deferred_zone(pgdat);
	node->first_pfn = pgdat->first_deferred_pfn;
	node->end_pfn = zone_end_pfn(node->zone);
	if (node->first_pfn >= node->end_pfn)
		return false;
	/* Struct pages of no node, or of another node, must not be touched. */
	if (WARN_ON(node->first_pfn < pgdat->node_start_pfn))
		return false;
	WARN_ON(pgdat->nr_zones < MAX_NR_ZONES && populated_zone(node->zone + 1));

	nr = deferred_section_idx(node, node->end_pfn - 1) + 1;
	node->unclaimed = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), gfp);
	node->pending = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), gfp);
	node->nr_free = deferred_count_free(node, node->first_pfn);
	node->free = kvcalloc(node->nr_free, sizeof(*node->free), gfp);
	return true;
}

/* From here on deferred_init_zone() claims sections of the node. */
static void __init deferred_prepare_node(struct deferred_node *node)
{
	unsigned long nr = deferred_section_idx(node, node->end_pfn - 1) + 1;
	pg_data_t *pgdat = node->zone->zone_pgdat;
	unsigned long flags, i;

	/* Pairs with the lock in deferred_grow_zone(): a page is its or the node's. */
	pgdat_resize_lock(pgdat, &flags);
	deferred_fill_free(node, pgdat->first_deferred_pfn);
	deferred_fill_sections(node, pgdat->first_deferred_pfn);
	/* Counted now, so that what boot sizes by managed pages gets its full size. */
	atomic_long_set(&node->nr_left, node->nr_pages);
	atomic_long_add(node->nr_pages, &node->zone->managed_pages);
	/*
	 * From here on, deferred_init_pfns() claims sections.  Pairs with the full barrier of
	 * deferred_claim(): without it, a section might be counted down before nr_pending
	 * and nr_left are set, and boot would wait for it for ever.
	 */
	smp_wmb();
	/* Each word once, not by memcpy(), which may set a bit again that was cleared. */
	for (i = 0; i < BITS_TO_LONGS(nr); i++)
		WRITE_ONCE(node->unclaimed[i], node->pending[i]);
	/* A release, which pairs with the acquire in deferred_grow(). */
	smp_store_release(&pgdat->first_deferred_pfn, ULONG_MAX);
	pgdat_resize_unlock(pgdat, &flags);
}

/**
 * deferred_init_prepare - make the jobs ready
 *
 * From here on deferred pages count as managed, and nr_deferred_pages() returns how many
 * of them are not free yet.
 *
 * Context: Boot, once, when CPUs and workqueues are up.  May sleep.
 */
void __init deferred_init_prepare(void)
{
	struct deferred_nodes *nodes;
	int nid, i;

	deferred_go_on = deferred_go_on && deferred_can_go_on();

	nodes = kvzalloc(struct_size(nodes, node, num_node_state(N_MEMORY)),
			 GFP_KERNEL | __GFP_NOFAIL);
	nodes->nr = num_node_state(N_MEMORY);
	i = 0;
	for_each_node_state(nid, N_MEMORY) {
		if (deferred_alloc_node(&nodes->node[i], NODE_DATA(nid)))
			i++;
	}
	nodes->nr = i;

	/* A release, which pairs with the acquire in deferred_get_nodes(). */
	smp_store_release(&deferred_nodes, nodes);
	for (i = 0; i < nodes->nr; i++)
		deferred_prepare_node(&nodes->node[i]);
}

/* Threads that claimed sections before the job could may still be working on them. */
static void __init deferred_wait_pending(struct deferred_node *node)
{
	while (atomic_long_read(&node->nr_pending))
		deferred_sleep();
	/* Pairs with the barrier in deferred_init_section(). */
	smp_rmb();
}

/* Most pages of a chunk while boot continues: some sections, more if they are small. */
#define MAX_CHUNK	max(4 * PAGES_PER_SECTION, SZ_512M >> PAGE_SHIFT)

static void __init deferred_init_node(struct deferred_node *node)
{
	const struct cpumask *cpus = deferred_node_cpus(zone_to_nid(node->zone));
	u64 begin = sched_clock();
	struct padata_mt_job job = {
		.thread_fn   = deferred_init_chunk,
		.fn_arg      = node,
		.start       = node->first_pfn,
		.size        = node->end_pfn - node->first_pfn,
		.align       = PAGES_PER_SECTION,
		.min_chunk   = PAGES_PER_SECTION,
		/* While boot continues, a thread may hardly run, and its chunk waits. */
		.max_chunk   = deferred_go_on ? MAX_CHUNK : 0,
		.max_threads = deferred_max_threads(cpus),
		.cpumask     = cpus,
	};
	s64 ns;

	node->max_threads = job.max_threads;
	padata_do_multithreaded(&job);
	deferred_wait_pending(node);

	/* Other clocks tick in jiffies until later in boot.  CPUs' clocks may differ. */
	ns = max_t(s64, sched_clock() - begin, 0);
	pr_info("node %d initialised, %lu pages in %lldms, %d threads (%d took part)\n",
		zone_to_nid(node->zone), node->nr_pages,
		div_s64(ns, NSEC_PER_MSEC), job.nr_threads, job.nr_ran);
}

/* All struct pages are initialised. */
static void __init deferred_init_over(void)
{
	int nid;

	/*
	 * A barrier on each CPU, for readers that have none: a reader that sees that a
	 * zone is contiguous, or that the key is off where code is not patched, may
	 * otherwise have read a struct page before it was initialised.
	 */
	kick_all_cpus_sync();
	page_alloc_init_rest();
	/* Let kswapd try again where it gave up as there was nothing to reclaim yet. */
	for_each_node_state(nid, N_MEMORY)
		WRITE_ONCE(NODE_DATA(nid)->kswapd_failures, 0);

	/* A release, which pairs with the acquire in deferred_wait_over(). */
	smp_store_release(&deferred_over, true);
	wake_up_all(&deferred_wait);
	static_branch_disable(&deferred_pages);
}

static void __init deferred_do_node(struct deferred_node *node)
{
	deferred_init_node(node);
	if (atomic_dec_and_test(&deferred_nodes_left))
		deferred_init_over();
}

/*
 * Must not return: boot waits for all of these threads in deferred_init_finish(), and may
 * free this code as soon as the last one is out.
 */
static int __init deferred_init_kthread(void *data)
{
	deferred_do_node(data);
	kthread_complete_and_exit(&deferred_kthread_left, 0);
}

/* Without memory for a kthread, the caller does the node itself. */
static void __init deferred_start_node(struct deferred_node *node)
{
	int nid = zone_to_nid(node->zone);
	struct task_struct *task;

	task = kthread_create(deferred_init_kthread, node, "pgdatinit%d", nid);
	if (IS_ERR(task)) {
		deferred_do_node(node);
		return;
	}

	deferred_nr_kthreads++;
	kthread_bind_mask(task, deferred_node_cpus(nid));
	wake_up_process(task);
}

/**
 * deferred_init_start - initialise and free all deferred pages
 *
 * Nodes are done at the same time, each by a kthread "pgdatinitN" and its helpers.  When
 * the last is done, page_alloc_init_rest() is called.  If boot can continue meanwhile,
 * this returns before that.
 *
 * Context: Boot, once, after deferred_init_prepare().  May sleep.
 */
void __init deferred_init_start(void)
{
	struct deferred_nodes *nodes = deferred_nodes;
	int i;

	atomic_set(&deferred_nodes_left, nodes->nr);
	WRITE_ONCE(deferred_started, true);
	for (i = 0; i < nodes->nr; i++)
		deferred_start_node(&nodes->node[i]);

	if (!nodes->nr)
		deferred_init_over();
	if (!deferred_go_on || !nodes->nr)
		deferred_init_finish();
}

/* Which nodes are not done. */
static void deferred_nodes_pending(nodemask_t *mask)
{
	int i;

	nodes_clear(*mask);
	for (i = 0; i < deferred_nodes->nr; i++) {
		if (atomic_long_read(&deferred_nodes->node[i].nr_pending))
			node_set(zone_to_nid(deferred_nodes->node[i].zone), *mask);
	}
}

/* Wait for deferred_over.  If that takes long, the kernel log says who waits for what. */
static void deferred_wait_over(const char *who)
{
	nodemask_t mask;

	/* A hint to threads of the jobs, see deferred_low_priority(). */
	atomic_inc(&deferred_waiters);
	/* Pairs with the release in deferred_init_over(). */
	while (!wait_event_timeout(deferred_wait, smp_load_acquire(&deferred_over), 30 * HZ)) {
		deferred_nodes_pending(&mask);
		if (nodes_empty(mask))
			pr_warn("%s waits for zones to be set up\n", who);
		else
			pr_warn("%s waits for struct pages of node %*pbl to be initialised\n",
				who, nodemask_pr_args(&mask));
	}
	atomic_dec(&deferred_waiters);
}

/**
 * deferred_init_finish - wait until all deferred pages are initialised and free
 *
 * After this, no thread is in code of this file that is only used at boot.
 *
 * Context: Boot, before init memory is freed.  May sleep.
 */
void __init deferred_init_finish(void)
{
	struct deferred_nodes *nodes = deferred_nodes;
	u64 begin = sched_clock();
	s64 ns;
	int i;

	if (!nodes)
		return;

	deferred_wait_over("boot");
	for (i = 0; i < deferred_nr_kthreads; i++)
		wait_for_completion(&deferred_kthread_left);
	ns = max_t(s64, sched_clock() - begin, 0);

	/*
	 * Pairs with the barrier in deferred_enter(): a thread that is not counted here
	 * sees deferred_over, and leaves.  Those that are counted have nothing to wait for.
	 */
	smp_mb();
	/* An acquire, which pairs with the barrier in deferred_leave(). */
	while (atomic_read_acquire(&deferred_users))
		deferred_sleep();

	if (deferred_go_on && nodes->nr)
		pr_info("boot waited %lldms for struct pages at its end, others %lldms before%s%s\n",
			div_s64(ns, NSEC_PER_MSEC), div_s64(deferred_waited_ns, NSEC_PER_MSEC),
			deferred_longest ? ", longest " : "", deferred_longest ?: "");

	deferred_nodes = NULL;
	for (i = 0; i < nodes->nr; i++) {
		kvfree(nodes->node[i].unclaimed);
		kvfree(nodes->node[i].pending);
		kvfree(nodes->node[i].free);
	}
	kvfree(nodes);
}

static void deferred_leave(void)
{
	/* Pairs with the acquire in deferred_init_finish(), which frees what was read. */
	smp_mb__before_atomic();
	atomic_dec(&deferred_users);
}

/*
 * Keep what is needed to initialise deferred pages from being freed: __init functions of
 * this file and deferred_nodes may be used until deferred_leave().  Return false if all
 * pages are initialised.
 */
static bool deferred_enter(void)
{
	atomic_inc(&deferred_users);
	/* Pairs with the barrier in deferred_init_finish(). */
	smp_mb__after_atomic();
	if (!READ_ONCE(deferred_over))
		return true;
	deferred_leave();
	return false;
}

/* The nodes, if deferred_init_prepare() has made them ready.  After deferred_enter(). */
static struct deferred_nodes *deferred_get_nodes(void)
{
	/* Pairs with the release in deferred_init_prepare(). */
	return smp_load_acquire(&deferred_nodes);
}

/* Whether a pfn is in a section that @node has not initialised yet. */
static bool deferred_node_pending(const struct deferred_node *node, unsigned long pfn)
{
	/* Pairs with the release in deferred_init_section(). */
	return pfn >= node->first_pfn && pfn < node->end_pfn &&
	       test_bit_acquire(deferred_section_idx(node, pfn), node->pending);
}

/*
 * deferred_pfn_pending() while there are deferred pages.  Where the deferred pages of two
 * nodes meet in a section, both nodes must have initialised their part.
 */
bool __deferred_pfn_pending(unsigned long pfn)
{
	struct deferred_nodes *nodes;
	bool pending = false;
	int i;

	if (!deferred_enter())
		return false;
	nodes = deferred_get_nodes();
	for (i = 0; nodes && !pending && i < nodes->nr; i++)
		pending = deferred_node_pending(&nodes->node[i], pfn);
	deferred_leave();
	return pending;
}

/* nr_deferred_pages() while there are deferred pages. */
unsigned long __nr_deferred_pages(void)
{
	struct deferred_nodes *nodes;
	unsigned long nr = 0;
	int i;

	if (!deferred_enter())
		return 0;
	nodes = deferred_get_nodes();
	for (i = 0; nodes && i < nodes->nr; i++)
		nr += atomic_long_read(&nodes->node[i].nr_left);
	deferred_leave();
	return nr;
}

static void __init deferred_init_node_pfns(struct deferred_node *node, unsigned long pfn,
					   unsigned long end_pfn)
{
	struct deferred_walk walk;

	pfn = max(ALIGN_DOWN(pfn, PAGES_PER_SECTION), node->first_pfn);
	end_pfn = min(end_pfn, node->end_pfn);
	for (; pfn < end_pfn; pfn += PAGES_PER_SECTION) {
		if (deferred_claim(node, pfn)) {
			deferred_walk_init(&walk, node->zone, node, pfn);
			deferred_init_section(node, &walk, pfn);
		}
		while (deferred_node_pending(node, pfn))
			deferred_sleep();
	}
}

/* deferred_init_pfns() while there are deferred pages. */
void __ref __deferred_init_pfns(unsigned long pfn, unsigned long end_pfn)
{
	struct deferred_nodes *nodes;
	int i;

	might_sleep();
	if (!deferred_enter())
		return;
	nodes = deferred_get_nodes();
	for (i = 0; nodes && i < nodes->nr; i++)
		deferred_init_node_pfns(&nodes->node[i], pfn, end_pfn);
	deferred_leave();
}

static void __init deferred_init_node_vmemmap(int nid, unsigned long pfn, unsigned long end_pfn)
{
	const struct deferred_memmap *memmap = &deferred_memmaps[nid];
	unsigned long nr = (memmap->end_pfn - memmap->pfn) / SECTION_MEMMAP_PAGES;
	unsigned long of_pfn = section_nr_to_pfn(memmap->section_nr), at;

	pfn = max(ALIGN_DOWN(pfn, PAGES_PER_SECTION), of_pfn);
	end_pfn = min(end_pfn, of_pfn + nr * PAGES_PER_SECTION);
	for (; pfn < end_pfn; pfn += PAGES_PER_SECTION) {
		at = memmap->pfn + (pfn - of_pfn) / PAGES_PER_SECTION * SECTION_MEMMAP_PAGES;
		__deferred_init_pfns(at, at + SECTION_MEMMAP_PAGES);
	}
}

/* deferred_init_vmemmap() while there are deferred pages. */
void __ref __deferred_init_vmemmap(unsigned long start, unsigned long end)
{
	int nid;

	if (!deferred_enter())
		return;
	for_each_node_state(nid, N_MEMORY)
		deferred_init_node_vmemmap(nid, page_to_pfn((struct page *)start),
					   page_to_pfn((struct page *)end));
	deferred_leave();
}

/* deferred_init_wait() while there are deferred pages. */
void __deferred_init_wait(const char *who)
{
	u64 begin = sched_clock(), ns;

	might_sleep();
	if (!deferred_enter())
		return;
	/* Until the jobs start, boot is on one thread, the one that starts them. */
	if (!READ_ONCE(deferred_started))
		goto out;

	deferred_wait_over(who);
	ns = max_t(s64, sched_clock() - begin, 0);

	spin_lock(&deferred_waited_lock);
	deferred_waited_ns += ns;
	if (ns > deferred_longest_ns) {
		deferred_longest_ns = ns;
		deferred_longest = who;
	}
	spin_unlock(&deferred_waited_lock);
out:
	deferred_leave();
}

/**
 * deferred_init_reserved - initialise struct pages of reserved, deferred memory
 * @pfn: first page of a range that memblock has reserved
 * @end_pfn: end of the range
 * @nid: its node
 *
 * The pages are not free, so the jobs skip them, except for those of the memmap itself
 * that they may initialise.  Struct pages initialised early are left alone here.
 *
 * Context: Boot, in memblock_free_all().
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
	deferred_reserve(first_pfn, clamp(memmap->pfn, first_pfn, end_pfn), nid, NO_SECTION);
	deferred_reserve(clamp(memmap->end_pfn, first_pfn, end_pfn), end_pfn, nid, NO_SECTION);
	return first_pfn;
}

/* Grow a zone whose job is not ready, from its first deferred page on. */
bool __init deferred_grow_zone(struct zone *zone, unsigned int order)
{
	unsigned long want = ALIGN(1UL << order, PAGES_PER_SECTION);
	pg_data_t *pgdat = zone->zone_pgdat;
	unsigned long first_pfn = READ_ONCE(pgdat->first_deferred_pfn);
	unsigned long flags, next_pfn, nr = 0;
	struct deferred_walk walk;

	/* Pairs with the lock in deferred_prepare_node(), and with other growers. */
	pgdat_resize_lock(pgdat, &flags);

	/* Another thread was faster.  There may be enough now, or the job is ready. */
	if (first_pfn == ULONG_MAX || pgdat->first_deferred_pfn != first_pfn)
		goto out;

	deferred_walk_init(&walk, zone, NULL, first_pfn);
	while (walk.spfn != ULONG_MAX && nr < want) {
		next_pfn = ALIGN(walk.spfn + 1, PAGES_PER_SECTION);
		/* Sections without a free page may have memmap pages, too. */
		deferred_init_memmap_in(first_pfn, next_pfn, zone_to_nid(zone));
		first_pfn = next_pfn;
		while (walk.spfn < first_pfn) {
			nr += deferred_init_step(&walk, ALIGN(walk.spfn + 1,
							      MAX_ORDER_NR_PAGES));
			touch_nmi_watchdog();
		}
	}
	if (walk.spfn == ULONG_MAX) {
		deferred_init_memmap_in(first_pfn, zone_end_pfn(zone), zone_to_nid(zone));
		first_pfn = ULONG_MAX;
	}
	WRITE_ONCE(pgdat->first_deferred_pfn, first_pfn);
out:
	pgdat_resize_unlock(pgdat, &flags);
	return true;
}

/* Claim the last of the first @nr sections that nobody has claimed. */
static bool __init deferred_claim_below(struct deferred_node *node, unsigned long nr,
					unsigned long *pfn)
{
	unsigned long idx;

	do {
		/* Bits may be cleared meanwhile, so the one found is tested again. */
		idx = data_race(find_last_bit(node->unclaimed, nr));
		if (idx >= nr)
			return false;
	} while (!test_and_clear_bit(idx, node->unclaimed));

	*pfn = node->first_pfn + idx * PAGES_PER_SECTION;
	return true;
}

/*
 * Claim a section for a grower, from the end, as the job begins with the first.  The
 * memmap is usually near the end.  Sections that are full of it have no free pages, so
 * these and the sections after them come last.
 */
static bool __init deferred_claim_last(struct deferred_node *node, unsigned long *pfn)
{
	const struct deferred_memmap *memmap = &deferred_memmaps[zone_to_nid(node->zone)];
	unsigned long nr = deferred_section_idx(node, node->end_pfn - 1) + 1;

	if (memmap->pfn > node->first_pfn &&
	    deferred_claim_below(node, deferred_section_idx(node, memmap->pfn), pfn))
		return true;
	return deferred_claim_below(node, nr, pfn);
}

/* Grow a zone by a section, before or during the job.  Return false if none is left. */
static bool __init deferred_grow_section(struct deferred_node *node)
{
	struct deferred_walk walk;
	unsigned long pfn;

	if (!deferred_claim_last(node, &pfn))
		return false;
	deferred_walk_init(&walk, node->zone, node, pfn);
	deferred_init_section(node, &walk, pfn);
	return true;
}

/*
 * The same for a caller that cannot sleep.  Interrupts are off, so CPUs do this one at a
 * time: the section of the first is enough for all CPUs that wait for the lock.
 */
static bool __init deferred_grow_atomic(struct deferred_node *node)
{
	unsigned long flags, nr_grown = READ_ONCE(node->nr_grown);
	pg_data_t *pgdat = node->zone->zone_pgdat;
	bool grown = true;

	pgdat_resize_lock(pgdat, &flags);
	if (node->nr_grown == nr_grown) {
		grown = deferred_grow_section(node);
		WRITE_ONCE(node->nr_grown, nr_grown + grown);
	}
	pgdat_resize_unlock(pgdat, &flags);
	return grown;
}

/* Wait until one more section is initialised.  Return false if none is under way. */
static bool __init deferred_wait_grown(struct deferred_node *node)
{
	long nr = atomic_long_read(&node->nr_pending);

	if (!nr)
		return false;
	while (atomic_long_read(&node->nr_pending) == nr)
		deferred_sleep();
	return true;
}

static bool __init deferred_grow(struct zone *zone, unsigned int order, gfp_t gfp)
{
	struct deferred_nodes *nodes;
	int i;

	/* Pairs with the release in deferred_prepare_node(), so that its node is found below. */
	if (smp_load_acquire(&zone->zone_pgdat->first_deferred_pfn) != ULONG_MAX)
		return deferred_grow_zone(zone, order);

	nodes = deferred_get_nodes();
	for (i = 0; nodes && i < nodes->nr; i++) {
		struct deferred_node *node = &nodes->node[i];

		if (node->zone != zone)
			continue;
		if (!gfpflags_allow_blocking(gfp))
			return deferred_grow_atomic(node);
		return deferred_grow_section(node) || deferred_wait_grown(node);
	}
	return false;
}

/**
 * deferred_init_zone - initialise some deferred pages of a zone on demand
 * @zone: where an allocation found nothing
 * @order: of the allocation
 * @gfp: of the allocation
 *
 * Initialises a section or, before the jobs are ready, as many as it takes for a
 * section's worth of free pages and for @order.  If other threads are working on all
 * sections that are left, it waits for one of these, if @gfp allows.
 *
 * Context: Any context that may allocate, interrupts included.  Takes the node's resize lock
 * if @gfp does not allow sleeping, or the jobs are not ready.
 * Return: true if the zone may have grown, by this or another thread: the allocation is
 * worth one more try.
 */
bool __ref deferred_init_zone(struct zone *zone, unsigned int order, gfp_t gfp)
{
	bool grown;

	if (zone_end_pfn(zone) != pgdat_end_pfn(zone->zone_pgdat) || !deferred_enter())
		return false;
	grown = deferred_grow(zone, order, gfp);
	deferred_leave();
	return grown;
}
