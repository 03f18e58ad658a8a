#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What happens when a task is moved to another cgroup in the middle of a job, and the old one
# is removed: the rest of the job is charged to the new one.
#
# For a guest whose clock counts instructions: what is charged has to be what the threads have
# used, and reading that takes a while.

. "$(dirname "$0")"/functions.sh

task=
out=$(mktemp)

restore()
{
	[ -z "$task" ] || kill -9 "$task" 2>/dev/null
	rm "$out"
}

# start_job GROUP WORD...
start_job()
{
	(
		trap - EXIT
		enter_group "$1"
		shift
		run_job "$@"
		echo over > "$out"
	) &
	task=$!
}

end_job()
{
	release
	wait "$task"
	task=
	[ "$(cat "$out")" = over ] && all_are status ok
}

# The threads of the job: the task and its helpers
used_ms()
{
	echo $(($(cpu_ms < "/proc/$task/stat") + $(kworkers_ms)))
}

# Sets before, charged, least and most, in ms.  Reading the threads' CPU time takes a while, so
# it is done both before and after each reading of what was charged.
move()
{
	mkdir "$GROUP/old" "$GROUP/new"
	start_job old rules=now size=$((2000 * $(nr_online_cpus))) max_chunk=1 fn=busy us=10000
	begin_chunks 20 20 || return 1
	echo "$task" > "$GROUP/new/cgroup.procs" || return 1
	before=$(usage_ms old)
	remove_group "$GROUP/old" || return 1
	outer=$(used_ms)
	charged=$(usage_ms new)
	inner=$(used_ms)
	begin_chunks 300 300 || return 1
	least=$(($(used_ms) - inner))
	charged=$(($(usage_ms new) - charged))
	most=$(($(used_ms) - outer))
	end_job && remove_group "$GROUP/new" || return 1
	ktap_print_msg "$before ms were charged to the old cgroup, then" \
		"$charged to the new one, for $least to $most that the threads used"
}

# They do not if reading takes long compared to the time in between.
figures_tell()
{
	[ $((most * 3)) -le $((least * 4)) ]
}

# The CPU time of the caller, and that of the helpers
moves()
{
	move && figures_tell && [ "$before" -gt 0 ] &&
	[ $((charged * 20)) -ge $((least * 19)) ] &&
	[ $((charged * 19)) -le $((most * 20)) ]
}

setup_jobs
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
setup_cgroups cpu
ktap_set_plan 2

check "a task that is moved in its job goes on in the new cgroup" moves

finish
