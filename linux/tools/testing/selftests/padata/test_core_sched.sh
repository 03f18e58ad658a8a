#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Helpers avoid a CPU while a task with a core scheduling cookie runs on a sibling, and
# leave it if such a task starts running in the middle of a job.  A helper has no cookie,
# so one of the two would have to wait for the other.

. "$(dirname "$0")"/functions.sh

CHANGES=5
# Long enough to be running when the task comes, and for a while after.
JOB="rules=now context=kthread size=3000 max_chunk=1 fn=busy us=1000"
# Claimed on one CPU
FILTER=$TRACEFS/events/padata/padata_mt_chunk/filter

task=

restore()
{
	stop_jobs
	[ ! -e "$FILTER" ] || echo 0 > "$FILTER"
	[ -z "$task" ] || kill -9 "$task"
}

# A core with at least two CPUs; sets two of them
find_core()
{
	for cpu in $(online_cpus | sort -rn); do
		for other in $(online_cpus); do
			[ "$cpu" != "$other" ] || continue
			cmp -s "$CPUS/cpu$cpu/topology/core_cpus_list" \
				"$CPUS/cpu$other/topology/core_cpus_list" || continue
			busy=$cpu
			beside=$other
			return 0
		done
	done
	return 1
}

# start_task [setsched core]: on one CPU of the core, stopped at first
start_task()
{
	"$@" taskset -c "$busy" sh -c 'kill -STOP $$; while :; do :; done' &
	task=$!
	is_stopped
}

is_stopped()
{
	await grep -q '^State:.T' "/proc/$task/status"
}

stop_task()
{
	kill -9 "$task"
	wait "$task" 2>/dev/null
	task=
}

# A helper that is in a chunk has to finish it, with what little of the core it gets.
runs_for_a_while()
{
	mark "may change"
	kill -CONT "$task"
	has_used_ms 100 "$task"
	mark "is there"
	has_used_ms 100 "$task"
	begin_chunks 0 50
	mark "may change"
	kill -STOP "$task"
	is_stopped
	mark "is not there"
	begin_chunks 0 100
}

# claimed [setsched core]: runs such a task.  Sets with and without, the number of chunks
# that helpers claimed on the same core while it was there, and while it was not.
claimed()
{
	start_task "$@" || return 1
	# Word splitting is intended.
	# shellcheck disable=SC2086
	start_jobs $JOB
	echo "CPU == $beside" > "$FILTER"
	start_tracing padata/padata_mt_chunk
	for _ in $(seq $CHANGES); do
		runs_for_a_while
	done
	stop_tracing
	stop_jobs
	stop_task
	with=$(claimed_on "$beside" "is there")
	without=$(claimed_on "$beside" "is not there")
	forget_trace
	ktap_print_msg "claimed beside a task${1:+ with a cookie}: $with," \
		"when it was stopped: $without"
}

keep_off()
{
	claimed "$DIR/setsched" core && [ "$with" -eq 0 ]
}

come_back()
{
	[ "$without" -gt 0 ]
}

do_not_mind()
{
	claimed && [ "$with" -gt 0 ]
}

setup_jobs
setup_tracing
command -v taskset > /dev/null || skip_all "needs taskset"
# One for the task, one beside it, and one for the caller, which is not to be beside it.
[ "$(nr_online_cpus)" -ge 4 ] || skip_all "needs four CPUs"
find_core || skip_all "needs a core with two CPUs"
"$DIR/setsched" core true 2>/dev/null || skip_all "needs CONFIG_SCHED_CORE"
ktap_set_plan 4

check "no helper works beside a task with a cookie" keep_off
check "helpers work there when the task does not run" come_back
check "helpers work beside a task without a cookie" do_not_mind

finish
