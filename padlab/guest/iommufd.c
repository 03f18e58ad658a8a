// SPDX-License-Identifier: GPL-2.0-only
/*
 * iommufd: has IOMMUFD pin this program's memory for its mock domain (CONFIG_IOMMUFD_TEST), as it
 * does for a device's IOMMU, and ask whether each page there is that of the program.  Says why
 * if it cannot.
 *
 * The interface is that of linux/iommufd.h and drivers/iommu/iommufd/iommufd_test.h, which hosts
 * do not have.
 */
#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define IOAS_ALLOC	_IO(';', 0x81)
#define IOAS_MAP	_IO(';', 0x85)
#define IOAS_UNMAP	_IO(';', 0x86)
#define TEST_CMD	_IO(';', 0xa0)

#define OP_MOCK_DOMAIN	2
#define OP_MD_CHECK_MAP	3
#define MAP_FIXED_RW	7
#define APERTURE_START	0x1000000UL
#define BYTES		(64UL << 20)

struct ioas_alloc {
	__u32 size, flags, out_ioas_id;
};

struct ioas_map {
	__u32 size, flags, ioas_id, reserved;
	__u64 user_va, length, iova;
};

struct ioas_unmap {
	__u32 size, ioas_id;
	__u64 iova, length;
};

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

static void call(int fd, unsigned long request, void *arg, const char *what)
{
	if (!ioctl(fd, request, arg))
		return;
	fprintf(stderr, "iommufd: ");
	perror(what);
	exit(1);
}

int main(void)
{
	struct test_cmd domain = { .size = sizeof(domain), .op = OP_MOCK_DOMAIN };
	struct test_cmd check = { .size = sizeof(check), .op = OP_MD_CHECK_MAP };
	struct ioas_unmap unmap = { .size = sizeof(unmap) };
	struct ioas_map map = { .size = sizeof(map) };
	struct ioas_alloc ioas = { .size = sizeof(ioas) };
	int fd = open("/dev/iommu", O_RDWR);
	void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (fd < 0 || memory == MAP_FAILED) {
		perror("iommufd: open or mmap");
		return 1;
	}
	call(fd, IOAS_ALLOC, &ioas, "IOAS_ALLOC");
	domain.id = ioas.out_ioas_id;
	call(fd, TEST_CMD, &domain, "MOCK_DOMAIN");

	map.flags = MAP_FIXED_RW;
	map.ioas_id = ioas.out_ioas_id;
	map.user_va = (__u64)(unsigned long)memory;
	map.length = BYTES;
	map.iova = APERTURE_START;
	call(fd, IOAS_MAP, &map, "IOAS_MAP");

	check.id = domain.mock_domain.out_hwpt_id;
	check.check_map.iova = map.iova;
	check.check_map.length = BYTES;
	check.check_map.uptr = map.user_va;
	call(fd, TEST_CMD, &check, "MD_CHECK_MAP");

	unmap.ioas_id = ioas.out_ioas_id;
	unmap.iova = map.iova;
	unmap.length = BYTES;
	call(fd, IOAS_UNMAP, &unmap, "IOAS_UNMAP");
	printf("%llu MiB\n", (unsigned long long)unmap.length >> 20);
	return 0;
}
