/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zero_kernel.h - the kernel's side: the stores it would choose, and its sysctls
 */

#ifndef _ZERO_KERNEL_H
#define _ZERO_KERNEL_H

#include <linux/padata_mt.h>

#include "zero_shim.h"

/* Whether the stock kernel zeroes many pages by one instruction, and may be preempted then. */
#define STOCK_ZEROES_EXTENTS	false

/* What mm/folio_zero.c and mm/folio_copy.c are to have, chunks in pages. */
#define MIN_CHUNK		128UL
#define ZERO_CHUNK		2048UL
#define COPY_CHUNK		1024UL
#define DEFAULT_KBYTES		4096UL

/* The stores that the kernel's code chooses from, the best first.  The last is on all CPUs. */
enum store { STORE_CLZERO, STORE_MOVNTI, STORE_STOSB, STORE_STOSQ, NR_STORES };

extern const char *const store_names[NR_STORES];

/* Find out what this CPU has.  Must be called first. */
void stores_init(void);
bool store_works(enum store store);
/*
 * From now on, act as on a CPU whose best store is @store, which must work on this CPU.
 * The initial choice is that of the kernel on this CPU: movnti is for Intel's.
 */
void store_choose(enum store store);
/* The store called @name, which must work on this CPU. */
enum store store_find(const char *name);
/* Whether CLZERO is available, and if not whether movnti is chosen; for ours and for others. */
bool has_clzero(void);
bool uses_movnti(void);

/* rep stosb or rep stosq */
void zero_by_string(void *to, unsigned long bytes);

/* Whether to act as on a Zen CPU. */
extern bool cpu_is_zen;

/* Whether this thread has asked for CLZERO since this was last reset. */
extern __thread bool asked_for_clzero;

/* rep movsb or rep movsq: both are on all CPUs. */
void copy_by_string(void *to, const void *from, unsigned long bytes);
/* From now on, a fault goes on where the extable says, as a machine check does in the kernel. */
void use_extable(void);

struct extable {
	unsigned long		from;
	unsigned long		to;
};

/* Its beginning and end, which the linker knows if there is any. */
extern __weak const struct extable __start_extable[], __stop_extable[];

/* The sysctls, once kernel_init() has registered them. */
extern unsigned long *threshold_kbytes;
extern unsigned long *copy_threshold_kbytes;
extern int *max_threads;

void kernel_init(void);

/* What the code under test calls in zero_check and copy_check: theirs, which call the kernel's. */
int check_padata_do_multithreaded_key(const struct padata_mt_job *job, struct lock_class_key *key);
void check_zero_user_pages_uncached(struct page *page, unsigned long addr, unsigned long nr);
unsigned long check_copy_pages_uncached(struct page *to, struct page *from, unsigned long nr);

#endif /* _ZERO_KERNEL_H */
