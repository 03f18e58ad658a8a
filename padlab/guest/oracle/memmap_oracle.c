// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memmap oracle: what boot made of memory, checked and put into words.
 *
 * On load the module looks once at every struct page of every online section and
 * of device memory, and at every free list, with nothing changing under it, and writes a report
 * to /proc/memmap_oracle.  The report has two uses:
 *
 *  - "violation" lines: rules that hold in any healthy kernel and were broken
 *    in this one (a page on two free lists, a free page with references, ...);
 *  - "run" lines: each block of the largest page order, by position, with a
 *    class and a signature of its struct pages, so that two kernels that
 *    booted on the same machine can be compared.
 *
 * It builds unchanged against any 6.12 kernel and uses exported symbols only;
 * where mm/ keeps a helper to itself, the little that is needed of it is
 * written out here.  It is a test: it stops all allocation while it looks.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/nmi.h>
#include <linux/nodemask.h>
#include <linux/page-isolation.h>
#include <linux/pageblock-flags.h>
#include <linux/poison.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#define BLOCK_ORDER	MAX_PAGE_ORDER
#define BLOCK_PAGES	(1UL << BLOCK_ORDER)
#define BLOCK_TYPES	(BLOCK_PAGES >> pageblock_order)
#define PAGE_WORDS	(sizeof(struct page) / sizeof(unsigned long))
#define FLAG_BITS	((1UL << NR_PAGEFLAGS) - 1)
#define NR_EXAMPLES	4
#define MAX_RANGES	512

/*
 * No allocation between loading and the end of the walk: the memory of the
 * report is part of the module.
 */
static char report[1 << 20];
static size_t report_len;

static __printf(1, 2) void emit(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	report_len += vscnprintf(report + report_len,
				 sizeof(report) - report_len, fmt, args);
	va_end(args);
}

/* The rules.  Each name is what a broken one is reported under. */
#define RULES(R)							     \
	R(uninitialised,  "struct page of RAM that was never initialised")   \
	R(link,		  "RAM whose struct page names a wrong zone or node")  \
	R(hole,		  "page that is not RAM but is not reserved")	     \
	R(reserved_ref,	  "reserved page with refcount 0 or a page type")    \
	R(block_type,	  "pageblock of RAM with an impossible migratetype") \
	R(free_ref,	  "free page with references or mappings")	     \
	R(free_flags,	  "free page with page flags set")		     \
	R(overlap,	  "free block inside another free block")	     \
	R(free_align,	  "free block not aligned to its order, or too big") \
	R(free_zone,	  "free block that leaves its zone")		     \
	R(unmerged,	  "free buddies of one order that were not merged")  \
	R(list_broken,	  "free list whose links do not close")		     \
	R(list_page,	  "free list entry that is not a free block of it")  \
	R(list_type,	  "free list entry on another migratetype's list")   \
	R(list_count,	  "nr_free differs from the length of the lists")    \
	R(list_missing,	  "free blocks that are on no free list, or twice")  \
	R(free_count,	  "NR_FREE_PAGES differs from the free lists")	     \
	R(unaccepted,	  "unaccepted blocks differ from list or count")     \
	R(deferred,	  "node that may still be given deferred pages")      \
	R(present,	  "present pages differ from the RAM in the zone")   \
	R(managed,	  "managed pages differ from RAM not reserved")

enum rule {
#define R(name, text) RULE_##name,
	RULES(R)
#undef R
	NR_RULES
};

static const struct {
	const char *name, *text;
} rules[NR_RULES] = {
#define R(id, says) [RULE_##id] = { .name = #id, .text = says },
	RULES(R)
#undef R
};

static struct {
	unsigned long count;
	unsigned long example[NR_EXAMPLES];
} broken[NR_RULES];

static void violate(enum rule rule, unsigned long pfn)
{
	if (broken[rule].count < NR_EXAMPLES)
		broken[rule].example[broken[rule].count] = pfn;
	broken[rule].count++;
}

/* What the walk finds in a zone, to hold against the zone's own counters. */
struct tally {
	unsigned long ram;
	unsigned long reserved;
	unsigned long holes;
	unsigned long unaccepted;
	unsigned long blocks[NR_PAGE_ORDERS];	/* found as struct pages */
	unsigned long listed[NR_PAGE_ORDERS][MIGRATE_TYPES];
	unsigned long types[MIGRATE_TYPES];	/* pageblocks */
};

