// SPDX-License-Identifier: GPL-2.0-only
/*
 * memmap_job.c - struct pages of memory that is added after boot, on many threads
 *
 * Memory that is hot-added, and memory of devices (persistent memory, CXL, GPUs), gets its
 * struct pages when it is there.  One thread takes 2.4 to 10 ns for each, 60 to 250 ms for
 * 100 GiB.  Nothing else depends on the struct pages of a section by then, so a job can share
 * a range out by sections.
 */

#include <linux/align.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/memmap_bulk.h>
#include <linux/memremap.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/numa.h>
#include <linux/padata_mt.h>
#include <linux/sched.h>
#include <linux/topology.h>

#include <asm/barrier.h>

#include "internal.h"
#include "memmap_bulk.h"
#include "memmap_job.h"

/*
 * Initialise the struct pages of an array of @nr like the first, which contains no pointer to
 * itself.  They are not used soon, and by nobody else yet.  May sleep.  Return how many are
 * initialised: @nr; or 1 if there are too few for that to pay, if struct pages contain what
 * differs from page to page, or if trace events have to see each of them.
 */
unsigned long memmap_repeat(struct page *page, unsigned long nr)
{
	struct memmap_template template;
	unsigned long done, next;

	if (MEMMAP_HAS_ADDRESS || nr < MEMMAP_MIN_RUN || memmap_is_traced())
		return 1;

	template.page = *page;
	template.list_heads = false;
	for (done = 1; done < nr; done = next) {
		next = min(done + PAGES_PER_SECTION, nr);
		arch_memmap_stamp(page + done, page + next, &template);
		cond_resched();
	}
	/*
	 * As in memmap_bulk.c: whatever publishes the pages need not order these stores.  If this
	 * task has migrated meanwhile, a task switch has ordered those before.
	 */
	wmb();
	return nr;
}

/*
 * What is worth a helper: 0.1 to 0.3 ms.  On powerpc, a section is 256 pages of 64 KiB.  A
 * compound page may be more, and takes 0.6 to 2.6 ms if it is of 1 GiB.
 */
#define MEMMAP_JOB_CHUNK	max(PAGES_PER_SECTION, 32768UL)

/* Initialises the struct pages of [pfn, end_pfn). */
typedef void (*memmap_init_t)(unsigned long pfn, unsigned long end_pfn, void *arg);

/*
 * As many threads as the node has CPUs.  After boot they use idle CPUs only, and are within
 * the limits of the current task.  @align is a power of two: chunks are multiples of it and of
 * whole sections.
 */
static void memmap_init_by_job(unsigned long pfn, unsigned long end_pfn, unsigned long align,
			       int nid, memmap_init_t fn, void *arg)
{
	/* That of the memory, or the nearest one if it has no CPUs, as that of a CXL device. */
	const struct cpumask *cpus = cpumask_of_node(numa_nearest_node(nid, N_CPU));
	struct padata_mt_job job = {
		.thread_fn	= fn,
		.fn_arg		= arg,
		.start		= pfn,
		.size		= end_pfn - pfn,
		.align		= max(align, PAGES_PER_SECTION),
		.min_chunk	= MEMMAP_JOB_CHUNK,
		.max_chunk	= MEMMAP_JOB_CHUNK,
		.max_threads	= cpumask_weight_and(cpus, cpu_online_mask),
		.nid		= nid,
	};

	padata_do_multithreaded(&job);
}

#ifdef CONFIG_ZONE_DEVICE
struct memmap_device {
	struct dev_pagemap	*pgmap;
	unsigned long		pfns_per_compound;
	int			nid;
};

static void memmap_init_device_chunk(unsigned long pfn, unsigned long end_pfn, void *arg)
{
	struct memmap_device *device = arg;
	unsigned long nr;

	for (; pfn < end_pfn; pfn += nr) {
		struct page *page = pfn_to_page(pfn);

		__init_zone_device_page(page, pfn, ZONE_DEVICE, device->nid, device->pgmap);

		if (IS_ALIGNED(pfn, PAGES_PER_SECTION))
			cond_resched();

		nr = device->pfns_per_compound;
		if (nr == 1)
			nr = memmap_repeat(page, memmap_run_end(pfn, end_pfn) - pfn);
		else
			memmap_init_compound(page, pfn, ZONE_DEVICE, device->nid, device->pgmap,
					     compound_nr_pages(pfn, pgmap_altmap(device->pgmap),
							       device->pgmap));
	}
}

/**
 * memmap_init_device - initialise the struct pages of a device
 * @start_pfn: first page
 * @end_pfn: end of the range
 * @nid: node it belongs to
 * @pgmap: what its pages point to, which says whether they are compound
 *
 * Context: Process context, may sleep.  Nobody else may use the struct pages yet.
 */
void memmap_init_device(unsigned long start_pfn, unsigned long end_pfn, int nid,
			struct dev_pagemap *pgmap)
{
	struct memmap_device device = {
		.pgmap			= pgmap,
		.pfns_per_compound	= pgmap_vmemmap_nr(pgmap),
		.nid			= nid,
	};

	/* No compound page is shared out. */
	if (IS_ALIGNED(start_pfn, device.pfns_per_compound))
		memmap_init_by_job(start_pfn, end_pfn, device.pfns_per_compound, nid,
				   memmap_init_device_chunk, &device);
	else
		memmap_init_device_chunk(start_pfn, end_pfn, &device);
}
#endif

struct memmap_hotplug {
	unsigned long		zone;
	int			nid;
	int			migratetype;
};

static void memmap_init_hotplug_chunk(unsigned long pfn, unsigned long end_pfn, void *arg)
{
	struct memmap_hotplug *range = arg;

	memmap_init_range(end_pfn - pfn, range->nid, range->zone, pfn, 0, MEMINIT_HOTPLUG, NULL,
			  range->migratetype);
}

/*
 * Initialise the struct pages of hot-added memory, as memmap_init_range() does; of zone Device,
 * those of @altmap.  The locks of memory hotplug are held.  A job's helpers take none, and write
 * to nothing but struct pages and pageblock flags of their sections.
 */
void memmap_init_hotplug(unsigned long nr_pages, int nid, unsigned long zone,
			 unsigned long start_pfn, struct vmem_altmap *altmap, int migratetype)
{
	struct memmap_hotplug range = {
		.zone		= zone,
		.nid		= nid,
		.migratetype	= migratetype,
	};

	/* Zone Device, for which there is no name in kernels without it */
	if (zone > ZONE_MOVABLE) {
		memmap_init_range(nr_pages, nid, zone, start_pfn, 0, MEMINIT_HOTPLUG, altmap,
				  migratetype);
		return;
	}

	/* Or threads that finish in any order would overwrite it with a lower one. */
	highest_memmap_pfn = max(highest_memmap_pfn, start_pfn + nr_pages - 1);
	memmap_init_by_job(start_pfn, start_pfn + nr_pages, 1, nid, memmap_init_hotplug_chunk,
			   &range);
}
