// SPDX-License-Identifier: GPL-2.0-only
/*
 * load - a task that competes for CPU time, and reports how much it got
 *
 *	load BUSY_MS SLEEP_MS SECONDS
 *
 * Uses BUSY_MS of CPU time, sleeps for SLEEP_MS, and repeats this until SECONDS have
 * passed.  Prints the number of repeats and the CPU time it had, in ms.  Sleeps vary from
 * half to one and a half of SLEEP_MS, at random but the same in each run, so that they do
 * not fall into step with anything else that happens at intervals.
 *
 * It counts CPU time, not rounds of a loop: where CPUs are emulated in turn, how many
 * rounds fit into a second of CPU time depends on what other CPUs do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void spin(long busy_ms)
{
	long long until = ms(CLOCK_PROCESS_CPUTIME_ID) + busy_ms;

	while (ms(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
}

static void doze(long sleep_ms)
{
	long us = sleep_ms * 500 + rand() % (sleep_ms * 1000);
	struct timespec nap = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&nap, NULL);
}

int main(int argc, char **argv)
{
	long busy_ms, sleep_ms, rounds = 0;
	long long until;

	if (argc != 4) {
		fprintf(stderr, "usage: load BUSY_MS SLEEP_MS SECONDS\n");
		return 1;
	}
	busy_ms = atol(argv[1]);
	sleep_ms = atol(argv[2]);
	until = ms(CLOCK_MONOTONIC) + atol(argv[3]) * 1000;

	for (; ms(CLOCK_MONOTONIC) < until; rounds++) {
		spin(busy_ms);
		if (sleep_ms)
			doze(sleep_ms);
	}
	printf("%ld %lld\n", rounds, ms(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
