// SPDX-License-Identifier: GPL-2.0-only
/*
 * zero_kernel.c - the kernel's side: the stores it would choose, and its sysctls
 */

#include <cpuid.h>
#include <stdio.h>
#include <string.h>

#include "zero_kernel.h"
#include "../padata/bench.h"

const char *const store_names[NR_STORES] = { "clzero", "movnti", "stosb", "stosq", "page" };

/* Checked once: in a guest, the check takes longer than zeroing 100 KiB. */
static bool works[NR_STORES];
static enum store chosen;

struct shim_cpuinfo boot_cpu_data;
bool cpu_is_zen;
bool kernel_is_preemptible = STOCK_ZEROES_EXTENTS;
bool caller_is_realtime;
__thread bool asked_for_clzero;

unsigned long *threshold_kbytes;
int *max_threads;

/*
 * The kernel decides by CPU model whether rep stosq is fast.  It is on all CPUs newer
 * than 2007, so assume that it is where the kernel does not list its flags, too.
 */
static bool rep_is_good(void)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	bool listed = false, good = false;
	char line[8192];

	while (file && !listed && fgets(line, sizeof(line), file)) {
		listed = !strncmp(line, "flags", 5);
		good = listed && strstr(line, " rep_good");
	}
	if (file)
		fclose(file);
	return good || !listed;
}

void stores_init(void)
{
	unsigned int a, b, c, d;
	bool intel = __get_cpuid(0, &a, &b, &c, &d) && b == signature_INTEL_ebx;
	enum store store = STORE_CLZERO;

	if (__get_cpuid(1, &a, &b, &c, &d))
		boot_cpu_data.x86_clflush_size = (b >> 8 & 0xff) * 8;
	works[STORE_CLZERO] = __get_cpuid(0x80000008, &a, &b, &c, &d) && b & 1;
	works[STORE_MOVNTI] = true;
	works[STORE_STOSB] = __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1 << 9;
	works[STORE_STOSQ] = rep_is_good();
	works[STORE_PAGE] = true;
	while (!works[store] || (store == STORE_MOVNTI && !intel))
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
	boot_cpu_data.x86_vendor = store == STORE_MOVNTI ? X86_VENDOR_INTEL : X86_VENDOR_AMD;
}

enum store store_find(const char *name)
{
	enum store store = 0;

	while (store < NR_STORES && strcmp(name, store_names[store]))
		store++;
	return store;
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

/* Like the kernel's oldest clear_page(): a line of eight words at a time. */
static void zero_page_in_loop(void *page)
{
	unsigned long *word = page, *end = page + PAGE_SIZE;

	for (; word < end; word += 8)
		asm volatile("movq %1, (%0)\n\t"
			     "movq %1, 8(%0)\n\t"
			     "movq %1, 16(%0)\n\t"
			     "movq %1, 24(%0)\n\t"
			     "movq %1, 32(%0)\n\t"
			     "movq %1, 40(%0)\n\t"
			     "movq %1, 48(%0)\n\t"
			     "movq %1, 56(%0)"
			     : : "r" (word), "r" (0UL) : "memory");
}

void zero_by_string(void *to, unsigned long bytes)
{
	void *end = to + bytes;

	if (has(STORE_STOSB)) {
		zero_bytes(to, bytes);
	} else if (has(STORE_STOSQ)) {
		zero_words(to, bytes);
	} else {
		for (; to < end; to += PAGE_SIZE)
			zero_page_in_loop(to);
	}
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

void register_sysctl_init(const char *path, const struct ctl_table *table)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (!strcmp(table[i].procname, "huge_page_zero_threshold_kbytes"))
			threshold_kbytes = table[i].data;
		if (!strcmp(table[i].procname, "huge_page_zero_max_threads"))
			max_threads = table[i].data;
	}
}

void kernel_init(void)
{
	if (zero_initcall() || !threshold_kbytes || !max_threads)
		bench_fail("it cannot be set up");
}
