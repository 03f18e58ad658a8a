/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies of large folios, past the cache and on many threads where it pays. */
#ifndef _LINUX_FOLIO_COPY_H
#define _LINUX_FOLIO_COPY_H

#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/sizes.h>

#include <asm/page.h>

struct folio;
struct page;

#if defined(CONFIG_TRANSPARENT_HUGEPAGE) || defined(CONFIG_HUGETLBFS)
/* From so many pages on, folio_mc_copy() leaves a folio to folio_mc_copy_large(). */
#define FOLIO_COPY_LARGE	(SZ_1M / PAGE_SIZE)

int folio_mc_copy_large(struct folio *dst, struct folio *src);
#else
#define FOLIO_COPY_LARGE	LONG_MAX

static inline int folio_mc_copy_large(struct folio *dst, struct folio *src)
{
	return -EINVAL;
}
#endif

/* An architecture may have a function of its own in place of this. */
unsigned long copy_pages_uncached(struct page *to, struct page *from, unsigned long nr);

#endif /* _LINUX_FOLIO_COPY_H */
