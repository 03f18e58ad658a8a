// SPDX-License-Identifier: GPL-2.0-only
/*
 * fallocate() of a file of huge pages, amid all else that can happen to the file.
 *
 *   hugefile WHAT SIZE_KB NR	with a file, or files, of NR pages
 *
 *   race	two threads allocate the pages, while others touch, read and punch them
 *   norace	the same with a mapping that reserves nothing
 *   truncate	two threads allocate the pages, while others change the file's size
 *   files	threads allocate and punch the pages of a file each
 *   signals	a timer interrupts fallocate() again and again, until all is allocated
 *   nospace	the file is to get four pages more than the pool has, and may get
 *   nomem	allocations may fail, which is retried until all pages are allocated
 *   interleave	pages come from all nodes in turn
 *   reserved	as many pages as there are in the pool are reserved for another file
 *   migrate	pages are up to date, and move to another node when requested
 *   plain	none of the above
 *
 * Pages return to the pool full of a pattern, which nobody may see.  At the end the pool
 * must be as before: the same number of pages in all, free, reserved and surplus.
 *
 * Exits with 0 if all is well, 4 if the kernel has no such pages, else 1 with a line
 * that says why.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/mempolicy.h>

#include "huge.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#endif
#define PUNCH			(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

/* See Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_PFN		((1ULL << 55) - 1)
#define KPF_UPTODATE		3

#define SECONDS			2
#define NR_FILES		3
#define ROUNDS			4

static const char * const counters[] = {
	"nr_hugepages", "free_hugepages", "resv_hugepages", "surplus_hugepages",
};

#define NR_COUNTERS		ARRAY_SIZE(counters)

static size_t size, nr, length;
static atomic_bool done;

/* What most threads work on.  Its last page is for the thread that dirties pages. */
static int shared_fd;
static unsigned char *shared;

static unsigned long counter(const char *name)
{
	unsigned long value = 0;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%zukB/%s",
		 size >> 10, name);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%lu", &value) != 1)
		finish(SKIP, "no pages of %zu KiB", size >> 10);
	fclose(file);
	return value;
}

static int make_file(void)
{
	unsigned int flags = MFD_HUGETLB | __builtin_ctzl(size) << MAP_HUGE_SHIFT;
	int fd = syscall(SYS_memfd_create, "hugefile", flags);

	if (fd < 0 || ftruncate(fd, length))
		finish(SKIP, "no memfd with pages of %zu KiB: %s", size >> 10,
		       strerror(errno));
	return fd;
}

static void map_file(int flags)
{
	shared_fd = make_file();
	shared = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | flags, shared_fd, 0);
	if (shared == MAP_FAILED)
		finish(1, "cannot map the file: %s", strerror(errno));
}

static size_t pages_in(int fd)
{
	struct stat stat;

	if (fstat(fd, &stat))
		finish(1, "fstat: %s", strerror(errno));
	return stat.st_blocks * 512UL / size;
}

static size_t size_of(int fd)
{
	struct stat stat;

	if (fstat(fd, &stat))
		finish(1, "fstat: %s", strerror(errno));
	return stat.st_size;
}

/* The number of the thread is the seed. */
static size_t pick(uint64_t *random, size_t below)
{
	*random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*random >> 33) % below;
}

/* Leaves CPUs idle: without idle CPUs, pages are allocated one by one. */
static void nap(uint64_t *random)
{
	usleep(pick(random, 1000));
}

static void expect_zero(uint64_t word, const char *who, size_t at)
{
	if (word)
		finish(1, "%s: byte %zu of page %zu is not zero: %#lx", who, at % size,
		       at / size, (unsigned long)word);
}

/* The threads */

static void *allocate(void *arg)
{
	while (!done) {
		if (fallocate(shared_fd, 0, 0, length - size))
			finish(1, "fallocate: %s", strerror(errno));
	}
	return NULL;
}