static struct tally tallies[MAX_NUMNODES][MAX_NR_ZONES];

static struct tally *zone_tally(struct zone *zone)
{
	return &tallies[zone_to_nid(zone)][zone_idx(zone)];
}

#define for_each_online_zone(nid, zid)				\
	for_each_online_node(nid)				\
		for ((zid) = 0; (zid) < MAX_NR_ZONES; (zid)++)	\
			if (populated_zone(&NODE_DATA(nid)->node_zones[zid]))

static const char * const type_names[MIGRATE_TYPES] = {
	[MIGRATE_UNMOVABLE]	= "unmovable",
	[MIGRATE_MOVABLE]	= "movable",
	[MIGRATE_RECLAIMABLE]	= "reclaimable",
	[MIGRATE_HIGHATOMIC]	= "highatomic",
#ifdef CONFIG_CMA
	[MIGRATE_CMA]		= "cma",
#endif
#ifdef CONFIG_MEMORY_ISOLATION
	[MIGRATE_ISOLATE]	= "isolate",
#endif
};

/* RAM as the firmware told it, which memblock kept until it was discarded. */
static struct {
	unsigned long start, end;
} ram[MAX_RANGES];
static int nr_ram;

static int add_ram(struct resource *res, void *arg)
{
	unsigned long start = PFN_UP(res->start);
	unsigned long end = PFN_DOWN(res->end + 1);

	if (start >= end)
		return 0;
	if (nr_ram == MAX_RANGES)
		return -E2BIG;
	ram[nr_ram].start = start;
	ram[nr_ram].end = end;
	nr_ram++;
	return 0;
}

/* Cheap for a walk in ascending order: ranges come sorted. */
static bool pfn_is_ram(unsigned long pfn)
{
	static int hint;

	if (hint < nr_ram && pfn < ram[hint].start)
		hint = 0;
	while (hint < nr_ram && pfn >= ram[hint].end)
		hint++;
	return hint < nr_ram && pfn >= ram[hint].start;
}

static bool section_online(unsigned long pfn)
{
	return online_section_nr(pfn_to_section_nr(pfn));
}

/* The low bits of what is kept of a pageblock.  Those above are flags. */
#define TYPE_MASK	7

/* get_pfnblock_migratetype(), which is not exported. */
static unsigned int block_type(unsigned long pfn)
{
	unsigned long *map = section_to_usemap(__pfn_to_section(pfn));
	unsigned long bit = ((pfn & (PAGES_PER_SECTION - 1)) >>
			     pageblock_order) * NR_PAGEBLOCK_BITS;

	return (map[BIT_WORD(bit)] >> (bit % BITS_PER_LONG)) & TYPE_MASK;
}

/*
 * Whether all of a pageblock is in one zone.  Where two zones meet inside one,
 * which of the two set its type last, before or after pages were freed, is a
 * matter of chance.
 */
static bool block_in_zone(unsigned long pfn, struct zone *zone)
{
	return zone_spans_pfn(zone, pageblock_start_pfn(pfn)) &&
	       zone_spans_pfn(zone, pageblock_end_pfn(pfn) - 1);
}

/* Of whatever type they are. */
static unsigned long flags_of(struct page *page)
{
	return *(unsigned long *)&page->flags;
}

/* The zone a struct page names, or NULL when it names none that exists. */
static struct zone *linked_zone(struct page *page)
{
	unsigned long flags = flags_of(page);
	unsigned int nid = (flags >> NODES_PGSHIFT) & NODES_MASK;
	unsigned int zid = (flags >> ZONES_PGSHIFT) & ZONES_MASK;

	if (flags == (unsigned long)PAGE_POISON_PATTERN ||
	    nid >= MAX_NUMNODES || !node_online(nid) || zid >= MAX_NR_ZONES)
		return NULL;
	return &NODE_DATA(nid)->node_zones[zid];
}

static bool never_initialised(struct page *page)
{
	unsigned long *word = (unsigned long *)page;
	unsigned long all = word[0];
	int i;

	if (all && ~all)
		return false;
	for (i = 1; i < PAGE_WORDS; i++)
		if (word[i] != all)
			return false;
	return true;
}

/*
 * Blocks
 */

