#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A task is killed in the middle of its job.  If the job is killable, it ends
# soon, is undone and leaves nothing behind; if not, it is completed first.

. "$(dirname "$0")"/functions.sh

MOST_MS=1000

victim=

restore()
{
	[ -z "$victim" ] || kill -9 "$victim" 2>/dev/null
}

# kill_in_job SIGNAL WORD...: sets took, the time from the signal to the task's end, in ms
kill_in_job()
{
	signal="$1"
	shift
	(
		trap - EXIT TERM
		run_job "$@"
	) &
	victim=$!
	has_begun "$victim" && sleep 0.7 && kill -0 "$victim" || return 1
	then=$(now_ms)
	kill "-$signal" "$victim"
	wait "$victim" 2>/dev/null
	took=$(($(now_ms) - then))
	victim=
	ktap_print_msg "gone after $took ms, with $(values chunks) chunks," \
		"$(values helped) units by helpers, $(values undone) undone"
	all_are status ok
}

# dies_soon SIGNAL WORD...: the signal kills the task, and the job fails with EINTR
dies_soon()
{
	kill_in_job "$@" && [ "$took" -lt $MOST_MS ] && all_are ret -4
}

dies_soon_undone()
{
	dies_soon "$@" undo=1 && [ "$(values undone)" -gt 0 ] &&
		[ "$(values undone)" -le "$(values units)" ]
}

# Everything has been handed out, and helpers are in the middle of their chunks.
dies_while_it_waits()
{
	kill_in_job KILL "$@" && [ "$took" -lt $MOST_MS ] && all_are ret 0 &&
		[ "$(values helped)" -gt 0 ]
}

# The caller does the rest alone, except for chunks that helpers have already claimed.
is_done_alone()
{
	start_tracing padata/padata_mt_chunk
	( trap - EXIT; run_job "$@" ) &
	victim=$!
	has_begun "$victim" && sleep 0.3
	kill -9 "$victim"
	mark "killed"
	wait "$victim" 2>/dev/null
	victim=
	stop_tracing
	chunks=$(chunks_around "killed")
	forget_trace
	ktap_print_msg "chunks by helpers before, by the caller then, by helpers then: $chunks"
	[ "${chunks%% *}" -gt 0 ] && [ "${chunks##* }" -lt "$(nr_online_cpus)" ] &&
	[ "$(echo "$chunks" | cut -d ' ' -f 2)" -gt 100 ] &&
	all_are ret 0 && all_are units "$(word size "$@")"
}

# All units are done, though the task was killed long before the end.
dies_at_the_end()
{
	kill_in_job "$@" && all_are ret 0 && all_are units "$(word size "$@")"
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
ktap_set_plan 15

# Even with helpers on all CPUs it takes ten seconds.
JOB="rules=now size=$((10000 * $(nr_online_cpus))) max_chunk=1 us=1000"

# Word splitting is intended.
# shellcheck disable=SC2086
{
check "a killable job that works" dies_soon_undone KILL $JOB killable=1 fn=busy
check "a killable job whose threads sleep" dies_soon_undone KILL $JOB killable=1 fn=sleep
check "a killable job without helpers" \
	dies_soon_undone KILL $JOB killable=1 fn=busy max_threads=1
check "a killable job without an undo function" dies_soon KILL $JOB killable=1 fn=busy
check "a task that waits for helpers, which are killed with it" dies_while_it_waits \
	rules=now fn=wait us=1000 us_helper=15000000 size=50 max_chunk=1
check "another signal that kills" dies_soon_undone TERM $JOB killable=1 fn=busy
}
check "a job that is not killable is done to its end" \
	dies_at_the_end KILL rules=now undo=1 size=2000 max_chunk=1 us=1000 fn=busy max_threads=2
check "by the caller alone" is_done_alone \
	rules=now size=$((500 * $(nr_online_cpus))) max_chunk=1 us=1000 fn=busy
check "a killable job that nobody kills is done" \
	job_is_ok rules=now killable=1 undo=1 size=10000
check "so is one after all these" job_is_ok rules=now size=10000 min_chunk=8
check "workers cannot be killed after all these" workers_are_as_before
check "a task that exits has no helpers" exits_alone rules=now size=10000 max_chunk=10 fn=busy us=50
check "nothing holds on to the module" can_unload
check "it can be loaded again" job_is_ok rules=now size=10000

finish
