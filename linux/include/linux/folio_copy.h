/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies of large folios, past the cache and on many threads where it pays. */
#ifndef _LINUX_FOLIO_COPY_H
#define _LINUX_FOLIO_COPY_H

#include <linux/sizes.h>
#include <linux/types.h>

#include <asm/page.h>

struct folio;
struct page;

/* Whether folio_mc_copy() leaves a folio of @nr pages to folio_mc_copy_large(). */
static inline bool folio_copy_is_large(long nr)
{
	return (IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) || IS_ENABLED(CONFIG_HUGETLBFS)) &&
	       nr >= SZ_1M / PAGE_SIZE;
}

int folio_mc_copy_large(struct folio *dst, struct folio *src);

/* An architecture may have a function of its own in place of this. */
unsigned long copy_pages_uncached(struct page *to, struct page *from, unsigned long nr);

#endif /* _LINUX_FOLIO_COPY_H */