enum block_class { ABSENT, FRESH, PARTIAL, RESERVED, REUSED, MIXED, DEVICE, UNACCEPTED };

static const char * const class_names[] = {
	[ABSENT]   = "absent",		/* no struct pages */
	[FRESH]	   = "fresh",		/* free as a whole, as boot left it */
	[PARTIAL]  = "partial",		/* reserved in places, free elsewhere */
	[RESERVED] = "reserved",	/* never given to the page allocator */
	[REUSED]   = "reused",		/* free as a whole, allocated before */
	[MIXED]	   = "mixed",		/* in use, wholly or in part */
	[DEVICE]   = "device",		/* in zone Device, wholly or in part */
	[UNACCEPTED] = "unaccepted",	/* to be accepted before it is used */
};

/* What can be told of blocks that nobody uses: the same in every good boot. */
static bool class_has_signature(enum block_class class)
{
	return class == FRESH || class == PARTIAL || class == RESERVED ||
	       class == DEVICE || class == UNACCEPTED;
}

struct signature {
	enum block_class class;
	struct zone *zone;
	u64 types;			/* of its pageblocks, 4 bits each */
	u64 hash;			/* every word of every struct page */
};

static struct {
	unsigned long start, blocks;
	struct signature sig;
} run;

static void emit_run(void)
{
	if (!run.blocks)
		return;
	emit("run %lx %lu %s", run.start, run.blocks,
	     class_names[run.sig.class]);
	if (class_has_signature(run.sig.class))
		emit(" node=%d zone=%s types=%llx hash=%016llx",
		     zone_to_nid(run.sig.zone), run.sig.zone->name,
		     run.sig.types, run.sig.hash);
	emit("\n");
}

static void add_block(unsigned long pfn, const struct signature *sig)
{
	if (run.blocks && !memcmp(&run.sig, sig, sizeof(*sig))) {
		run.blocks++;
		return;
	}
	emit_run();
	run.start = pfn;
	run.blocks = 1;
	run.sig = *sig;
}

static u64 mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

/*
 * Every word of a struct page counts, but lru: in a free page it is a matter of
 * lists and of the order of freeing, and what points to itself depends on the
 * position.
 */
static u64 mix_page(u64 hash, struct page *page, bool free)
{
	unsigned long *word = (unsigned long *)page;
	int lru = offsetof(struct page, lru) / sizeof(*word);
	int i;

	for (i = 0; i < lru; i++)
		hash = mix(hash, word[i]);
	if (!free) {
		hash = mix(hash, word[lru] - (unsigned long)page);
		hash = mix(hash, word[lru + 1] - (unsigned long)page);
	}
	for (i = lru + 2; i < PAGE_WORDS; i++)
		hash = mix(hash, word[i]);
	return hash;
}

static bool lru_untouched(struct page *page)
{
	return page->lru.next == &page->lru && page->lru.prev == &page->lru;
}

/* What taking the head of a block off its list leaves, when blocks merge. */
static bool lru_unlinked(struct page *page)
{
	return page->lru.next == LIST_POISON1 && page->lru.prev == LIST_POISON2;
}

/* Of a free page: none of what allocating it would have left.  The index follows the mapping. */
static bool fields_untouched(struct page *page)
{
	return !page->private && !page->mapping && !(&page->mapping)[1];
}

/*
 * The walk over struct pages
 */

static struct {
	unsigned long pages;
	unsigned long free_until;	/* end of the free block being walked */
	struct zone *free_zone;
} walk;

/* A block that a confidential guest has to accept first counts as free, and is on a list of its own. */
static bool is_unaccepted(struct page *page)
{
	return IS_ENABLED(CONFIG_UNACCEPTED_MEMORY) && PageUnaccepted(page);
}

static void check_unaccepted_head(unsigned long pfn, struct zone *zone)
{
	if (!IS_ALIGNED(pfn, BLOCK_PAGES))
		violate(RULE_free_align, pfn);
	if (!zone_spans_pfn(zone, pfn + BLOCK_PAGES - 1))
		violate(RULE_free_zone, pfn);
	zone_tally(zone)->unaccepted += BLOCK_PAGES;
	walk.free_until = pfn + BLOCK_PAGES;
	walk.free_zone = zone;
}

