#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A job needs more memory than its cgroup may have: its task is killed, and nothing else.
# From then on, its helpers charge nothing that would get others killed.

. "$(dirname "$0")"/functions.sh

LIMIT_PAGES=4096
JOB="rules=now size=$((LIMIT_PAGES * 2)) fn=alloc"

other=

restore()
{
	[ -z "$other" ] || kill -9 "$other" 2>/dev/null
}

events()
{
	awk -v key="$1" '$1 == key { print $2 }' "$GROUP/limited/memory.events"
}

# The second task of the group, which the OOM killer would choose after the first.
start_other()
{
	(
		trap - EXIT
		enter_group limited
		exec sleep 1000
	) &
	other=$!
	await grep -q sleep "/proc/$other/comm"
}

# A killed task that is only left as a zombie does not count.
other_lives()
{
	[ -n "$other" ] && grep -q '^State:.*[SDR] ' "/proc/$other/status" 2>/dev/null
}

# runs_out WORD...: the kernel kills the job's task.  What the job returned is in the
# result.
runs_out()
{
	run_job size=1
	killed=$(events oom_kill)
	(
		trap - EXIT
		enter_group limited
		echo 1000 > /proc/self/oom_score_adj
		# It must be a task that may be killed: one with a name, not this one.
		exec sh -c "echo $* > $JOBS/run"
	)
	status=$?
	killed=$(($(events oom_kill) - killed))
	ktap_print_msg "ended with status $status, $killed killed, $(values helped) of" \
		"$(values units) units by helpers"
	[ "$status" -eq 137 ] && all_are status ok
}

# Repeated, as some jobs are over before a helper comes.
dies_alone()
{
	other_lives || start_other
	other_lives || return 1
	for _ in 1 2 3 4 5 6 7 8; do
		runs_out "$@" || return 1
		if [ "$killed" -ne 1 ] || ! other_lives; then
			return 1
		fi
		[ "$(values helped)" -lt $((LIMIT_PAGES / 10)) ] || return 0
	done
	ktap_print_msg "there was no help"
	return 1
}

is_done()
{
	all_are ret 0 && all_are units $((LIMIT_PAGES * 2))
}

# works_there WORD...: a job in the group
works_there()
{
	(
		trap - EXIT
		enter_group limited && job_is_ok "$@"
	)
}

setup_jobs
setup_cgroups memory
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
mkdir "$GROUP/limited"
echo $((LIMIT_PAGES * 4096)) > "$GROUP/limited/memory.max"
ktap_set_plan 6

# Word splitting is intended.
# shellcheck disable=SC2086
{
check "the task of a job that needs too much memory dies alone" dies_alone $JOB max_chunk=16
check "the job is done to its end" is_done
check "so does that of a killable job" dies_alone $JOB max_chunk=16 killable=1
check "so does one whose helpers have a long way to go" dies_alone $JOB max_chunk=4000
run_job size=1
check "the group can be used again" works_there $JOB size=1000 max_chunk=16
}

finish
