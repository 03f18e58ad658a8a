#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# There are no helpers while a task has a core scheduling cookie: a helper has none, so the two
# could not run on one core at the same time.

. "$(dirname "$0")"/functions.sh

JOB="rules=now size=100000 max_chunk=1 fn=busy us=1000"

task=

restore()
{
	stop_jobs
	[ -z "$task" ] || kill -9 "$task" 2>/dev/null
}

# It has its cookie when it stops itself.
start_task()
{
	"$DIR/setsched" core sh -c 'kill -STOP $$' &
	task=$!
	await grep -q '^State:.T' "/proc/$task/status"
}

# A helper that is in a chunk finishes it.
leave()
{
	begin_chunks 0 20 || return 1
	start_task || return 1
	begin_chunks 100 0
	progress
	helped=$nr_helped
	begin_chunks 100 0
	progress
	ktap_print_msg "$((nr_helped - helped)) chunks of helpers while it was there"
	[ "$nr_helped" -eq "$helped" ]
}

come_back()
{
	kill -9 "$task"
	wait "$task" 2>/dev/null
	task=
	begin_chunks 0 20
}

setup_jobs
[ "$(nr_online_cpus)" -ge 2 ] || skip_all "needs two CPUs"
"$DIR/setsched" core true 2>/dev/null || skip_all "needs CONFIG_SCHED_CORE and a core with two CPUs"
ktap_set_plan 3

# Word splitting is intended.
# shellcheck disable=SC2086
start_jobs $JOB
check "helpers leave when a task has a cookie" leave
check "they come back when it is gone" come_back
stop_jobs

finish