static void check_free_head(unsigned long pfn, struct page *page,
			    struct zone *zone)
{
	unsigned long order = page->private;
	unsigned long buddy_pfn;
	struct page *buddy;

	if (order >= NR_PAGE_ORDERS || !IS_ALIGNED(pfn, 1UL << order)) {
		violate(RULE_free_align, pfn);
		return;
	}
	if (!zone_spans_pfn(zone, pfn + (1UL << order) - 1))
		violate(RULE_free_zone, pfn);
	zone_tally(zone)->blocks[order]++;
	walk.free_until = pfn + (1UL << order);
	walk.free_zone = zone;

	/* Each pair is met twice; count it at the lower of the two. */
	buddy_pfn = pfn ^ (1UL << order);
	if (order == MAX_PAGE_ORDER || buddy_pfn < pfn ||
	    !section_online(buddy_pfn))
		return;
	buddy = pfn_to_page(buddy_pfn);
	if (!PageBuddy(buddy) || buddy->private != order ||
	    linked_zone(buddy) != zone)
		return;
	/* Neighbours that may not share a list stay apart, see mm/. */
	if (order >= pageblock_order &&
	    block_type(pfn) != block_type(buddy_pfn) &&
	    (!migratetype_is_mergeable(block_type(pfn)) ||
	     !migratetype_is_mergeable(block_type(buddy_pfn))))
		return;
	violate(RULE_unmerged, pfn);
}

static void check_free_page(unsigned long pfn, struct page *page, bool head)
{
	if (page_ref_count(page) ||
	    (!head && atomic_read(&page->_mapcount) != -1))
		violate(RULE_free_ref, pfn);
	if (flags_of(page) & FLAG_BITS & ~BIT(PG_reported))
		violate(RULE_free_flags, pfn);
}

static void check_page(unsigned long pfn, struct page *page, struct zone *zone,
		       bool is_ram)
{
	struct tally *tally;
	bool head;

	if (is_ram && never_initialised(page)) {
		violate(RULE_uninitialised, pfn);
		return;
	}
	if (is_ram && (!zone || !zone_spans_pfn(zone, pfn))) {
		violate(RULE_link, pfn);
		return;
	}
	if (!zone)
		return;

	tally = zone_tally(zone);
	if (is_ram)
		tally->ram++;
	else
		tally->holes++;

	if (PageReserved(page)) {
		tally->reserved += is_ram;
		/* May be mapped: the vDSO is part of the kernel image. */
		if (!page_ref_count(page) || page_has_type(page))
			violate(RULE_reserved_ref, pfn);
	} else if (!is_ram) {
		violate(RULE_hole, pfn);
	}

	head = PageBuddy(page) || is_unaccepted(page);
	if (head && pfn < walk.free_until)
		violate(RULE_overlap, pfn);
	else if (is_unaccepted(page))
		check_unaccepted_head(pfn, zone);
	else if (head)
		check_free_head(pfn, page, zone);
	else if (pfn < walk.free_until && zone != walk.free_zone)
		violate(RULE_free_zone, pfn);
	if (head || pfn < walk.free_until)
		check_free_page(pfn, page, head);
}

/* Nothing is isolated this early, nor set aside but for large allocations. */
static bool type_is_early(unsigned int type)
{
	return type < MIGRATE_PCPTYPES || is_migrate_cma(type);
}

static void check_block_types(unsigned long pfn, struct zone *zone)
{
	unsigned long end = pfn + BLOCK_PAGES;

	for (; pfn < end; pfn += pageblock_nr_pages) {
		unsigned int type = block_type(pfn);

		if (!pfn_is_ram(pfn))
			continue;
		if (!type_is_early(type))
			violate(RULE_block_type, pfn);
		else if (zone)
			zone_tally(zone)->types[type]++;
	}
}

/* Class and hash of a block, found page by page. */
struct look {
	bool whole;			/* one free block */
	bool unaccepted;		/* that is to be accepted */
	bool fresh;
	bool partial;
	bool reserved;
	u64 hash;
};

static void look_at(struct look *look, struct page *page, bool free)
{
	bool head = free && (PageBuddy(page) || is_unaccepted(page));
	bool tail_ok = head || fields_untouched(page);

	look->reserved &= PageReserved(page);
	look->fresh &= free && tail_ok && (head || lru_untouched(page));
	look->partial &= PageReserved(page) ||
			 (free && tail_ok && (head || lru_untouched(page) ||
					      lru_unlinked(page)));
	if (look->partial)
		look->hash = mix_page(look->hash, page, free);
}

