#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs that fail at random, many times: the error is returned, once all threads have left,
# and a job that does not fail is done.  The module keeps track of this, see
# kernel/test_padata_mt.c.

. "$(dirname "$0")"/functions.sh

ROUNDS=25

# One chunk in so many fails: all, the first of most jobs, some in between, hardly any.
RATES="1 8 100 10000"

# fail_at_random WORD...
fail_at_random()
{
	failed=0
	for rate in $RATES; do
		job_is_ok "$@" fail="$rate" repeat=$ROUNDS && all_are runs $ROUNDS || return 1
		failed=$((failed + $(values erred | head -n 1)))
	done
	ktap_print_msg "$failed of $((4 * ROUNDS)) failed"
	# All jobs in which every chunk fails, but by far not all jobs.
	[ $failed -ge $ROUNDS ] && [ $failed -lt $((4 * ROUNDS)) ]
}

# Every thread fails in its first chunk, and gets no other.
fails_at_once()
{
	job_is_ok "$@" fail=1 && all_are ret -121 && [ "$(values chunks)" = "$(values nr_ran)" ]
}

setup_jobs
ktap_set_plan 13

for rules in now boot; do
	check "$rules: many units" \
		fail_at_random rules=$rules size=10000 min_chunk=8 align=4
	check "$rules: few units, a chunk each" \
		fail_at_random rules=$rules size=100 max_chunk=1 fn=busy us=50
	check "$rules: threads that sleep" \
		fail_at_random rules=$rules size=60 fn=sleep us=200
	check "$rules: one thread" \
		fail_at_random rules=$rules size=300 max_chunk=7 max_threads=1
	check "$rules: jobs at the same time" \
		fail_at_random rules=$rules size=500 min_chunk=2 jobs=4
	check "$rules: all chunks" \
		fails_at_once rules=$rules size=1000 fn=sleep us=500
done

finish
