/* SPDX-License-Identifier: GPL-2.0-only */
/* Zeroing of folios for user space, on many threads where it pays. */
#ifndef _LINUX_FOLIO_ZERO_H
#define _LINUX_FOLIO_ZERO_H

#include <linux/sizes.h>

#include <asm/page.h>

/* The least that a thread zeroes or copies: less costs as much as it gains. */
#define HUGE_PAGE_MIN_CHUNK	(SZ_512K / PAGE_SIZE)

struct folio;
struct page;

void folio_zero_user(struct folio *folio, unsigned long addr_hint);
void folio_zero_user_uncached(struct folio *folio, unsigned long addr);
int huge_page_threads(unsigned long nr_pages, unsigned long threshold_kbytes);

/* An architecture may have functions of its own in place of these. */
void zero_user_pages_uncached(struct page *page, unsigned long addr, unsigned long nr);
unsigned long zero_user_pages_max_cached(void);
unsigned long zero_user_pages_job_kbytes(void);

#endif /* _LINUX_FOLIO_ZERO_H */