static enum block_class look_class(const struct look *look)
{
	if (look->reserved)
		return RESERVED;
	if (look->unaccepted && look->fresh)
		return UNACCEPTED;
	if (look->whole)
		return look->fresh ? FRESH : REUSED;
	return look->partial ? PARTIAL : MIXED;
}

static void walk_block(unsigned long start)
{
	struct page *page = pfn_to_page(start);
	struct zone *zone = linked_zone(page);
	struct look look = {
		.whole = PageBuddy(page) && page->private == BLOCK_ORDER,
		.unaccepted = is_unaccepted(page),
		.fresh = true, .partial = true, .reserved = true,
	};
	struct signature sig;
	unsigned long i;

	for (i = 0; i < BLOCK_PAGES; i++, page++) {
		check_page(start + i, page, linked_zone(page),
			   pfn_is_ram(start + i));
		look_at(&look, page, start + i < walk.free_until);
	}
	walk.pages += BLOCK_PAGES;
	check_block_types(start, zone);

	memset(&sig, 0, sizeof(sig));
	sig.class = zone ? look_class(&look) : MIXED;
	if (class_has_signature(sig.class)) {
		sig.zone = zone;
		sig.hash = look.hash;
		for (i = 0; i < BLOCK_TYPES; i++)
			sig.types = sig.types << 4 |
				block_type(start + i * pageblock_nr_pages);
	}
	add_block(start, &sig);
}

#ifdef CONFIG_ZONE_DEVICE
/*
 * In place of a list a page has pointers: a tail page to its head, or what finds it from its own
 * address; any other to what the driver has allocated for the device, which need not be at the
 * same place in two kernels.  Some tail pages have a list, which is empty.
 */
static u64 mix_device_page(u64 hash, struct page *page)
{
	unsigned long *word = (unsigned long *)page, here = (unsigned long)page;
	int lru = offsetof(struct page, lru) / sizeof(*word);
	int i;

	for (i = 0; i < PAGE_WORDS; i++) {
		if (word[i] - here < sizeof(*page))
			hash = mix(hash, word[i] - here);
		else if (i != lru)
			hash = mix(hash, word[i]);
		else if (word[i] & 1)
			hash = mix(hash, (unsigned long)compound_head(page) - here);
		else
			hash = mix(hash, !!word[i]);
	}
	return hash;
}

/*
 * Sections of devices are not online.  They may have struct pages for a part only.  What has
 * been hot-added and is offline has struct pages that nobody has initialised.
 */
static bool walk_device(unsigned long start)
{
	unsigned long pfn, i, never = 0, example = 0;
	struct signature sig;

	memset(&sig, 0, sizeof(sig));
	for (pfn = start; pfn < start + BLOCK_PAGES; pfn++) {
		struct page *page;

		if (!pfn_valid(pfn))
			continue;
		page = pfn_to_page(pfn);
		if (never_initialised(page)) {
			never++;
			example = pfn;
			continue;
		}
		sig.zone = linked_zone(page);
		if (!sig.zone || zone_idx(sig.zone) != ZONE_DEVICE ||
		    !zone_spans_pfn(sig.zone, pfn)) {
			violate(RULE_link, pfn);
			continue;
		}
		sig.class = DEVICE;
		sig.hash = mix_device_page(sig.hash, page);
		walk.pages++;
	}
	if (sig.class != DEVICE)
		return false;
	while (never--)
		violate(RULE_uninitialised, example);
	for (i = 0; i < BLOCK_TYPES; i++)
		sig.types = sig.types << 4 | block_type(start + i * pageblock_nr_pages);
	add_block(start, &sig);
	return true;
}
#else
static bool walk_device(unsigned long start)
{
	return false;
}
#endif

static void walk_pages(unsigned long end)
{
	static const struct signature absent = { .class = ABSENT };
	unsigned long pfn;

	for (pfn = 0; pfn < end; pfn += BLOCK_PAGES) {
		if (IS_ALIGNED(pfn, PAGES_PER_SECTION))
			touch_nmi_watchdog();
		if (section_online(pfn))
			walk_block(pfn);
		else if (!walk_device(pfn))
			add_block(pfn, &absent);
	}
	emit_run();
}

