// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite for struct pages initialised and freed in bulk: checks that
 * mm/memmap_bulk.c and mm/memmap_early.c leave the same state behind as
 * initialising and freeing page by page, and measures how long both take.
 *
 * The struct pages are real ones.  The suite borrows runs of free blocks from
 * the buddy allocator, repeats on them what boot did, first one way and then
 * the other, and compares the outcomes.  The pages themselves are never
 * touched, so a User-mode Linux machine may be given more memory than the host
 * has, and thus a memmap much larger than the caches.
 *
 * The functions under test are __init, so the suite is built in, and runs
 * before init memory is freed.
 */

#include <kunit/test.h>
#include <linux/align.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/page-flags.h>
#include <linux/pageblock-flags.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmstat.h>

#include "internal.h"
#include "memmap_bulk.h"
#include "memmap_early.h"

/* What deferred init does at a time on x86-64.  The same size without sections. */
#ifdef CONFIG_SPARSEMEM
#define RUN_PAGES	PAGES_PER_SECTION
#else
#define RUN_PAGES	(32UL * MAX_ORDER_NR_PAGES)
#endif
#define RUN_BLOCKS	(RUN_PAGES / MAX_ORDER_NR_PAGES)
#define RUN_BYTES	(RUN_PAGES * sizeof(struct page))

/* Most runs to borrow: 128 GiB of memory. */
#define MAX_RUNS	1024
#define MAX_ROUNDS	99

static unsigned int bulk_rounds __initdata = 1;
module_param_named(rounds, bulk_rounds, uint, 0);
MODULE_PARM_DESC(rounds, "Rounds of the benchmark (default 1)");

static unsigned int bulk_runs __initdata = 1;
module_param_named(runs, bulk_runs, uint, 0);
MODULE_PARM_DESC(runs, "Runs of 128 MiB for the benchmark, if there are as many (default 1)");

static bool bulk_refused __initdata;
module_param_named(refused, bulk_refused, bool, 0);
MODULE_PARM_DESC(refused, "Also free pages that are refused, which the kernel reports (default 0)");

/* The borrowed runs, with the zone and node from their struct pages. */
static struct bulk_run {
	unsigned long		pfn;
	unsigned long		end_pfn;
	unsigned long		zone;
	int			nid;
} borrowed[MAX_RUNS] __initdata;

static unsigned int nr_borrowed __initdata;

/* Borrowing */

/* Take the free pages of [pfn, end_pfn) off the free lists.  Return how many. */
static unsigned long __init take_free(unsigned long pfn, unsigned long end_pfn)
{
	struct zone *zone = page_zone(pfn_to_page(pfn));
	unsigned long flags, nr = 0;

	spin_lock_irqsave(&zone->lock, flags);
	while (pfn < end_pfn) {
		struct page *page = pfn_to_page(pfn);
		unsigned int order = 0;

		if (PageBuddy(page)) {
			order = buddy_order(page);
			nr += __isolate_free_page(page, order);
		}
		pfn += 1UL << order;
	}
	spin_unlock_irqrestore(&zone->lock, flags);

	return nr;
}

/* Whether all of a run is in @zone, and free in whole blocks. */
static bool __init run_is_free(unsigned long pfn, struct zone *zone)
{
	unsigned long end_pfn = pfn + RUN_PAGES;

	for (; pfn < end_pfn; pfn += MAX_ORDER_NR_PAGES) {
		struct page *page = pfn_to_online_page(pfn);

		if (!page || page_zone(page) != zone || !PageBuddy(page) ||
		    buddy_order(page) != MAX_PAGE_ORDER ||
		    get_pageblock_migratetype(page) != MIGRATE_MOVABLE)
			return false;
	}

	return true;
}

