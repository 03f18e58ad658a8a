// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench.c - what userspace benchmarks of kernel code have in common
 */

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bench.h"
#include "pool.h"

#define NS_PER_S		1000000000UL
#define REFERENCE_STEPS		450000
#define REFERENCE_BYTES		0x800000UL
#define CACHE_LINE		64
#define HUGE_BYTES		0x200000UL
#define GIB			0x40000000UL

static int host_cpus[SHIM_NR_CPUS];
static unsigned int nr_host_cpus;

uint64_t bench_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

char *bench_memory(unsigned long bytes)
{
	char *memory = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned long done;

	if (memory == MAP_FAILED)
		bench_fail("no memory: %lu MiB", bytes >> 20);
	memory = (char *)(((uintptr_t)memory + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));
	madvise(memory, bytes, MADV_HUGEPAGE);
	for (done = 0; done < bytes; done += min(bytes - done, GIB)) {
		memset(memory + done, 0xa5, min(bytes - done, GIB));
		if (bench_is_time())
			bench_say("memory: %lu MiB of %lu", done >> 20, bytes >> 20);
	}
	return memory;
}

void bench_say_work(unsigned long rounds, unsigned long bytes)
{
	bench_say("work: %lu rounds, %lu bytes", rounds, bytes);
}

bool bench_is_time(void)
{
	static uint64_t last;
	uint64_t now = bench_now_ns();

	if (now - last < NS_PER_S)
		return false;
	last = now;
	return true;
}

/* With a CPU of @set that has a lower number. */
static bool bench_shares_core(int cpu, const cpu_set_t *set)
{
	int first = cpu;
	char path[80];
	FILE *list;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu,
		 "thread_siblings_list");
	list = fopen(path, "r");
	if (!list)
		return false;
	if (fscanf(list, "%d", &first) != 1)
		first = cpu;
	fclose(list);
	return first < cpu && CPU_ISSET(first, set);
}

unsigned int bench_nr_cpus(void)
{
	cpu_set_t set;
	int cpu, shared;

	if (nr_host_cpus)
		return nr_host_cpus;
	if (sched_getaffinity(0, sizeof(set), &set))
		bench_fail("the CPUs of this process are not known");
	/* Cores first, and then their other threads, as the kernel does. */
	for (shared = 0; shared < 2; shared++) {
		for (cpu = 0; cpu < CPU_SETSIZE && nr_host_cpus < SHIM_NR_CPUS; cpu++) {
			if (CPU_ISSET(cpu, &set) && bench_shares_core(cpu, &set) == shared)
				host_cpus[nr_host_cpus++] = cpu;
		}
	}
	return nr_host_cpus;
}

static void bench_bind(unsigned int nr)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(host_cpus[nr], &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		bench_fail("a thread could not be bound to its CPU");
}

void bench_start(unsigned int nr_cpus, uint64_t seed)
{
	static struct shim_machine host;

	if (nr_cpus > bench_nr_cpus())
		bench_fail("more threads than CPUs");
	shim_machine_init(&host, nr_cpus, 1, 1);
	shim_machine = &host;
	bench_bind(0);
	pool_on_start = bench_bind;
	pool_start(nr_cpus, seed);
	if (shim_initcall())
		bench_fail("the engine has no workqueue");
}

unsigned int bench_next_threads(unsigned int threads, unsigned int most)
{
	if (threads == most)
		return 0;
	return min(threads < 8 ? threads + 1 : threads * 2, most);
}

uint64_t bench_reference_ns(const void *memory, unsigned long bytes)
{
	unsigned long length = min(bytes / 2, REFERENCE_BYTES), i;
	const char *from = (const char *)memory + bytes / 2;
	uint64_t sum = 1, start = bench_now_ns();

	for (i = 0; i < REFERENCE_STEPS; i++)
		sum = sum * 6364136223846793005ULL + 1442695040888963407ULL;
	for (i = 0; i < length; i += CACHE_LINE)
		sum += *(const uint64_t *)(from + i);

	/* Makes sure that the value is computed. */
	asm volatile("" : : "r" (sum));
	return bench_now_ns() - start;
}
