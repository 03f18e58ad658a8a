/* SPDX-License-Identifier: GPL-2.0-only */
/* huge.h - what the programs that use huge pages share */
#ifndef PADATA_HUGE_H
#define PADATA_HUGE_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
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
/* Exit status: the kernel has no such pages */
#define SKIP		4

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
static inline void let_allocations_fail(bool may_fail)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/proc/self/make-it-fail", O_WRONLY);
	if (fd < 0)
		finish(SKIP, "needs /proc/self/make-it-fail (CONFIG_FAULT_INJECTION)");
	while (pwrite(fd, may_fail ? "1" : "0", 1, 0) != 1)
		;
}

#endif /* PADATA_HUGE_H */