static bool __init borrow_run(unsigned long pfn)
{
	struct page *page = pfn_to_page(pfn);

	borrowed[nr_borrowed++] = (struct bulk_run){
		.pfn	 = pfn,
		.end_pfn = pfn + RUN_PAGES,
		.zone	 = page_zonenum(page),
		.nid	 = page_to_nid(page),
	};

	return take_free(pfn, pfn + RUN_PAGES) == RUN_PAGES;
}

/* The first free run of each zone is left to the system. */
static bool __init borrow_runs(unsigned int most)
{
	struct zone *zone;
	unsigned long pfn;

	for_each_populated_zone(zone) {
		bool left_one = false;

		pfn = ALIGN(zone->zone_start_pfn, RUN_PAGES);
		for (; pfn + RUN_PAGES <= zone_end_pfn(zone); pfn += RUN_PAGES) {
			if (nr_borrowed == most)
				return true;
			if (!run_is_free(pfn, zone))
				continue;
			if (left_one && !borrow_run(pfn))
				return false;
			left_one = true;
		}
	}

	return nr_borrowed;
}

/*
 * Initialising and freeing, page by page
 *
 * This is __init_single_page() inlined, as it is in the stock loops.  Calling
 * it for each page would make the baseline slower than stock.
 */
static __always_inline void init_single_page(struct page *page,
					     unsigned long pfn,
					     unsigned long zone, int nid)
{
	mm_zero_struct_page(page);
	set_page_links(page, zone, nid, pfn);
	init_page_count(page);
	atomic_set(&page->_mapcount, -1);
	page_cpupid_reset_last(page);
	page_kasan_tag_reset(page);

	INIT_LIST_HEAD(&page->lru);
#ifdef WANT_PAGE_VIRTUAL
	if (!is_highmem_idx(zone))
		set_page_address(page, __va(pfn << PAGE_SHIFT));
#endif
}

static noinline void __init init_by_page(const struct bulk_run *run,
					 unsigned long pfn,
					 unsigned long end_pfn)
{
	struct page *page = pfn_to_page(pfn);
	unsigned long zone = run->zone;
	int nid = run->nid;

	for (; pfn < end_pfn; pfn++, page++)
		init_single_page(page, pfn, zone, nid);
}

/* Free whole blocks at once, everything else page by page. */
static void __init free_by_page(const struct bulk_run *run, unsigned long pfn,
				unsigned long end_pfn)
{
	unsigned int order;

	for (; pfn < end_pfn; pfn += 1UL << order) {
		order = 0;
		if (IS_ALIGNED(pfn, MAX_ORDER_NR_PAGES) &&
		    end_pfn - pfn >= MAX_ORDER_NR_PAGES)
			order = MAX_PAGE_ORDER;
		__free_pages_core(pfn_to_page(pfn), order, MEMINIT_EARLY);
	}
}

/* Boot had already counted these pages as managed: undo the second count. */
static void __init uncount_managed(const struct bulk_run *run, long nr)
{
	struct zone *zone = &NODE_DATA(run->nid)->node_zones[run->zone];

	atomic_long_sub(nr, &zone->managed_pages);
}

static void __init return_runs(void)
{
	while (nr_borrowed) {
		struct bulk_run *run = &borrowed[--nr_borrowed];

		init_by_page(run, run->pfn, run->end_pfn);
		memmap_init_pageblocks(run->pfn, run->end_pfn, MIGRATE_MOVABLE);
		free_by_page(run, run->pfn, run->end_pfn);
		uncount_managed(run, RUN_PAGES);
	}
}

/* Initialisation */

/* Pages of a run to initialise, as offsets into the run. */
struct bulk_range {
	const char		*name;
	unsigned long		from;
	unsigned long		to;
};

static const struct bulk_range init_ranges[] = {
	{ "one page", 77, 78 },
	{ "less than a batch", 3, 18 },
	{ "a batch and a page", 8, 25 },
	{ "blocks with odd ends", 1021, 4 * MAX_ORDER_NR_PAGES + 3 },
	{ "a section", 0, RUN_PAGES },
};

