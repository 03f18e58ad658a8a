#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Helpers run on the CPUs of the job's cpumask and nowhere else.

. "$(dirname "$0")"/functions.sh

# Slow enough for a helper to wake up before the job is over.
SLOW="size=64 fn=sleep us=2000"

# has_threads N WORD...: the job has N threads, its helpers on the CPUs they should be on
has_threads()
{
	threads="$1"
	shift
	job_is_ok "$@" && all_are strays 0 && all_are nr_threads "$threads"
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
ktap_set_plan 8

nr=$(nr_online_cpus)
online=$(cat "$CPUS/online")
offline=$(cat "$CPUS/offline")
last=$(online_cpus | sort -n | tail -n 1)

check "every CPU can help" every_cpu_can_help
if ! grep -q '[0-9]' "$CPUS/isolated" "$CPUS/nohz_full" 2>/dev/null; then
	check "without a cpumask all CPUs are used" has_threads $((nr + 1)) size=100000
else
	check "without a cpumask isolated CPUs are not used" job_is_ok size=100000
fi
check "all CPUs are used if all are given" \
	has_threads $((nr + 1)) size=100000 cpus="$online"
check "all CPUs are used node by node" \
	has_threads $((nr + 1)) size=100000 cpus="$online" numa_aware=1
check "a caller bound to the cpumask works" \
	has_threads 2 size=100000 cpus="$last" context=kthread

if [ -n "$offline" ]; then
	check "without an online CPU the caller is alone" \
		has_threads 1 size=100000 cpus="${offline%%[-,]*}"
else
	skip "without an online CPU the caller is alone" "no CPU is offline"
fi

if command -v taskset > /dev/null; then
	check "helpers stay on one CPU" from_every_cpu "$last"
else
	skip "helpers stay on one CPU" "needs taskset"
fi

finish
