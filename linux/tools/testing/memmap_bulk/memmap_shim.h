/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memmap_shim.h - what mm/memmap_bulk.c, mm/memmap_early.c and arch/x86/mm/memmap_bulk.c
 * use of the kernel, for userspace
 *
 * They are compiled unchanged.  Every kernel header that they include is this
 * file (see the Makefile), except for <linux/memmap_bulk.h>, which is the real one.
 *
 * There is one node with one zone, of pages that do not exist: only their struct
 * pages do.  A struct page has the fields of x86-64's, and its size unless the
 * Makefile sets another; the functions that initialise and free it store the same
 * values as the kernel's.
 *
 * The functions below the line are only needed to compile these files; no program
 * here calls them.
 */

#ifndef _MEMMAP_SHIM_H
#define _MEMMAP_SHIM_H

#include <string.h>

#include "../padata/shim.h"

/* <linux/types.h> */

struct list_head {
	struct list_head	*next, *prev;
};

/* Compiler features that have other names are defined in the Makefile. */

#define __meminit
#define __ref
#define CONFIG_SPARSEMEM	1
#define CONFIG_DEFERRED_STRUCT_PAGE_INIT 1
#ifdef __clang__
#define CONFIG_CC_IS_CLANG	1
#else
#define CONFIG_GCC_VERSION	(10000 * __GNUC__)
#endif

#define BIT(nr)			(1UL << (nr))
#define CONCATENATE(a, b)	__CONCAT(a, b)
#define BUILD_BUG_ON(condition)	static_assert(!(condition), #condition)
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* Everything that is aligned or counted here is an unsigned long. */
static inline unsigned long ALIGN(unsigned long x, unsigned long a)
{
	return (x + a - 1) & ~(a - 1);
}

static inline unsigned long ALIGN_DOWN(unsigned long x, unsigned long a)
{
	return x & ~(a - 1);
}

static inline bool IS_ALIGNED(unsigned long x, unsigned long a)
{
	return !(x & (a - 1));
}

static inline unsigned int __ffs(unsigned long x)
{
	return __builtin_ctzl(x);
}

static inline unsigned int __fls(unsigned long x)
{
	return 63 - __builtin_clzl(x);
}

/* Pages, as on x86-64 */

#define MAX_PAGE_ORDER		10
#define MAX_ORDER_NR_PAGES	BIT(MAX_PAGE_ORDER)
#define PAGES_PER_SECTION	BIT(15)
#define pageblock_nr_pages	BIT(9)
#define pageblock_align(pfn)	ALIGN(pfn, pageblock_nr_pages)
#define pageblock_start_pfn(pfn) ALIGN_DOWN(pfn, pageblock_nr_pages)
#define pageblock_end_pfn(pfn)	ALIGN((pfn) + 1, pageblock_nr_pages)

enum migratetype { MIGRATE_UNMOVABLE, MIGRATE_MOVABLE, MIGRATE_TYPES };

/* Position of the page flags, and those that a page must not have when it is freed. */
#define PG_RESERVED		BIT(14)
#define PAGE_FLAGS_CHECK_AT_PREP 0x1ffffffUL
#define PAGE_CPUPID_NONE	0xffff8000000000UL
#define PAGE_ZONE_SHIFT		56
#define PAGE_NODE_SHIFT		58
#define PAGE_TYPE_NONE		0xffffffffU
#define PAGE_TYPE_BUDDY		0xf0000000U
#define PAGE_TYPE_OFFLINE	0xf2000000U

/*
 * The size of a struct page depends on the configuration, and so does whether it holds
 * the page's virtual address, see the Makefile.
 */
#ifdef WANT_PAGE_VIRTUAL
#define SHIM_PAGE_MORE		((SHIM_PAGE_BYTES - 64) / sizeof(unsigned long))
#define SHIM_PAGES_DIFFER	true
#else
#define SHIM_PAGE_MORE		((SHIM_PAGE_BYTES - 56) / sizeof(unsigned long))
#define SHIM_PAGES_DIFFER	false
#endif

struct page {
	unsigned long		flags;
	union {
		struct list_head	lru;
		struct list_head	buddy_list;
	};
	void			*mapping;
	unsigned long		index;
	unsigned long		private;
	unsigned int		_mapcount;
	int			_refcount;
#ifdef WANT_PAGE_VIRTUAL
	void			*virtual;
#endif
	/* Fields that depend on the configuration, such as memcg_data. */
	unsigned long		more[SHIM_PAGE_MORE];
};

/* Their contents: zero in the first, not zero in some of the others. */
#define SHIM_MORE(i)		((i) * 0x1fffffUL)

static_assert(sizeof(struct page) == SHIM_PAGE_BYTES, "fields do not add up");

struct zone {
	pthread_spinlock_t	lock;		/* this and all up to nr_free_pages */
	struct list_head	free_list[MIGRATE_TYPES];
	unsigned long		nr_free;
	unsigned long		nr_free_pages;

	unsigned long		managed_pages;	/* atomic */
	unsigned long		zone_start_pfn;
	unsigned long		spanned_pages;
	bool			contiguous;
};

static inline unsigned long *page_flags(struct page *page)
{
	return (unsigned long *)&page->flags;
}

