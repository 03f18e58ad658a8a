/* SPDX-License-Identifier: GPL-2.0-only */
/* Pinning of many user pages, on many threads where it pays. */
#ifndef _LINUX_GUP_JOB_H
#define _LINUX_GUP_JOB_H

#include <linux/types.h>

struct mm_struct;
struct page;

#if defined(CONFIG_TRANSPARENT_HUGEPAGE) || defined(CONFIG_HUGETLBFS)
struct page **pin_job_array(size_t *len);
long pin_user_pages_job(struct mm_struct *mm, unsigned long addr, unsigned long nr_pages,
			unsigned int gup_flags, struct page **pages);
#else
static inline struct page **pin_job_array(size_t *len)
{
	return NULL;
}

static inline long pin_user_pages_job(struct mm_struct *mm, unsigned long addr,
				      unsigned long nr_pages, unsigned int gup_flags,
				      struct page **pages)
{
	return 0;
}
#endif

#endif /* _LINUX_GUP_JOB_H */
