// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned pages as a program sees them: have its memory mapped for a device, and check that
 * the device gets to each page.
 *
 *   pinpages mock MEMORY MIB [NTH]		for iommufd's mock domain (CONFIG_IOMMUFD_TEST)
 *   pinpages GROUP:DEVICE MEMORY MIB [NTH]	through VFIO, for QEMU's device "edu", such as
 *						/dev/vfio/3:0000:00:04.0
 *
 * MEMORY is new, there (touched, in small pages), thp (touched, in huge pages), begun (as thp,
 * but only the first three quarters are touched), hugetlb or gigantic (not touched, in pages of
 * 2 MiB or 1 GiB), hole (there, but for one page in the middle), or short (of a file that ends
 * one page after its middle).  "locked" is as there, for a task without CAP_IPC_LOCK.  With NTH,
 * the kernel's allocation of that number, from 1 on, fails while the memory is mapped: see the
 * settings of debugfs' failslab and fail_page_alloc.
 *
 * Prints the time that it takes to map the memory, and to unmap it, in us.  Exits with 0 if
 * all is well, 3 if the memory cannot be mapped, 4 if there is no such device or memory, 5 if
 * there were fewer than NTH allocations, and 1 if the device does not get to what is mapped, or
 * what is not counts as locked; with a line that says why.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/vfio.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../../../include/uapi/linux/iommufd.h"
#include "program.h"

#define PAGE		4096UL
#define HUGE_PAGE	(2UL << 20)

/* Exit status */
#define WRONG		1
#define NOT_MAPPED	3
#define NOT_FAILED	5

/* As in drivers/iommu/iommufd/iommufd_test.h */
#define TEST_CMD	_IO(IOMMUFD_TYPE, IOMMUFD_CMD_BASE + 32)
#define OP_MOCK_DOMAIN	2
#define OP_MD_CHECK_MAP	3
#define MOCK_APERTURE	0x1000000UL

struct test_cmd {
	__u32 size, op, id, reserved;
	union {
		struct {
			__u32 out_stdev_id, out_hwpt_id, out_idev_id;
		} mock_domain;
		struct {
			__u64 iova, length, uptr;
		} check_map;
		__u64 room[6];
	};
	__u32 last;
};

/* Registers of edu, QEMU's docs/specs/edu.rst, and the place of its buffer */
#define EDU_DMA_SOURCE	0x80
#define EDU_DMA_TARGET	0x88
#define EDU_DMA_COUNT	0x90
#define EDU_DMA_COMMAND	0x98
#define EDU_START	1
#define EDU_TO_MEMORY	2
#define EDU_BUFFER	0x40000
#define EDU_TRIES	60000		/* a tenth of a second is usual */
#define EDU_BYTES	2048UL		/* less than its buffer has: QEMU 7 is off by one */
#define PCI_COMMAND	4
#define PCI_MEMORY	6		/* memory, and DMA */

/* Not below the addresses that interrupts have */
#define VFIO_IOVA	(4UL << 30)
#define NR_COPIES	5

static unsigned char *memory;
static size_t length;
static const char *nth;			/* allocation that fails, if any */

static void call(int status, int fd, unsigned long request, void *arg, const char *what)
{
	if (ioctl(fd, request, arg) < 0)
		finish(status, "%s: %s", what, strerror(errno));
}

static int open_or_skip(const char *path)
{
	int fd = open(path, O_RDWR);

	if (fd < 0)
		finish(SKIP, "%s: %s", path, strerror(errno));
	return fd;
}

/*
 * Memory
 */

static void *map(size_t size, int flags)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
		       -1, 0);

	if (p == MAP_FAILED)
		finish(SKIP, "no memory: %s", strerror(errno));
	return p;
}

