// SPDX-License-Identifier: GPL-2.0-only
/*
 * Huge pages as a program sees them: check that they are zero, and always were.
 *
 *   hugepages zero KIND SIZE_KB NR	fill memory with a pattern and give it back,
 *					get it again, and look at every byte
 *   hugepages poll KIND SIZE_KB NR	the same, while threads read from the pages all
 *					the time: none may ever see the pattern
 *   hugepages many KIND SIZE_KB NR	threads touch different pages at once; NR each
 *   hugepages time KIND SIZE_KB NR	the time to touch NR pages, in ns per page
 *   hugepages nomem KIND SIZE_KB NR	as zero, while allocations may fail
 *   hugepages copy KIND SIZE_KB NR	fill memory and write to each page while somebody else
 *					maps it: all else is copied, and he keeps what there was.
 *					private: a child; file: a shared mapping of the same file
 *   hugepages move KIND SIZE_KB NR	move pages from node to node, while threads count
 *					in them: no increment is ever lost
 *
 * KIND is private or shared (anonymous hugetlb mappings), file or fallocate (a memfd
 * with huge pages, touched or allocated), thp (madvise), shmem or shmem-fallocate (a
 * memfd with transparent huge pages, touched, or allocated and then touched).
 *
 * Exits with 0 if all is well, 4 if the kernel has no such pages, else 1 with a line
 * that says why.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT	26
#endif

#ifndef MFD_HUGETLB
#define MFD_HUGETLB	0x0004U
#endif

/* What memory is filled with before it is freed: nobody may ever see it again. */
#define PATTERN		0xa5

#define NR_READERS	2
#define NR_THREADS	8
#define NR_MOVES	20

/* Exit status: the kernel has nothing of what is asked for */
#define SKIP		4

enum kind { PRIVATE, SHARED, FILE_TOUCHED, FALLOCATE, THP, SHMEM, SHMEM_FALLOCATE };
static const char * const kinds[] = {
	"private", "shared", "file", "fallocate", "thp", "shmem", "shmem-fallocate",
};

static enum kind kind;
static size_t size, nr, length;

/* The current mapping, for readers. */
static unsigned char *memory;
static atomic_bool done;
static atomic_bool dirty;

/* May be called by any thread. */
static void finish(int status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	_exit(status);
}

/*
 * From now on, the kernel's allocations for this thread may fail, or no longer may.  How
 * many do, and which, depends on the settings of debugfs' failslab and fail_page_alloc.
 */
static void let_allocations_fail(bool may_fail)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/proc/self/make-it-fail", O_WRONLY);
	if (fd < 0)
		finish(SKIP, "needs /proc/self/make-it-fail (CONFIG_FAULT_INJECTION)");
	while (pwrite(fd, may_fail ? "1" : "0", 1, 0) != 1)
		;
}

static unsigned int size_flag(void)
{
	return (unsigned int)__builtin_ctzl(size) << MAP_HUGE_SHIFT;
}

static void *map(int flags, int fd)
{
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		finish(SKIP, "no %zu pages of %zu KiB: %s", nr, size >> 10,
		       strerror(errno));
	return p;
}

static void *map_memfd(unsigned int flags)
{
	int fd = syscall(SYS_memfd_create, "hugepages", flags);
	void *p;

	if (fd < 0 || ftruncate(fd, length))
		finish(SKIP, "no memfd with pages of %zu KiB: %s", size >> 10,
		       strerror(errno));
	p = map(MAP_SHARED, fd);
	memory = p;
	if ((kind == FALLOCATE || kind == SHMEM_FALLOCATE) && fallocate(fd, 0, 0, length))
		finish(1, "fallocate: %s", strerror(errno));
	close(fd);
	return p;
}

