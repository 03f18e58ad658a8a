#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A task is killed, or its cgroup is frozen, in the middle of a job: the job is done to its end,
# which others may be waiting for.

. "$(dirname "$0")"/functions.sh

SIZE=$((1000 * $(nr_online_cpus)))

victim=

restore()
{
	[ -z "$victim" ] || kill -9 "$victim" 2>/dev/null
}

start_job()
{
	(
		trap - EXIT TERM
		enter_group cold
		run_job rules=now size=$SIZE max_chunk=1 us=5000 fn=sleep
	) &
	victim=$!
	begin_chunks 1 20
}

# All units are done, though what should stop the task came long before the end.
end_job()
{
	release
	wait "$victim" 2>/dev/null
	victim=
	all_are status ok && all_are units $SIZE
}

dies_at_the_end()
{
	start_job
	kill -9 "$victim"
	begin_chunks 20 0
	end_job
}

is_frozen()
{
	grep -q '^frozen 1' "$GROUP/cold/cgroup.events"
}

# The task freezes when it returns from the kernel.
freezes_at_the_end()
{
	start_job
	echo 1 > "$GROUP/cold/cgroup.freeze"
	begin_chunks 20 0
	! is_frozen || return 1
	release
	await is_frozen && all_are status ok || return 1
	echo 0 > "$GROUP/cold/cgroup.freeze"
	end_job
}

setup_jobs
setup_cgroups
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
mkdir "$GROUP/cold"
ktap_set_plan 3

check "a job of a task that is killed is done to its end" dies_at_the_end
check "so is one in a cgroup that is being frozen, then the task freezes" freezes_at_the_end

finish
