// SPDX-License-Identifier: GPL-2.0-only
/*
 * setsched - set the scheduling policy of a task
 *
 *	setsched fifo|deadline COMMAND [ARG...]
 *	setsched fifo|deadline -p PID
 *	setsched core COMMAND [ARG...]
 *
 * Does what chrt does, for tests that cannot rely on it; and "core" runs the command
 * with its own core scheduling cookie, so that it shares a core with no other task.
 *
 * Exits with 4 if the kernel does not support it, or no core has two CPUs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE		6
#endif

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE		62
#define PR_SCHED_CORE_CREATE	1
#endif
/* A kernel enumerator that is in no header: one task, not its threads */
#define CORE_SCOPE_TASK		0

#define NS_PER_MS		1000000ULL

/* struct sched_attr, which a C library may or may not have */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static int set_policy(const char *name, pid_t pid)
{
	struct attr attr = { .size = sizeof(attr) };

	if (!strcmp(name, "core"))
		return prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, pid, CORE_SCOPE_TASK, 0);
	if (!strcmp(name, "fifo")) {
		attr.policy = SCHED_FIFO;
		attr.priority = 1;
	} else if (!strcmp(name, "deadline")) {
		attr.policy = SCHED_DEADLINE;
		attr.runtime = 50 * NS_PER_MS;
		attr.deadline = 100 * NS_PER_MS;
		attr.period = 100 * NS_PER_MS;
	} else {
		fprintf(stderr, "setsched: no policy '%s'\n", name);
		exit(1);
	}
	return syscall(SYS_sched_setattr, pid, &attr, 0);
}

int main(int argc, char **argv)
{
	pid_t pid = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: setsched POLICY COMMAND...\n");
		return 1;
	}
	if (argc == 4 && !strcmp(argv[2], "-p"))
		pid = atoi(argv[3]);
	if (set_policy(argv[1], pid)) {
		perror("setsched");
		return errno == EINVAL || errno == ENODEV ? 4 : 1;
	}
	if (pid)
		return 0;
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
