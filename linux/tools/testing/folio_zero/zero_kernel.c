// SPDX-License-Identifier: GPL-2.0-only
/*
 * zero_kernel.c - the kernel's side: the stores it would choose, and its sysctls
 */

#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "zero_kernel.h"
#include "../padata/bench.h"
#include "../padata/x86_cpu.h"

const char *const store_names[NR_STORES] = { "clzero", "movnti", "stosb", "stosq" };

/* Checked once: in a guest, the check takes longer than zeroing 100 KiB. */
static bool works[NR_STORES];
static enum store chosen;

struct shim_cpuinfo boot_cpu_data;
bool cpu_is_zen;
bool kernel_is_preemptible = STOCK_ZEROES_EXTENTS;
bool caller_is_realtime;
__thread bool asked_for_clzero;

unsigned long *threshold_kbytes;
unsigned long *copy_threshold_kbytes;
int *max_threads;

void stores_init(void)
{
	unsigned int a, b, c, d;
	bool rapids = cpu_is_rapids();
	enum store store = STORE_CLZERO;

	if (__get_cpuid(1, &a, &b, &c, &d))
		boot_cpu_data.x86_clflush_size = (b >> 8 & 0xff) * 8;
	works[STORE_CLZERO] = __get_cpuid(0x80000008, &a, &b, &c, &d) && b & 1;
	works[STORE_MOVNTI] = true;
	works[STORE_STOSB] = __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1 << 9;
	works[STORE_STOSQ] = true;
	while (!works[store] || (store == STORE_MOVNTI && !rapids))
		store++;
	store_choose(store);
}

bool store_works(enum store store)
{
	return works[store];
}

void store_choose(enum store store)
{
	chosen = store;
	boot_cpu_data.x86_vfm = store == STORE_MOVNTI ? INTEL_EMERALDRAPIDS_X : 0;
}

enum store store_find(const char *name)
{
	enum store store;

	for (store = 0; store < NR_STORES; store++) {
		if (!strcmp(name, store_names[store]) && works[store])
			return store;
	}
	bench_fail("store %s: not on this CPU, or there is none", name);
}

static bool has(enum store store)
{
	return chosen <= store && works[store];
}

bool has_clzero(void)
{
	return has(STORE_CLZERO);
}

bool uses_movnti(void)
{
	return chosen == STORE_MOVNTI;
}

bool cpu_feature_enabled(int feature)
{
	if (feature == X86_FEATURE_ZEN)
		return cpu_is_zen;
	asked_for_clzero = true;
	return has(STORE_CLZERO);
}

static void zero_bytes(void *to, unsigned long bytes)
{
	asm volatile("rep stosb" : "+D" (to), "+c" (bytes) : "a" (0) : "memory");
}

static void zero_words(void *to, unsigned long bytes)
{
	unsigned long words = bytes / sizeof(long);

	asm volatile("rep stosq" : "+D" (to), "+c" (words) : "a" (0) : "memory");
}

void zero_by_string(void *to, unsigned long bytes)
{
	if (has(STORE_STOSB))
		zero_bytes(to, bytes);
	else
		zero_words(to, bytes);
}

void clear_page(void *page)
{
	zero_by_string(page, PAGE_SIZE);
}

/* zero_check.c has its own. */
__weak void clear_user_highpages(struct page *page, unsigned long addr, unsigned int nr)
{
	zero_by_string(page, nr * PAGE_SIZE);
}

void copy_by_string(void *to, const void *from, unsigned long bytes)
{
	unsigned long words = bytes / sizeof(long);

	if (has(STORE_STOSB))
		asm volatile("rep movsb" : "+D" (to), "+S" (from), "+c" (bytes) : : "memory");
	else
		asm volatile("rep movsq" : "+D" (to), "+S" (from), "+c" (words) : : "memory");
}

/* copy_check.c has its own. */
__weak int copy_mc_highpage(struct page *to, struct page *from)
{
	copy_by_string(to, from, PAGE_SIZE);
	return 0;
}

__weak int copy_mc_user_highpage(struct page *to, struct page *from, unsigned long addr,
				 struct vm_area_struct *vma)
{
	return copy_mc_highpage(to, from);
}

static void fixup(int signal, siginfo_t *info, void *context)
{
	greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	const struct extable *entry;

	for (entry = __start_extable; entry < __stop_extable; entry++) {
		if (entry->from == *ip) {
			*ip = entry->to;
			return;
		}
	}
	bench_fail("a fault at %#llx, which has no entry in the extable", *ip);
}

void use_extable(void)
{
	struct sigaction action = { .sa_sigaction = fixup, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
}

/* One of folio_copy.c, two of folio_zero.c */
void register_sysctl_init(const char *path, const struct ctl_table *table)
{
	int i;

	if (!strcmp(table->procname, "huge_page_copy_threshold_kbytes")) {
		copy_threshold_kbytes = table->data;
		return;
	}
	for (i = 0; i < 2; i++) {
		if (!strcmp(table[i].procname, "huge_page_zero_threshold_kbytes"))
			threshold_kbytes = table[i].data;
		if (!strcmp(table[i].procname, "huge_page_max_threads"))
			max_threads = table[i].data;
	}
}

void kernel_init(void)
{
	if (folio_zero_initcall() || folio_copy_initcall() || !threshold_kbytes || !max_threads ||
	    !copy_threshold_kbytes)
		bench_fail("it cannot be set up");
}
