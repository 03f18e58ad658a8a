#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A task is killed in the middle of its job.  If the job is killable, it ends
# soon and leaves nothing behind; if not, it is completed first.

. "$(dirname "$0")"/functions.sh

victim=

restore()
{
	[ -z "$victim" ] || kill -9 "$victim" 2>/dev/null
}

# start_job WORD...: of a task that is to be killed
start_job()
{
	progress
	begun=$((nr_own + nr_helped))
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

# kill_victim SIGNAL
kill_victim()
{
	kill "-$1" "$victim"
	mark "killed"
}

# kill_in_job SIGNAL WORD...: in the middle of it
kill_in_job()
{
	signal="$1"
	shift
	start_job "$@"
	if [ "$(word max_threads "$@")" = 1 ]; then
		begin_chunks 20 0
	else
		begin_chunks 1 20
	fi
	kill_victim "$signal"
	end_job
}

# dies_soon SIGNAL WORD...: the signal kills the task, which claims no more than the chunk for
# which it had just looked for signals, and the job fails with EINTR
dies_soon()
{
	kill_in_job "$@" && [ "$own" -le 1 ] && all_are ret -4
}

# all_have_begun UNITS: chunks of one unit
all_have_begun()
{
	progress
	[ $((nr_own + nr_helped - begun)) -ge "$1" ]
}

# Everything has been handed out, and helpers are in the middle of their chunks, which are
# over when they are killed, and not before.  So may be the last one of the task.
dies_while_it_waits()
{
	start_job "$@"
	await all_have_begun "$(word size "$@")"
	kill_victim KILL
	end_job && all_are ret 0 && [ "$(values helped)" -gt 0 ] &&
		[ "$(values woken)" -ge "$(values helped)" ]
}

# All units are done, though the task was killed long before the end.
dies_at_the_end()
{
	start_job "$@"
	begin_chunks 1 20
	kill_victim KILL
	begin_chunks 20 0
	release
	end_job && [ "$own" -ge 20 ] && all_are ret 0 && all_are units "$(word size "$@")"
}

# The caller does the rest alone, except for chunks that helpers have already claimed.
is_done_alone()
{
	dies_at_the_end "$@" && [ "$before" -gt 0 ] && [ "$helped" -lt "$(nr_online_cpus)" ]
}

# word KEY WORD...: prints the value of KEY
word()
{
	key="$1"
	shift
	echo "$@" | tr ' ' '\n' | sed -n "s/^$key=//p"
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
ktap_set_plan 14

# Even with helpers on all CPUs it takes ten seconds.
JOB="rules=now size=$((10000 * $(nr_online_cpus))) max_chunk=1 us=1000"

# Word splitting is intended.
# shellcheck disable=SC2086
{
check "a killable job that works" dies_soon KILL $JOB killable=1 fn=busy
check "a killable job whose threads sleep" dies_soon KILL $JOB killable=1 fn=sleep
check "a killable job without helpers" dies_soon KILL $JOB killable=1 fn=busy max_threads=1
check "a task that waits for helpers, which are killed with it" dies_while_it_waits \
	rules=now fn=wait us=1000 us_helper=30000000 size=50 max_chunk=1
check "another signal that kills" dies_soon TERM $JOB killable=1 fn=busy
}
check "a job that is not killable is done to its end" \
	dies_at_the_end rules=now size=2000 max_chunk=1 us=5000 fn=sleep max_threads=2
check "by the caller alone" is_done_alone \
	rules=now size=$((1000 * $(nr_online_cpus))) max_chunk=1 us=5000 fn=sleep
check "a killable job that nobody kills is done" \
	job_is_ok rules=now killable=1 size=10000 max_chunk=100
check "so is one after all these" job_is_ok rules=now size=10000 max_chunk=100 min_chunk=8
check "workers cannot be killed after all these" workers_are_as_before
check "a task that exits has no helpers" exits_alone rules=now size=10000 max_chunk=10 fn=busy us=50
check "nothing holds on to the module" can_unload
check "it can be loaded again" job_is_ok rules=now size=10000 max_chunk=100

finish
