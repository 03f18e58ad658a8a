#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What happens when a task's cgroup changes in the middle of a job: the task is moved out
# of it and it is removed, or it is frozen.

. "$(dirname "$0")"/functions.sh

# This takes some seconds, on any number of CPUs.
JOB="rules=now size=$((2000 * $(nr_online_cpus))) max_chunk=1 fn=busy us=1000"

task=

restore()
{
	[ -z "$task" ] || kill -9 "$task" 2>/dev/null
}

# start_job GROUP [WORD...]
start_job()
{
	(
		trap - EXIT
		enter_group "$1"
		shift
		# Word splitting is intended.
		# shellcheck disable=SC2086
		run_job $JOB "$@"
		echo over > "$out"
	) &
	task=$!
}

goes_on()
{
	has_begun "$task" && sleep 0.7 && [ ! -s "$out" ]
}

end_job()
{
	wait "$task"
	task=
	[ "$(cat "$out")" = over ] && all_are status ok && all_are ret 0
}

# The threads of the job: the task and its helpers
used_ms()
{
	echo $(($(cpu_ms < "/proc/$task/stat") + $(kworkers_ms)))
}

# move SECONDS: moves a task during its job, which is observed for SECONDS.  Sets before,
# charged, least and most, in ms.  Reading the threads' CPU time takes a while, so it is
# done both before and after each reading of what was charged.
move()
{
	: > "$out"
	mkdir "$GROUP/old" "$GROUP/new"
	start_job old size=$((3000 * $1 * $(nr_online_cpus)))
	goes_on || return 1
	echo "$task" > "$GROUP/new/cgroup.procs" || return 1
	before=$(usage_ms old)
	remove_group "$GROUP/old" || return 1
	outer=$(used_ms)
	charged=$(usage_ms new)
	inner=$(used_ms)
	sleep "$1"
	least=$(($(used_ms) - inner))
	charged=$(($(usage_ms new) - charged))
	most=$(($(used_ms) - outer))
	if [ -s "$out" ]; then
		ktap_print_msg "the job was over too soon"
		return 1
	fi
	end_job && remove_group "$GROUP/new" || return 1
	ktap_print_msg "$before ms were charged to the old cgroup, then" \
		"$charged to the new one, for $least to $most that the threads used"
}

# They do not if reading takes long compared to the time in between.
figures_tell()
{
	[ $((most * 3)) -le $((least * 4)) ]
}

# The rest of the job is charged to the new cgroup: the CPU time of the caller, and that
# of the helpers.
moves()
{
	for seconds in 3 6 12 24; do
		move "$seconds" || return 1
		! figures_tell || break
	done
	figures_tell && [ "$before" -gt 0 ] && [ "$(values helped)" -gt 0 ] &&
	[ $((charged * 20)) -ge $((least * 19)) ] &&
	[ $((charged * 19)) -le $((most * 20)) ]
}

# is_frozen VALUE: the cgroup reports VALUE within a second
is_frozen()
{
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		grep -q "^frozen $1" "$GROUP/cold/cgroup.events" && return 0
		sleep 0.1
	done
	return 1
}

# The task freezes when it returns from the kernel: when the job is done, which
# others may be waiting for.
freezes()
{
	: > "$out"
	mkdir "$GROUP/cold"
	start_job cold
	goes_on || return 1
	echo 1 > "$GROUP/cold/cgroup.freeze"
	for _ in $(seq 1000); do
		! grep -q '^frozen 1' "$GROUP/cold/cgroup.events" || break
		sleep 0.1
	done
	is_frozen 1 && [ ! -s "$out" ] && all_are status ok && all_are ret 0
}

thaws()
{
	echo 0 > "$GROUP/cold/cgroup.freeze"
	is_frozen 0 && end_job
}

runs_frozen_before()
{
	: > "$out"
	echo 1 > "$GROUP/cold/cgroup.freeze"
	start_job cold
	sleep 1
	[ ! -s "$out" ] || return 1
	echo 0 > "$GROUP/cold/cgroup.freeze"
	end_job
}

setup_jobs
setup_cgroups cpu
[ -e "$GROUP/cgroup.freeze" ] || skip_all "needs the cgroup freezer"
out=$(mktemp)
ktap_set_plan 5

check "a task that is moved in its job goes on in the new cgroup" moves
check "a job ends in a cgroup that is being frozen, then the task freezes" freezes
check "it goes on when that thaws" thaws
check "a job starts when the cgroup has thawed" runs_frozen_before
rm "$out"

finish