/*
 * The walk over free lists
 */

#ifdef CONFIG_SPARSEMEM_VMEMMAP
static bool is_struct_page(void *p, unsigned long end)
{
	unsigned long offset = (unsigned long)p - (unsigned long)pfn_to_page(0);
	unsigned long pfn = offset / sizeof(struct page);

	return offset % sizeof(struct page) == 0 && pfn < end &&
	       section_online(pfn);
}
#else
/* Each section has an array of its own, and its pages say which it is. */
static bool is_struct_page(void *p, unsigned long end)
{
	unsigned long pfn, offset;

	if (!virt_addr_valid(p))
		return false;
	pfn = section_nr_to_pfn(page_to_section(p));
	if (pfn >= end || !section_online(pfn))
		return false;
	offset = (unsigned long)p - (unsigned long)pfn_to_page(pfn);
	return offset % sizeof(struct page) == 0 &&
	       offset / sizeof(struct page) < PAGES_PER_SECTION;
}
#endif

static void walk_list(struct zone *zone, int order, int type, unsigned long end)
{
	struct list_head *list = &zone->free_area[order].free_list[type];
	struct list_head *prev = list, *pos;
	/* A list that runs into another one's cycle would never end. */
	unsigned long limit = (zone->spanned_pages >> order) + 1;
	unsigned long *listed = &zone_tally(zone)->listed[order][type];

	for (pos = list->next; pos != list; prev = pos, pos = pos->next) {
		struct page *page = container_of(pos, struct page, buddy_list);
		unsigned long pfn;

		if (!is_struct_page(page, end) || pos->prev != prev ||
		    *listed > limit) {
			violate(RULE_list_broken, *listed);
			return;
		}
		pfn = page_to_pfn(page);
		(*listed)++;
		if (!PageBuddy(page) || page->private != order ||
		    linked_zone(page) != zone)
			violate(RULE_list_page, pfn);
		if (block_type(pfn) != type && block_in_zone(pfn, zone))
			violate(RULE_list_type, pfn);
	}
}

#ifdef CONFIG_UNACCEPTED_MEMORY
/* Return how many pages are to be accepted. */
static unsigned long walk_unaccepted(struct zone *zone)
{
	unsigned long listed = list_count_nodes(&zone->unaccepted_pages) * BLOCK_PAGES;

	if (listed != zone_tally(zone)->unaccepted ||
	    listed != zone_page_state_snapshot(zone, NR_UNACCEPTED))
		violate(RULE_unaccepted, zone->zone_start_pfn);
	return listed;
}
#else
static unsigned long walk_unaccepted(struct zone *zone)
{
	return 0;
}
#endif

static void walk_lists(struct zone *zone, unsigned long end)
{
	struct tally *tally = zone_tally(zone);
	unsigned long free = walk_unaccepted(zone);
	int order, type;

	for (order = 0; order < NR_PAGE_ORDERS; order++) {
		unsigned long listed = 0;

		for (type = 0; type < MIGRATE_TYPES; type++) {
			walk_list(zone, order, type, end);
			listed += tally->listed[order][type];
		}
		free += listed << order;
		if (zone->free_area[order].nr_free != listed)
			violate(RULE_list_count, order);
		/*
		 * A closed list has each of its entries once, and an entry has
		 * one pair of links: as many entries as free blocks means each
		 * block is on exactly one list.
		 */
		if (tally->blocks[order] != listed)
			violate(RULE_list_missing, order);
	}
	if (zone_page_state_snapshot(zone, NR_FREE_PAGES) != free)
		violate(RULE_free_count, zone->zone_start_pfn);
}

static void check_zone(struct zone *zone)
{
	struct tally *tally = zone_tally(zone);

	if (zone->present_pages != tally->ram)
		violate(RULE_present, zone->zone_start_pfn);
	if (zone_managed_pages(zone) != tally->ram - tally->reserved)
		violate(RULE_managed, zone->zone_start_pfn);
}

/*
 * Putting it together
 */

/*
 * All zones at once, so that a single walk in order of address sees them all
 * at rest.  Nobody else takes a second zone lock while holding one, so this
 * cannot deadlock; trylock says so to lockdep, too.
 */