/* The memmap, the types of its pageblocks, and the zone they belong to. */
extern struct page *shim_memmap;
extern unsigned char *shim_pageblocks;
extern struct zone shim_zone;

#define pfn_to_page(pfn)	(shim_memmap + (pfn))
#define page_to_pfn(page)	((unsigned long)((page) - shim_memmap))

static inline struct zone *page_zone(const struct page *page)
{
	return &shim_zone;
}

static inline void set_page_count(struct page *page, int count)
{
	WRITE_ONCE(page->_refcount, count);
}

static inline void __SetPageReserved(struct page *page)
{
	*page_flags(page) |= PG_RESERVED;
}

static inline void __ClearPageReserved(struct page *page)
{
	*page_flags(page) &= ~PG_RESERVED;
}

static inline void __SetPageOffline(struct page *page)
{
	page->_mapcount = PAGE_TYPE_OFFLINE;
}

static inline void __ClearPageOffline(struct page *page)
{
	page->_mapcount = PAGE_TYPE_NONE;
}

#define PAGE_SHIFT		12

/* The kernel's direct map.  Memory of the last zone is not mapped. */
#define SHIM_PAGE_OFFSET	0xffff888000000000UL
#define SHIM_HIGHMEM_ZONE	3

#define __va(address)		((void *)(SHIM_PAGE_OFFSET + (address)))

#ifdef WANT_PAGE_VIRTUAL
static inline void shim_set_address(struct page *page, unsigned long pfn,
				    unsigned long zone)
{
	page->virtual = NULL;
	if (zone != SHIM_HIGHMEM_ZONE)
		page->virtual = __va(pfn << PAGE_SHIFT);
}
#else
static inline void shim_set_address(struct page *page, unsigned long pfn,
				    unsigned long zone)
{
}
#endif

/* The nine stores that gcc generates in stock's loops for struct pages of 64 bytes. */
static inline void __init_single_page(struct page *page, unsigned long pfn,
				      unsigned long zone, int nid)
{
	unsigned int i;

	*page_flags(page) = zone << PAGE_ZONE_SHIFT |
			    (unsigned long)nid << PAGE_NODE_SHIFT | PAGE_CPUPID_NONE;
	page->lru.next = &page->lru;
	page->lru.prev = &page->lru;
	page->mapping = NULL;
	page->index = 0;
	page->private = 0;
	page->_mapcount = PAGE_TYPE_NONE;
	for (i = 0; i != SHIM_PAGE_MORE; i++)
		page->more[i] = SHIM_MORE(i);
	shim_set_address(page, pfn, zone);
	set_page_count(page, 1);
}

static inline void set_pageblock_migratetype(struct page *page, int type)
{
	shim_pageblocks[page_to_pfn(page) / pageblock_nr_pages] = type;
}

static inline int get_pageblock_migratetype(struct page *page)
{
	return shim_pageblocks[page_to_pfn(page) / pageblock_nr_pages];
}

enum { page_ref_set, page_ref_mod };

static inline bool page_ref_tracepoint_active(int event)
{
	return false;
}

/* <asm/...> */

/* The barrier after the stores; the code under test says what it pairs with. */
static inline void wmb(void)
{
	asm volatile("sfence" : : : "memory");
}

static inline bool mem_alloc_profiling_enabled(void)
{
	return false;
}

static inline bool range_contains_unaccepted_memory(unsigned long start,
						    unsigned long size)
{
	return false;
}

#define PFN_PHYS(pfn)		((pfn) << PAGE_SHIFT)
#define atomic_long_add(nr, counter) \
	__atomic_fetch_add(counter, nr, __ATOMIC_RELAXED)

/* Headers of mm/, mm/page_alloc.c */

enum meminit_context { MEMINIT_EARLY, MEMINIT_HOTPLUG };

static const struct shim_node {
	unsigned long first_deferred_pfn;
} shim_node = { ULONG_MAX };

static inline const struct shim_node *NODE_DATA(int nid)
{
	return &shim_node;
}

static inline bool node_online(int nid)
{
	return true;
}

/* There is one node. */
#define N_CPU			0

static inline int numa_nearest_node(int nid, unsigned int state)
{
	return nid;
}

struct vmem_altmap;

#define ZONE_MOVABLE		3

/* A chunk of hot-added memory, see ways.c. */
void memmap_init_range(unsigned long size, int nid, unsigned long zone, unsigned long start_pfn,
		       unsigned long zone_end_pfn, enum meminit_context context,
		       struct vmem_altmap *altmap, int migratetype);
extern unsigned long highest_memmap_pfn;

#include "../../../mm/memmap_bulk.h"
#include "../../../mm/memmap_early.h"
#include "../../../mm/memmap_job.h"

void __free_pages_core(struct page *page, unsigned int order,
		       enum meminit_context context);

/* ------------------------------------------------------------------------- */

#define ZONE_DEVICE		2
#define mirrored_kernelcore	false

static inline int zone_to_nid(const struct zone *zone)
{
	return 0;
}

static inline unsigned long zone_end_pfn(const struct zone *zone)
{
	return zone->zone_start_pfn + zone->spanned_pages;
}

static inline int early_pfn_to_nid(unsigned long pfn)
{
	return 0;
}

static const bool check_pages_enabled;
#define static_branch_unlikely(key) (*(key))

#endif /* _MEMMAP_SHIM_H */