/* Aligned, so that all of it can be huge pages. */
static void *map_thp(void)
{
	uintptr_t from = (uintptr_t)mmap(NULL, length + size, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t start = (from + size - 1) & ~(size - 1);

	if ((void *)from == MAP_FAILED)
		finish(SKIP, "cannot map: %s", strerror(errno));
	if (start > from)
		munmap((void *)from, start - from);
	munmap((void *)(start + length), from + size - start);
	if (madvise((void *)start, length, MADV_HUGEPAGE))
		finish(SKIP, "no transparent huge pages: %s", strerror(errno));
	return (void *)start;
}

static void *get_memory(void)
{
	int hugetlb = MAP_ANONYMOUS | MAP_HUGETLB | (int)size_flag();

	switch (kind) {
	case PRIVATE:
		return map(MAP_PRIVATE | hugetlb, -1);
	case SHARED:
		return map(MAP_SHARED | hugetlb, -1);
	case FILE_TOUCHED:
	case FALLOCATE:
		return map_memfd(MFD_HUGETLB | size_flag());
	case THP:
		return map_thp();
	case SHMEM:
	case SHMEM_FALLOCATE:
		return map_memfd(0);
	}
	return NULL;
}

/* At a different offset in each page, as the place that is touched is zeroed last. */
static size_t touched_at(size_t page)
{
	return (page * 7919 + 4096 * 3 + 8) % size;
}

static void touch(unsigned char *p, size_t page)
{
	__atomic_store_n(p + page * size + touched_at(page), 0, __ATOMIC_RELAXED);
}

static void touch_all(unsigned char *p)
{
	size_t page;

	for (page = 0; page < nr; page++)
		touch(p, page);
}

/* What was freed last is what the kernel hands out next. */
static void make_dirty(void)
{
	unsigned char *p = get_memory();

	memset(p, PATTERN, length);
	memory = NULL;
	munmap(p, length);
}

static void check_zero(const unsigned char *p)
{
	const uint64_t *word = (const uint64_t *)p;
	size_t i;

	for (i = 0; i < length / sizeof(*word); i++) {
		if (word[i])
			finish(1, "byte %zu of page %zu is not zero: %#lx",
			       i * sizeof(*word) % size, i * sizeof(*word) / size,
			       (unsigned long)word[i]);
	}
}

static void zero(void)
{
	unsigned char *p;

	make_dirty();
	p = get_memory();
	touch_all(p);
	check_zero(p);
	munmap(p, length);
}

/* A fault for which there is no memory is repeated. */
static void zero_without_memory(void)
{
	unsigned char *p;

	make_dirty();
	p = get_memory();
	let_allocations_fail(true);
	touch_all(p);
	let_allocations_fail(false);
	check_zero(p);
	munmap(p, length);
}

/* A reader's fault may be the one that allocates a page. */
static void *reader(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	while (!done) {
		unsigned char *p = memory;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		if (p && __atomic_load_n(p + (random >> 20) % length, __ATOMIC_RELAXED))
			dirty = true;
	}
	return NULL;
}

/*
 * A mapping of their own would make the readers fault like the writer: they share the
 * writer's, and read it as soon as it exists.  Nothing writes anything but zeros.
 */
static void poll_pages(void)
{
	pthread_t threads[NR_READERS];
	unsigned char *p;
	uintptr_t i;

	make_dirty();
	for (i = 0; i < NR_READERS; i++)
		pthread_create(&threads[i], NULL, reader, (void *)(i * 12345 + 1));
	p = get_memory();
	memory = p;
	touch_all(p);
	check_zero(p);
	done = true;
	for (i = 0; i < NR_READERS; i++)
		pthread_join(threads[i], NULL);
	if (dirty)
		finish(1, "a reader saw memory that was not zeroed");
}

static pthread_barrier_t barrier;

static void *toucher(void *arg)
{
	unsigned char *p = arg;
	size_t page;

	pthread_barrier_wait(&barrier);
	for (page = 0; page < nr; page++)
		touch(p, page * NR_THREADS);
	return NULL;
}

/* Thread i touches pages i, i + NR_THREADS, ... */
static void many(void)
{
	pthread_t threads[NR_THREADS];
	unsigned char *p;
	int i;

	length *= NR_THREADS;
	p = get_memory();
	pthread_barrier_init(&barrier, NULL, NR_THREADS);
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, toucher, p + i * size);
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	check_zero(p);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void time_pages(void)
{
	uint64_t start = now_ns();
	unsigned char *p = get_memory();

	touch_all(p);
	printf("%lu\n", (unsigned long)((now_ns() - start) / nr));
}

/* Bind what the thread allocates to the last node there is. */
static int bind_last_node(void)
{
	unsigned long nodes;
	int node;

	for (node = 63; node; node--) {
		nodes = 1UL << node;
		/* MPOL_BIND */
		if (!syscall(SYS_set_mempolicy, 2, &nodes, 64UL))
			break;
	}
	return node;
}

/* What a word is filled with: there are no two alike. */
static uint64_t filling(size_t word)
{
	return word * 0x9e3779b97f4a7c15ULL | 1;
}

static void fill(unsigned char *p)
{
	size_t i;

	for (i = 0; i < length / sizeof(uint64_t); i++)
		((uint64_t *)p)[i] = filling(i);
}

/* @skip says which words somebody has written to since, %NULL: none. */
static void check_filled(const unsigned char *p, bool (*skip)(size_t word))
{
	size_t i;

	for (i = 0; i < length / sizeof(uint64_t); i++) {
		if (((const uint64_t *)p)[i] != filling(i) && !(skip && skip(i)))
			finish(1, "word %zu of %zu is no copy", i, length / sizeof(uint64_t));
	}
}

static bool is_touched(size_t word)
{
	size_t at = word * sizeof(uint64_t);

	return at % size == touched_at(at / size) / sizeof(uint64_t) * sizeof(uint64_t);
}

/* Pages of a file, which a private mapping gets copies of. */
static void copy_file(void)
{
	int fd = syscall(SYS_memfd_create, "hugepages", MFD_HUGETLB | size_flag());
	unsigned char *shared, *p;

	if (fd < 0 || ftruncate(fd, length))
		finish(SKIP, "no memfd with pages of %zu KiB: %s", size >> 10, strerror(errno));
	shared = map(MAP_SHARED, fd);
	fill(shared);
	p = map(MAP_PRIVATE, fd);
	touch_all(p);
	check_filled(p, is_touched);
	check_filled(shared, NULL);
}

/*
 * The parent owns the pages, and so is the one that gets copies.  Not for pages of 1 GiB: in
 * stock 6.12.117, fork() may leave them out.
 */
static void copy_of_parent(void)
{
	unsigned char *p = get_memory();
	int status, written[2];
	pid_t pid;
	char c;

	fill(p);
	if (pipe(written))
		finish(1, "pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		if (read(written[0], &c, 1) == 1)
			check_filled(p, NULL);
		_exit(0);
	}
	touch_all(p);
	check_filled(p, is_touched);
	if (write(written[1], "", 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		finish(1, "the child: status %#x", status);
	munmap(p, length);
}

static bool is_counter(size_t word)
{
	return word * sizeof(uint64_t) % size / 64 < NR_READERS;
}

/* Each thread has a line of its own at the start of each page. */
static void *counter(void *arg)
{
	size_t at = (uintptr_t)arg * 64, page;
	uint64_t count;

	for (count = 0; !done; count++) {
		for (page = 0; page < nr; page++) {
			uint64_t *word = (uint64_t *)(memory + page * size + at);

			if (__atomic_load_n(word, __ATOMIC_RELAXED) != count)
				dirty = true;
			__atomic_store_n(word, count + 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

/* A page that somebody else uses meanwhile stays where it is. */
static unsigned int move_all(int node)
{
	unsigned int moved = 0;
	size_t page;

	for (page = 0; page < nr; page++) {
		void *at = memory + page * size;
		int status = -1;

		/* MPOL_MF_MOVE */
		if (syscall(SYS_move_pages, 0, 1UL, &at, &node, &status, 2) < 0)
			finish(SKIP, "move_pages: %s", strerror(errno));
		moved += status == node;
	}
	return moved;
}

static void move(void)
{
	unsigned int moved = 0, i;
	int far = bind_last_node();
	pthread_t threads[NR_READERS];
	size_t page;

	if (!far)
		finish(SKIP, "there is one node");
	/* MPOL_DEFAULT */
	syscall(SYS_set_mempolicy, 0, NULL, 0UL);
	memory = get_memory();
	fill(memory);
	for (i = 0; i < NR_READERS; i++) {
		for (page = 0; page < nr; page++)
			*(uint64_t *)(memory + page * size + i * 64) = 0;
	}
	for (i = 0; i < NR_READERS; i++)
		pthread_create(&threads[i], NULL, counter, (void *)(uintptr_t)i);
	for (i = 0; i < NR_MOVES; i++)
		moved += move_all(i % 2 ? 0 : far);
	done = true;
	for (i = 0; i < NR_READERS; i++)
		pthread_join(threads[i], NULL);
	check_filled(memory, is_counter);
	if (dirty)
		finish(1, "an increment was lost");
	if (!moved)
		finish(1, "no page was moved");
}

static void parse(char **argv)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(argv[2], kinds[i]))
			break;
	}
	if (i == ARRAY_SIZE(kinds))
		finish(1, "no kind '%s'", argv[2]);
	kind = i;
	size = strtoul(argv[3], NULL, 0) << 10;
	nr = strtoul(argv[4], NULL, 0);
	if (!size || size & (size - 1) || !nr)
		finish(1, "no such number of pages of that size");
	length = size * nr;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		finish(1, "hugepages zero|poll|many|time|nomem|copy|move KIND SIZE_KB NR");
	parse(argv);
	if (!strcmp(argv[1], "zero"))
		zero();
	else if (!strcmp(argv[1], "poll"))
		poll_pages();
	else if (!strcmp(argv[1], "many"))
		many();
	else if (!strcmp(argv[1], "time"))
		time_pages();
	else if (!strcmp(argv[1], "nomem"))
		zero_without_memory();
	else if (!strcmp(argv[1], "copy"))
		kind == FILE_TOUCHED ? copy_file() : copy_of_parent();
	else if (!strcmp(argv[1], "move"))
		move();
	else
		finish(1, "no '%s'", argv[1]);
	return 0;
}
