#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A task is killed in the middle of its job: the job is done to its end.

. "$(dirname "$0")"/functions.sh

victim=

restore()
{
	[ -z "$victim" ] || kill -9 "$victim" 2>/dev/null
}

# dies_at_the_end SIZE WORD...: all units are done, though the task was killed long before the end
dies_at_the_end()
{
	size=$1
	shift
	(
		trap - EXIT TERM
		run_job size="$size" "$@"
	) &
	victim=$!
	begin_chunks 1 20
	kill -9 "$victim"
	begin_chunks 20 0
	release
	wait "$victim" 2>/dev/null
	victim=
	all_are status ok && all_are units "$size"
}

can_unload()
{
	[ -n "$loaded" ] || return 0
	rmmod test_padata_mt && loaded='' && load_module
}

setup_jobs
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
ktap_set_plan 5

check "a job of a task that is killed is done to its end" dies_at_the_end \
	$((1000 * $(nr_online_cpus))) rules=now max_chunk=1 us=5000 fn=sleep
check "a job after it is done" job_is_ok rules=now size=10000 max_chunk=100 min_chunk=8
check "nothing holds on to the module" can_unload
check "it can be loaded again" job_is_ok rules=now size=10000 max_chunk=100

finish
