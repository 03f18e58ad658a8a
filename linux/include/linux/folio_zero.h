/* SPDX-License-Identifier: GPL-2.0-only */
/* Zeroing of folios for user space, on many threads where it pays. */
#ifndef _LINUX_FOLIO_ZERO_H
#define _LINUX_FOLIO_ZERO_H

#include <linux/types.h>

struct folio;
struct page;

void folio_zero_user(struct folio *folio, unsigned long addr_hint);
void folios_zero_user(struct folio **folios, unsigned int nr);
unsigned long folio_zero_job_pages(void);
void zero_user_pages(struct page *page, unsigned long addr, unsigned long nr);
void zero_user_pages_uncached(struct page *page, unsigned long addr, unsigned long nr);

#endif /* _LINUX_FOLIO_ZERO_H */
