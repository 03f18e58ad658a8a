/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * deferred_init.h - deferred struct page init, for the rest of mm/
 *
 * deferred_init.c has the sections of each node, the jobs that initialise them, and zones that
 * grow on demand; deferred_async.c has what the rest of the kernel asks for while boot goes on
 * beside the jobs, see <linux/deferred_init.h>.
 */
#ifndef _MM_DEFERRED_INIT_H
#define _MM_DEFERRED_INIT_H

#include <linux/atomic.h>
#include <linux/gfp_types.h>
#include <linux/init.h>
#include <linux/mmzone.h>
#include <linux/types.h>

struct cpumask;

/* How far deferred init has come.  All but STARTED are set as a release. */
enum deferred_phase {
	DEFERRED_EARLY,		/* zones grow from first_deferred_pfn on */
	DEFERRED_READY,		/* sections can be claimed */
	DEFERRED_STARTED,	/* the jobs run, and can be waited for */
	DEFERRED_OVER,		/* all struct pages are initialised, and zones complete */
};

/* The state of a section: pages at its end that are left to initialise, or one of these. */
#define SECTION_DONE		0	/* or it has no deferred page that is free */
#define SECTION_CLAIMED		(-1)	/* a thread is at work on it */

/* A range of pages that memblock says are free. */
struct deferred_free {
	unsigned long spfn;
	unsigned long epfn;
};

/*
 * The deferred pages of a node, section by section.  Section 0 is the one that first_pfn is
 * in.  Made by deferred_init_prepare() and never freed: it takes eight bytes for each section.
 * Once a node is prepared, only what is atomic changes.
 */
struct deferred_node {
	struct deferred_node *next;
	struct zone *zone;
	unsigned long first_pfn;
	unsigned long end_pfn;

	/*
	 * The thread whose cmpxchg() makes a state SECTION_CLAIMED initialises the section, or
	 * a piece of it.  Then it sets the new state as a release, and readers of SECTION_DONE
	 * read it with an acquire: without the pair, a reader could see the section online, but
	 * its struct pages as they were before.
	 */
	unsigned long nr_sections;
	atomic_t *state;

	/* Free pages when the node was prepared, and those that are still deferred. */
	unsigned long nr_pages;
	atomic_long_t nr_left;

	/* The ranges of free pages.  A copy, as memblock may change while jobs run. */
	unsigned long nr_free;
	struct deferred_free *free;
	unsigned int *first_free;	/* for each section, the first range in it */

	/* Of the job: its CPUs, and the most threads. */
	const struct cpumask *cpus;
	unsigned int max_threads;
};

extern enum deferred_phase deferred_phase;

#ifdef CONFIG_DEFERRED_STRUCT_PAGE_INIT
extern struct deferred_node *deferred_nodes;

/* Pairs with the release in deferred_prepare_node(), which adds to the end. */
#define for_each_deferred_node(pos)						\
	for (pos = smp_load_acquire(&deferred_nodes);	/* see above */		\
	     pos; pos = smp_load_acquire(&pos->next))	/* see above */

static inline unsigned long deferred_section(const struct deferred_node *node, unsigned long pfn)
{
	return pfn_to_section_nr(pfn) - pfn_to_section_nr(node->first_pfn);
}

/* deferred_init.c */
unsigned long deferred_init_reserved(unsigned long pfn, unsigned long end_pfn, int nid);
void deferred_init_prepare(void);
void deferred_init_start(void (*rest)(void));
bool deferred_pending(const struct deferred_node *node, unsigned long section);
void deferred_init_range(struct deferred_node *node, unsigned long pfn, unsigned long end_pfn);
void deferred_wait_over(const char *who);
void deferred_init_end(void);
bool __init deferred_grow_zone(struct zone *zone, unsigned int order);
#else
static inline void deferred_init_start(void (*rest)(void))
{
	rest();
}

static inline unsigned long deferred_init_reserved(unsigned long pfn, unsigned long end_pfn,
						   int nid)
{
	return end_pfn;
}
#endif

/* Only called while deferred_pages_enabled(). */
bool deferred_grow(struct zone *zone, unsigned int order, gfp_t gfp);

/* deferred_async.c */
#ifdef CONFIG_DEFERRED_INIT_ASYNC
extern bool deferred_async;
#else
#define deferred_async	false
#endif

void deferred_async_decide(void);

#endif /* _MM_DEFERRED_INIT_H */