static void get_memory(const char *kind)
{
	bool huge = !strcmp(kind, "thp") || !strcmp(kind, "begun");
	size_t touched = strcmp(kind, "begun") ? length : length / 4 * 3;
	uintptr_t from;

	if (!strcmp(kind, "hugetlb") || !strcmp(kind, "gigantic")) {
		int log = *kind == 'h' ? 21 : 30;

		memory = map(length, MAP_HUGETLB | log << MAP_HUGE_SHIFT);
		return;
	}

	if (!strcmp(kind, "short")) {
		int fd = syscall(SYS_memfd_create, "pinpages", 0);

		if (fd < 0 || ftruncate(fd, length / 2 + PAGE))
			finish(SKIP, "memfd: %s", strerror(errno));
		memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (memory == MAP_FAILED)
			finish(SKIP, "no memory: %s", strerror(errno));
		return;
	}

	from = (uintptr_t)map(length + HUGE_PAGE, 0);
	memory = (unsigned char *)((from + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	/* Chunks of jobs begin where huge pages would; jobs may begin elsewhere. */
	if (!huge)
		memory += PAGE;
	if (madvise(memory, length, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
		finish(SKIP, "madvise: %s", strerror(errno));
	if (!strcmp(kind, "new"))
		return;

	for (size_t i = 0; i < touched; i += PAGE)
		*(size_t *)(memory + i) = i;
	if (!strcmp(kind, "hole") && munmap(memory + length / 2, PAGE))
		finish(WRONG, "munmap: %s", strerror(errno));
}

/* So that RLIMIT_MEMLOCK is what counts */
static void drop_cap_ipc_lock(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		finish(WRONG, "capget: %s", strerror(errno));
	data[0].effective &= ~(1U << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &header, data))
		finish(WRONG, "capset: %s", strerror(errno));
}

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/*
 * Mapping
 */

static int let_nth_fail(void)
{
	int fd = open_or_skip("/proc/thread-self/fail-nth");

	if (write(fd, nth, strlen(nth)) < 0)
		finish(WRONG, "fail-nth: %s", strerror(errno));
	return fd;
}

/* Whether the allocation has failed.  From now on, none does. */
static bool has_failed(int fd)
{
	char left[16] = "";

	if (pread(fd, left, sizeof(left) - 1, 0) < 0 || pwrite(fd, "0", 1, 0) < 0)
		finish(WRONG, "fail-nth: %s", strerror(errno));
	close(fd);
	return !atoi(left);
}

static void check_nothing_locked(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long kib;
	char line[128];

	if (!file)
		finish(WRONG, "/proc/self/status: %s", strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		if ((sscanf(line, "VmLck: %lu", &kib) == 1 ||
		     sscanf(line, "VmPin: %lu", &kib) == 1) && kib)
			finish(WRONG, "not mapped, but %s", line);
	}
	fclose(file);
}

static void map_for_device(int fd, unsigned long request, void *arg, const char *what)
{
	int failing = nth ? let_nth_fail() : -1;
	int error = ioctl(fd, request, arg) < 0 ? errno : 0;

	if (nth && !has_failed(failing))
		finish(NOT_FAILED, "fewer than %s allocations", nth);
	if (!error)
		return;
	check_nothing_locked();
	finish(NOT_MAPPED, "%s: %s", what, strerror(error));
}

/*
 * iommufd's mock domain
 */

static void use_mock(void)
{
	struct test_cmd domain = { .size = sizeof(domain), .op = OP_MOCK_DOMAIN };
	struct test_cmd check = { .size = sizeof(check), .op = OP_MD_CHECK_MAP };
	struct iommu_ioas_alloc ioas = { .size = sizeof(ioas) };
	struct iommu_ioas_unmap unmap = { .size = sizeof(unmap) };
	struct iommu_ioas_map mapping = {
		.size		= sizeof(mapping),
		.flags		= IOMMU_IOAS_MAP_FIXED_IOVA | IOMMU_IOAS_MAP_WRITEABLE |
				  IOMMU_IOAS_MAP_READABLE,
		.user_va	= (uintptr_t)memory,
		.length		= length,
		.iova		= MOCK_APERTURE,
	};
	int fd = open_or_skip("/dev/iommu");
	long began, mapped, checked;

	call(WRONG, fd, IOMMU_IOAS_ALLOC, &ioas, "IOAS_ALLOC");
	domain.id = ioas.out_ioas_id;
	call(SKIP, fd, TEST_CMD, &domain, "MOCK_DOMAIN");

	mapping.ioas_id = ioas.out_ioas_id;
	began = now_us();
	map_for_device(fd, IOMMU_IOAS_MAP, &mapping, "IOAS_MAP");
	mapped = now_us();

	/* It compares each page there with the page of this program. */
	check.id = domain.mock_domain.out_hwpt_id;
	check.check_map.iova = mapping.iova;
	check.check_map.length = length;
	check.check_map.uptr = mapping.user_va;
	call(WRONG, fd, TEST_CMD, &check, "MD_CHECK_MAP");
	checked = now_us();

	unmap.ioas_id = ioas.out_ioas_id;
	unmap.iova = mapping.iova;
	unmap.length = length;
	call(WRONG, fd, IOMMU_IOAS_UNMAP, &unmap, "IOAS_UNMAP");
	finish(0, "%ld %ld", mapped - began, now_us() - checked);
}

/*
 * VFIO
 */

/* A container with the group, and the device */
static int open_device(char *name, int *container)
{
	char *device = strchr(name, ':');
	int group, fd;

	if (!device)
		finish(SKIP, "no such device: %s", name);
	*device++ = 0;
	*container = open_or_skip("/dev/vfio/vfio");
	group = open_or_skip(name);
	call(SKIP, group, VFIO_GROUP_SET_CONTAINER, container, "SET_CONTAINER");
	if (ioctl(*container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU))
		finish(SKIP, "SET_IOMMU: %s", strerror(errno));
	fd = ioctl(group, VFIO_GROUP_GET_DEVICE_FD, device);
	if (fd < 0)
		finish(SKIP, "GET_DEVICE_FD: %s", strerror(errno));
	return fd;
}

static __u64 region(int device, __u32 index)
{
	struct vfio_region_info info = { .argsz = sizeof(info), .index = index };

	call(WRONG, device, VFIO_DEVICE_GET_REGION_INFO, &info, "GET_REGION_INFO");
	return info.offset;
}

static void edu_write(int device, __u64 offset, __u64 value)
{
	if (pwrite(device, &value, sizeof(value), offset) != sizeof(value))
		finish(WRONG, "edu: %s", strerror(errno));
}

static void edu_copy(int device, __u64 bar, __u64 from, __u64 to, __u64 command)
{
	__u64 busy = EDU_START;
	int tries = 0;

	edu_write(device, bar + EDU_DMA_SOURCE, from);
	edu_write(device, bar + EDU_DMA_TARGET, to);
	edu_write(device, bar + EDU_DMA_COUNT, EDU_BYTES);
	edu_write(device, bar + EDU_DMA_COMMAND, command | EDU_START);
	while (busy & EDU_START) {
		if (pread(device, &busy, sizeof(busy), bar + EDU_DMA_COMMAND) != sizeof(busy))
			finish(WRONG, "edu: %s", strerror(errno));
		if (tries++ == EDU_TRIES)
			finish(WRONG, "the device does not end a transfer");
		usleep(1000);
	}
}

/* The device copies some pages to others, through its buffer. */
static void check_by_edu(int device)
{
	__u64 bar = region(device, VFIO_PCI_BAR0_REGION_INDEX);
	__u64 config = region(device, VFIO_PCI_CONFIG_REGION_INDEX);
	size_t step = length / NR_COPIES & ~(PAGE - 1);
	__u16 command = PCI_MEMORY;

	if (pwrite(device, &command, sizeof(command), config + PCI_COMMAND) != sizeof(command))
		finish(WRONG, "config space: %s", strerror(errno));

	for (size_t from = 0; from + PAGE <= length; from += step) {
		size_t to = length - PAGE - from;

		memset(memory + from, 0x11 + from / step, EDU_BYTES);
		edu_copy(device, bar, VFIO_IOVA + from, EDU_BUFFER, 0);
		edu_copy(device, bar, EDU_BUFFER, VFIO_IOVA + to, EDU_TO_MEMORY);
		if (memcmp(memory + from, memory + to, EDU_BYTES))
			finish(WRONG, "the device did not copy page %zu to page %zu",
			       from / PAGE, to / PAGE);
	}
}

static void use_vfio(char *name)
{
	struct vfio_iommu_type1_dma_map mapping = {
		.argsz	= sizeof(mapping),
		.flags	= VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr	= (uintptr_t)memory,
		.iova	= VFIO_IOVA,
		.size	= length,
	};
	struct vfio_iommu_type1_dma_unmap unmap = {
		.argsz	= sizeof(unmap),
		.iova	= VFIO_IOVA,
		.size	= length,
	};
	int container, device = open_device(name, &container);
	long began = now_us(), mapped, checked;

	map_for_device(container, VFIO_IOMMU_MAP_DMA, &mapping, "MAP_DMA");
	mapped = now_us();
	check_by_edu(device);
	checked = now_us();
	call(WRONG, container, VFIO_IOMMU_UNMAP_DMA, &unmap, "UNMAP_DMA");
	finish(0, "%ld %ld", mapped - began, now_us() - checked);
}

int main(int argc, char **argv)
{
	if (argc < 4 || argc > 5)
		finish(WRONG, "usage: pinpages mock|GROUP:DEVICE MEMORY MIB [NTH]");

	nth = argv[4];
	length = strtoul(argv[3], NULL, 10) << 20;
	get_memory(argv[2]);
	if (!strcmp(argv[2], "locked"))
		drop_cap_ipc_lock();
	if (!strcmp(argv[1], "mock"))
		use_mock();
	use_vfio(argv[1]);
}