static void *punch(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	while (!done) {
		size_t page = pick(&random, nr - 1), some = 1 + pick(&random, nr - 1 - page);

		if (fallocate(shared_fd, PUNCH, page * size, some * size))
			finish(1, "punching a hole: %s", strerror(errno));
		nap(&random);
	}
	return NULL;
}

/* A SIGBUS, if a reserved page were missing, would end the test. */
static void *touch(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	while (!done) {
		size_t at = pick(&random, (length - size) / 8) * 8;

		expect_zero(__atomic_load_n((uint64_t *)(shared + at), __ATOMIC_RELAXED),
			    "a mapping", at);
		nap(&random);
	}
	return NULL;
}

static void *read_words(void *arg)
{
	uint64_t random = (uintptr_t)arg, word;

	while (!done) {
		size_t at = pick(&random, (length - size) / 8) * 8;

		word = 0;
		if (pread(shared_fd, &word, sizeof(word), at) < 0)
			finish(1, "pread: %s", strerror(errno));
		expect_zero(word, "pread", at);
		nap(&random);
	}
	return NULL;
}

/* Fills the pages that others get next. */
static void *make_dirty(void *arg)
{
	uint64_t random = (uintptr_t)arg;
	size_t at = length - size;

	while (!done) {
		memset(shared + at, PATTERN, size);
		if (fallocate(shared_fd, PUNCH, at, size))
			finish(1, "punching the last page: %s", strerror(errno));
		nap(&random);
	}
	return NULL;
}

static void *change_size(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	while (!done) {
		if (ftruncate(shared_fd, pick(&random, nr) * size))
			finish(1, "ftruncate: %s", strerror(errno));
		nap(&random);
	}
	return NULL;
}

/* Past the end of the file this fails, where a memory access would raise a SIGBUS. */
static void *populate(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	while (!done) {
		madvise(shared + pick(&random, nr) * size, size, MADV_POPULATE_READ);
		nap(&random);
	}
	return NULL;
}

static void *own_file(void *arg)
{
	int fd = make_file();

	while (!done) {
		if (fallocate(fd, 0, 0, length) || pages_in(fd) != nr)
			finish(1, "fallocate: %s, %zu pages", strerror(errno), pages_in(fd));
		if (fallocate(fd, PUNCH, 0, length) || pages_in(fd))
			finish(1, "punching: %s, %zu pages", strerror(errno), pages_in(fd));
	}
	close(fd);
	return NULL;
}

static void run(void *(*const threads[])(void *), unsigned int nr_threads)
{
	pthread_t ids[8];
	uintptr_t i;

	for (i = 0; i < nr_threads; i++) {
		if (pthread_create(&ids[i], NULL, threads[i], (void *)(i + 1)))
			finish(1, "no thread: %s", strerror(errno));
	}
	sleep(SECONDS);
	done = true;
	for (i = 0; i < nr_threads; i++)
		pthread_join(ids[i], NULL);
}

static void race(int flags)
{
	static void *(*const threads[])(void *) = {
		allocate, allocate, punch, touch, touch, read_words, make_dirty,
	};

	map_file(flags);
	run(threads, ARRAY_SIZE(threads));
}

static void truncate_file(void)
{
	static void *(*const threads[])(void *) = {
		allocate, allocate, change_size, populate, populate, read_words,
	};

	map_file(0);
	run(threads, ARRAY_SIZE(threads));
}

static void files(void)
{
	static void *(*const threads[NR_FILES])(void *) = { own_file, own_file, own_file };

	shared_fd = -1;
	run(threads, NR_FILES);
}

static void on_alarm(int sig)
{
}

