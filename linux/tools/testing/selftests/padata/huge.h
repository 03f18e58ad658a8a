/* SPDX-License-Identifier: GPL-2.0-only */
/* huge.h - what the programs that use huge pages share */
#ifndef PADATA_HUGE_H
#define PADATA_HUGE_H

#include <stdarg.h>
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

/* What memory is filled with before it is given back: nobody may see it again. */
#define PATTERN		0xa5
/* Exit status: the kernel has no such pages */
#define SKIP		4

/* By any thread */
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

#endif /* PADATA_HUGE_H */
