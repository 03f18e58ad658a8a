// SPDX-License-Identifier: GPL-2.0-only
/*
 * load - a task that competes for CPU time, and reports how much it got
 *
 *	load BUSY_MS SLEEP_MS SECONDS
 *
 * Uses BUSY_MS of CPU time, sleeps for SLEEP_MS, and repeats this until SECONDS have
 * passed.  Prints the number of repeats, the CPU time it had, in ms, and by how many us it woke up
 * late, but for one of 100 times.  Sleeps vary from half to one and a half of SLEEP_MS, at random
 * but the same in each run, so that they do not fall into step with anything else that happens at
 * intervals.
 *
 * It counts CPU time, not rounds of a loop: where CPUs are emulated in turn, how many
 * rounds fit into a second of CPU time depends on what other CPUs do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define MAX_SLEEPS	100000

static long late_us[MAX_SLEEPS];
static long nr_sleeps;

static long long us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static long long ms(clockid_t clock)
{
	return us(clock) / 1000;
}

static void spin(long busy_ms)
{
	long long until = ms(CLOCK_PROCESS_CPUTIME_ID) + busy_ms;

	while (ms(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
}

static void doze(long sleep_ms)
{
	long nap_us = sleep_ms * 500 + rand() % (sleep_ms * 1000);
	struct timespec nap = { nap_us / 1000000, nap_us % 1000000 * 1000 };
	long long until = us(CLOCK_MONOTONIC) + nap_us;

	nanosleep(&nap, NULL);
	if (nr_sleeps < MAX_SLEEPS)
		late_us[nr_sleeps++] = us(CLOCK_MONOTONIC) - until;
}

static int compare(const void *a, const void *b)
{
	return *(const long *)a < *(const long *)b ? -1 : *(const long *)a > *(const long *)b;
}

static long latest_us(void)
{
	qsort(late_us, nr_sleeps, sizeof(late_us[0]), compare);
	return late_us[nr_sleeps * 99 / 100];
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
	prctl(PR_SET_TIMERSLACK, 1UL);

	for (; ms(CLOCK_MONOTONIC) < until; rounds++) {
		spin(busy_ms);
		if (sleep_ms)
			doze(sleep_ms);
	}
	printf("%ld %lld %ld\n", rounds, ms(CLOCK_PROCESS_CPUTIME_ID), latest_us());
	return 0;
}
