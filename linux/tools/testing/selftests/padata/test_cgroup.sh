#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What happens when a task's cgroup is frozen in the middle of a job.

. "$(dirname "$0")"/functions.sh

# This takes ten seconds, on any number of CPUs, unless it is released.
JOB="rules=now size=$((1000 * $(nr_online_cpus))) max_chunk=1 fn=busy us=10000"

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

end_job()
{
	wait "$task"
	task=
	[ "$(cat "$out")" = over ] && all_are status ok
}

# is_frozen VALUE: as the cgroup reports
is_frozen()
{
	grep -q "^frozen $1" "$GROUP/cold/cgroup.events"
}

# The task freezes when it returns from the kernel: when the job is done, which
# others may be waiting for.
freezes()
{
	: > "$out"
	mkdir "$GROUP/cold"
	start_job cold
	begin_chunks 5 0
	echo 1 > "$GROUP/cold/cgroup.freeze"
	begin_chunks 5 0
	! is_frozen 1 || return 1
	release
	await is_frozen 1 && [ ! -s "$out" ] && all_are status ok
}

thaws()
{
	echo 0 > "$GROUP/cold/cgroup.freeze"
	await is_frozen 0 && end_job
}

is_frozen_there()
{
	grep -qx "$task" "$GROUP/cold/cgroup.procs" && is_frozen 1
}

runs_frozen_before()
{
	: > "$out"
	echo 1 > "$GROUP/cold/cgroup.freeze"
	progress
	before=$nr_own
	start_job cold
	await is_frozen_there
	progress
	[ "$nr_own" -eq "$before" ] || return 1
	echo 0 > "$GROUP/cold/cgroup.freeze"
	begin_chunks 1 0
	release
	end_job
}

setup_jobs
setup_cgroups
[ -e "$GROUP/cgroup.freeze" ] || skip_all "needs the cgroup freezer"
out=$(mktemp)
ktap_set_plan 4

check "a job ends in a cgroup that is being frozen, then the task freezes" freezes
check "it goes on when that thaws" thaws
check "a job starts when the cgroup has thawed" runs_frozen_before
rm "$out"

finish
