/* SPDX-License-Identifier: GPL-2.0-only */
/* Zeroing of folios for user space, on many threads where it pays. */
#ifndef _LINUX_FOLIO_ZERO_H
#define _LINUX_FOLIO_ZERO_H

#include <linux/limits.h>
#include <linux/sizes.h>
#include <linux/types.h>

struct folio;
struct page;

#define HUGE_PAGE_NO_PAGE	ULONG_MAX

/*
 * The most of what is not used soon that is zeroed or copied without a chance to reschedule:
 * 50 us at 5 GB/s.  Where stores bypass the cache, more at a time gains nothing.
 */
#define HUGE_PAGE_EXTENT	(SZ_256K / PAGE_SIZE)

/* A folio that is zeroed, or copied to.  Pages are numbered from its start. */
struct huge_page_work {
	/* Does [start, end), by any thread.  Returns 0 or an error. */
	int (*fn)(const struct huge_page_work *work, unsigned long start, unsigned long end);
	struct folio		*folio;
	unsigned long		addr;		/* of the first page */
	unsigned long		last;		/* what was touched, or HUGE_PAGE_NO_PAGE */
	unsigned long		max_chunk;	/* what takes about a millisecond, in pages */
	bool			cached;		/* through the cache */
	int			err;		/* of any thread, or 0 */
};

int huge_page_do(struct huge_page_work *work, int threads);
void folio_zero_user(struct folio *folio, unsigned long addr_hint);
void folio_zero_user_uncached(struct folio *folio, unsigned long addr);
int huge_page_threads(unsigned long nr_pages, unsigned long threshold_kbytes);

/* An architecture may have functions of its own in place of these. */
void zero_user_pages_uncached(struct page *page, unsigned long addr, unsigned long nr);
unsigned long zero_user_pages_max_cached(void);
unsigned long zero_user_pages_job_kbytes(void);

#endif /* _LINUX_FOLIO_ZERO_H */
