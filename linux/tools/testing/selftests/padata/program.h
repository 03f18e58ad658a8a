/* SPDX-License-Identifier: GPL-2.0-only */
/* What programs of these tests have in common: how they end, and what old headers lack. */
#ifndef _SELFTESTS_PADATA_PROGRAM_H
#define _SELFTESTS_PADATA_PROGRAM_H

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT	26
#endif

/* Exit status: the kernel has nothing of what is asked for */
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

#endif /* _SELFTESTS_PADATA_PROGRAM_H */