/* There is progress as long as signals come less often than pages are allocated. */
static void signals(void)
{
	/* On any machine much less than the time to zero all pages. */
	struct itimerval timer = { { 0, 50 }, { 0, 50 } };
	struct sigaction action = { .sa_handler = on_alarm };
	unsigned long interrupted = 0;

	shared_fd = make_file();
	if (ftruncate(shared_fd, 0))
		finish(1, "ftruncate: %s", strerror(errno));
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (fallocate(shared_fd, 0, 0, length)) {
		if (errno != EINTR)
			finish(1, "fallocate: %s", strerror(errno));
		/* As after any fallocate(): what was allocated is part of the file. */
		if (size_of(shared_fd) != length)
			finish(1, "interrupted: %zu of %zu bytes", size_of(shared_fd), length);
		/* Make signals rarer, so that in the end everything can be allocated. */
		timer.it_interval.tv_usec += 100;
		timer.it_value = timer.it_interval;
		setitimer(ITIMER_REAL, &timer, NULL);
		interrupted++;
	}
	timer = (struct itimerval){ };
	setitimer(ITIMER_REAL, &timer, NULL);
	if (!interrupted || pages_in(shared_fd) != nr)
		finish(1, "%zu of %zu pages, interrupted %lu times", pages_in(shared_fd), nr,
		       interrupted);
}

static void nospace(void)
{
	size_t free = counter("free_hugepages") - counter("resv_hugepages");

	free += counter("nr_overcommit_hugepages");
	nr = free + 4;
	length = nr * size;
	shared_fd = make_file();
	if (!fallocate(shared_fd, 0, 0, length) || errno != ENOSPC)
		finish(1, "fallocate of more than there is: %s", strerror(errno));
	if (pages_in(shared_fd) != free || counter("free_hugepages") != counter("resv_hugepages"))
		finish(1, "%zu of %zu pages were allocated, %lu are free",
		       pages_in(shared_fd), free, counter("free_hugepages"));
}

static void check_zero(const char *who)
{
	size_t at;

	for (at = 0; at < length; at += sizeof(uint64_t))
		expect_zero(*(uint64_t *)(shared + at), who, at);
}

/* What was allocated before a failure is kept, so each try has less to do. */
static void nomem(void)
{
	unsigned long failed = 0;
	int round;

	map_file(MAP_NORESERVE);
	for (round = 0; round < ROUNDS; round++) {
		let_allocations_fail(true);
		while (fallocate(shared_fd, 0, 0, length)) {
			if (errno != ENOMEM)
				finish(1, "fallocate: %s", strerror(errno));
			failed++;
		}
		let_allocations_fail(false);
		if (pages_in(shared_fd) != nr)
			finish(1, "%zu of %zu pages", pages_in(shared_fd), nr);
		check_zero("fallocate");
		memset(shared, PATTERN, length);
		if (fallocate(shared_fd, PUNCH, 0, length) || pages_in(shared_fd))
			finish(1, "punching: %s, %zu pages", strerror(errno), pages_in(shared_fd));
	}
	printf("failed %lu times\n", failed);
}

/*
 * Everything that is read is zero, though the pool is full of the pattern.  Without a
 * reservation it is fallocate() that has to find the pages.
 */
static void plain(void)
{
	int twice;

	for (twice = 0; twice < 2; twice++) {
		map_file(MAP_NORESERVE);
		if (fallocate(shared_fd, 0, 0, length) || pages_in(shared_fd) != nr)
			finish(1, "fallocate: %s", strerror(errno));
		check_zero("fallocate");
		memset(shared, PATTERN, length);
		if (twice)
			break;
		munmap(shared, length);
		close(shared_fd);
	}
}

/* All free pages are reserved for the other file, so each may have to be waited for. */
static void reserved(void)
{
	int fd = make_file();
	void *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (pages == MAP_FAILED)
		finish(1, "mmap: %s", strerror(errno));
	plain();
	munmap(pages, length);
	close(fd);
}

static unsigned long allowed_nodes(void)
{
	unsigned long all = 0;

	if (syscall(SYS_get_mempolicy, NULL, &all, 64UL, 0UL,
		    (unsigned long)MPOL_F_MEMS_ALLOWED))
		finish(SKIP, "no memory policies: %s", strerror(errno));
	return all;
}

