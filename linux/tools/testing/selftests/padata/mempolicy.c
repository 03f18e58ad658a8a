// SPDX-License-Identifier: GPL-2.0-only
/*
 * mempolicy - run a command with a NUMA memory policy
 *
 *	mempolicy bind|interleave NODE[,NODE] COMMAND [ARG...]
 *
 * Does what numactl does, for tests that cannot rely on it being installed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/mempolicy.h>

static unsigned long parse_nodes(char *list)
{
	unsigned long nodes = 0;
	char *node;

	for (node = strtok(list, ","); node; node = strtok(NULL, ","))
		nodes |= 1UL << atoi(node);
	return nodes;
}

int main(int argc, char **argv)
{
	unsigned long nodes;
	int mode;

	if (argc < 4) {
		fprintf(stderr, "usage: mempolicy bind|interleave NODES COMMAND...\n");
		return 1;
	}
	mode = strcmp(argv[1], "bind") ? MPOL_INTERLEAVE : MPOL_BIND;
	nodes = parse_nodes(argv[2]);
	if (syscall(SYS_set_mempolicy, mode, &nodes, 8 * sizeof(nodes))) {
		perror("mempolicy: set_mempolicy");
		return access("/proc/self/numa_maps", F_OK) ? 4 : 1;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}
