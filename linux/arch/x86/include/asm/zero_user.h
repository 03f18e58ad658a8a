/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zero_user.h - x86: zero pages for user space by one string instruction
 */
#ifndef _ASM_X86_ZERO_USER_H
#define _ASM_X86_ZERO_USER_H

#include <linux/kmsan-checks.h>
#include <linux/sizes.h>

#include <asm/alternative.h>
#include <asm/cpufeatures.h>
#include <asm/page.h>

/* As clear_page(), but the CPU need not guess whether more pages follow. */
static inline void clear_pages(void *addr, unsigned int nr)
{
	unsigned long bytes = nr * PAGE_SIZE, i;

	/* Its metadata may be contiguous for no more than a page. */
	for (i = 0; i < bytes; i += PAGE_SIZE)
		kmsan_unpoison_memory(addr + i, PAGE_SIZE);
	asm volatile(ALTERNATIVE("shr $3, %%rcx; rep stosq", "rep stosb", X86_FEATURE_ERMS)
		     : "+D" (addr), "+c" (bytes) : "a" (0) : "cc", "memory");
}

#define clear_user_highpages(page, vaddr, nr)	((void)(vaddr), clear_pages(page_address(page), nr))
/* 0.1 ms at 10 GB/s */
#define PROCESS_PAGES_NON_PREEMPT_BATCH		(SZ_1M >> PAGE_SHIFT)

#endif /* _ASM_X86_ZERO_USER_H */
