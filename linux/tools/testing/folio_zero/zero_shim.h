/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zero_shim.h - what mm/folio_zero.c uses of the kernel, for userspace
 *
 * The files under test are compiled unchanged.  Every kernel header that they include
 * is this file (see the Makefile), except for their own.  A struct page is the
 * memory itself.
 */

#ifndef _ZERO_SHIM_H
#define _ZERO_SHIM_H

#include <string.h>

#include "../padata/shim.h"

#define PAGE_SHIFT		12
#define PAGE_SIZE		4096UL
#define SZ_1K			0x400
#define SZ_32K			0x8000
#define SZ_256K			0x40000
#define SZ_512K			0x80000
#define SZ_1M			0x100000
#define SZ_4M			0x400000
#define SZ_8M			0x800000
#define MAX_ORDER_NR_PAGES	1024UL
#define BIT(nr)			(0x1UL << (nr))
#define ALIGN_DOWN(x, a)	zero_align_down(x, a)
#define __read_mostly
#define __meminit
#define PF_KTHREAD		0x00200000

/* For IS_ENABLED(), see the Makefile. */
#define SHIM_CONFIG_PADATA	1
#define SHIM_CONFIG_TRANSPARENT_HUGEPAGE	1
#define SHIM_CONFIG_HUGETLBFS	1
#define SHIM_CONFIG_KMSAN	0

struct page {
	char			bytes[PAGE_SIZE];
};

struct folio {
	struct page		*pages;
	unsigned int		order;
};

#define folio_order(folio)	((folio)->order)
#define folio_nr_pages(folio)	BIT((folio)->order)
#define folio_size(folio)	(PAGE_SIZE << (folio)->order)
#define folio_page(folio, n)	((folio)->pages + (n))

static inline unsigned long zero_align_down(unsigned long x, unsigned long a)
{
	return x / a * a;
}

/* Set by the program, see zero_kernel.c. */
extern bool caller_is_realtime;
#define rt_or_dl_task(task)	((void)(task), caller_is_realtime)

/* One of three nodes, in no order. */
static inline int folio_nid(const struct folio *folio)
{
	return (uintptr_t)folio->pages / PAGE_SIZE * 0x9e3779b1UL / 1024 % 3;
}

#define page_address(page)	((void *)(page))

/* As the kernel decides on this CPU, see zero_kernel.c. */
void clear_page(void *page);

void clear_user_highpages(struct page *page, unsigned long addr, unsigned int nr);

#define PROCESS_PAGES_NON_PREEMPT_BATCH	(SZ_1M / PAGE_SIZE)

struct vm_area_struct;

/* <linux/mm.h> */
int copy_user_large_folio(struct folio *dst, struct folio *src, unsigned long addr_hint,
			  struct vm_area_struct *vma);

/* As many bytes as could not be copied. */
int copy_mc_highpage(struct page *to, struct page *from);
int copy_mc_user_highpage(struct page *to, struct page *from, unsigned long addr,
			  struct vm_area_struct *vma);

/* <asm/asm.h>: where to go on if an instruction faults, see zero_kernel.c */
#define _ASM_EXTABLE_TYPE(from, to, type)				\
	".pushsection extable, \"aw\"\n"					\
	".quad " #from ", " #to "\n"					\
	".popsection\n"

static inline void kmsan_unpoison_memory(const void *p, size_t bytes)
{
}

enum { X86_FEATURE_ZEN, X86_FEATURE_CLZERO };
enum { INTEL_SAPPHIRERAPIDS_X = 0x608f, INTEL_EMERALDRAPIDS_X = 0x60cf };

/* See zero_kernel.c. */
extern struct shim_cpuinfo {
	unsigned int		x86_clflush_size;
	unsigned int		x86_vfm;
} boot_cpu_data;

/* Of the features this CPU has, those that the program lets the kernel's code see. */
bool cpu_feature_enabled(int feature);

/* <linux/memmap_bulk.h>: for the other benchmark */
bool arch_memmap_uncached(bool soon);

/* Set by the program, see zero_kernel.c. */
extern bool kernel_is_preemptible;
#define preempt_model_preemptible()	kernel_is_preemptible

/* The barrier after the stores; the code under test says what it pairs with. */
static inline void wmb(void)
{
	asm volatile("sfence" : : : "memory");
}

/* <linux/sysctl.h>: the benchmark finds the switches in the table. */

struct ctl_table {
	const char		*procname;
	void			*data;
	unsigned long		maxlen;
	int			mode;
	int			proc_handler;
	void			*extra1;
	void			*extra2;
};

enum { proc_doulongvec_minmax, proc_dointvec_minmax };

#define SYSCTL_ZERO		NULL
#define SYSCTL_INT_MAX		NULL

#define subsys_initcall(fn)	int (*fn##call)(void) = fn

extern int (*folio_zero_initcall)(void);
extern int (*folio_copy_initcall)(void);
void register_sysctl_init(const char *path, const struct ctl_table *table);

#endif /* _ZERO_SHIM_H */