static void lock_zones(void)
{
	int nid, zid;

	for_each_online_zone(nid, zid)
		while (!spin_trylock(&NODE_DATA(nid)->node_zones[zid].lock))
			cpu_relax();
}

static void unlock_zones(void)
{
	int nid, zid;

	for_each_online_zone(nid, zid)
		spin_unlock(&NODE_DATA(nid)->node_zones[zid].lock);
}

static unsigned long end_of_memmap(void)
{
	unsigned long end = 0;
	int nid;

	for_each_online_node(nid)
		end = max(end, pgdat_end_pfn(NODE_DATA(nid)));
	return ALIGN(end, PAGES_PER_SECTION);
}

static void emit_zone(struct zone *zone)
{
	struct tally *tally = zone_tally(zone);
	int nid = zone_to_nid(zone);
	int order, type;

	emit("zone %d %s start=%lu spanned=%lu present=%lu managed=%lu cma=%lu reserved=%lu holes=%lu free=%lu contiguous=%d\n",
	     nid, zone->name, zone->zone_start_pfn, zone->spanned_pages,
	     zone->present_pages, zone_managed_pages(zone), zone_cma_pages(zone),
	     tally->reserved, tally->holes, zone_page_state_snapshot(zone, NR_FREE_PAGES),
	     zone->contiguous);
	emit("pageblocks %d %s", nid, zone->name);
	for (type = 0; type < MIGRATE_TYPES; type++) {
		if (type_is_early(type))
			emit(" %s=%lu", type_names[type], tally->types[type]);
	}
	emit("\n");
	for (type = 0; type < MIGRATE_TYPES; type++) {
		emit("free %d %s %s", nid, zone->name, type_names[type]);
		for (order = 0; order < NR_PAGE_ORDERS; order++)
			emit(" %lu", tally->listed[order][type]);
		emit("\n");
	}
}

static void emit_violations(void)
{
	unsigned long total = 0;
	int rule, i;

	for (rule = 0; rule < NR_RULES; rule++) {
		if (!broken[rule].count)
			continue;
		total += broken[rule].count;
		emit("violation %s %lu (%s) at", rules[rule].name,
		     broken[rule].count, rules[rule].text);
		for (i = 0; i < min(broken[rule].count, NR_EXAMPLES); i++)
			emit(" %lx", broken[rule].example[i]);
		emit("\n");
	}
	emit("violations %lu\n", total);
}

/* Deferred init takes what is left of a node, and says so. */
static void check_deferred(void)
{
	int nid;

	for_each_online_node(nid) {
		if (NODE_DATA(nid)->first_deferred_pfn != ULONG_MAX)
			violate(RULE_deferred, NODE_DATA(nid)->first_deferred_pfn);
	}
}

static int show_report(struct seq_file *m, void *v)
{
	seq_write(m, report, report_len);
	return 0;
}

static int __init memmap_oracle_init(void)
{
	unsigned long end = end_of_memmap();
	unsigned long flags;
	int nid, zid, i, ret;

	ret = walk_iomem_res_desc(IORES_DESC_NONE,
				  IORESOURCE_SYSTEM_RAM | IORESOURCE_BUSY,
				  0, -1, NULL, add_ram);
	if (ret)
		return ret;

	local_irq_save(flags);
	lock_zones();

	emit("layout page_struct=%zu block_order=%d pageblock_order=%d section_pages=%lu end=%lx\n",
	     sizeof(struct page), BLOCK_ORDER, pageblock_order,
	     PAGES_PER_SECTION, end);
	for (i = 0; i < nr_ram; i++)
		emit("ram %lx %lx\n", ram[i].start, ram[i].end);
	walk_pages(end);
	for_each_online_zone(nid, zid) {
		struct zone *zone = &NODE_DATA(nid)->node_zones[zid];

		walk_lists(zone, end);
		check_zone(zone);
		emit_zone(zone);
	}
	check_deferred();
	emit_violations();
	emit("walked %lu pages\n", walk.pages);

	unlock_zones();
	local_irq_restore(flags);

	if (report_len >= sizeof(report) - 1)
		return -E2BIG;
	if (!proc_create_single("memmap_oracle", 0400, NULL, show_report))
		return -ENOMEM;
	return 0;
}
module_init(memmap_oracle_init);

MODULE_DESCRIPTION("Checks and summarises the memmap after boot");
MODULE_LICENSE("GPL");