static void bulk_range_desc(const struct bulk_range *range, char *desc)
{
	strscpy(desc, range->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bulk_init, init_ranges, bulk_range_desc);

static void __init init_reference(const struct bulk_run *run, unsigned long pfn,
				  unsigned long end_pfn, enum memmap_state state)
{
	init_by_page(run, pfn, end_pfn);
	for (; pfn < end_pfn; pfn++) {
		struct page *page = pfn_to_page(pfn);

		if (state == MEMMAP_FREE)
			set_page_count(page, 0);
		if (state == MEMMAP_RESERVED)
			__SetPageReserved(page);
		if (state == MEMMAP_OFFLINE)
			__SetPageOffline(page);
	}
}

/* Number of the first page that differs, RUN_PAGES if none does. */
static unsigned long __init first_difference(const struct page *a,
					     const struct page *b)
{
	unsigned long i;

	for (i = 0; i < RUN_PAGES; i++) {
		if (memcmp(a + i, b + i, sizeof(*a)))
			break;
	}

	return i;
}

/*
 * Both write the same bytes, and none before or after the range.  So the benchmark's
 * baseline writes all that __init_single_page() does, too, of which templates are made.
 */
static void __init bulk_init_same(struct kunit *test)
{
	const struct bulk_range *range = test->param_value;
	const struct bulk_run *run = &borrowed[0];
	struct page *memmap = pfn_to_page(run->pfn);
	struct page *ours = test->priv;
	int state;

	for (state = MEMMAP_USED; state <= MEMMAP_OFFLINE; state++) {
		memset(memmap, 0xa5, RUN_BYTES);
		memmap_init_pages(run->pfn + range->from, run->pfn + range->to,
				  run->zone, run->nid, state);
		memcpy(ours, memmap, RUN_BYTES);

		memset(memmap, 0xa5, RUN_BYTES);
		init_reference(run, run->pfn + range->from,
			       run->pfn + range->to, state);
		KUNIT_EXPECT_EQ_MSG(test, RUN_PAGES,
				    first_difference(memmap, ours),
				    "in state %d", state);
	}
}

/* Freeing */

#define MAX_PIECES	3
/* Whole blocks, and for each piece, smaller ones before and after them. */
#define MAX_ENTRIES	(RUN_BLOCKS + MAX_PIECES * 2 * NR_PAGE_ORDERS)

/* Pieces of a run to free, terminated by an empty one. */
struct bulk_layout {
	const char		*name;
	struct bulk_range	pieces[MAX_PIECES + 1];
	enum migratetype	type;
	/* The pieces have been in use, and are whole blocks. */
	bool			used;
	/* A page of the second block that somebody has left mapped, or 0. */
	unsigned long		mapped;
};

#define B	MAX_ORDER_NR_PAGES

static const struct bulk_layout layouts[] = {
	{ "a section", { { .to = RUN_PAGES } }, MIGRATE_MOVABLE },
	{ "one page", { { .from = 5, .to = 6 } }, MIGRATE_MOVABLE },
	{ "less than a block", { { .from = B + 3, .to = 2 * B - 5 } },
	  MIGRATE_MOVABLE },
	{ "pieces that meet", { { .to = 100 }, { .from = 100, .to = 2 * B } },
	  MIGRATE_MOVABLE },
	{ "pieces with holes",
	  { { .from = 7, .to = B + 9 }, { .from = B + 10, .to = 4 * B },
	    { .from = 5 * B, .to = 7 * B + 1 } }, MIGRATE_MOVABLE },
	{ "another migratetype", { { .to = RUN_PAGES } }, MIGRATE_UNMOVABLE },
	{ "a used section", { { .to = RUN_PAGES } }, MIGRATE_MOVABLE, true },
	{ "used blocks with a hole",
	  { { .from = B, .to = 2 * B }, { .from = 3 * B, .to = 6 * B } },
	  MIGRATE_UNMOVABLE, true },
	{ "a block whose first page is refused", { { .to = 4 * B } },
	  MIGRATE_MOVABLE, .mapped = B },
	{ "a block with a page that is refused", { { .from = 3, .to = 4 * B + 7 } },
	  MIGRATE_MOVABLE, .mapped = B + 5 },
};

#undef B

static void bulk_layout_desc(const struct bulk_layout *layout, char *desc)
{
	strscpy(desc, layout->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bulk_free, layouts, bulk_layout_desc);

/* The state left behind by freeing pages. */
struct bulk_outcome {
	/* By how much these counters grew: all of the kernel's and of the zone's. */
	long			events[NR_VM_EVENT_ITEMS];
	long			stats[NR_VM_ZONE_STAT_ITEMS];
	long			nr_free[NR_PAGE_ORDERS];
	long			managed_pages;
	/* The run's free blocks, as they are on the free lists. */
	unsigned int		nr_entries;
	struct bulk_entry {
		unsigned int	order;
		unsigned int	type;
		unsigned long	from_tail;
		unsigned long	pfn;
	} entries[MAX_ENTRIES];
};

static struct bulk_outcome outcomes[2] __initdata;
static unsigned long vm_events[NR_VM_EVENT_ITEMS] __initdata;

/* Add or, if @sign is -1, subtract the counters to compare. */
static void __init outcome_count(struct bulk_outcome *outcome,
				 struct zone *zone, long sign)
{
	unsigned int i;

	all_vm_events(vm_events);
	for (i = 0; i < NR_VM_EVENT_ITEMS; i++)
		outcome->events[i] += sign * (long)vm_events[i];
	for (i = 0; i < NR_VM_ZONE_STAT_ITEMS; i++)
		outcome->stats[i] += sign * (long)zone_page_state_snapshot(zone, i);
	for (i = 0; i < NR_PAGE_ORDERS; i++)
		outcome->nr_free[i] += sign * (long)zone->free_area[i].nr_free;
	outcome->managed_pages += sign * (long)zone_managed_pages(zone);
}

static void __init outcome_list(struct bulk_outcome *outcome,
				const struct bulk_run *run,
				struct zone *zone, unsigned int order,
				unsigned int type)
{
	unsigned long from_tail = 0;
	struct page *page;

	list_for_each_entry_reverse(page,
				    &zone->free_area[order].free_list[type],
				    buddy_list) {
		unsigned long pfn = page_to_pfn(page);

		if (pfn >= run->pfn && pfn < run->end_pfn &&
		    outcome->nr_entries < MAX_ENTRIES)
			outcome->entries[outcome->nr_entries++] =
				(struct bulk_entry){ order, type, from_tail, pfn };
		from_tail++;
	}
}

static void __init outcome_lists(struct bulk_outcome *outcome,
				 const struct bulk_run *run, struct zone *zone)
{
	unsigned int order, type;
	unsigned long flags;

	spin_lock_irqsave(&zone->lock, flags);
	for (order = 0; order < NR_PAGE_ORDERS; order++) {
		for (type = 0; type < MIGRATE_TYPES; type++)
			outcome_list(outcome, run, zone, order, type);
	}
	spin_unlock_irqrestore(&zone->lock, flags);
}

/* Free the pieces, record the outcome, and take the pages back. */
static void __init free_layout(struct kunit *test, const struct bulk_run *run,
			       bool bulk, struct bulk_outcome *outcome,
			       struct page *memmap)
{
	const struct bulk_layout *layout = test->param_value;
	struct zone *zone = &NODE_DATA(run->nid)->node_zones[run->zone];
	const struct bulk_range *piece;
	unsigned long nr = 0;

	memset(outcome, 0, sizeof(*outcome));
	outcome_count(outcome, zone, -1);
	for (piece = layout->pieces; piece->to; piece++) {
		unsigned long pfn = run->pfn + piece->from;
		unsigned long end_pfn = run->pfn + piece->to;

		if (!bulk)
			free_by_page(run, pfn, end_pfn);
		else if (layout->used)
			memmap_free_used(pfn, end_pfn);
		else
			free_new_pages(zone, pfn, end_pfn, true);
		nr += end_pfn - pfn;
	}
	outcome_count(outcome, zone, 1);
	outcome_lists(outcome, run, zone);
	if (memmap)
		memcpy(memmap, pfn_to_page(run->pfn), RUN_BYTES);

	KUNIT_EXPECT_EQ(test, nr, (unsigned long)outcome->managed_pages);
	KUNIT_ASSERT_EQ(test, nr - (layout->mapped ? MAX_ORDER_NR_PAGES : 0),
			take_free(run->pfn, run->end_pfn));
	uncount_managed(run, nr);
}

/*
 * Leave in a struct page all that a user of the page could have left there: whatever
 * flags it may have when it is freed.
 */
static void __init use_page(struct page *page, bool head)
{
	*(unsigned long *)&page->flags |= PAGE_FLAGS_CHECK_AT_PREP &
					  ~(PAGE_FLAGS_CHECK_AT_FREE | 1UL << PG_head);
	__SetPageReserved(page);
	if (head) {
		page->private = 0x5678;
		folio_xchg_last_cpupid((struct folio *)page, 0);
	}
}

static void __init use_layout(const struct bulk_layout *layout,
			      const struct bulk_run *run)
{
	const struct bulk_range *piece;
	unsigned long i;

	for (piece = layout->pieces; piece->to; piece++) {
		for (i = piece->from; i < piece->to; i++)
			use_page(pfn_to_page(run->pfn + i),
				 IS_ALIGNED(i, MAX_ORDER_NR_PAGES));
	}
}

static void __init init_layout(const struct bulk_layout *layout,
			       const struct bulk_run *run,
			       enum memmap_state state)
{
	const struct bulk_range *piece;

	init_reference(run, run->pfn, run->end_pfn, MEMMAP_USED);
	for (piece = layout->pieces; piece->to; piece++)
		init_reference(run, run->pfn + piece->from,
			       run->pfn + piece->to, state);
	if (layout->used)
		use_layout(layout, run);
	if (layout->mapped)
		atomic_set(&pfn_to_page(run->pfn + layout->mapped)->_mapcount, 0);

	memmap_init_pageblocks(run->pfn, run->end_pfn, layout->type);
}

/*
 * Whether both ways freed only whole blocks at once, so that no page was on a list that is
 * not on one now.  The page allocator merges a block from its pageblocks: if there are more
 * than two, as on s390, some are on a list meanwhile.
 */
static bool __init layout_is_blocks(const struct bulk_layout *layout)
{
	const struct bulk_range *piece;

	if (pageblock_order + 1 < MAX_PAGE_ORDER)
		return false;

	for (piece = layout->pieces; piece->to; piece++) {
		if (!IS_ALIGNED(piece->from | piece->to, MAX_ORDER_NR_PAGES))
			return false;
	}

	return true;
}

/* Clear stale list pointers: a page now in a larger block was on a list before. */
static void __init forget_old_lists(struct page *memmap)
{
	unsigned long i;

	for (i = 0; i < RUN_PAGES; i++) {
		if (!PageBuddy(memmap + i))
			memset(&memmap[i].lru, 0, sizeof(memmap[i].lru));
	}
}

static void __init free_both_ways(struct kunit *test)
{
	const struct bulk_layout *layout = test->param_value;
	const struct bulk_run *run = &borrowed[0];
	struct page *memmap = test->priv;

	init_layout(layout, run, MEMMAP_USED);
	free_layout(test, run, false, &outcomes[0], memmap);

	init_layout(layout, run, layout->used ? MEMMAP_USED : MEMMAP_FREE);
	free_layout(test, run, true, &outcomes[1], memmap + RUN_PAGES);
}

/*
 * The same free lists in the same order, the same counters and struct pages: whatever
 * free_pages_prepare() and what follows it do to a page, they do it to all.  Other CPUs
 * allocate and free pages, too, which may make a difference, but not every time.
 */
static void __init bulk_free_same(struct kunit *test)
{
	const struct bulk_layout *layout = test->param_value;
	struct page *memmap = test->priv;
	int tries = 20;

	if (layout->used && static_branch_unlikely(&check_pages_enabled))
		kunit_skip(test, "each page has to be looked at");
	if (layout->mapped && !(bulk_refused && static_branch_unlikely(&check_pages_enabled)))
		kunit_skip(test, "no page is to be refused");

	do {
		free_both_ways(test);
	} while (memcmp(&outcomes[0], &outcomes[1], sizeof(outcomes[0])) && --tries);

	KUNIT_EXPECT_MEMEQ(test, outcomes[0].events, outcomes[1].events,
			   sizeof(outcomes[0].events));
	KUNIT_EXPECT_MEMEQ(test, outcomes[0].stats, outcomes[1].stats,
			   sizeof(outcomes[0].stats));
	KUNIT_EXPECT_MEMEQ(test, outcomes[0].nr_free, outcomes[1].nr_free,
			   sizeof(outcomes[0].nr_free));
	KUNIT_EXPECT_EQ(test, outcomes[0].nr_entries, outcomes[1].nr_entries);
	KUNIT_EXPECT_MEMEQ(test, outcomes[0].entries, outcomes[1].entries,
			   sizeof(outcomes[0].entries));
	if (!layout_is_blocks(layout)) {
		forget_old_lists(memmap);
		forget_old_lists(memmap + RUN_PAGES);
	}
	KUNIT_EXPECT_EQ(test, RUN_PAGES,
			first_difference(memmap, memmap + RUN_PAGES));
}

/* What is less than a block is freed as before. */
static void __init bulk_free_part_of_a_block(struct kunit *test)
{
	unsigned long pfn = borrowed[0].pfn + 1;

	KUNIT_EXPECT_EQ(test, pfn, memmap_free_early(pfn, borrowed[0].end_pfn));
}

/* Time */

/* Initialise and then free each block in turn, as stock deferred init does. */
static void __init bench_stock(const struct bulk_run *run)
{
	unsigned long pfn = run->pfn;

	for (; pfn < run->end_pfn; pfn += MAX_ORDER_NR_PAGES) {
		init_by_page(run, pfn, pfn + MAX_ORDER_NR_PAGES);
		memmap_init_pageblocks(pfn, pfn + MAX_ORDER_NR_PAGES,
				       MIGRATE_MOVABLE);
		__free_pages_core(pfn_to_page(pfn), MAX_PAGE_ORDER,
				  MEMINIT_EARLY);
		cond_resched();
	}
}

static void __init bench_bulk(const struct bulk_run *run)
{
	memmap_init_pages(run->pfn, run->end_pfn, run->zone, run->nid,
			  MEMMAP_FREE);
	memmap_init_pageblocks(run->pfn, run->end_pfn, MIGRATE_MOVABLE);
	free_new_pages(&NODE_DATA(run->nid)->node_zones[run->zone], run->pfn,
		       run->end_pfn, true);
}

/* A store that bypasses the cache, where there is one. */
#ifdef CONFIG_X86_64
static __always_inline void bench_stream(unsigned long *word)
{
	asm volatile("movnti %1, %0" : "=m" (*word) : "r" (~0UL));
}
#else
static __always_inline void bench_stream(unsigned long *word)
{
	WRITE_ONCE(*word, ~0UL);
}
#endif

/*
 * The limit set by the machine's memory: write as many bytes, and do nothing else.  A
 * loop that is not unrolled would be slower than the memory.
 */
static void __init bench_limit(const struct bulk_run *run)
{
	unsigned long *word = (unsigned long *)pfn_to_page(run->pfn);
	unsigned long *end = (void *)word + RUN_BYTES;

	for (; word < end; word += 8) {
		bench_stream(word);
		bench_stream(word + 1);
		bench_stream(word + 2);
		bench_stream(word + 3);
		bench_stream(word + 4);
		bench_stream(word + 5);
		bench_stream(word + 6);
		bench_stream(word + 7);
	}
	wmb();		/* Time all of the stores. */
	cond_resched();
}

struct bulk_way {
	const char		*name;
	void			(*do_run)(const struct bulk_run *run);
	bool			frees;
};

static const struct bulk_way ways[] __initconst = {
	{ "stock", bench_stock, true },
	{ "bulk", bench_bulk, true },
	{ "limit", bench_limit, false },
};

/* Return the time for all runs, in ns.  Runs that were freed are taken back. */
static u64 __init bench_round(struct kunit *test, const struct bulk_way *way)
{
	u64 begin, ns;
	unsigned int i;

	begin = ktime_get_ns();
	for (i = 0; i < nr_borrowed; i++)
		way->do_run(&borrowed[i]);
	ns = ktime_get_ns() - begin;

	for (i = 0; way->frees && i < nr_borrowed; i++) {
		const struct bulk_run *run = &borrowed[i];

		KUNIT_ASSERT_EQ(test, RUN_PAGES,
				take_free(run->pfn, run->end_pfn));
		uncount_managed(run, RUN_PAGES);
	}

	/* Do not leave struct pages behind that hold garbage. */
	for (i = 0; !way->frees && i < nr_borrowed; i++) {
		const struct bulk_run *run = &borrowed[i];

		memmap_init_pages(run->pfn, run->end_pfn, run->zone, run->nid,
				  MEMMAP_FREE);
	}

	return ns;
}

/* Print the time of each round, for statistics to be done elsewhere. */
static void __init bulk_bench(struct kunit *test)
{
	unsigned int rounds = clamp(bulk_rounds, 1U, (unsigned int)MAX_ROUNDS);
	unsigned int round, i;

	KUNIT_ASSERT_TRUE(test, borrow_runs(clamp(bulk_runs, 1U,
						  (unsigned int)MAX_RUNS)));
	kunit_info(test, "bench: %lu pages in %u runs, %lu MiB of struct pages",
		   nr_borrowed * RUN_PAGES, nr_borrowed,
		   nr_borrowed * RUN_BYTES >> 20);

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < ARRAY_SIZE(ways); i++) {
			u64 ns = bench_round(test, &ways[i]);

			kunit_info(test, "bench: round %u %s %llu ns", round,
				   ways[i].name, ns);
		}
	}
}

/* The suite */

static int __init bulk_test_init(struct kunit *test)
{
	/* Room for the struct pages of two runs, to compare. */
	test->priv = kvmalloc(2 * RUN_BYTES, GFP_KERNEL);
	if (!test->priv)
		return -ENOMEM;

	return borrow_runs(1) ? 0 : -ENOMEM;
}

static void __init bulk_test_exit(struct kunit *test)
{
	return_runs();
	kvfree(test->priv);
}

static struct kunit_case __refdata bulk_test_cases[] = {
	KUNIT_CASE_PARAM(bulk_init_same, bulk_init_gen_params),
	KUNIT_CASE_PARAM(bulk_free_same, bulk_free_gen_params),
	KUNIT_CASE(bulk_free_part_of_a_block),
	KUNIT_CASE_SLOW(bulk_bench),
	{}
};

static struct kunit_suite __refdata bulk_test_suite = {
	.name = "memmap_bulk",
	.init = bulk_test_init,
	.exit = bulk_test_exit,
	.test_cases = bulk_test_cases,
};

kunit_test_init_section_suites(&bulk_test_suite);

MODULE_DESCRIPTION("KUnit test of struct pages initialised and freed in bulk");
MODULE_LICENSE("GPL");