static void interleave(void)
{
	unsigned long nodes[64] = { }, all = allowed_nodes(), node;
	size_t page;
	int status;

	if (syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &all, 64UL))
		finish(SKIP, "no memory policies: %s", strerror(errno));
	plain();
	for (page = 0; page < nr; page++) {
		if (syscall(SYS_get_mempolicy, &status, NULL, 0UL, shared + page * size,
			    (unsigned long)(MPOL_F_NODE | MPOL_F_ADDR)))
			finish(1, "get_mempolicy: %s", strerror(errno));
		nodes[status & 63]++;
	}
	for (node = 0; node < 64; node++) {
		if ((all >> node & 1) && nodes[node] != nr / __builtin_popcountl(all))
			finish(1, "%lu pages are on node %lu", nodes[node], node);
	}
}

static uint64_t word_of(const char *path, uint64_t index)
{
	int fd = open(path, O_RDONLY);
	uint64_t word;

	if (fd < 0 || pread(fd, &word, sizeof(word), index * sizeof(word)) != sizeof(word))
		finish(SKIP, "%s: %s", path, strerror(errno));
	close(fd);
	return word;
}

static void check_up_to_date(const unsigned char *page)
{
	uint64_t entry = word_of("/proc/self/pagemap", (uintptr_t)page / getpagesize());

	if (!(word_of("/proc/kpageflags", entry & PAGEMAP_PFN) & 1ULL << KPF_UPTODATE))
		finish(1, "page %zu is not up to date", (page - shared) / size);
}

/* Mapped for reading, which does not change what fallocate() has made of a page. */
static void migrate(void)
{
	unsigned long all = allowed_nodes();
	size_t at;

	map_file(0);
	if (fallocate(shared_fd, 0, 0, length))
		finish(1, "fallocate: %s", strerror(errno));
	for (at = 0; at < length; at += size) {
		void *page = shared + at;
		int node, to, now = -1;

		expect_zero(__atomic_load_n((uint64_t *)page, __ATOMIC_RELAXED), "fallocate", at);
		check_up_to_date(page);
		if (syscall(SYS_move_pages, 0, 1UL, &page, NULL, &node, 0) || node < 0)
			finish(1, "move_pages: %s, node %d", strerror(errno), node);
		to = __builtin_ctzl(all & ~(1UL << node) ?: all);
		if (syscall(SYS_move_pages, 0, 1UL, &page, &to, &now, MPOL_MF_MOVE) || now != to)
			finish(1, "page %zu: from node %d to %d: %d", at / size, node, to, now);
	}
}

static void do_what(const char *what)
{
	if (!strcmp(what, "race"))
		race(0);
	else if (!strcmp(what, "norace"))
		race(MAP_NORESERVE);
	else if (!strcmp(what, "truncate"))
		truncate_file();
	else if (!strcmp(what, "files"))
		files();
	else if (!strcmp(what, "signals"))
		signals();
	else if (!strcmp(what, "nospace"))
		nospace();
	else if (!strcmp(what, "nomem"))
		nomem();
	else if (!strcmp(what, "interleave"))
		interleave();
	else if (!strcmp(what, "reserved"))
		reserved();
	else if (!strcmp(what, "migrate"))
		migrate();
	else if (!strcmp(what, "plain"))
		plain();
	else
		finish(1, "no '%s'", what);
}

int main(int argc, char **argv)
{
	unsigned long before[NR_COUNTERS];
	size_t i;

	if (argc != 4)
		finish(1, "hugefile WHAT SIZE_KB NR");
	size = strtoul(argv[2], NULL, 0) << 10;
	nr = strtoul(argv[3], NULL, 0);
	if (!size || size & (size - 1) || nr < 2)
		finish(1, "no such number of pages of that size");
	length = size * nr;

	for (i = 0; i < NR_COUNTERS; i++)
		before[i] = counter(counters[i]);
	do_what(argv[1]);
	if (shared)
		munmap(shared, length);
	if (shared_fd >= 0)
		close(shared_fd);
	for (i = 0; i < NR_COUNTERS; i++) {
		if (counter(counters[i]) != before[i])
			finish(1, "%s was %lu and is %lu", counters[i], before[i],
			       counter(counters[i]));
	}
	return 0;
}
