// SPDX-License-Identifier: GPL-2.0-only
/*
 * populate.c - allocate the huge pages of a range of a file, and zero them as one
 *
 * To zero page after page uses many threads for each and all of them for none.
 * So the pages of a range are allocated and put into the page cache first, locked,
 * then zeroed by one job, and unlocked.  In between they are there and not up to
 * date.  Whoever finds a page of hugetlbfs in the page cache locks it before it
 * looks, and so waits.  memfd_pin_folios() does not: udmabuf calls it with the inode
 * locked, and for others it waits for pages that are not up to date.  A long range is
 * done in batches, so that nobody waits for long.
 *
 * Faults take the fault mutex and then lock the page.  Here pages are locked when
 * the next mutex is taken, so that is only tried: if somebody has it, who may be
 * waiting for one of these pages, they are zeroed and let go first.
 */

#include <linux/err.h>
#include <linux/folio_zero.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/page-flags.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "populate.h"

/*
 * A fault, or read(), may have to wait for as long as it takes to zero a batch, and
 * to allocate it: hence two limits.  128 MiB take a thread as long as it takes 8 of
 * them to zero 1 GiB.
 */
#define HUGETLBFS_BATCH		SZ_128M
#define HUGETLBFS_BATCH_TIME	max(HZ / 100, 1)

/* Pages in the page cache that are locked, and still to be zeroed. */
struct hugetlbfs_batch {
	struct folio		**folios;
	struct folio		*one;		/* folios, without memory for more */
	unsigned int		nr;
	unsigned int		room;
	unsigned long		until;		/* jiffies, once there is a page */
};

/* Without helpers there is nothing to be gained. */
static void hugetlbfs_batch_init(struct hugetlbfs_batch *batch, struct hstate *h,
				 pgoff_t nr)
{
	unsigned long room = HUGETLBFS_BATCH / huge_page_size(h);

	*batch = (struct hugetlbfs_batch){ .folios = &batch->one, .room = 1 };
	room = min(room, nr);
	if (room <= 1 || !folio_zero_may_have_helpers())
		return;

	batch->folios = kvmalloc_array(room, sizeof(*batch->folios), GFP_KERNEL);
	if (batch->folios)
		batch->room = room;
	else
		batch->folios = &batch->one;
}

static void hugetlbfs_batch_free(struct hugetlbfs_batch *batch)
{
	if (batch->folios != &batch->one)
		kvfree(batch->folios);
}

/* folio_put(): the page cache has a reference of its own. */
static void hugetlbfs_batch_zero(struct hugetlbfs_batch *batch)
{
	unsigned int i;

	if (!batch->nr)
		return;

	folios_zero_user(batch->folios, batch->nr);
	for (i = 0; i < batch->nr; i++) {
		struct folio *folio = batch->folios[i];

		folio_mark_uptodate(folio);
		folio_set_hugetlb_migratable(folio);
		folio_unlock(folio);
		folio_put(folio);
	}
	batch->nr = 0;
}

/*
 * With the fault mutex held.  No memory policy but the task's applies: there is
 * no address.  avoid_reserve is not set, as shared mappings of the file may have
 * reserved what is allocated here.
 */
static int hugetlbfs_populate_one(struct hugetlbfs_batch *batch,
				  struct vm_area_struct *pseudo_vma,
				  struct address_space *mapping, pgoff_t index)
{
	struct hstate *h = hstate_inode(mapping->host);
	unsigned long addr = index << huge_page_shift(h);
	struct folio *folio;
	int error;

	folio = filemap_get_folio(mapping, index << huge_page_order(h));
	if (!IS_ERR(folio)) {
		folio_put(folio);
		return 0;
	}

	folio = alloc_hugetlb_folio(pseudo_vma, addr, false);
	if (IS_ERR(folio))
		return PTR_ERR(folio);

	/* It is, if it was a private page last. */
	folio_clear_uptodate(folio);

	/* Locks the folio. */
	error = hugetlb_add_to_page_cache(folio, mapping, index);
	if (error) {
		restore_reserve_on_error(h, pseudo_vma, addr, folio);
		folio_put(folio);
		return error;
	}
	if (!batch->nr)
		batch->until = jiffies + HUGETLBFS_BATCH_TIME;
	batch->folios[batch->nr++] = folio;
	return 0;
}

static bool hugetlbfs_batch_is_due(const struct hugetlbfs_batch *batch)
{
	unsigned int i;

	if (batch->nr == batch->room ||
	    (batch->nr && time_after(jiffies, batch->until)))
		return true;
	for (i = 0; i < batch->nr; i++) {
		if (folio_test_waiters(batch->folios[i]))
			return true;
	}
	return false;
}

static void hugetlbfs_batch_lock(struct hugetlbfs_batch *batch, struct mutex *mutex)
{
	if (hugetlbfs_batch_is_due(batch))
		hugetlbfs_batch_zero(batch);
	if (mutex_trylock(mutex))
		return;
	hugetlbfs_batch_zero(batch);
	mutex_lock(mutex);
}

/**
 * hugetlbfs_populate - make sure that a file has its pages
 * @file: A file of hugetlbfs.
 * @pseudo_vma: What alloc_hugetlb_folio() is to take for the VMA.
 * @start: First page of the range, in huge pages from the start of the file.
 * @end: The page after the last.
 *
 * Context: Process context, with the inode locked: nothing is taken out of the
 * page cache meanwhile.
 * Return: 0, %-EINTR for a signal, or why a page could not be allocated.  Pages
 * that were allocated before stay in the file.
 */
int hugetlbfs_populate(struct file *file, struct vm_area_struct *pseudo_vma,
		       pgoff_t start, pgoff_t end)
{
	struct address_space *mapping = file->f_mapping;
	struct hugetlbfs_batch batch;
	int error = 0;

	hugetlbfs_batch_init(&batch, hstate_file(file), end - start);
	for (; start < end && !error; start++) {
		u32 hash = hugetlb_fault_mutex_hash(mapping, start);

		cond_resched();
		if (signal_pending(current)) {
			error = -EINTR;
			break;
		}

		hugetlbfs_batch_lock(&batch, &hugetlb_fault_mutex_table[hash]);
		error = hugetlbfs_populate_one(&batch, pseudo_vma, mapping, start);
		mutex_unlock(&hugetlb_fault_mutex_table[hash]);
	}
	hugetlbfs_batch_zero(&batch);
	hugetlbfs_batch_free(&batch);
	return error;
}
