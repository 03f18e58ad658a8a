#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Where helpers run at boot: on the CPUs that were chosen for them, and on all of them.

. "$(dirname "$0")"/functions.sh

# Slow enough for a helper to wake up before the job is over.
SLOW="size=64 fn=sleep us=2000"

# has_threads N WORD...: the job has N threads, its helpers on the CPUs they should be on
has_threads()
{
	threads="$1"
	shift
	job_is_ok "$@" && all_are strays 0 && all_are ret "$threads"
}

every_cpu_can_help()
{
	for cpu in $(online_cpus); do
		# shellcheck disable=SC2086
		until_helped 1 has_threads 2 $SLOW cpus="$cpu" || return 1
	done
}

# Whatever CPU the caller is on: helpers do not follow it.
from_every_cpu()
{
	for cpu in $(online_cpus); do
		taskset -c "$cpu" sh -c "echo $SLOW cpus=$1 > $JOBS/run" ||
			return 1
		all_are status ok && all_are strays 0 || return 1
	done
}

setup_jobs
ktap_set_plan 6

nr=$(nr_online_cpus)
last=$(online_cpus | sort -n | tail -n 1)

check "every CPU can help" every_cpu_can_help
check "all CPUs are used, isolated or not" has_threads $((nr + 1)) size=100000
check "all CPUs are used node by node" has_threads $((nr + 1)) size=100000 numa_aware=1
check "a caller bound to the helper's CPU works" \
	has_threads 2 size=100000 cpus="$last" context=kthread

if command -v taskset > /dev/null; then
	check "helpers stay on one CPU" from_every_cpu "$last"
else
	skip "helpers stay on one CPU" "needs taskset"
fi

finish
