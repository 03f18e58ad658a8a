#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A task is killed in the middle of its job: the job is done to its end, by the task alone.

. "$(dirname "$0")"/functions.sh

victim=

restore()
{
	[ -z "$victim" ] || kill -9 "$victim" 2>/dev/null
}

# start_job WORD...: of a task that is to be killed
start_job()
{
	start_tracing padata/padata_mt_chunk
	(
		trap - EXIT TERM
		run_job "$@"
	) &
	victim=$!
}

# end_job: waits for the end.  Sets before, own and helped: chunks of helpers before the
# task was killed, then of the caller, and of helpers.
end_job()
{
	wait "$victim" 2>/dev/null
	victim=
	stop_tracing
	# Word splitting is intended.
	# shellcheck disable=SC2046
	set -- $(chunks_around "killed")
	forget_trace
	before=$1
	own=$2
	helped=$3
	ktap_print_msg "chunks by helpers before, by the caller then, by helpers then: $*;" \
		"$(values units) units"
	all_are status ok
}

# dies_at_the_end SIZE WORD...: all units are done, though the task was killed long before the end
dies_at_the_end()
{
	size=$1
	shift
	start_job size="$size" "$@"
	begin_chunks 1 20
	kill -9 "$victim"
	mark "killed"
	begin_chunks 20 0
	release
	end_job && [ "$own" -ge 20 ] && all_are ret 0 && all_are units "$size"
}

# The caller does the rest alone, except for chunks that helpers have already claimed.
is_done_alone()
{
	dies_at_the_end "$@" && [ "$before" -gt 0 ] && [ "$helped" -lt "$(nr_online_cpus)" ]
}

# exits_alone WORD...: the job runs when the exiting task's files are closed
exits_alone()
{
	sh -c "exec 3> '$JOBS/exit' && echo '$*' >&3"
	all_are status ok && all_are nr_threads 1
}

can_unload()
{
	[ -n "$loaded" ] || return 0
	rmmod test_padata_mt && loaded='' && load_module
}

setup_jobs
setup_tracing
ktap_set_plan 7

check "a job of a task that is killed is done to its end" \
	dies_at_the_end 2000 rules=now max_chunk=1 us=5000 fn=sleep max_threads=2
check "by the task alone" is_done_alone \
	$((1000 * $(nr_online_cpus))) rules=now max_chunk=1 us=5000 fn=sleep
check "a job after these is done" job_is_ok rules=now size=10000 max_chunk=100 min_chunk=8
check "a task that exits has no helpers" exits_alone rules=now size=10000 max_chunk=10 fn=busy us=50
check "nothing holds on to the module" can_unload
check "it can be loaded again" job_is_ok rules=now size=10000 max_chunk=100

finish
